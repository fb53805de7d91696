// Opens the SSH line to a partner: TCP, key exchange with a pinned host key, sign-in, the `sftp` subsystem.
//
// Fails closed: the library accepts any host key unless it is given a verifier, so there always is one. A server with
// several host keys shows the one that both ends prefer. If that one is not pinned, the line is tried again without its
// type. So any pinned key of the server is found. If none is, the error names every key that it offered.

import type { Socket } from 'node:net'

import type { AnyAuthMethod, AuthenticationType, Client, ClientChannel, ConnectConfig } from 'ssh2'

import { NodeError, fromSocketError, messageOf } from '../../../errors.ts'
import { lineAlgorithms } from '../ssh/algorithms.ts'
import { fingerprintOf, isPinned, keyTypeOf, readPrivateKey } from '../ssh/keys.ts'
import { loadSsh } from '../ssh/library.ts'
import { connectSocket } from '../ssh/sockets.ts'
import type { LineSocket } from '../ssh/sockets.ts'
import type { Call } from '../transport.ts'

import type { SftpSettings } from '../../../contract/contact-settings.ts'

export interface Line {
  readonly peer: string
  readonly client: Client
  readonly socket: Socket
  readonly channel: ClientChannel
  /** The server's identification line, `SSH-2.0-…`. */
  readonly ident: string
}

export type OfferedKey = { type: string; fingerprint: string }

/** Rejects with the signal's reason as a NodeError. */
export function abortReason(signal: AbortSignal): NodeError {
  const reason: unknown = signal.reason
  if (reason instanceof NodeError) return reason
  return new NodeError('cancelled', `stopped: ${messageOf(reason)}`, { cause: reason })
}

/** Runs `start` until it settles, `ms` pass or the signal aborts; always tidies up its listeners and timer. */
function settle<T>(
  bounds: { ms: number; late: () => NodeError; signal: AbortSignal },
  start: (resolve: (value: T) => void, reject: (error: NodeError) => void) => void,
): Promise<T> {
  const { ms, late, signal } = bounds
  return new Promise<T>((resolve, reject) => {
    const abort = () => finish(() => reject(abortReason(signal)))
    const timer = setTimeout(() => finish(() => reject(late())), ms)
    function finish(then: () => void): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      then()
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    start(
      (value) => finish(() => resolve(value)),
      (error) => finish(() => reject(error)),
    )
  })
}

async function openSocket(call: Call<SftpSettings>, peer: string): Promise<LineSocket> {
  const opened = connectSocket({ host: call.host, port: call.port })
  const { socket } = opened
  const late = () =>
    new NodeError('timed_out', `${peer} did not accept a connection in ${call.timeouts.connectMs} ms`)
  try {
    await settle<void>({ ms: call.timeouts.connectMs, late, signal: call.signal }, (resolve, reject) => {
      socket.once('connect', () => resolve())
      socket.once('error', (error) => reject(fromSocketError(error, peer)))
    })
  } catch (error) {
    socket.on('error', () => {})
    socket.destroy()
    throw error
  }
  return opened
}

/** Ways to sign in, best first. */
function signInWays(settings: SftpSettings): AnyAuthMethod[] {
  const { username, password, privateKey, passphrase } = settings
  const ways: AnyAuthMethod[] = []
  if (privateKey !== undefined)
    ways.push({ type: 'publickey', username, key: readPrivateKey(privateKey, passphrase) })
  if (password !== undefined) {
    ways.push({ type: 'password', username, password })
    ways.push({
      type: 'keyboard-interactive',
      username,
      // Only what is not echoed can be the password; a visible question gets an empty answer.
      prompt: (_name, _text, _language, prompts, finish) =>
        finish(prompts.map((p) => (p.echo ? '' : password))),
    })
  }
  return ways
}

/**
 * Each way is tried once, and only while the server takes it. A server that asks for several may want them in an order of its
 * own: after each that it took, those that it refused before are tried again.
 */
function signInHandler(settings: SftpSettings): ConnectConfig['authHandler'] {
  let needed = signInWays(settings)
  let untried = needed
  let way: AnyAuthMethod | undefined
  return (left: AuthenticationType[] | null, partial: boolean | null, next) => {
    if (partial) untried = needed = needed.filter((one) => one !== way)
    way = untried.find(({ type }) => left === null || left.includes(type))
    untried = untried.filter((one) => one !== way)
    // `false` is how the library is told that there is nothing left to try.
    next(way ?? (false as never))
  }
}

const DISCONNECT_BUSY = 12

