// One field as a control: a choice if the contract lists the values, otherwise text. `Not set` is one of the choices: a
// field that is left out is not the same as one that is switched off.

import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import type { ChangeEvent } from 'react'
import { useWords } from '../i18n/language.tsx'
import { useFieldWords } from './field-words.ts'
import { isFixed, schemaAt } from './schema.ts'

type Props = { pointer: string; value: string; error: string | undefined; change(value: string): void }

export function FieldControl({ pointer, value, error, change }: Props) {
  const words = useWords()
  const field = useFieldWords()
  const { type, enum: values } = schemaAt(pointer)
  const shared = {
    id: idOf(pointer),
    label: field.label(pointer),
    error,
    value,
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>) =>
      change(event.currentTarget.value),
  }
  const choices = type === 'boolean' ? ['true', 'false'] : values?.map(String)
  if (choices)
    return (
      <NativeSelect
        {...shared}
        description={field.help(pointer)}
        data={[
          { value: '', label: field.unset(pointer) },
          ...choices.map((one) => ({ value: one, label: field.value(pointer, one) })),
        ]}
      />
    )
  if (type === 'array')
    return (
      <Textarea
        {...shared}
        description={`${field.help(pointer)} ${words.config.oneALine}`}
        autosize
        minRows={2}
        classNames={{ input: 'code' }}
        spellCheck={false}
      />
    )
  return (
    <TextInput
      {...shared}
      description={field.help(pointer)}
      readOnly={isFixed(pointer)}
      placeholder={isFixed(pointer) ? undefined : field.unset(pointer)}
      inputMode={type === 'integer' ? 'numeric' : undefined}
      spellCheck={false}
      autoComplete="off"
    />
  )
}

/** The element's id, so that a message can lead to the field. */
export function idOf(pointer: string): string {
  return `field${pointer.replaceAll('/', '-')}`
}
