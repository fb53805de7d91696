// The same document in OpenAPI 3.0.3, whose schemas are an older dialect: null is a flag, a constant a list of one, and a
// reference stands alone.

import type { Json } from './components.ts'
import { openApiDocument } from './openapi.ts'

export function openApiDocument30(): Json {
  const document = convert(openApiDocument()) as Json
  const { identifier: _identifier, ...license } = (document.info as { license: Json }).license
  return {
    ...document,
    openapi: '3.0.3',
    info: {
      ...(document.info as Json),
      license: { ...license, url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
  }
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert)
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value) return { $ref: value.$ref }
  const plain = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, convertUnder(key, inner)]),
  )
  return isSchema(plain) ? older(plain) : plain
}

function convertUnder(key: string, value: unknown): unknown {
  // Here the keys are names of fields, whatever they mean elsewhere.
  if (key === 'properties')
    return Object.fromEntries(Object.entries(value as Json).map(([name, field]) => [name, convert(field)]))
  return isData(key) ? value : convert(value)
}

/** What stands under these is an example of the wire, however it looks. */
function isData(key: string): boolean {
  return key === 'value' || key === 'example' || key === 'default' || key === 'enum'
}

function isSchema(value: Json): boolean {
  return Array.isArray(value.type) || ('const' in value && !('in' in value))
}

function older({ const: only, type, ...rest }: Json): Json {
  const types = Array.isArray(type) ? (type as string[]).filter((one) => one !== 'null') : [type]
  const nullable = Array.isArray(type) && type.includes('null') ? { nullable: true } : {}
  // Generators for 3.0 make no type of a choice between plain values: there it is any value, and the words say which.
  const form = types.length > 1 || types[0] === undefined ? {} : { type: types[0] }
  // A list of one truth value is more than generators for 3.0 can read.
  const list = only === undefined || typeof only === 'boolean' ? {} : { enum: [only] }
  return { ...form, ...rest, ...nullable, ...list }
}
