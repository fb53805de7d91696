// The answers of an operation in the OpenAPI document: when each code comes, its body, its headers and an example.

import { conditionOf, OTHER_CODES } from '../../contract/conditions.ts'
import { ErrorBody } from '../../contract/error-body.ts'
import type { Operation } from '../../contract/operations.ts'
import { refer, nameOf } from './components.ts'
import type { Json } from './components.ts'
import { errorExample, exampleOf, ownAnswer, ownErrorExample } from './examples.ts'

const text = (description: string, example: string): Json => ({
  description,
  schema: { type: 'string' },
  example,
})

export const HEADERS: Record<string, Json> = {
  'Cache-Control': text('Answers are not to be kept.', 'no-store'),
  'WWW-Authenticate': text('How to prove who is calling.', 'Bearer'),
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 1 },
    example: 30,
  },
  Allow: text('With 405: the methods that the path takes.', 'GET, HEAD'),
  Warning: text(
    'What is allowed and may not be what was meant, in the words of `esclusa check`. Where there is much of it, the last line says how many more there are.',
    '299 - "/svcff files are encrypted and not signed"',
  ),
  ETag: text(
    'Stands for the revision that was read: an update of the channel that sends it back as If-Match is answered 412, and changes nothing, where somebody has changed the channel since.',
    '"12.3"',
  ),
  Deprecation: text('Since when the operation counts as deprecated (RFC 9745).', '@1735689600'),
}

/** Updates of a channel, whose body has no place for warnings. */
const WARNING = new Set([
  'updateChannel',
  'updateIps',
  'updateDirectories',
  'setOutboundPath',
  'setInboundPath',
])

export function responsesOf(name: string, operation: Operation): Json {
  const always = ['Cache-Control', ...(operation.deprecated ? ['Deprecation'] : [])]
  const errors = operation.codes.map((code) => [code, errorResponse(name, operation, code, always)])
  return {
    200: {
      description: nameOf(operation.ok) === undefined ? 'Done.' : `Done: ${describedBy(operation.ok)}`,
      headers: headers(
        ...always,
        ...(WARNING.has(name) ? ['Warning'] : []),
        ...(name === 'channelConfiguration' ? ['ETag'] : []),
      ),
      content: contentOf(name, operation),
    },
    ...Object.fromEntries(errors),
    default: {
      description: OTHER_CODES,
      headers: headers(...always, 'Allow', 'Retry-After'),
      content: { 'application/json': { schema: refer(ErrorBody) } },
    },
  }
}

function describedBy(schema: unknown): string {
  const { description = 'a page of the list.' } = schema as { description?: string }
  return description.charAt(0).toLowerCase() + description.slice(1)
}

function errorResponse(name: string, operation: Operation, code: number, always: readonly string[]): Json {
  const value = ownErrorExample(operation, code)
  const own = { 401: 'WWW-Authenticate', 429: 'Retry-After' }[code]
  return {
    description: conditionOf(name, code),
    headers: headers(...always, ...(own ? [own] : [])),
    content: {
      'application/json': {
        schema: refer(ErrorBody),
        examples: { example: value ? { value } : { $ref: `#/components/examples/Error${code}` } },
      },
    },
  }
}

function headers(...names: string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function contentOf(name: string, { ok, produces }: Operation): Json {
  const schema = refer(ok)
  if (produces) return Object.fromEntries(produces.map((type) => [type, { schema }]))
  const own = ownAnswer(name) ?? (nameOf(ok) === undefined ? exampleOf(ok) : undefined)
  const example = own === undefined ? { $ref: `#/components/examples/${nameOf(ok)}` } : { value: own }
  return { 'application/json': { schema, examples: { example } } }
}

/** Of what is answered somewhere: a component that nothing refers to is none. */
export function componentExamples(operations: readonly Operation[]): Json {
  const answers = operations.flatMap(({ ok, produces }) => {
    const name = produces ? undefined : nameOf(ok)
    return name === undefined ? [] : [[name, { summary: name, value: exampleOf(ok) }] as const]
  })
  const codes = [...new Set(operations.flatMap((operation) => operation.codes))].sort((a, b) => a - b)
  const errors = codes.map((code) => [`Error${code}`, { summary: `A ${code}`, value: errorExample(code) }])
  return Object.fromEntries([...answers, ...errors])
}
