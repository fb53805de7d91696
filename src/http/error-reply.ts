// Turns whatever was thrown into the error body. A fault of the node itself is logged with the request id. The answer
// gives only that id and shows nothing of the node's internals.

import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { Socket } from 'node:net'
import { wordsFor } from '../contract/error-body.ts'
import type { ErrorBody } from '../contract/error-body.ts'
import { showTime } from '../domain/time.ts'
import type { Zone } from '../domain/time.ts'
import { NodeError, tooManyOpen } from '../errors.ts'
import { discardRest } from './body-deadline.ts'
import { STATUS_CODES } from './status-codes.ts'

const MIB = 1_048_576

type Shown = Pick<NodeError, 'status' | 'message'>

function errorBody(error: Shown, path: string, at: number, zone: Zone): ErrorBody {
  return {
    timestamp: showTime(at, zone),
    status: error.status,
    error: STATUS_CODES[error.status] ?? 'Error',
    message: error.message,
    path,
  }
}

export function replyWithError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  at: number,
  zone: Zone,
): void {
  const error = toNodeError(thrown, request)
  if (error.status >= 500)
    request.log.error({ err: thrown, reqId: request.id, path: pathOf(request) }, 'a request failed')
  const shown =
    error.status === 500
      ? new NodeError('internal', `internal error; the log has it as request ${request.id}`)
      : error
  if (error.status === 401) void reply.header('WWW-Authenticate', 'Bearer')
  // Fastify would close the connection at once where a body was refused before it had all come.
  if (reply.getHeader('connection') === 'close' && !request.raw.complete) {
    void reply.removeHeader('connection')
    discardRest(request.raw, reply.raw)
  }
  if (error.retryAfterSeconds !== undefined) void reply.header('Retry-After', String(error.retryAfterSeconds))
  void reply
    .code(shown.status)
    .header('Content-Type', 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(errorBody(shown, pathOf(request), at, zone))
}

/** A folder that is full, or closed to the node: 409, and the caller reads which. */
export function asDiskConflict(thrown: unknown): unknown {
  return thrown instanceof NodeError && (thrown.code === 'no_space' || thrown.code === 'no_rights')
    ? new NodeError('conflict', thrown.message, { cause: thrown })
    : thrown
}

/** Answers what never reaches a route: no HTTP at all, or a head that is too slow or too large. */
export function replyToNoRequest(fault: { code?: string }, socket: Socket, at: number, zone: Zone): void {
  if (!socket.writable || fault.code === 'ECONNRESET') return void socket.destroy()
  const error = NO_REQUEST[fault.code ?? ''] ?? {
    status: 400,
    message: 'this is not a well-formed HTTP request',
  }
  const body = JSON.stringify(errorBody(error, '', at, zone))
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

const NO_REQUEST: Record<string, Shown> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    message: 'the request line and headers are larger than this node accepts',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request was not complete in time' },
}

export function pathOf(request: FastifyRequest): string {
  const url = request.raw.url ?? '/'
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function toNodeError(thrown: unknown, request: FastifyRequest): NodeError {
  const crowded = tooManyOpen(thrown instanceof NodeError ? thrown.cause : thrown)
  if (crowded) return new NodeError('unavailable', crowded.message, { cause: thrown })
  if (thrown instanceof NodeError) return thrown
  const error = thrown as Partial<FastifyError>
  if (error.validation)
    return new NodeError('bad_request', validationMessage(error.validation, error.validationContext))
  switch (error.statusCode) {
    case 400:
      return new NodeError('bad_request', jsonMessage(error), { cause: thrown })
    case 404:
      return new NodeError('not_found', 'there is nothing at this path', { cause: thrown })
    case 413:
      return new NodeError(
        'too_large',
        `the body is larger than this operation takes (${request.routeOptions.bodyLimit / MIB} MiB)`,
        { cause: thrown },
      )
    case 415:
      return new NodeError('unsupported_media', 'the body must be JSON: Content-Type application/json', {
        cause: thrown,
      })
    default:
      return new NodeError('internal', 'internal error', { cause: thrown })
  }
}

function jsonMessage(error: Partial<FastifyError>): string {
  return `the body is not well-formed JSON: ${error.message ?? ''}`
}

/** Names the field by JSON pointer, or the query parameter by its name, and says what it should be. */
function validationMessage(faults: FastifySchemaValidationError[], where: string | undefined): string {
  const [fault] = faults
  if (!fault) return 'the request is malformed'
  const { keyword, params, instancePath } = fault
  const field = (extra = '') =>
    where === 'querystring'
      ? `query parameter ${(instancePath + extra).slice(1).split('/')[0]}`
      : where === 'params'
        ? `path parameter ${(instancePath + extra).slice(1)}`
        : instancePath + extra || 'the body'
  switch (keyword) {
    case 'additionalProperties':
      return `${field(`/${escapePointer(String(params.additionalProperty))}`)} is not known here`
    case 'required':
      return `${field(`/${String(params.missingProperty)}`)} is required`
    case 'type':
      return `${field()} must be ${typeNames(params.type)}`
    default:
      return `${field()} ${wordsFor(keyword, params) ?? fault.message ?? 'is not valid'}`
  }
}

function typeNames(type: unknown): string {
  const names = (Array.isArray(type) ? type : String(type).split(',')).filter((name) => name !== 'null')
  return names.map((name: string) => (/^[aio]/.test(name) ? `an ${name}` : `a ${name}`)).join(' or ')
}

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
