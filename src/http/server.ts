// The HTTP server: routes made from the table of operations, one error body for everything, limits on requests.
//
// Order of checks: onRequest answers 401, and 403 for role and flag. Then Fastify parses and validates (413, 415, 400).
// The handler answers 404, 403 for a channel that is closed to the user, and 409.

import Fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { BASE_PATH, operations } from '../contract/operations.ts'
import type { Operation, OperationName } from '../contract/operations.ts'
import { platformOperations } from '../contract/platform.ts'
import type { PlatformOperationName } from '../contract/platform.ts'
import { networksOf } from '../domain/network/networks.ts'
import { NodeError } from '../errors.ts'
import { watchPair } from '../files/tls-pair.ts'
import type { RenewedIdentity } from '../files/tls-pair.ts'
import type { Account } from '../store/accounts.ts'
import { limitAnswers, limitBodies } from './body-deadline.ts'
import { Written } from './context.ts'
import type { Context } from './context.ts'
import { replyToNoRequest, replyWithError } from './error-reply.ts'
import { authenticate, authorise } from './guard.ts'
import { addRefusalNotes } from './refusals.ts'
import { handlers } from './handlers.ts'
import { withoutPort } from './client-address.ts'
import { lazyCompilers } from './document/lazy-schemas.ts'
import { answerBrokenPath, noRoute } from './no-route.ts'
import { makePlatform } from './platform/operations.ts'
import {
  codingFault,
  forgetTypeOfNothing,
  leaveBodies,
  NO_QUERY,
  notEmpty,
  nulInPath,
  parseBodies,
  queryShape,
  readQuery,
} from './read-request.ts'

const BODY_LIMIT = 1_048_576
/** How long a request may take to be complete. */
const BODY_MS = 120_000
/** How long a client may leave an answer unread. */
const ANSWER_MS = 120_000
/** RFC 9745: the day from which a deprecated operation counts as one. */
const DEPRECATED_SINCE = '@1735689600'
const TLS_LEAST = 'TLSv1.2'
const PRIVATE = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }
const JSON_TYPE = 'application/json; charset=utf-8'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling; nobody for public operations. */
    account?: Account
  }
}

export type HttpOptions = {
  log: FastifyBaseLogger
  tls?: { certPath: string; keyPath: string } | undefined
  /** Addresses or networks whose X-Forwarded-For is believed. */
  trustedProxies?: readonly string[]
}

export function buildServer(context: Context, options: HttpOptions): FastifyInstance {
  const proxies = networksOf(options.trustedProxies ?? [])
  const names = 'ESCLUSA_TLS_CERT and ESCLUSA_TLS_KEY'
  const identity = options.tls && watchPair(options.tls, names, (message) => options.log.warn(message))
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // One log for all requests: a child logger for each would cost more than it is worth.
    childLoggerFactory: (log) => log,
    bodyLimit: BODY_LIMIT,
    // limitBodies has this limit: uploads are excused from it.
    requestTimeout: 0,
    // While the listener closes, a request on an open connection is answered as any other.
    return503OnClosing: false,
    trustProxy: (address) => proxies.has(withoutPort(address)),
    // Longer than any request line, so that the operation itself answers a long path value.
    routerOptions: { maxParamLength: 65_536 },
    schemaController: { compilersFactory: lazyCompilers },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: true,
        allowUnionTypes: true,
      },
    },
    // Only a path with a broken escape comes here. No hook has run.
    frameworkErrors: (_error, request, reply) =>
      void answerBrokenPath(context, request as FastifyRequest, (reply as FastifyReply).headers(PRIVATE)),
    clientErrorHandler: (fault, socket) => replyToNoRequest(fault, socket, context.now(), context.zone),
    // Node would refuse a request without one before anybody could give it the error body.
    http: { requireHostHeader: false },
    ...(identity && {
      https: { cert: identity.cert, key: identity.key, minVersion: TLS_LEAST, requireHostHeader: false },
    }),
  }) as unknown as FastifyInstance<Server> // the TLS and plain servers differ in a type that nothing here uses
  if (identity) renewAtEachCall(app.server, identity)
  // What a client expects beside 100-continue may be passed over (RFC 9110, 10.1.1); Node would answer without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  limitBodies(app.server, BODY_MS, ({ socket }) => {
    const fault = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    replyToNoRequest(fault, socket, context.now(), context.zone)
  })
  limitAnswers(app.server, ANSWER_MS)
  app.addHook('onRequest', (request, reply, done) => {
    // Answers contain keys, names and tokens. No proxy may keep them, and no browser may take them for a page.
    void reply.headers(PRIVATE)
    // Before the body is read: what is wrong with it does not matter where nothing takes it.
    done(request.is404 ? noRoute(request, reply) : missingHost(request))
  })
  app.setErrorHandler((error, request, reply) =>
    replyWithError(error, request, reply, context.now(), context.zone),
  )
  // Without a handler of its own, Fastify would not run the hook above for these requests.
  app.setNotFoundHandler((request, reply) =>
    replyWithError(noRoute(request, reply), request, reply, context.now(), context.zone),
  )
  parseBodies(app)
  app.decorateRequest('account')
  app.decorateRequest('credential')
  addRefusalNotes(app, context)
  for (const name of Object.keys(operations) as OperationName[])
    addOperation(app, context, operations[name], handlers[name])
  const { handlers: platformHandlers, prepare } = makePlatform()
  let prepared: Promise<void> | undefined
  app.addHook('onListen', (done) => {
    prepared = prepare(context).catch((thrown: unknown) =>
      options.log.warn({ err: thrown }, 'channels could not be made ready for lists'),
    )
    done()
  })
  app.addHook('onClose', async () => prepared)
  for (const name of Object.keys(platformOperations) as PlatformOperationName[])
    if ('consumes' in platformOperations[name])
      void app.register((scope, _options, done) => {
        leaveBodies(scope)
        addOperation(scope, context, platformOperations[name], platformHandlers[name])
        done()
      })
    else addOperation(app, context, platformOperations[name], platformHandlers[name])
  return app
}

