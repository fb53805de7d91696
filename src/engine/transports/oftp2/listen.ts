// Being called: a TCP or TLS port whose connections become sessions. Strangers cost little: a place that they lose unless
// they sign in (caller-places.ts), and no more octets gathered than an SSID has until the partner is known.
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { constants } from 'node:crypto'
import { createServer as createTlsServer } from 'node:tls'
import { NodeError } from '../../../errors.ts'
import { CallerPlaces } from '../caller-places.ts'
import type { Place } from '../caller-places.ts'
import { behindProxies, originOf } from '../proxy-header.ts'
import type { Origin, Proxies } from '../proxy-header.ts'
import { readBuffer, readInto, whyNotReadInto } from '../read-buffer.ts'
import type { Listener, SessionHost } from '../transport.ts'
import { shownBy } from './certificates.ts'
import { asksPassword } from './protocol/auth.ts'
import { encodeCommand } from './protocol/commands.ts'
import { calledHandshake } from './protocol/handshake.ts'
import { ESID_REASONS } from './protocol/reasons.ts'
import { Oftp2Session } from './session.ts'
import type { TlsIdentity } from '../../../files/tls-pair.ts'
import type { SessionCrypto } from './settings.ts'
import { WorkspacePool } from './data/workspace.ts'

export interface ListenLimits {
  /** Sessions at the same time; a further caller is told to come again later (ESID 08). */
  sessions: number
  /** For TLS handshake and sign-in together, whatever octets come. */
  handshakeMs: number
  /** Connections of one address before it has signed in. */
  callersPerAddress: number
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
  /** Whose PROXY header is read, and must come; nobody's without it. */
  proxies?: Proxies
  /** What was wanted and is not so; for the log. */
  onNote?: (note: string) => void
}

const LIMITS: ListenLimits = { sessions: 64, handshakeMs: 30_000, callersPerAddress: 16 }
/** Callers without a place that are being told so; others hear nothing. */
const TURNED_AWAY_AT_ONCE = 64
const TURNED_AWAY_MS = 2_000

export async function listenOftp2(options: Oftp2Listening): Promise<Listener> {
  const limits = { ...LIMITS, ...options.limits }
  const pool = options.pool ?? new WorkspacePool()
  const door = new Door(options, limits, pool, await readsIntoOne(options))
  const calls = createListener(options, limits, (socket) => door.accept(socket))
  // Ahead of the handshake: a connection in an endless one has a place, too.
  calls.prependListener('connection', (socket: Socket) => door.take(socket))
  const server = options.proxies === undefined ? calls : createServer({ noDelay: true })
  if (options.proxies !== undefined)
    behindProxies(server, options.proxies, (socket) => calls.emit('connection', socket))
  await listening(server, options)
  const { address, port } = server.address() as AddressInfo
  return {
    address: { host: address, port },
    async close() {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
      await door.close()
      await stopped
    },
  }
}

async function readsIntoOne({ tls, onNote }: Oftp2Listening): Promise<boolean> {
  const refused = await whyNotReadInto(tls)
  if (refused !== undefined)
    onNote?.(
      `OFTP2 callers keep the sockets that Node gives them, and their large files are slower: ${refused}. This is Node ${process.versions.node}; the swap was written for Node 24`,
    )
  return refused === undefined
}

type Visitor = {
  socket: Socket
  origin: Origin
  place: Place | undefined
  session: Oftp2Session | undefined
}

/** Where a connection comes from; the same for its TCP and its TLS end. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`
}

/** Of the TCP end: the TLS end knows the proxy alone. */
function callerAt(socket: Socket): Origin {
  const { address, port } = originOf(socket)
  return { address: address.replace(/^::ffff:(?=\d+\.)/, ''), port }
}

/** All connections of one listener. */
class Door {
  readonly #options: Oftp2Listening
  readonly #pool: WorkspacePool
  readonly #oneBuffer: boolean
  readonly #handshakeMs: number
  readonly #places: CallerPlaces
  readonly #visitors = new Map<string, Visitor>()
  /** With work of theirs that outlives the line. */
  readonly #sessions = new Set<Oftp2Session>()
  #turnedAway = 0

