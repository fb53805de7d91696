// One connection to the SFTP listener: from the first octet through the sign-in to its channels, and to its end. Only
// the `sftp` subsystem is served; shells, commands, terminals and forwarding are refused by the library, since nobody
// listens for them.

import type { Socket } from 'node:net'

import type { Connection, ServerChannel, Session as SshSession } from 'ssh2'

import { NodeError } from '../../../errors.ts'
import type { Place } from '../caller-places.ts'
import { LazyTimer } from '../lazy-timer.ts'
import type { LineSocket } from '../ssh/sockets.ts'
import type { Reach, Session, SessionHost } from '../transport.ts'

import { ChannelIo } from './channel-io.ts'
import { FileSession } from './file-session.ts'
import { RECEIVE_WINDOW } from './limits.ts'
import type { SftpServerLimits } from './limits.ts'
import { SignIn } from './sign-in.ts'
import type { SignedIn } from './sign-in.ts'
import type { SessionFiles } from './tree.ts'

const GOODBYE_MS = 2000

export interface ClientConnectionParts {
  /** Where the caller is, whatever stands between. */
  address: string
  limits: SftpServerLimits
  /** Kept once it is signed in; until then it may be taken away. */
  place: Place
  sessionHost: SessionHost
  onFault: (error: unknown) => void
  enter: (reach: Reach) => SessionFiles | undefined
  leave: (contactId: string) => void
  gone: () => void
}

