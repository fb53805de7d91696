// One field of an administration form.

import { Button, Group, NativeSelect, PasswordInput, Text, Textarea, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useRef } from 'react'
import { useWords } from '../i18n/language.tsx'
import { CLEARED, rowsOf, textOf } from './fields.ts'
import type { Draft, Field, Row } from './fields.ts'

type Props = {
  field: Field
  draft: Draft
  error: string | undefined
  /** It cannot be changed: what the thing is called by. */
  fixed: boolean
  /** A secret that is there: it can stay, or be taken away. */
  isStored: boolean
  set(value: string | Row[]): void
}

export function idOf(pointer: string): string {
  return `field${pointer.replaceAll('/', '-')}`
}

export function FieldInput({ field, draft, error, fixed, isStored, set }: Props) {
  const words = useWords()
  const { pointer, kind, choices = [], required = false } = field
  const value = textOf(draft, pointer)
  const common = {
    id: idOf(pointer),
    label: words.admin.fields[field.label],
    description: words.admin.help[field.label as keyof typeof words.admin.help],
    error,
    required,
    withAsterisk: required,
    value,
  }
  const valueWords: Record<string, string> = { ...words.roles, ...words.direction, ...words.admin.values }
  if (kind === 'rows') return <Rows field={field} draft={draft} error={error} set={set} />
  if (kind === 'secret') {
    // What is taken away is the password of now.
    const stored = words.admin.fields[field.label === 'newPassword' ? 'password' : field.label]
    return <Secret {...common} stored={isStored ? stored : undefined} set={set} />
  }
  if (kind === 'choice' || kind === 'flag') {
    const values = kind === 'flag' ? ['true', 'false'] : choices
    return (
      <NativeSelect
        {...common}
        onChange={(event) => set(event.currentTarget.value)}
        data={[
          { value: '', label: words.app.unset },
          ...values.map((one) => ({
            value: one,
            label: one === 'true' ? words.app.yes : one === 'false' ? words.app.no : (valueWords[one] ?? one),
          })),
        ]}
      />
    )
  }
  if (kind === 'lines' || kind === 'area')
    return (
      <Textarea
        {...common}
        description={common.description ?? (kind === 'lines' ? words.config.oneALine : undefined)}
        autosize
        minRows={2}
        maxRows={12}
        onChange={(event) => set(event.currentTarget.value)}
      />
    )
  return (
    <TextInput
      {...common}
      readOnly={fixed}
      inputMode={kind === 'number' ? 'numeric' : undefined}
      onChange={(event) => set(event.currentTarget.value)}
    />
  )
}

type SecretProps = {
  id: string
  label: string
  value: string
  error: string | undefined
  /** What is there is called so; undefined where there is none. */
  stored: string | undefined
  set(value: string): void
}

/** Secrets are never shown: left empty it stays as it is. */
function Secret({ set, value, stored, ...common }: SecretProps) {
  const words = useWords()
  const cleared = value === CLEARED
  return (
    <div>
      <PasswordInput
        {...common}
        description={
          stored === undefined
            ? words.admin.newSecretHelp
            : cleared
              ? words.admin.willBeCleared
              : words.admin.secretHelp
        }
        value={cleared ? '' : value}
        disabled={cleared}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': words.signIn.showPassword, tabIndex: 0 }}
        onChange={(event) => set(event.currentTarget.value)}
      />
      {stored !== undefined && (
        <Button size="compact-xs" variant="subtle" mt={4} onClick={() => set(cleared ? '' : CLEARED)}>
          {cleared ? words.admin.keep : words.admin.clear(stored)}
        </Button>
      )}
    </div>
  )
}

function Rows({ field, draft, error, set }: Omit<Props, 'fixed' | 'isStored'>) {
  const words = useWords()
  const { pointer, columns = [] } = field
  const rows = rowsOf(draft, pointer)
  const add = useRef<HTMLButtonElement>(null)
  const label = words.admin.fields[field.label]
  return (
    <fieldset className="rows" id={idOf(pointer)}>
      <legend>{label}</legend>
      {rows.map((row, index) => (
        // Rows have no name of their own until they are saved.
        <Group key={index} gap="xs" align="flex-end" wrap="wrap" mb="xs">
          {columns.map(({ name, label: column }) => (
            <TextInput
              key={name}
              size="sm"
              label={words.admin.fields[column]}
              value={row[name] ?? ''}
              onChange={(event) => {
                const { value } = event.currentTarget
                set(rows.map((one, at) => (at === index ? { ...one, [name]: value } : one)))
              }}
            />
          ))}
          <Button
            variant="default"
            size="sm"
            leftSection={<IconTrash size={15} aria-hidden />}
            onClick={() => {
              set(rows.filter((_, at) => at !== index))
              // The button goes with the last row; whoever works by keyboard stays at these rows. Before it the next row
              // takes this one's place, with the focus.
              if (index === rows.length - 1) add.current?.focus()
            }}
          >
            {words.admin.removeRow(index + 1)}
          </Button>
        </Group>
      ))}
      <Button
        ref={add}
        variant="default"
        size="xs"
        leftSection={<IconPlus size={15} aria-hidden />}
        onClick={() => set([...rows, { id: String(rows.length + 1) }])}
      >
        {words.admin.addRow(label)}
      </Button>
      {error && (
        <Text fz="xs" c="var(--mantine-color-error)" role="alert">
          {error}
        </Text>
      )}
    </fieldset>
  )
}
