// Builds schemas with TypeBox's types, but without its builder. The builder has 700 modules, which take as long to load
// as the rest of the node, and its objects are plain JSON Schema. TypeBox's own marks are set too, so that its
// functions accept what is built here.

import type { Type as TypeBox } from 'typebox'

type Json = Record<string, unknown>
type Builder = Pick<
  typeof TypeBox,
  'Array' | 'Boolean' | 'Integer' | 'Literal' | 'Object' | 'Optional' | 'Partial' | 'String' | 'Unsafe'
>

function marked(kind: unknown, schema: Json, optional = false): Json {
  if (kind !== undefined) Object.defineProperty(schema, '~kind', { value: kind })
  if (optional) Object.defineProperty(schema, '~optional', { value: true })
  return schema
}

function objectOf(properties: Record<string, Json>, options: Json = {}): Json {
  const required = Object.keys(properties).filter((name) => properties[name]?.['~optional'] !== true)
  return marked('Object', {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties,
    ...options,
  })
}

const originals = new WeakMap<object, object>()

function optionalOf(schema: Json): Json {
  const copy = marked(schema['~kind'], { ...schema }, true)
  originals.set(copy, originalOf(schema))
  return copy
}

/** The schema itself where this is a copy of it that only says that the field may be left out. */
export function originalOf<S extends object>(schema: S): S {
  return (originals.get(schema) as S | undefined) ?? schema
}

const builder = {
  String: (options?: Json) => marked('String', { type: 'string', ...options }),
  Integer: (options?: Json) => marked('Integer', { type: 'integer', ...options }),
  Boolean: (options?: Json) => marked('Boolean', { type: 'boolean', ...options }),
  Literal: (value: unknown, options?: Json) =>
    marked('Literal', { type: typeof value, const: value, ...options }),
  Array: (items: Json, options?: Json) => marked('Array', { type: 'array', items, ...options }),
  Unsafe: (schema: Json) => ({ ...schema }),
  Object: objectOf,
  Optional: optionalOf,
  Partial: ({ properties }: { properties: Record<string, Json> }, options?: Json) =>
    objectOf(
      Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, optionalOf(field)])),
      options,
    ),
}

// The functions above return the same objects as TypeBox's functions of the same names. Only the types say more.
export const Type = builder as unknown as Builder
