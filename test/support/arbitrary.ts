// Values made from the contract's own schemas: valid ones, ones with a single fault, and anything at all.

import * as fc from 'fast-check'

export type Schema = {
  type?: string | string[]
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
}

/** Values for fields that rules beyond the schema look at, by name. */
export type Hints = Record<string, fc.Arbitrary<unknown>>

export function validValue(schema: Schema, hints: Hints, name = ''): fc.Arbitrary<unknown> {
  if (hints[name]) return hints[name]
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'object']
  return fc.oneof(...types.map((type) => ofType(type, schema, hints, name)))
}

function ofType(type: string, schema: Schema, hints: Hints, name: string): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 2_147_483_647) })
    case 'array':
      return fc.array(validValue(schema.items ?? {}, hints, name), { maxLength: 3 })
    case 'object':
      return ofObject(schema, hints)
    default:
      return ofText(schema)
  }
}

function ofObject(schema: Schema, hints: Hints): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    name,
    validValue(field, hints, name),
  ])
  const requiredKeys = schema.required ?? []
  return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: requiredKeys as never[],
  })
}

function ofText(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date')
    return fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((at) => at.toISOString().slice(0, 10))
  if (schema.pattern?.includes('[01][0-9]')) return fc.constantFrom('00:00', '09:30', '23:59')
  return fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !/\p{Cc}/u.test(text))
}

const NASTY = [
  null,
  true,
  -1,
  0.5,
  2 ** 31,
  2 ** 53,
  1e308,
  '',
  ' ',
  '\0',
  '\u0007',
  '\ud800',
  'x'.repeat(70_000),
  '../..',
  '/etc/passwd',
  "'; drop table channel; --",
  '${x}',
  '%00',
  [],
  {},
  [[]],
  [null],
  { a: { b: { c: {} } } },
  { toString: 1 },
  { length: -1 },
] as const

export const anything = fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(...NASTY))

/** The places of a schema at which a value can be spoiled: steps of property names, '*' for an array's items. */
export function placesOf(schema: Schema, steps: string[] = []): string[][] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    placesOf(field, [...steps, name]),
  )
  const items = schema.items ? placesOf(schema.items, [...steps, '*']) : []
  return [...(steps.length > 0 ? [steps] : []), ...inner, ...items]
}

/** The value with something else at that place, made there if it was not. */
export function spoil(value: unknown, steps: readonly string[], by: unknown): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return by
  if (step === '*') return [spoil(Array.isArray(value) ? value[0] : undefined, rest, by)]
  const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  return { ...object, [step]: spoil((object as Record<string, unknown>)[step], rest, by) }
}
