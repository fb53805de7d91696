// Checks before anything is sent: the contract's schema, field by field, and the node's own rules for channels
// (domain/channel-rules.ts). The node checks everything again, and also what only it can know.

import { ruleFaults } from '../../../src/domain/channel-rules.ts'
import type { RuleFault } from '../../../src/domain/channel-rules.ts'
import type { Words } from '../i18n/en.ts'
import { channelOf, fromText } from './draft.ts'
import type { Draft } from './draft.ts'
import { DIRECTORY_FIELDS, schemaAt } from './schema.ts'
import type { FieldSchema } from './schema.ts'

/** Pointer of the field -> what is wrong with it. */
export type Faults = Record<string, string>
type Rules = Words['config']['rules']

export function faultsOf(draft: Draft, rules: Rules): Faults {
  const faults: Faults = {}
  const check = (pointer: string, value: unknown) => {
    const fault = schemaFault(value, schemaAt(pointer), rules)
    if (fault) faults[pointer] = fault
  }
  for (const [pointer, text] of Object.entries(draft.fields))
    check(pointer, fromText(text, schemaAt(pointer)))
  draft.directories.forEach((directory, index) => {
    for (const name of DIRECTORY_FIELDS) {
      const pointer = `/directories/${index}/${name}`
      check(pointer, fromText(directory[name] ?? '', schemaAt(pointer)))
    }
  })
  for (const [pointer, change] of Object.entries(draft.secrets))
    if (change.kind === 'replace') check(pointer, change.value)
  for (const fault of ruleFaults(channelOf(draft)))
    faults[fieldAt(fault.pointer) ?? fault.pointer] ??= inWords(fault, rules)
  return faults
}

/** Rules that only a node can check do not occur here; they would be shown in the node's words. */
function inWords({ rule, value, message }: RuleFault, rules: Rules): string {
  if (rule === 'roots' || rule === 'scriptsOff' || rule === 'key') return message
  const words = rules[rule]
  return typeof words === 'string' ? words : words(value)
}

function schemaFault(value: unknown, schema: FieldSchema, rules: Rules): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) {
    return value.map((item) => schema.items && schemaFault(item, schema.items, rules)).find(Boolean)
  }
  if (schema.enum)
    return schema.enum.includes(value as string) ? undefined : rules.oneOf(schema.enum.join(', '))
  if (schema.type === 'integer') {
    if (typeof value !== 'number') return rules.integer
    const { minimum = 0, maximum = 2_147_483_647 } = schema
    return value >= minimum && value <= maximum ? undefined : rules.range(String(minimum), String(maximum))
  }
  if (typeof value !== 'string') return undefined
  if (schema.maxLength !== undefined && value.length > schema.maxLength)
    return rules.tooLong(String(schema.maxLength))
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value))
    return schema.pattern.includes('[01]') ? rules.hour : rules.control
  return undefined
}

/** The field that the node's message names, and the message: `/connection/ips/1 "x" is not …`. */
export function placeMessage(message: string): { pointer: string; text: string } | undefined {
  const match = /^(\/\S*) (.+)$/s.exec(message)
  if (!match?.[1] || !match[2]) return undefined
  const pointer = fieldAt(match[1])
  return pointer === undefined ? undefined : { pointer, text: match[2] }
}

/** The field that is shown for a place in the channel: itself, or the list that it stands in. */
function fieldAt(place: string): string | undefined {
  for (let pointer = place; pointer !== ''; pointer = pointer.slice(0, pointer.lastIndexOf('/')))
    if (isField(pointer)) return pointer
  return undefined
}

function isField(pointer: string): boolean {
  try {
    const { type } = schemaAt(pointer)
    // A place inside a list of texts is shown at the list.
    return type !== 'object' && !/\/(ips|proxyIps|users)\/\d+$/.test(pointer) && pointer !== '/directories'
  } catch {
    return false
  }
}