/** ssh2 tells where an error came from by `level`, and a peer's disconnect by its number in `code`. */
function fromSshError(thrown: Error, peer: string, phase: 'handshake' | 'sign-in' | 'open'): NodeError {
  if (thrown instanceof NodeError) return thrown
  const level = 'level' in thrown ? thrown.level : undefined
  const code = 'code' in thrown ? thrown.code : undefined
  const cause = thrown
  if (level === 'client-socket') return fromSocketError(thrown, peer)
  if (level === 'client-authentication' || (phase === 'sign-in' && typeof code === 'number'))
    return new NodeError('login_refused', `${peer} refused the sign-in: ${messageOf(thrown)}`, { cause })
  if (code === DISCONNECT_BUSY)
    return new NodeError('remote_busy', `${peer} is busy: ${messageOf(thrown)}`, { cause })
  // The library has no code for this one; its words are all there is.
  if (level === 'handshake' && thrown.message.includes('no matching'))
    return new NodeError(
      'insecure_session',
      `${peer} speaks only algorithms that are off here: ${messageOf(thrown)}`,
      {
        cause,
      },
    )
  if (level === 'handshake')
    return new NodeError('protocol_violation', `the key exchange with ${peer} failed: ${messageOf(thrown)}`, {
      cause,
    })
  return new NodeError('connection_lost', `the connection to ${peer} broke: ${messageOf(thrown)}`, { cause })
}

function sniffIdent(socket: Socket, take: (ident: string) => void): void {
  let text = ''
  const listen = (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const found = /^SSH-[^\r\n]*/m.exec(text)
    if (found !== null || text.length > 4096) {
      socket.off('data', listen)
      take(found?.[0] ?? '')
    }
  }
  // ssh2 has paused the socket by now: listening here does not start the flow before it is ready.
  socket.on('data', listen)
}

interface Attempt {
  call: Call<SftpSettings>
  peer: string
  /** Host key types left out because the server's key of that type is not pinned. */
  without: OfferedKey[]
  /** Told of the server's key that is pinned. */
  known: (key: OfferedKey) => void
}

/** One TCP connection and sign-in. On a key that is not pinned, resolves to that key. */
async function tryLine({ call, peer, without, known }: Attempt): Promise<Line | OfferedKey> {
  const authHandler = signInHandler(call.settings)
  const { socket, keysAgreed } = await openSocket(call, peer)
  const client = new (loadSsh().ssh2.Client)()
  let phase: 'handshake' | 'sign-in' | 'open' = 'handshake'
  let offered: OfferedKey | undefined
  let ident = ''
  const algorithms = lineAlgorithms(call.compression)
  const families = without.map((key) => (key.type === 'ssh-rsa' ? 'rsa-' : key.type))
  const hostKeyTypes = (algorithms.serverHostKey as string[]).filter(
    (name) => !families.some((f) => name.startsWith(f)),
  )
  const late = () =>
    new NodeError('timed_out', `${peer} did not finish the ${phase} in ${call.timeouts.syncMs} ms`)
  try {
    const channel = await settle<ClientChannel>(
      { ms: call.timeouts.syncMs, late, signal: call.signal },
      (resolve, reject) => {
        client.on('error', (error) => reject(fromSshError(error, peer, phase)))
        client.on('close', () =>
          reject(new NodeError('connection_lost', `${peer} hung up during the ${phase}`)),
        )
        client.once('handshake', () => {
          keysAgreed()
          phase = 'sign-in'
        })
        client.on('change password', () =>
          reject(new NodeError('login_refused', `${peer} wants the password changed before it lets us in`)),
        )
        client.once('ready', () => {
          phase = 'open'
          client.subsys('sftp', (error, stream) => {
            if (error)
              reject(
                new NodeError('remote_refused', `${peer} has no SFTP: ${messageOf(error)}`, { cause: error }),
              )
            else resolve(stream)
          })
        })
        client.connect({
          sock: socket,
          username: call.settings.username,
          algorithms: { ...algorithms, serverHostKey: hostKeyTypes as never },
          authHandler,
          readyTimeout: 0,
          hostVerifier: (key: Buffer) => {
            const shown = { type: keyTypeOf(key), fingerprint: fingerprintOf(key) }
            if (!isPinned(key, call.settings.hostKeys)) offered = shown
            else known(shown)
            return offered === undefined
          },
        })
        sniffIdent(socket, (line) => (ident = line))
      },
    )
    return { peer, client, socket, channel, ident }
  } catch (error) {
    socket.destroy()
    if (offered !== undefined) return offered
    throw error
  }
}

export async function openLine(
  call: Call<SftpSettings>,
  known: (key: OfferedKey) => void = () => {},
): Promise<Line> {
  const peer = `${call.host}:${call.port}`
  const without: OfferedKey[] = []
  for (;;) {
    let outcome: Line | OfferedKey
    try {
      outcome = await tryLine({ call, peer, without, known })
    } catch (error) {
      const exhausted = error instanceof NodeError && error.code === 'insecure_session' && without.length > 0
      if (!exhausted) throw error
      break
    }
    if ('client' in outcome) return outcome
    without.push(outcome)
    if (without.length >= 5) break
  }
  const shown = without.map((key) => `${key.fingerprint} (${key.type})`).join(', ')
  throw new NodeError(
    'host_key_mismatch',
    `${peer} offered host key ${shown}, which is not pinned for this contact`,
  )
}
