// Calls a partner: TCP, or TLS from the first octet, then the handshake. TLS always verifies. It uses the contact's CA if
// there is one. If not, it pins the partner's own certificate if the channel has it, whatever name that carries. If not,
// it uses the system's CAs.
import type { Socket } from 'node:net'
import { connect as connectTcp } from 'node:net'
import type { X509Certificate } from 'node:crypto'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { connect as connectTls } from 'node:tls'
import { fromSocketError, NodeError, tlsFault } from '../../../errors.ts'
import { readBuffer } from '../read-buffer.ts'
import type { Call, Session, SessionHost } from '../transport.ts'
import { ownIdentity, pinnedCertificate } from './certificates.ts'
import { callingHandshake } from './protocol/handshake.ts'
import { Oftp2Session } from './session.ts'
import type { SessionParts } from './session.ts'
import type { Oftp2Settings } from '../../../contract/contact-settings.ts'

export async function callPartner(
  call: Call<Oftp2Settings>,
  host: SessionHost,
  parts: Omit<SessionParts, 'host'>,
): Promise<Session> {
  const peer = `${call.host}:${call.port}`
  const stopped = () => new NodeError('cancelled', `the call to ${peer} was stopped`)
  if (call.signal.aborted) throw stopped()
  const socket = await openSocket(call, peer)
  const line = {
    socket,
    peer,
    encrypted: call.security.encrypted,
    calling: true,
    handshakeMs: call.timeouts.syncMs,
  }
  let session: Oftp2Session
  try {
    session = new Oftp2Session(line, { ...parts, host })
    const stop = (): void => session.abort(stopped())
    call.signal.addEventListener('abort', stop, { once: true })
    session.ended.addEventListener('abort', () => call.signal.removeEventListener('abort', stop), {
      once: true,
    })
    const opened = session.open((ready) => callingHandshake(session.conversation, parts.crypto, call, ready))
    if (call.signal.aborted) stop()
    await opened
  } catch (error) {
    // A wrong setting is found before anything is said. When the handshake ends, it closes the line itself.
    socket.destroySoon()
    throw error
  }
  return session
}

function openSocket(call: Call<Oftp2Settings>, peer: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const { host, port, security, timeouts, signal } = call
  // Node's types have it for TCP alone.
  const at = { host, port, onread: readBuffer(() => socket) }
  const secure = security.encrypted ? connectTls({ ...at, ...tlsOptions(call) }) : undefined
  const socket: Socket = secure ?? connectTcp(at)
  const fail = (error: NodeError): void => {
    socket.destroy()
    reject(error)
  }
  const timer = setTimeout(
    () => fail(new NodeError('timed_out', `no connection to ${peer} in time`)),
    timeouts.connectMs,
  )
  const stop = (): void => fail(new NodeError('cancelled', `the call to ${peer} was stopped`))
  const broken = (thrown: unknown): void => fail(connectError(thrown, peer))
  signal.addEventListener('abort', stop, { once: true })
  socket.once('error', broken)
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    const why = secure && refusalOf(secure, call)
    // A refused login: trying again will not help.
    if (why !== undefined) return fail(new NodeError('login_refused', `the certificate of ${peer} ${why}`))
    socket.off('error', broken)
    resolve(socket)
  })
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}

/** Whoever connects with them asks `refusalOf` before the first octet. */
export function tlsOptions({ settings, security, host }: Call<Oftp2Settings>): ConnectionOptions {
  const { ca, cert, key, servername } = settings.tls ?? {}
  const named = servername ?? (/^[0-9.]+$|:/.test(host) ? undefined : host)
  const options: ConnectionOptions = {
    // Verified all the same, see above: a socket that refuses by itself does not tell what the partner showed.
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    // A partner that asks for a certificate and was told of no other knows the channel's own.
    ...(cert === undefined ? ownIdentity(security.rsaLocalKey) : { cert, key }),
    servername: named,
  }
  if (ca !== undefined) return { ...options, ca }
  const pinned = keptCertificate({ settings, security })
  if (pinned === undefined) return options
  return {
    ...options,
    ca: pinned.toString(),
    // The certificate itself is trusted. So its issuer need not be known, and its name does not matter. What is wrong with
    // another one `refusalOf` says in words.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, given) =>
      given.fingerprint256 === pinned.fingerprint256 ? undefined : new NodeError('login_refused', 'not kept'),
  }
}

/** The one certificate that a call takes; undefined where it trusts authorities. */
export function keptCertificate({
  settings,
  security,
}: Pick<Call<Oftp2Settings>, 'settings' | 'security'>): X509Certificate | undefined {
  return settings.tls?.ca === undefined ? pinnedCertificate(security.rsaRemoteKey) : undefined
}

/** Why a call does not take the certificate that the partner has shown, as the end of a sentence about it. */
export function refusalOf(socket: TLSSocket, call: Call<Oftp2Settings>): string | undefined {
  if (socket.authorized) return undefined
  const [kept, shown] = [keptCertificate(call), socket.getPeerX509Certificate()]
  if (kept && shown && !kept.raw.equals(shown.raw))
    return `is not the one that is kept for it: it shows SHA-256 ${shortly(shown)}, kept is ${shortly(kept)}`
  return `does not verify (${String(socket.authorizationError ?? 'not trusted')})`
}

function shortly({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase()
}

export function connectError(thrown: unknown, peer: string): NodeError {
  if (thrown instanceof NodeError) return thrown
  const error = fromSocketError(thrown, peer)
  if (error.code !== 'connection_lost') return error
  const message =
    tlsFault(thrown) === undefined ? `no connection to ${peer}: ${error.message}` : error.message
  return new NodeError('connect_failed', message, { cause: thrown })
}
