import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from './type.ts'

type Build = (type: typeof Type) => object

const SCHEMAS: Record<string, Build> = {
  text: (type) => type.String({ maxLength: 5, pattern: '^a' }),
  number: (type) => type.Integer({ minimum: 1, default: 1 }),
  flag: (type) => type.Boolean(),
  literal: (type) => type.Literal('state'),
  list: (type) => type.Array(type.String(), { maxItems: 3 }),
  unsafe: (type) => type.Unsafe<'a' | 'b'>({ type: 'string', enum: ['a', 'b'] }),
  object: (type) =>
    type.Object({ a: type.String(), b: type.Optional(type.Integer()) }, { additionalProperties: false }),
  'object without a required field': (type) => type.Object({ b: type.Optional(type.Integer()) }),
  'empty object': (type) => type.Object({}),
  partial: (type) =>
    type.Partial(type.Object({ a: type.String(), b: type.Object({ c: type.Boolean() }) }), {
      description: 'x',
    }),
}

for (const [what, build] of Object.entries(SCHEMAS))
  test(`${what}: the schema is the one TypeBox builds, marks included`, () => {
    const [ours, theirs] = [build(Type), build(TypeBox)]
    assert.deepEqual(JSON.parse(JSON.stringify(ours)), JSON.parse(JSON.stringify(theirs)))
    assert.deepEqual(marksOf(ours), marksOf(theirs))
  })

function marksOf(schema: object): unknown {
  const { '~kind': kind, '~optional': optional, properties = {} } = schema as Record<string, object>
  return {
    kind,
    optional,
    properties: Object.entries(properties).map(([name, field]) => [name, marksOf(field as object)]),
  }
}