/** HTTP/1.1 demands it (RFC 9112, 3.2). */
function missingHost({ raw }: FastifyRequest): NodeError | undefined {
  if (raw.httpVersion !== '1.1' || raw.headers.host !== undefined) return undefined
  return new NodeError('bad_request', 'the header Host is missing')
}

/** A renewed certificate is shown to whoever connects next. */
function renewAtEachCall(server: Server, { renewed }: RenewedIdentity): void {
  server.prependListener('connection', () => {
    const pair = renewed()
    if (pair) (server as unknown as TlsServer).setSecureContext({ ...pair, minVersion: TLS_LEAST })
  })
}

/** A handler gets calls of its own operation only. Their input was checked against that operation's schemas. */
type AnyHandler = (context: Context, call: never) => Promise<unknown>

function addOperation(
  app: FastifyInstance<Server>,
  context: Context,
  operation: Operation,
  handle: AnyHandler,
): void {
  const shape = queryShape(operation)
  app.route({
    method: operation.method,
    ...(operation.bodyLimit !== undefined && { bodyLimit: operation.bodyLimit }),
    url: BASE_PATH + operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    schema: {
      ...(operation.badCode === 400 && { params: operation.params }),
      querystring: operation.query ?? NO_QUERY,
      ...(operation.body && { body: operation.body }),
      ...(!operation.produces && { response: { 200: operation.ok } }),
    },
    onRequest: async (request, reply) => {
      if (operation.deprecated) void reply.header('Deprecation', DEPRECATED_SINCE)
      if (operation.roles !== 'public') {
        const user = await authenticate(context, request)
        request.account = user
        authorise(operation, user)
        if (operation.emptyBody) forgetTypeOfNothing(request)
      }
      const fault = codingFault(request)
      if (fault) throw fault
    },
    preValidation: (request, _reply, done) => {
      const refusal = readQuery(request, shape)
      done(refusal ?? (operation.emptyBody ? notEmpty(request.body) : undefined))
    },
    handler: async (request, reply) => {
      const params = request.params as object
      const fault = nulInPath(operation, params)
      if (fault) throw fault
      const input = { ...params, ...(request.query as object) }
      // Checked just above against the schemas that these types are derived from; public operations have no user.
      const call = {
        input,
        body: request.body,
        user: request.account,
        request,
        reply,
      } as never
      const answer = await handle(context, call)
      return answer instanceof Written ? reply.header('Content-Type', JSON_TYPE).send(answer.json) : answer
    },
  })
}
