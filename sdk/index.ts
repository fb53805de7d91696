// The typed client of a node. Every function and its types are made from the contract's table of operations; no code is
// written per operation. It needs only `fetch`, so it runs in Node and in browsers.
//
// With `credentials` it logs in at the first call, and again when the node answers 401, once per call. Calls that get
// 401 at the same time share one login.

import type { ErrorBody } from '../src/contract/error-body.ts'
import { BASE_PATH, operations } from '../src/contract/operations.ts'
import type {
  BodyOf,
  InputOf,
  Operation,
  OperationName,
  Operations,
  OutputOf,
} from '../src/contract/operations.ts'
import { platformOperations } from '../src/contract/platform.ts'
import type {
  PlatformBodyOf,
  PlatformInputOf,
  PlatformOperationName,
  PlatformOperations,
  PlatformOutputOf,
} from '../src/contract/platform.ts'
import type { CallOptions, ClientOptions } from './client-options.ts'
import { ClientError, UnreachableError } from './errors.ts'

export type { CallOptions, ClientOptions, Credentials } from './client-options.ts'
export { ClientError, UnreachableError } from './errors.ts'
export { collect, pages } from './pages.ts'
export type {
  Channel,
  ChannelHistory,
  ChannelPatch,
  ChannelStatus,
  Directory,
} from '../src/contract/channel.ts'
export type { OwnSession } from '../src/contract/account/own-account.ts'
export type { Session } from '../src/contract/account/session.ts'
export type { Changed } from '../src/contract/administration/changed.ts'
export type { AutomaticPause, ChannelSetup } from '../src/contract/administration/channels.ts'
export type {
  ContactFacts,
  ContactSummary,
  LocalEntityFacts,
} from '../src/contract/administration/partners.ts'
export type { ConnectionTest } from '../src/contract/administration/connection-test.ts'
export type { SystemToken } from '../src/contract/administration/tokens.ts'
export type { UserAccount } from '../src/contract/administration/users.ts'
export type { AuditEntry, AuditVerification } from '../src/contract/audit.ts'
export type { Contact } from '../src/contract/contact.ts'
export type { NodeEvent } from '../src/contract/event-types.ts'
export type { DeliveryFacts, ExpectedDay, SubscriptionFacts } from '../src/contract/notifications.ts'
export type { ChannelKeys, KeyFacts, KeyInUse, ProposedKey } from '../src/contract/administration/keys.ts'
export type { QuarantinedFileFacts } from '../src/contract/administration/quarantine.ts'
export type { ErrorBody } from '../src/contract/error-body.ts'
export type { Page } from '../src/contract/page.ts'
export type {
  ActiveTransfer,
  ChannelSummary,
  FailedTransfer,
  HistoryFacts,
  Overview,
  TransferFacts,
} from '../src/contract/platform.ts'
export type { SendPreview } from '../src/contract/transfer-actions.ts'
export type { TransferSearch, TransferSummary, Waiting } from '../src/contract/transfer-search.ts'
export type { Transfer, TransferFile } from '../src/contract/transfer.ts'

/** Path and query parameters by name; the body, where the operation has one, as `body`. */
type CallInput<N extends OperationName> = InputOf<N> &
  (Operations[N] extends { body: unknown } ? { body: BodyOf<N> } : unknown)

type CallArguments<N extends OperationName> =
  object extends CallInput<N>
    ? [input?: CallInput<N>, options?: CallOptions]
    : [input: CallInput<N>, options?: CallOptions]

/** A file as it is sent; a Blob is read as it goes. */
export type Octets = Blob | Uint8Array<ArrayBuffer> | string

type PlatformInput<N extends PlatformOperationName> = PlatformInputOf<N> &
  (PlatformOperations[N] extends { body: unknown }
    ? { body: PlatformBodyOf<N> }
    : PlatformOperations[N] extends { consumes: string }
      ? { body: Octets }
      : unknown)

type PlatformArguments<N extends PlatformOperationName> =
  object extends PlatformInput<N>
    ? [input?: PlatformInput<N>, options?: CallOptions]
    : [input: PlatformInput<N>, options?: CallOptions]

/** An answer that is not JSON (files, exports) is returned as a Response. */
type PlatformAnswer<N extends PlatformOperationName> = PlatformOperations[N] extends { produces: unknown }
  ? Response
  : PlatformOutputOf<N>

/** What Esclusa adds to the interface. */
export type PlatformClient = {
  readonly [N in PlatformOperationName]: (...call: PlatformArguments<N>) => Promise<PlatformAnswer<N>>
}

export type Client = {
  readonly [N in OperationName]: (...call: CallArguments<N>) => Promise<OutputOf<N>>
} & { readonly platform: PlatformClient }

const TIMEOUT_MS = 30_000

type Input = { body?: unknown } & Record<string, unknown>
type Send = (operation: Operation, input: Input, options: CallOptions) => Promise<unknown>

