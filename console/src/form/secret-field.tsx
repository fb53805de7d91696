// Key material. It is never put into a control. The user can leave it, replace it or, where there is some, remove it.

import { NativeSelect, Stack, Textarea } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import type { SecretChange } from './draft.ts'
import { idOf } from './field-control.tsx'
import { useFieldWords } from './field-words.ts'

type Props = {
  pointer: string
  isStored: boolean
  change: SecretChange | undefined
  error: string | undefined
  set(change: SecretChange | undefined): void
}

export function SecretField({ pointer, isStored, change, error, set }: Props) {
  const words = useWords()
  const field = useFieldWords()
  const choose = (kind: string) =>
    set(kind === 'replace' ? { kind, value: '' } : kind === 'remove' ? { kind } : undefined)
  return (
    <Stack gap={6}>
      <NativeSelect
        id={idOf(pointer)}
        label={field.label(pointer)}
        description={field.help(pointer)}
        error={change?.kind === 'replace' ? undefined : error}
        value={change?.kind ?? ''}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[
          { value: '', label: words.config.secretKeep },
          { value: 'replace', label: words.config.secretReplace },
          ...(isStored ? [{ value: 'remove', label: words.config.secretRemove }] : []),
        ]}
      />
      {change?.kind === 'replace' && (
        <Textarea
          aria-label={`${field.label(pointer)}: ${words.config.secretNew}`}
          value={change.value}
          onChange={(event) => set({ kind: 'replace', value: event.currentTarget.value })}
          error={error}
          classNames={{ input: 'code' }}
          autosize
          minRows={2}
          maxRows={10}
          spellCheck={false}
          autoComplete="off"
        />
      )}
    </Stack>
  )
}
