// Checks before anything is sent: the contract's schema, field by field, and those rules of the node that need no
// look at its disk or settings. The node checks everything again, and what only it knows it says itself.

import type { Words } from '../i18n/en.ts'
import { fromText } from './draft.ts'
import type { Draft } from './draft.ts'
import { DIRECTORY_FIELDS, isSecret, schemaAt } from './schema.ts'
import type { FieldSchema } from './schema.ts'

/** Pointer of the field -> what is wrong with it. */
export type Faults = Record<string, string>
type Rules = Words['config']['rules']

export function faultsOf(draft: Draft, rules: Rules): Faults {
  const faults: Faults = {}
  const check = (pointer: string, text: string) => {
    const schema = schemaAt(pointer)
    const fault = schemaFault(fromText(text, schema), schema, rules) ?? pathFault(pointer, text, rules)
    if (fault) faults[pointer] = fault
  }
  for (const [pointer, text] of Object.entries(draft.fields)) check(pointer, text)
  draft.directories.forEach((directory, index) => {
    for (const name of DIRECTORY_FIELDS) check(`/directories/${index}/${name}`, directory[name] ?? '')
    if (directory.fileFormat === 'FIJO' && !(Number(directory.registerLength) > 0))
      faults[`/directories/${index}/registerLength`] ??= rules.recordLength
  })
  for (const [pointer, change] of Object.entries(draft.secrets))
    if (change.kind === 'replace') {
      const fault = schemaFault(change.value, schemaAt(pointer), rules)
      if (fault) faults[pointer] = fault
    }
  return { ...faults, ...addressFaults(draft, rules), ...actionFaults(draft, rules) }
}

function schemaFault(value: unknown, schema: FieldSchema, rules: Rules): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) {
    const twice = value.find((item, index) => value.indexOf(item) !== index) as string | undefined
    if (twice !== undefined) return rules.twice(twice)
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

const PATHS = /\/(filePath|exceptionFile|(pre|post)(Emision|Reception)File|post(Emision|Reception)Directory)$/

function pathFault(pointer: string, text: string, rules: Rules): string | undefined {
  if (text === '' || !PATHS.test(pointer) || isSecret(pointer)) return undefined
  if (!text.startsWith('/')) return rules.absolute
  return text.split('/').includes('..') ? rules.dots : undefined
}

function addressFaults({ fields }: Draft, rules: Rules): Faults {
  const faults: Faults = {}
  for (const pointer of ['/connection/ips', '/connection/proxyIps']) {
    const addresses = fromText(fields[pointer] ?? '', schemaAt(pointer)) as string[]
    const wrong = addresses.find((address) => !isAddress(address))
    if (wrong !== undefined) faults[pointer] = rules.address(wrong)
  }
  return faults
}

/** IPv6 as the browser itself reads it. */
export function isAddress(text: string): boolean {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text))
    return text.split('.').every((part) => Number(part) < 256 && String(Number(part)) === part)
  return text.includes(':') && /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`)
}

function actionFaults({ fields }: Draft, rules: Rules): Faults {
  const at = (name: string) => fields[`/integrations/${name}`] ?? ''
  const needs: [action: string, value: string, needed: string][] = [
    ['postEmisionAction', 'EMISION_MOVE', 'postEmisionDirectory'],
    ['postEmisionAction', 'EMISION_EXECUTE', 'postEmisionFile'],
    ['postReceptionAction', 'RECEPTION_MOVE', 'postReceptionDirectory'],
    ['postReceptionAction', 'RECEPTION_EXECUTE', 'postReceptionFile'],
  ]
  return Object.fromEntries(
    needs
      .filter(([action, value, needed]) => at(action) === value && at(needed) === '')
      .map(([, , needed]) => [`/integrations/${needed}`, rules.needed]),
  )
}

/** The field that the node's message names, and the message: `/connection/ips/1 "x" is not …`. */
export function placeMessage(message: string): { pointer: string; text: string } | undefined {
  const match = /^(\/\S*) (.+)$/s.exec(message)
  if (!match?.[1] || !match[2]) return undefined
  const text = match[2]
  for (let pointer = match[1]; pointer !== ''; pointer = pointer.slice(0, pointer.lastIndexOf('/')))
    if (isField(pointer)) return { pointer, text }
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
