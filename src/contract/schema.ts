// The few kinds of schema that the shapes of the interface are made of. Every shape is written once, as a TypeBox
// schema. Validation, serialisation, TypeScript types, the OpenAPI document and the client all come from it.

import type { Static, TObject, TProperties, TSchema, TUnsafe } from 'typebox'
import { originalOf, Type } from './type.ts'

/** Text without control characters: what a person may type into a label, a path or a name. */
const PLAIN = '^[^\\u0000-\\u001f\\u007f]*$'

export function text(description: string, maxLength = 255) {
  return Type.String({ description, maxLength, pattern: PLAIN })
}

/** Key material is the only text with line breaks. */
export function keyText(description: string) {
  return Type.String({ description, maxLength: 65_536, pattern: '^[^\\u0000]*$' })
}

/** A name that must not be empty. */
export function name(maxLength = 255) {
  return Type.String({ minLength: 1, maxLength, pattern: PLAIN })
}

/** A secret, or key material, of the platform file. */
export function secretText(maxLength = 65_536) {
  return Type.String({ maxLength, pattern: '^[^\\u0000]*$' })
}

export function integer(minimum: number, maximum: number) {
  return Type.Integer({ minimum, maximum })
}

/** An object that has no fields but these. */
export function closed<P extends TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false })
}

export function flag(description: string) {
  return Type.Boolean({ description })
}

export function int32(description: string) {
  return Type.Integer({ description, format: 'int32', minimum: 0, maximum: 2_147_483_647 })
}

export function oneOf<T extends string>(values: readonly T[], description: string): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description })
}

/** An object whose fields are all optional, and which has no others. */
export function allOptional<P extends TProperties>(properties: P, description: string) {
  return Type.Partial(Type.Object(properties), { additionalProperties: false, description })
}

/** A type in which every field, at any depth, may also be null: null clears the field. */
export type Patch<T> = T extends readonly (infer E)[]
  ? Patch<E>[]
  : T extends object
    ? { [K in keyof T]: Patch<T[K]> | null }
    : T

/** The schema of an update: the same shape, each field also null. Array items themselves stay non-null. */
export function patchOf<S extends TObject>(schema: S): TUnsafe<Patch<Static<S>>> {
  const patch = Type.Unsafe<Patch<Static<S>>>(fieldsNullable(schema))
  patched.set(patch, schema)
  return patch
}

const patched = new WeakMap<object, TObject>()

/** The shape behind a schema that says the same of it with other words: that fields may be null, or it be left out. */
export function shapeOf<S>(schema: S): S | TObject {
  if (typeof schema !== 'object' || schema === null) return schema
  return patched.get(schema) ?? originalOf(schema)
}

type Json = Record<string, unknown>

function fieldsNullable(schema: TSchema | Json): Json {
  const plain: Json = { ...schema }
  if (plain.items) plain.items = fieldsNullable(plain.items)
  if (plain.properties) {
    const entries = Object.entries(plain.properties as Record<string, Json>)
    plain.properties = Object.fromEntries(
      entries.map(([name, field]) => [name, orNull(fieldsNullable(field))]),
    )
  }
  return plain
}

function orNull(schema: Json): Json {
  const nullable: Json = { ...schema, type: [schema.type, 'null'] }
  if (Array.isArray(schema.enum)) nullable.enum = [...(schema.enum as unknown[]), null]
  return nullable
}