export class ClientConnection {
  readonly #socket: Socket
  readonly #keysAgreed: () => void
  readonly #parts: ClientConnectionParts
  readonly #address: string
  readonly #signIn: SignIn
  /** Accepted and not over: its client has closed it, or what it had open is settled. */
  readonly #sessions = new Set<SshSession>()
  readonly #channels = new Map<FileSession, { channel: ServerChannel; io: ChannelIo }>()
  readonly #ended = new AbortController()
  readonly #closed: Promise<void>
  #connection: Connection | undefined
  readonly #idle = new LazyTimer(
    () => void this.end(new NodeError('timed_out', 'the session was idle for too long')),
  )
  readonly #exchanges: number[] = []
  #partner: (SignedIn & { files: SessionFiles }) | undefined

  constructor({ socket, keysAgreed }: LineSocket, parts: ClientConnectionParts) {
    this.#socket = socket
    this.#keysAgreed = keysAgreed
    this.#parts = parts
    const { sessionHost, limits } = parts
    this.#address = parts.address.replace(/^::ffff:/, '')
    this.#signIn = new SignIn({ host: sessionHost, address: this.#address, tries: limits.signInTries })
    socket.on('error', () => {})
    this.#closed = new Promise<void>((resolve) => {
      socket.once('close', () => void this.#finish().then(resolve, resolve))
    })
  }

  welcome(connection: Connection): void {
    this.#connection = connection
    connection.on('error', () => this.#socket.destroy())
    connection.once('handshake', this.#keysAgreed)
    connection.on('rekey', () => this.#keysAgreedAnew())
    connection.on(
      'authentication',
      (context) => void this.#authenticate(context).catch((error) => this.#fault(error)),
    )
    connection.on('session', (accept, reject) => this.#openSession(accept, reject))
    // A client that ignores its window would fill this node's memory; the library does not look.
    this.#socket.on('data', () => {
      for (const { channel } of this.#channels.values()) {
        const error = ChannelIo.tooMuchUnread(channel, 2 * RECEIVE_WINDOW)
        if (error !== undefined) this.#fault(error)
      }
    })
  }

  async end(reason: NodeError): Promise<void> {
    if (!this.#ended.signal.aborted) this.#ended.abort(reason)
    if (!this.#socket.destroyed) {
      this.#connection?.end()
      const timer = setTimeout(() => this.#socket.destroy(), this.#connection === undefined ? 0 : GOODBYE_MS)
      await this.#closed
      clearTimeout(timer)
    }
    await this.#closed
  }

  #fault(error: unknown): void {
    this.#parts.onFault(error)
    this.#socket.destroy()
  }

  async #authenticate(context: Parameters<SignIn['answer']>[0]): Promise<void> {
    const outcome = await this.#signIn.answer(context)
    if (outcome === 'refused') return
    if (outcome === 'over') return void this.#connection?.end()
    const { reach, timeouts } = outcome.admission
    const { place, sessionHost } = this.#parts
    const files = place.admitted(reach.contactId, true) ? this.#parts.enter(reach) : undefined
    if (files === undefined) return void this.#connection?.end()
    this.#partner = { ...outcome, files }
    if (this.#socket.destroyed) return
    this.#idle.start(timeouts.idleMs)
    sessionHost.opened(this.#asSession(reach))
    await sessionHost.proven(reach.contactId, this.#address)
  }

  /** A key exchange is the costliest thing a client can ask for, in few octets. */
  #keysAgreedAnew(): void {
    const now = performance.now()
    this.#exchanges.push(now)
    while ((this.#exchanges[0] ?? now) < now - 60_000) this.#exchanges.shift()
    const allowed = this.#partner === undefined ? 0 : this.#parts.limits.keyExchangesPerMinute
    if (this.#exchanges.length > allowed)
      this.#fault(new NodeError('protocol_violation', 'the client exchanges keys again and again'))
  }

  /** What the engine may do with a partner that called: end it. Files to send wait in the outbox until it takes them. */
  #asSession(reach: Reach): Session {
    return {
      contactId: reach.contactId,
      reach,
      encrypted: true,
      ended: this.#ended.signal,
      push: () =>
        Promise.reject(new NodeError('conflict', 'an SFTP client takes files itself; nothing can be pushed')),
      fetch: () => Promise.resolve(),
      close: () => this.end(new NodeError('connection_lost', 'the session was closed')),
    }
  }

  #openSession(accept: () => SshSession, reject: () => void): void {
    if (this.#partner === undefined || this.#sessions.size >= this.#parts.limits.channelsPerConnection)
      return reject()
    const session = accept()
    this.#sessions.add(session)
    const giveBack = () => void this.#sessions.delete(session)
    session.once('close', giveBack)
    // Only the subsystem: without listeners the library refuses shells, commands, terminals and forwarding.
    session.on('subsystem', (acceptSubsystem, rejectSubsystem, { name }) => {
      if (name !== 'sftp') return rejectSubsystem()
      session.off('close', giveBack)
      // The library gives no second channel to a session, and refuses what nobody listens for.
      session.removeAllListeners('subsystem')
      this.#openChannel(acceptSubsystem(), giveBack)
    })
  }

  #openChannel(channel: ServerChannel, over: () => void): void {
    const partner = this.#partner
    if (partner === undefined) return
    const { limits } = this.#parts
    const io = new ChannelIo(channel, this.#socket, limits.queuedOctets)
    const broken = (error: unknown) => this.#fault(error)
    const session = new FileSession({
      io,
      reach: partner.admission.reach,
      reached: partner.reached,
      files: partner.files,
      limits,
      active: () => this.#idle.putOff(),
      broken,
    })
    this.#channels.set(session, { channel, io })
    const ended = () => {
      const reason = new NodeError('connection_lost', 'the partner ended the session')
      void session.end(reason).finally(() => {
        this.#channels.delete(session)
        over()
      })
      // OpenSSH's client waits for the channel's close after its own end.
      channel.exit(0)
      io.end()
    }
    io.start((whole) => session.take(whole), ended, broken)
  }

  async #finish(): Promise<void> {
    this.#idle.end()
    const reason = new NodeError('connection_lost', 'the partner closed the connection')
    if (!this.#ended.signal.aborted) this.#ended.abort(reason)
    try {
      for (const { io } of this.#channels.values()) io.end()
      await Promise.allSettled([...this.#channels.keys()].map((session) => session.end(reason)))
      await this.#signIn.finish().catch((error: unknown) => this.#parts.onFault(error))
    } finally {
      if (this.#partner !== undefined) this.#parts.leave(this.#partner.admission.contactId)
      this.#parts.place.leave()
      this.#parts.gone()
    }
  }
}
