// Writes the client's types as plain TypeScript from the contract's schemas, so that whoever uses the packed client
// needs no other package for them, and reads each field's meaning beside it.

import type { Operation } from '../../src/contract/operations.ts'

/** The few keywords that the contract uses. */
export type Schema = {
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
}

/** A file, as it is. */
const OCTETS: Schema = { type: 'octets', description: 'The file’s octets; a Blob is read as it goes.' }

/** Schemas that have a name; wherever one of them stands, its name is written. */
export type Names = ReadonlyMap<unknown, string>

/** The definition of a name. */
export function shapeOf(name: string, schema: Schema, names: Names): string {
  return `${comment(schema.description, '')}export type ${name} = ${writtenOut(schema, names, '')}\n`
}

function typeOf(schema: Schema, names: Names, indent: string): string {
  const name = names.get(schema)
  if (name !== undefined) return name
  if (isPage(schema)) return `Page<${typeOf(schema.properties.content.items, names, indent)}>`
  return writtenOut(schema, names, indent)
}

function writtenOut(schema: Schema, names: Names, indent: string): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (Array.isArray(schema.type))
    return schema.type.map((type) => writtenOut({ ...schema, type }, names, indent)).join(' | ')
  switch (schema.type) {
    case undefined:
      return 'unknown'
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
      return 'number'
    case 'array':
      return arrayOf(schema.items ? typeOf(schema.items, names, indent) : 'unknown')
    case 'octets':
      return 'Blob | Uint8Array<ArrayBuffer> | string'
    case 'object':
      return objectOf(schema, names, indent)
    default:
      throw new Error(`a schema that has no TypeScript yet: ${JSON.stringify(schema).slice(0, 200)}`)
  }
}

type PageSchema = { properties: { content: { items: Schema } } }

function isPage(schema: Schema): schema is Schema & PageSchema {
  return schema.properties?.pageable !== undefined && schema.properties.content?.items !== undefined
}

function arrayOf(item: string): string {
  return / \| |^\{/.test(item) ? `(${item})[]` : `${item}[]`
}

function objectOf(schema: Schema, names: Names, indent: string): string {
  const { properties = {}, required = [], additionalProperties } = schema
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    return `${comment(field.description, inner)}${inner}${key}${mark}: ${typeOf(field, names, inner)}\n`
  })
  if (fields.length === 0 && additionalProperties) return 'Record<string, unknown>'
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('')}${indent}}`
}

/** One function of the client. */
export function callOf(name: string, operation: Operation, names: Names): string {
  const input = inputOf(operation)
  const isOptional = (input.required ?? []).length === 0
  const answer = operation.produces ? 'Response' : typeOf(operation.ok, names, '  ')
  const summary = `${operation.summary}. ${operation.method} ${operation.path}`
  return (
    comment(operation.deprecated ? `${summary}\n@deprecated` : summary, '  ') +
    `  readonly ${name}: (input${isOptional ? '?' : ''}: ${typeOf(input, names, '  ')}, options?: CallOptions) => Promise<${answer}>\n`
  )
}

/** Path and query parameters by name, and the body as `body`. */
function inputOf({ params, query, body: json, consumes }: Operation): Schema {
  const body = consumes === undefined ? json : OCTETS
  const parts = [params, query].filter((part) => part !== undefined) as Schema[]
  return {
    type: 'object',
    properties: {
      ...Object.assign({}, ...parts.map(({ properties }) => properties)),
      ...(body && { body }),
    },
    required: [...parts.flatMap(({ required = [] }) => required), ...(body ? ['body'] : [])],
  }
}

function comment(text: string | undefined, indent: string): string {
  if (!text) return ''
  const lines = text.replaceAll('*/', '*∕').split('\n')
  if (lines.length === 1) return `${indent}/** ${text} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}
