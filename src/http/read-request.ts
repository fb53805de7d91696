// Reads a request beside what its schemas check: bodies as JSON in UTF-8, paths without NUL, queries with whole escapes
// and numbers.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, Server } from 'node:http'
import { Type } from '../contract/type.ts'
import type { Operation } from '../contract/operations.ts'
import { NodeError } from '../errors.ts'
import { escapePointer } from './error-reply.ts'
import { isObject } from '../json.ts'

/** Of an operation that takes no query. */
export const NO_QUERY = Type.Object({}, { additionalProperties: false })

// Bodies

/** An empty body is no body, whatever its type says; anything else must be JSON. */
export function parseBodies(app: FastifyInstance<Server>): void {
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) return done(null, undefined)
    const fault = encodingFault(request.headers['content-type'] ?? '', body)
    if (fault) return done(fault)
    const text = body.toString('utf8')
    void parseJson(request, text, (error, value: unknown) => {
      const wrong = error
        ? (keyFault(text) ?? error)
        : ESCAPED_SURROGATE.test(text)
          ? surrogateFault(value)
          : undefined
      done(wrong ?? null, value)
    })
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    if (body.length === 0) done(null, undefined)
    else done(new NodeError('unsupported_media', 'the body must be JSON: Content-Type application/json'))
  })
}

/** Of a body that was refused although it is JSON: the parser takes no keys that could reach an object's prototype. */
function keyFault(text: string): NodeError | undefined {
  let named = 'prototype of constructor'
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (key === '__proto__') named = key
      return value
    })
  } catch {
    return undefined
  }
  return new NodeError('bad_request', `the body holds a key that is not taken: ${named}`)
}

/** In a scope of operations that take octets: the handler reads them, whatever they call themselves. */
export function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
}

/** Bodies are taken as they come: one that is compressed on its way would be kept, and sent on, compressed. */
export function codingFault({ headers }: FastifyRequest): NodeError | undefined {
  const coding = headers['content-encoding']?.trim() ?? ''
  if (coding === '' || coding.toLowerCase() === 'identity' || hasNoBody(headers)) return undefined
  return new NodeError('unsupported_media', `the body must come without Content-Encoding, not in ${coding}`)
}

const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]*)/g

function encodingFault(contentType: string, body: Buffer): NodeError | undefined {
  for (const [, name = '', value = ''] of contentType.matchAll(PARAMETER))
    if (name.toLowerCase() === 'charset' && !/^"?utf-?8"?$/i.test(value))
      return new NodeError('unsupported_media', `the body must be in UTF-8, not in ${value}`)
  return isUtf8(body) ? undefined : new NodeError('bad_request', 'the body is not well-formed UTF-8')
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

/** An object or a list on the way to a value: which of its values is looked at, and their names where it has any. */
type Level = { names: string[] | undefined; values: readonly unknown[]; at: number }

/**
 * Half a surrogate pair is no character and cannot be written as UTF-8. The way is a list, since a call for each level
 * would overflow the stack where a body is nested deeply. A pointer is made for what is found alone: one for each of many
 * small values would cost far more than reading them.
 */
function surrogateFault(body: unknown): NodeError | undefined {
  const way: Level[] = [{ names: undefined, values: [body], at: -1 }]
  for (let level = way.at(-1); level; level = way.at(-1)) {
    level.at += 1
    if (level.at === level.values.length) {
      way.pop()
      continue
    }
    if (level.names?.[level.at]?.isWellFormed() === false)
      return new NodeError(
        'bad_request',
        `${placeOf(way.slice(0, -1))} has a field whose name holds a lone surrogate, which is no character`,
      )
    const value = level.values[level.at]
    if (typeof value === 'string' && !value.isWellFormed())
      return new NodeError('bad_request', `${placeOf(way)} holds a lone surrogate, which is no character`)
    if (typeof value === 'object' && value !== null) way.push(levelOf(value))
  }
  return undefined
}

function levelOf(value: object): Level {
  return Array.isArray(value)
    ? { names: undefined, values: value, at: -1 }
    : { names: Object.keys(value), values: Object.values(value), at: -1 }
}

const LONGEST_POINTER = 256

/** The first level holds the body itself, which has no name. */
function placeOf([, ...way]: readonly Level[]): string {
  let pointer = ''
  for (const { names, at } of way) {
    pointer += `/${escapePointer(names?.[at] ?? String(at))}`
    if (pointer.length > LONGEST_POINTER) return `${pointer.slice(0, LONGEST_POINTER).toWellFormed()}…`
  }
  return pointer || 'the body'
}

/** A content type that cannot be parsed is refused at once. Where there is no body it does not matter. */
export function forgetTypeOfNothing({ headers }: FastifyRequest): void {
  if (hasNoBody(headers)) delete headers['content-type']
}

function hasNoBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

export function notEmpty(body: unknown): NodeError | undefined {
  if (body === undefined || isEmptyObject(body)) return undefined
  return new NodeError('bad_request', 'the body must be empty or {}: this operation takes no fields')
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
}

// Paths

/** No database keeps a NUL in text, so nothing has such a name: no such thing, or malformed, as the operation has it. */
export function nulInPath({ badCode = 404 }: Operation, params: object): NodeError | undefined {
  const [name] = Object.entries(params).find(([, value]) => String(value).includes('\0')) ?? []
  if (name === undefined) return undefined
  return badCode === 404
    ? new NodeError('not_found', 'there is nothing at this path')
    : new NodeError('bad_request', `path parameter ${name} must not contain control characters`)
}

// Queries

/** What must be known of an operation's query to read it. */
export type QueryShape = { integers: readonly string[]; hasContact: boolean }

export function queryShape(operation: Operation): QueryShape {
  const { properties = {} } = (operation.query ?? {}) as { properties?: Record<string, { type?: string }> }
  const integers = Object.keys(properties).filter((name) => properties[name]?.type === 'integer')
  return { integers, hasContact: 'contactId' in properties }
}

/**
 * Whole decimal numbers become numbers. Anything else stays text, and the schema refuses it. An empty contactId counts as
 * none where there is one: forms send it so.
 */
export function readQuery(
  request: FastifyRequest,
  { integers, hasContact }: QueryShape,
): NodeError | undefined {
  const query = request.query as Record<string, unknown>
  for (const name of integers) {
    const value = query[name]
    if (typeof value === 'string' && /^-?\d{1,300}$/.test(value)) query[name] = Number(value)
  }
  if (hasContact && query.contactId === '') delete query.contactId
  return brokenEscape(request.raw.url ?? '')
}

/** The parser leaves a broken escape as it is. The search would then look for another value than was meant. */
function brokenEscape(url: string): NodeError | undefined {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('%', start)) return undefined
  try {
    decodeURIComponent(url.slice(start))
    return undefined
  } catch {
    return new NodeError('bad_request', 'the query holds a % escape that is not well-formed UTF-8')
  }
}
