// The schema's faults of a file, in words. Values are never quoted: they may be secrets.

import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import type { Fault } from '../domain/channel-rules.ts'
import { Platform } from '../contract/administration/platform-file.ts'

export type SchemaFault = Fault & { onKey?: true }

type Found = { keyword: string; instancePath: string; params: unknown; message: string }
type Params = Record<string, unknown>

const MOST_FAULTS = 1000

let validator: ReturnType<typeof Compile<typeof Platform>> | undefined

export function isPlatform(value: unknown): value is Platform {
  validator ??= Compile(Platform)
  return validator.Check(value)
}

export function schemaFaults(value: unknown): SchemaFault[] {
  if (isPlatform(value)) return []
  // The library stops after 8 faults by default. A person wants to see all of them.
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: MOST_FAULTS })
  try {
    return (validator?.Errors(value) ?? []).flatMap((found) => faultsOf(found as Found))
  } finally {
    Settings.Set({ maxErrors })
  }
}

function faultsOf({ keyword, instancePath: pointer, params, message }: Found): SchemaFault[] {
  const given = params as Params
  // An unknown key is reported twice: once for the object, and here for the key itself.
  if (keyword === 'boolean') return [{ pointer, message: 'is not known here', onKey: true }]
  if (keyword === 'additionalProperties') return []
  if (keyword === 'required')
    return (given.requiredProperties as string[]).map((name) => ({
      pointer: `${pointer}/${name}`,
      message: 'is required',
    }))
  return [{ pointer, message: wordsFor(keyword, given) ?? message }]
}

function wordsFor(keyword: string, params: Params): string | undefined {
  switch (keyword) {
    case 'type':
      return `must be ${typeNames(params.type)}`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    case 'const':
      return `must be ${String(params.allowedValue)}`
    case 'minimum':
      return `must be at least ${String(params.limit)}`
    case 'maximum':
      return `must be at most ${String(params.limit)}`
    case 'minLength':
      return 'must not be empty'
    case 'maxLength':
      return `must have at most ${String(params.limit)} characters`
    case 'minItems':
      return `must have at least ${String(params.limit)} item`
    case 'maxItems':
      return `must have at most ${String(params.limit)} items`
    case 'pattern':
      return patternMeaning(String(params.pattern))
    default:
      return undefined
  }
}

const TYPE_NAMES: Record<string, string> = {
  string: 'text (put it in quotes if it looks like a number, true or false)',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of fields',
}

function typeNames(type: unknown): string {
  const names = (Array.isArray(type) ? (type as unknown[]) : [type])
    .map(String)
    .filter((one) => one !== 'null')
  return names.map((one) => TYPE_NAMES[one] ?? one).join(' or ')
}

/** Of calendars, subscriptions and expectations. */
const NOTICE_PATTERNS: [part: string, meaning: string][] = [
  ['[0-9]{4}-', 'must be a date, yyyy-MM-dd'],
  ['{0,63}', 'must be 1 to 64 of A-Z a-z 0-9 _ . - and not begin with -'],
  ['24:00', 'must be an hour such as "22:00", or "02:00+1" for the next day'],
  ['[smhd]', 'must be a time such as 30s, 5m, 2h or 1d'],
  ['last)', 'must be mon to sun, 1 to 31, or last'],
  ['^[A-Z]{2}$', 'must be a country’s two letters, such as ES'],
  ['[A-Z0-9]{1,3}', 'must be a region’s letters, such as MD'],
  ['^https?', 'must be an address that begins with https:// or http://'],
  ['[a-z*.]', 'must be a type of events such as transfer.failed or expectation.*'],
  ['_.*?-]', 'must be a channel’s code, with * for anything and ? for one character'],
]

/** Recognised by something that only this pattern contains. */
function patternMeaning(pattern: string): string {
  const told = NOTICE_PATTERNS.find(([part]) => pattern.includes(part))
  if (told) return told[1]
  if (pattern.includes('}-['))
    return 'must have the form <localCode>-<remoteCode>-<application>, each 1 to 32 of A-Z a-z 0-9 _ .'
  if (pattern.includes('_.]{1,32}')) return 'must be 1 to 32 of A-Z a-z 0-9 _ .'
  if (pattern.includes('[01][0-9]')) return 'must be an hour, HH:mm (in quotes)'
  if (pattern.includes('[smh]')) return 'must be a time such as 30s, 5m or 1h'
  if (pattern.includes('@')) return 'must be an e-mail address'
  if (pattern.includes('&()')) return 'must be made of A-Z 0-9 / - . & ( ) and spaces'
  return 'must not contain control characters'
}
