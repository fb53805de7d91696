// Being called: a TCP or TLS port whose connections become sessions. Strangers cost little: a short handshake clock,
// a bound on sessions, and no more octets gathered than an SSID has until the partner is known.
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { constants } from 'node:crypto'
import { createServer as createTlsServer } from 'node:tls'
import { NodeError } from '../../../errors.ts'
import type { Listener, SessionHost } from '../transport.ts'
import { shownBy } from './certificates.ts'
import { encodeCommand } from './protocol/commands.ts'
import { calledHandshake } from './protocol/handshake.ts'
import { ESID_REASONS } from './protocol/reasons.ts'
import { Oftp2Session } from './session.ts'
import type { TlsIdentity } from './listener-certificate.ts'
import type { SessionCrypto } from './settings.ts'
import { WorkspacePool } from './data/workspace.ts'

export interface ListenLimits {
  /** Sessions at the same time; a further caller is told to come again later (ESID 08). */
  sessions: number
  /** Until the caller has named itself, and for the TLS handshake. */
  handshakeMs: number
}

export interface Oftp2Listening {
  host: string
  port: number
  /** `renewed` is asked at each call: a pair that is to be shown from now on. */
  tls?: TlsIdentity & { renewed?: () => TlsIdentity | undefined }
  sessionHost: SessionHost
  crypto: SessionCrypto
  limits?: Partial<ListenLimits>
  pool?: WorkspacePool
}

const LIMITS: ListenLimits = { sessions: 64, handshakeMs: 30_000 }

export async function listenOftp2(options: Oftp2Listening): Promise<Listener> {
  const limits = { ...LIMITS, ...options.limits }
  const pool = options.pool ?? new WorkspacePool()
  const sessions = new Set<Oftp2Session>()
  const sockets = new Set<Socket>()
  const accept = (socket: Socket): void => {
    if (sessions.size >= limits.sessions) return turnAway(socket)
    const session = answerCall(socket, options, pool, limits.handshakeMs)
    sessions.add(session)
    void session.conversation.whenClosed().finally(() => sessions.delete(session))
  }
  const server = createListener(options, limits, accept)
  // A few more than sessions, so that a caller can be told. Beyond that connections are dropped.
  server.maxConnections = limits.sessions + 32
  server.on('connection', (socket: Socket) => {
    // Connections in an endless TLS handshake are no sessions yet. They must not survive the listener either.
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await listening(server, options)
  const { address, port } = server.address() as AddressInfo
  return {
    address: { host: address, port },
    async close() {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
      await Promise.all([...sessions].map((session) => session.close()))
      for (const socket of sockets) socket.destroy()
      await stopped
    },
  }
}

function createListener(
  options: Oftp2Listening,
  limits: ListenLimits,
  accept: (socket: Socket) => void,
): Server {
  const { tls } = options
  if (tls === undefined) return createServer({ noDelay: true }, accept)
  const { key, cert, renewed } = tls
  const minVersion = 'TLSv1.2'
  const server = createTlsServer(
    {
      key,
      cert,
      minVersion,
      noDelay: true,
      handshakeTimeout: limits.handshakeMs,
      // Everybody is asked for a certificate. Whether it is the partner's is looked at when the partner is known.
      requestCert: true,
      rejectUnauthorized: false,
      // A resumed line would bring the certificate of before without its chain.
      secureOptions: constants.SSL_OP_NO_TICKET,
    },
    accept,
  )
  server.prependListener('connection', () => {
    const pair = renewed?.()
    if (pair) server.setSecureContext({ ...pair, minVersion, secureOptions: constants.SSL_OP_NO_TICKET })
  })
  server.on('tlsClientError', (_, socket) => socket.destroy())
  return server
}

function listening(server: Server, { host, port }: Oftp2Listening): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new NodeError('bad_use', `cannot listen on ${host}:${port}: ${error.message}`, { cause: error }),
      ),
    )
    server.listen({ host, port }, () => resolve())
  })
}

function answerCall(
  socket: Socket,
  options: Oftp2Listening,
  pool: WorkspacePool,
  handshakeMs: number,
): Oftp2Session {
  const { sessionHost: host, crypto } = options
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
  const encrypted = options.tls !== undefined
  const peer = `${address}:${socket.remotePort ?? 0}`
  const session = new Oftp2Session(
    { socket, peer, encrypted, calling: false, handshakeMs },
    { host, crypto, pool },
  )
  const called = { host, crypto, address, encrypted, shown: shownBy(socket) }
  const opened = session.open((ready) => calledHandshake(session.conversation, called, ready))
  session.conversation.say({ kind: 'SSRM' })
  session.conversation.background(
    opened.then(
      () => host.opened(session),
      // Refusals are told to the engine where they are decided; a stranger who just hangs up is nobody's business.
      () => undefined,
    ),
  )
  return session
}

function turnAway(socket: Socket): void {
  // Whether the caller still hears it is the caller's business.
  socket.on('error', () => undefined)
  socket.end(encodeCommand({ kind: 'ESID', reason: '08', text: ESID_REASONS['08'] }, 5))
  socket.setTimeout(1_000, () => socket.destroy())
}
