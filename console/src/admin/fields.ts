// Forms of administration as data: which fields a thing has, and how what is typed becomes the request's body. The node
// checks it against its schema and its rules, and says at which field something is wrong.

import type { Words } from '../i18n/en.ts'

export type Label = keyof Words['admin']['fields']
export type SectionName = keyof Words['admin']['sections']

export type Field = {
  /** Where it stands in the body, as a JSON pointer. */
  pointer: string
  label: Label
  section: SectionName
  kind: 'text' | 'area' | 'lines' | 'number' | 'choice' | 'flag' | 'secret' | 'rows'
  choices?: readonly string[]
  /** Of `rows`: the fields of each. */
  columns?: readonly { name: string; label: Label; number?: true }[]
  required?: true
  /** Shown only where this holds. */
  when?: (draft: Draft) => boolean
}

export type Row = Record<string, string>
export type Draft = Record<string, string | Row[]>
export type Thing = Record<string, unknown>

/** In a secret's control: take it away. */
export const CLEARED = '\0cleared'

export function textOf(draft: Draft, pointer: string): string {
  const value = draft[pointer]
  return typeof value === 'string' ? value : ''
}

export function rowsOf(draft: Draft, pointer: string): Row[] {
  const value = draft[pointer]
  return Array.isArray(value) ? value : []
}

export function draftOf(fields: readonly Field[], thing: Thing): Draft {
  return Object.fromEntries(
    fields.map((field) => [field.pointer, shown(field, valueAt(thing, field.pointer))]),
  )
}

function shown({ kind, columns = [] }: Field, value: unknown): string | Row[] {
  if (kind === 'rows')
    return (Array.isArray(value) ? (value as Thing[]) : []).map((row) =>
      Object.fromEntries(columns.map(({ name }) => [name, plain(row[name])])),
    )
  if (kind === 'secret') return ''
  if (kind === 'lines') return Array.isArray(value) ? value.map(plain).join('\n') : ''
  return plain(value)
}

function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : ''
}

function valueAt(thing: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((inner, name) => (inner as Thing | undefined)?.[name], thing)
}

/** What has no value is left out. */
export function bodyOf(fields: readonly Field[], draft: Draft): Thing {
  const body: Thing = {}
  for (const field of fields) {
    const value = field.when?.(draft) === false ? undefined : wireValue(field, draft)
    if (value !== undefined) put(body, field.pointer.split('/').slice(1), value)
  }
  return body
}

function wireValue({ kind, pointer, columns = [] }: Field, draft: Draft): unknown {
  if (kind === 'rows') {
    const rows = rowsOf(draft, pointer).map((row) =>
      Object.fromEntries(
        columns
          .filter(({ name }) => row[name]?.trim())
          .map(({ name, number }) => [name, number ? numberOf(row[name] ?? '') : row[name]?.trim()]),
      ),
    )
    return rows.length > 0 ? rows : undefined
  }
  const text = textOf(draft, pointer)
  if (kind === 'secret') return text === CLEARED ? null : text === '' ? undefined : text
  if (text.trim() === '') return undefined
  if (kind === 'lines')
    return text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
  if (kind === 'number') return numberOf(text)
  return kind === 'flag' ? text === 'true' : kind === 'area' ? text : text.trim()
}

/** What is no number goes as it is, and the node says what is wrong with it. */
function numberOf(text: string): number | string {
  return /^\d+$/.test(text.trim()) ? Number(text) : text
}

function put(target: Thing, [name = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) target[name] = value
  else put((target[name] ??= {}) as Thing, rest, value)
}

/** Which fields of the two differ, for whoever has to choose between them. */
export function differences(fields: readonly Field[], one: Draft, other: Draft): Field[] {
  return fields.filter(({ pointer }) => JSON.stringify(one[pointer]) !== JSON.stringify(other[pointer]))
}

/** What I changed, over what they made of it. A secret that they took away cannot be taken away again. */
export function merged(
  fields: readonly Field[],
  of: { base: Draft; theirs: { draft: Draft; secrets: readonly string[] }; mine: Draft },
): Draft {
  const { base, theirs, mine } = of
  const own = differences(fields, base, mine)
    .filter(({ pointer }) => mine[pointer] !== CLEARED || theirs.secrets.includes(pointer))
    .map(({ pointer }) => [pointer, mine[pointer] ?? ''])
  return { ...theirs.draft, ...Object.fromEntries(own) }
}

/** The node's message, field by field: it names each by its pointer. What names none stands under ''. */
export function faultsIn(fields: readonly Field[], message: string): Record<string, string> {
  const faults: Record<string, string> = {}
  for (const part of message.split('; ')) {
    const [pointer = '', ...rest] = part.split(' ')
    const field = fields.find((one) => pointer === one.pointer || pointer.startsWith(`${one.pointer}/`))
    const key = field?.pointer ?? ''
    const text = field ? rest.join(' ') : part
    faults[key] = faults[key] ? `${faults[key]}; ${text}` : text
  }
  return faults
}