export function createClient(options: ClientOptions): Client {
  const send = withLogin(options, makeSend(options))
  // One function per name of each table, typed from the same table.
  return { ...callsOf(operations, send), platform: callsOf(platformOperations, send) } as unknown as Client
}

function callsOf(table: Record<string, Operation>, send: Send) {
  const calls = Object.entries(table).map(([name, operation]) => [
    name,
    (input: Input = {}, call: CallOptions = {}) => send(operation, input, call),
  ])
  return Object.fromEntries(calls) as Record<string, unknown>
}

type Authorized = (
  operation: Operation,
  input: Input,
  options: CallOptions,
  token: string | undefined,
) => Promise<unknown>

function makeSend(options: ClientOptions): Authorized {
  const base = options.url.replace(/\/+$/, '').replace(new RegExp(`${BASE_PATH}$`), '') + BASE_PATH
  // Called as a plain function: a browser's fetch refuses any other `this`.
  const fetch =
    options.fetch ?? ((input: string | URL | Request, init?: RequestInit) => globalThis.fetch(input, init))
  return async (operation, input, call, token) => {
    const url = base + pathOf(operation, input) + queryOf(operation, input)
    const timeout = timeoutOf(operation, call, options)
    const type = operation.consumes ?? (operation.body === undefined ? undefined : 'application/json')
    try {
      const response = await fetch(url, {
        method: operation.method,
        headers: {
          accept: operation.produces?.join(', ') ?? 'application/json',
          ...(type !== undefined && { 'content-type': type }),
          ...(call.ifMatch !== undefined && { 'if-match': call.ifMatch }),
          ...(call.onlyNew && { 'if-none-match': '*' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        // Octets by their type; anything else is JSON.
        ...(type !== undefined && {
          body: operation.consumes === undefined ? JSON.stringify(input.body) : (input.body as Octets),
        }),
        signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
      })
      const tag = response.headers.get('etag')
      if (response.ok && tag !== null) call.onTag?.(tag)
      return operation.produces && response.ok ? response : await answerOf(response)
    } catch (thrown) {
      if (thrown instanceof ClientError) throw thrown
      call.signal?.throwIfAborted()
      throw new UnreachableError(
        options.url,
        timeout.aborted ? 'no answer in time' : reasonOf(thrown),
        thrown,
      )
    }
  }
}

/** A file takes as long as it takes, unless the caller says otherwise. */
function timeoutOf({ consumes }: Operation, call: CallOptions, { timeoutMs }: ClientOptions): AbortSignal {
  if (consumes !== undefined && call.timeoutMs === undefined) return new AbortController().signal
  return AbortSignal.timeout(call.timeoutMs ?? timeoutMs ?? TIMEOUT_MS)
}

function pathOf(operation: Operation, input: Input): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(textOf(input[name])))
}

function queryOf(operation: Operation, input: Input): string {
  const names = Object.keys(
    operation.query && 'properties' in operation.query ? (operation.query.properties as object) : {},
  )
  const given = names.filter((name) => input[name] !== undefined).map((name) => [name, textOf(input[name])])
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

/** Parameters are text and numbers alone. */
function textOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value : ''
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text()
  const body = parse(text)
  if (response.ok && body !== undefined) return body
  throw new ClientError(isErrorBody(body) ? body : foreignBody(response))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isErrorBody(body: unknown): body is ErrorBody {
  const { status, message } = (body ?? {}) as Partial<ErrorBody>
  return typeof status === 'number' && typeof message === 'string'
}

/** The answer is not from a node: there is a proxy between, or another server at that address. */
function foreignBody(response: Response): ErrorBody {
  return {
    timestamp: new Date().toISOString(),
    status: response.status,
    error: response.statusText,
    message: `${response.status} ${response.statusText}: the answer is not from an Esclusa node`,
    path: response.url,
  }
}

function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.message : String(cause)
}

function withLogin(options: ClientOptions, send: Authorized): Send {
  const { credentials } = options
  let token = options.token
  let login: Promise<string> | undefined
  if (!credentials) return (operation, input, call) => send(operation, input, call, token)

  /** A token newer than `refused`: one that another call got meanwhile, or that of a login that all wait for. */
  const freshToken = async (refused: string | undefined): Promise<string> => {
    if (token !== undefined && token !== refused) return token
    login ??= (send(operations.loginV2, { body: credentials }, {}, undefined) as Promise<OutputOf<'loginV2'>>)
      .then((answer) => (token = answer.token))
      .finally(() => (login = undefined))
    return login
  }
  return async (operation, input, call) => {
    if (operation.roles === 'public') return send(operation, input, call, undefined)
    const first = token ?? (await freshToken(undefined))
    try {
      return await send(operation, input, call, first)
    } catch (thrown) {
      if (!(thrown instanceof ClientError) || thrown.status !== 401) throw thrown
      return send(operation, input, call, await freshToken(first))
    }
  }
}
