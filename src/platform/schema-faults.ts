// The schema's faults of a file, in words. Values are never quoted: they may be secrets.

import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import type { Fault } from '../domain/channel-rules.ts'
import { Platform } from '../contract/administration/platform-file.ts'
import { wordsFor } from '../contract/error-body.ts'

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
  if (keyword === 'type') return [{ pointer, message: `must be ${typeNames(given.type)}` }]
  return [{ pointer, message: wordsFor(keyword, given) ?? message }]
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
