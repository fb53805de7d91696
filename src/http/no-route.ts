// Requests that reach no operation: unknown paths, known ones with another method, and paths that cannot be read.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { BASE_PATH, operations } from '../contract/operations.ts'
import type { Operation } from '../contract/operations.ts'
import { platformOperations } from '../contract/platform.ts'
import { NodeError } from '../errors.ts'
import { sendConsole } from './console.ts'
import type { Context } from './context.ts'
import { pathOf, replyWithError } from './error-reply.ts'
import { authenticate, authorise } from './guard.ts'

const KNOWN_PATHS = [...Object.values(operations), ...Object.values(platformOperations)].map(
  (operation: Operation) => ({
    operation,
    pattern: new RegExp(`^${BASE_PATH}${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }),
)

/** Beside the tables of operations, all of them for GET. */
const READ_ONLY = new RegExp(
  `^(/|/console|/console/.*|/healthz|/readyz|/metrics|${BASE_PATH}/(events|openapi\\.json|openapi-3\\.0\\.json|docs))$`,
)

function operationsAt(path: string): Operation[] {
  return KNOWN_PATHS.filter(({ pattern }) => pattern.test(path)).map(({ operation }) => operation)
}

/** 405 with Allow where the path is known with another method, else 404. */
export function noRoute(request: FastifyRequest, reply: FastifyReply): NodeError {
  const path = pathOf(request)
  const methods = READ_ONLY.test(path) ? ['GET'] : operationsAt(path).map(({ method }) => method)
  if (methods.length === 0) return new NodeError('not_found', `there is nothing at ${path}`)
  const allowed = [
    ...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))),
  ].join(', ')
  void reply.header('Allow', allowed)
  return new NodeError('method_not_allowed', `${request.method} is not allowed here: use ${allowed}`)
}

const GUARDED = new RegExp(`^${BASE_PATH}/(integration|platform)/`)

/** Somebody who follows a broken link to the console sees its page, as at any other path that it does not know. */
export async function answerBrokenPath(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (pathOf(request).startsWith('/console/') && (request.method === 'GET' || request.method === 'HEAD'))
    return void sendConsole(reply)
  replyWithError(await refuseBrokenPath(context, request), request, reply, context.now(), context.zone)
}

/** A broken escape in the path is reported after 401 and 403, like any other value that is no code. */
async function refuseBrokenPath(context: Context, request: FastifyRequest): Promise<unknown> {
  const path = pathOf(request)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const operation = operationsAt(path).find((one) => one.method === method)
  try {
    if (GUARDED.test(path)) {
      const user = await authenticate(context, request)
      if (operation) authorise(operation, user)
    }
  } catch (thrown) {
    return thrown
  }
  return operation?.badCode === 404
    ? new NodeError('not_found', `there is nothing at ${path}`)
    : new NodeError('bad_request', 'the path is not a well-formed URL')
}
