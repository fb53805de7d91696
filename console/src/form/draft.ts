// A configuration that is being edited: the text of every control, by pointer. From it comes the smallest update that
// makes the channel match the form.

import type { Channel, ChannelPatch } from '../../../sdk/index.ts'
import { DIRECTORY_FIELDS, GROUPS, isFixed, isSecret, schemaAt } from './schema.ts'
import type { FieldSchema } from './schema.ts'

export type Values = Record<string, string>
export type Draft = {
  fields: Values
  directories: Values[]
  secrets: Record<string, SecretChange>
  /** Pointers of the secrets that were read: only these can be removed. None where this user does not see them. */
  stored: readonly string[]
}
export type SecretChange = { kind: 'replace'; value: string } | { kind: 'remove' }

type Json = { [key: string]: unknown }

const FIELDS = Object.values(GROUPS).flat()

export function draftOf(channel: Channel): Draft {
  const fields: Values = {}
  for (const pointer of FIELDS) if (!isSecret(pointer)) fields[pointer] = toText(valueAt(channel, pointer))
  const directories = (channel.directories ?? []).map((directory) =>
    Object.fromEntries(DIRECTORY_FIELDS.map((name) => [name, toText((directory as Json)[name])])),
  )
  const stored = FIELDS.filter((pointer) => isSecret(pointer) && valueAt(channel, pointer) !== undefined)
  return { fields, directories, secrets: {}, stored }
}

export function valueAt(from: Json, pointer: string): unknown {
  let value: unknown = from
  for (const step of pointer.split('/').slice(1)) value = (value as Json | undefined)?.[step]
  return value
}

export function toText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.join('\n')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Undefined: the field is empty. What cannot be read stays text, so that the rules refuse it. */
export function fromText(text: string, schema: FieldSchema): unknown {
  if (schema.type === 'array') return linesOf(text)
  if (text === '') return undefined
  if (schema.type === 'boolean') return text === 'true'
  if (schema.type === 'integer') return /^\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : text
  return text
}

export function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || [])
}

export type Change = { pointer: string; before: string; after: string }

/** What differs, field by field. A directory that is added or removed counts with all its fields. */
export function changesOf(before: Draft, after: Draft): Change[] {
  const changes: Change[] = []
  const compare = (pointer: string, was: string, is: string) => {
    const normal = (text: string) => toText(fromText(text, schemaAt(pointer)))
    if (normal(was) !== normal(is)) changes.push({ pointer, before: was, after: is })
  }
  for (const pointer of FIELDS)
    if (!isSecret(pointer)) compare(pointer, before.fields[pointer] ?? '', after.fields[pointer] ?? '')
  for (let index = 0; index < Math.max(before.directories.length, after.directories.length); index++)
    for (const name of DIRECTORY_FIELDS)
      compare(
        `/directories/${index}/${name}`,
        before.directories[index]?.[name] ?? '',
        after.directories[index]?.[name] ?? '',
      )
  for (const pointer of Object.keys(after.secrets)) changes.push({ pointer, before: '', after: '' })
  return changes
}

/**
 * What I changed, over what they made of it. Directories are one list: whoever changed it last as a whole. A secret that they
 * removed cannot be removed again.
 */
export function mergeDrafts({ base, theirs, mine }: { base: Draft; theirs: Draft; mine: Draft }): Draft {
  const fields = { ...theirs.fields }
  for (const [pointer, text] of Object.entries(mine.fields))
    if (text !== base.fields[pointer]) fields[pointer] = text
  const isSame = JSON.stringify(mine.directories) === JSON.stringify(base.directories)
  const { stored } = theirs
  const secrets = Object.entries(mine.secrets).filter(
    ([pointer, { kind }]) => kind === 'replace' || stored.includes(pointer),
  )
  return {
    fields,
    directories: isSame ? theirs.directories : mine.directories,
    secrets: Object.fromEntries(secrets),
    stored,
  }
}

export function patchOf(before: Draft, after: Draft): ChannelPatch {
  const patch: Json = {}
  for (const { pointer } of changesOf(before, after)) {
    if (pointer.startsWith('/directories/') || isFixed(pointer)) continue
    const secret = after.secrets[pointer]
    const value = secret
      ? secret.kind === 'replace'
        ? secret.value
        : undefined
      : fromText(after.fields[pointer] ?? '', schemaAt(pointer))
    put(patch, pointer, value ?? null)
  }
  if (JSON.stringify(before.directories) !== JSON.stringify(after.directories))
    patch.directories = after.directories.map(directoryOf)
  return patch
}

/** The channel as the form says it, without its secrets. */
export function channelOf({ fields, directories }: Draft): Channel {
  const channel: Json = { directories: directories.map(directoryOf) }
  for (const [pointer, text] of Object.entries(fields)) {
    const value = fromText(text, schemaAt(pointer))
    if (value !== undefined) put(channel, pointer, value)
  }
  return channel
}

export function directoryOf(values: Values): Json {
  const entries = DIRECTORY_FIELDS.map((name) => [
    name,
    fromText(values[name] ?? '', schemaAt(`/directories/*/${name}`)),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Json
}

function put(into: Json, pointer: string, value: unknown): void {
  const steps = pointer.split('/').slice(1)
  const last = steps.pop() ?? ''
  let at = into
  for (const step of steps) at = (at[step] ??= {}) as Json
  at[last] = value
}
