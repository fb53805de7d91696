// Calls a partner: TCP, or TLS from the first octet, then the handshake. TLS always verifies. It uses the contact's CA if
// there is one. If not, it pins the partner's own certificate if the channel has it, whatever name that carries. If not,
// it uses the system's CAs.
import type { Socket } from 'node:net'
import { connect as connectTcp } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { connect as connectTls } from 'node:tls'
import { fromSocketError, NodeError, systemCode, tlsFault } from '../../../errors.ts'
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
  const socket: Socket = security.encrypted
    ? connectTls({ host, port, ...tlsOptions(call) })
    : connectTcp({ host, port })
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
  socket.once(security.encrypted ? 'secureConnect' : 'connect', () => {
    socket.off('error', broken)
    resolve(socket)
  })
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}

export function tlsOptions({ settings, security, host }: Call<Oftp2Settings>): ConnectionOptions {
  const { ca, cert, key, servername } = settings.tls ?? {}
  const named = servername ?? (/^[0-9.]+$|:/.test(host) ? undefined : host)
  const options: ConnectionOptions = {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    // A partner that asks for a certificate and was told of no other knows the channel's own.
    ...(cert === undefined ? ownIdentity(security.rsaLocalKey) : { cert, key }),
    servername: named,
  }
  if (ca !== undefined) return { ...options, ca }
  const pinned = pinnedCertificate(security.rsaRemoteKey)
  if (pinned === undefined) return options
  return {
    ...options,
    ca: pinned.toString(),
    // The certificate itself is trusted. So its issuer need not be known, and its name does not matter.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, given) =>
      given.fingerprint256 === pinned.fingerprint256
        ? undefined
        : new NodeError(
            'login_refused',
            'the partner shows another certificate than the one that is kept for it',
          ),
  }
}

/** A certificate that does not verify counts as a refused login: trying again will not help. */
export function connectError(thrown: unknown, peer: string): NodeError {
  if (thrown instanceof NodeError) return thrown
  const code = systemCode(thrown) ?? ''
  const unverified = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_TLS_CERT_)/.test(code)
  if (unverified)
    return new NodeError('login_refused', `the certificate of ${peer} does not verify (${code})`, {
      cause: thrown,
    })
  const error = fromSocketError(thrown, peer)
  if (error.code !== 'connection_lost') return error
  const message =
    tlsFault(thrown) === undefined ? `no connection to ${peer}: ${error.message}` : error.message
  return new NodeError('connect_failed', message, { cause: thrown })
}