  constructor(options: Oftp2Listening, limits: ListenLimits, pool: WorkspacePool, oneBuffer: boolean) {
    this.#options = options
    this.#pool = pool
    this.#oneBuffer = oneBuffer
    this.#handshakeMs = limits.handshakeMs
    this.#places = new CallerPlaces(
      {
        places: limits.sessions,
        reserved: Math.floor(limits.sessions / 2),
        perContact: Math.max(1, Math.floor(limits.sessions / 2)),
        waitingPerAddress: limits.callersPerAddress,
        signInMs: limits.handshakeMs,
      },
      (address) => options.sessionHost.isKnown(address),
    )
  }

  /** A connection, before anything was said on it. */
  take(socket: Socket): void {
    const origin = callerAt(socket)
    const { address } = origin
    if (address === '') return void socket.destroy()
    const key = keyOf(socket)
    const visitor: Visitor = { socket, origin, place: undefined, session: undefined }
    visitor.place = this.#places.enter(address, (why) => end(visitor, why))
    // Whoever gets no place is told so, but no stranger gets a TLS handshake for it.
    const isHeard = this.#options.tls === undefined || this.#options.sessionHost.isKnown(address)
    if (visitor.place === undefined && (this.#turnedAway >= TURNED_AWAY_AT_ONCE || !isHeard))
      return void socket.destroy()
    this.#visitors.set(key, visitor)
    const { place } = visitor
    if (place === undefined) this.#turnedAway++
    const late = place === undefined && setTimeout(() => socket.destroy(), TURNED_AWAY_MS)
    socket.once('close', () => {
      if (this.#visitors.get(key) === visitor) this.#visitors.delete(key)
      if (late !== false) clearTimeout(late)
      if (place === undefined) this.#turnedAway--
      else place.leave()
    })
  }

  /** The line is there: the session begins. */
  accept(socket: Socket): void {
    const visitor = this.#visitors.get(keyOf(socket))
    if (visitor === undefined || socket.destroyed) return void socket.destroy()
    const { place, origin } = visitor
    if (place === undefined) return turnAway(socket)
    if (this.#oneBuffer && socket.readableLength === 0)
      readInto(
        socket,
        readBuffer(() => socket),
      )
    const session = answerCall({ socket, place, origin }, this.#options, this.#pool, this.#handshakeMs)
    visitor.session = session
    this.#sessions.add(session)
    void session.conversation.whenClosed().finally(() => this.#sessions.delete(session))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()))
    for (const { socket } of this.#visitors.values()) socket.destroy()
  }
}

/** Its place is needed, or its time is over. */
function end({ socket, session }: Visitor, why: 'late' | 'crowded'): void {
  if (session === undefined) return void socket.destroy()
  session.abort(
    why === 'late'
      ? new NodeError('timed_out', 'the caller did not sign in in time')
      : new NodeError('remote_busy', 'too many callers that have not signed in'),
  )
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
  { socket, place, origin }: { socket: Socket; place: Place; origin: Origin },
  options: Oftp2Listening,
  pool: WorkspacePool,
  handshakeMs: number,
): Oftp2Session {
  const { sessionHost: host, crypto } = options
  const { address } = origin
  const encrypted = options.tls !== undefined
  const peer = `${address}:${origin.port}`
  const session = new Oftp2Session(
    { socket, peer, encrypted, calling: false, handshakeMs },
    { host, crypto, pool },
  )
  const called = { host, crypto, address, encrypted, shown: shownBy(socket) }
  const opened = session.open((ready) => calledHandshake(session.conversation, called, ready))
  session.conversation.say({ kind: 'SSRM' })
  session.conversation.background(
    opened.then(
      () => welcome(session, place, host, address),
      // Refusals are told to the engine where they are decided; a stranger who just hangs up is nobody's business.
      () => undefined,
    ),
  )
  return session
}

async function welcome(
  session: Oftp2Session,
  place: Place,
  host: SessionHost,
  address: string,
): Promise<void> {
  const { known, agreed } = session.conversation
  const proven = agreed.authentication || asksPassword(known.security)
  if (!place.admitted(known.contactId, proven))
    return session.abort(new NodeError('remote_busy', 'this partner has as many sessions as it may have'))
  host.opened(session)
  if (proven) await host.proven(known.contactId, address)
}

function turnAway(socket: Socket): void {
  // Whether the caller still hears it is the caller's business.
  socket.on('error', () => undefined)
  socket.write(encodeCommand({ kind: 'SSRM' }, 5))
  socket.end(encodeCommand({ kind: 'ESID', reason: '08', text: ESID_REASONS['08'] }, 5))
  socket.resume()
}
