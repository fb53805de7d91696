// The SFTP listener: takes connections, signs partners in and gives each its own tree. Everything it opens is counted
// and bounded, and `close` resolves when all of it is gone.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

import ssh2 from 'ssh2'
import type { Connection, ServerChannel } from 'ssh2'

import { NodeError } from '../../../errors.ts'
import { lineAlgorithms } from '../ssh/algorithms.ts'
import type { Admission, Listener, Session, SessionHost } from '../transport.ts'

import { ChannelIo } from './channel-io.ts'
import { FailedLogins } from './failed-logins.ts'
import { FileSession } from './file-session.ts'
import type { PartnerFiles } from './file-session.ts'
import { Inbox } from './inbox.ts'
import { DEFAULT_LIMITS, RECEIVE_WINDOW } from './limits.ts'
import type { SftpServerLimits } from './limits.ts'
import type { KeptUpload, Outbox } from './outbox.ts'
import { SignIn } from './sign-in.ts'
import type { AccessSettings } from './sign-in.ts'
import { Takes } from './takes.ts'
import { Turns } from './turns.ts'

export interface SftpServerOptions {
  host: string
  port: number
  /** Private host keys, PEM or OpenSSH format; one per type is used. */
  hostKeys: readonly string[]
  sessionHost: SessionHost
  /** What waits for a partner; asked once per connection. */
  outboxOf: (contactId: string) => Outbox
  /** Uploads kept from before this run; without it a client cannot resume over a restart of the node. */
  keptUploads?: (contactId: string, application: string) => Promise<readonly KeptUpload[]>
  limits?: Partial<SftpServerLimits>
  /** Faults of single connections that nobody awaits. */
  onFault?: (error: unknown) => void
}

const GOODBYE_MS = 2000

export async function listenSftp(options: SftpServerOptions): Promise<Listener> {
  const house = new House(options)
  const server = createServer({ noDelay: true }, (socket) => house.take(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new NodeError(
          'bad_use',
          `cannot listen for SFTP on ${options.host}:${options.port}: ${error.message}`,
          { cause: error },
        ),
      ),
    )
    server.listen(options.port, options.host, () => resolve())
  })
  server.on('error', (error) => options.onFault?.(error))
  const { address, port } = server.address() as AddressInfo
  return {
    address: { host: address, port },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      await house.empty()
      await closed
    },
  }
}

/** All connections of one listener and what their partners have in common. */
class House {
  readonly #options: SftpServerOptions
  readonly #limits: SftpServerLimits
  readonly #ssh: ssh2.Server
  readonly #failedLogins = new FailedLogins()
  readonly #guests = new Map<string, Guest>()
  readonly #partners = new Map<string, { files: PartnerFiles; guests: number }>()

  constructor(options: SftpServerOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    const config = { hostKeys: [...options.hostKeys], algorithms: lineAlgorithms(false), ident: 'Esclusa' }
    try {
      this.#ssh = new ssh2.Server(config)
    } catch (error) {
      throw new NodeError('bad_use', 'a host key of the SFTP listener cannot be read', { cause: error })
    }
    this.#ssh.on('connection', (connection, info) => {
      const guest = this.#guests.get(`${info.ip}:${info.port}`)
      if (guest === undefined) connection.end()
      else guest.welcome(connection)
    })
    this.#ssh.on('error', (error: unknown) => options.onFault?.(error))
  }

  take(socket: Socket): void {
    if (this.#guests.size >= this.#limits.connections || socket.remoteAddress === undefined) {
      socket.destroy()
      return
    }
    const key = `${socket.remoteAddress}:${socket.remotePort}`
    const guest = new Guest(socket, {
      limits: this.#limits,
      options: this.#options,
      failedLogins: this.#failedLogins,
      enter: (admission) => this.#enter(admission),
      leave: (contactId) => this.#leave(contactId),
      gone: () => this.#guests.delete(key),
    })
    this.#guests.set(key, guest)
    this.#ssh.injectSocket(socket)
  }

  async empty(): Promise<void> {
    const reason = new NodeError('unavailable', 'the listener is closing')
    await Promise.all([...this.#guests.values()].map((guest) => guest.end(reason)))
  }

  #enter({ contactId }: Admission<AccessSettings>): PartnerFiles | undefined {
    let partner = this.#partners.get(contactId)
    if (partner === undefined) {
      const { sessionHost: host, outboxOf, keptUploads } = this.#options
      const kept = async (application: string) => (await keptUploads?.(contactId, application)) ?? []
      const inbox = new Inbox({ contactId, host, keptUploads: kept })
      partner = {
        guests: 0,
        files: { inbox, outbox: outboxOf(contactId), takes: new Takes(), turns: new Turns() },
      }
      this.#partners.set(contactId, partner)
    }
    if (partner.guests >= this.#limits.connectionsPerContact) return undefined
    partner.guests++
    return partner.files
  }

  /** A partner's tables stay while they hold something a next connection could ask for. */
  #leave(contactId: string): void {
    const partner = this.#partners.get(contactId)
    if (partner !== undefined) partner.guests--
    for (const [id, one] of this.#partners)
      if (one.guests === 0 && one.files.inbox.isEmpty && one.files.takes.isEmpty) this.#partners.delete(id)
  }
}

interface GuestParts {
  limits: SftpServerLimits
  options: SftpServerOptions
  failedLogins: FailedLogins
  enter: (admission: Admission<AccessSettings>) => PartnerFiles | undefined
  leave: (contactId: string) => void
  gone: () => void
}

/** One connection: from the first octet through the sign-in to its channels, and to its end. */
class Guest {
  readonly #socket: Socket
  readonly #parts: GuestParts
  readonly #signIn: SignIn
  readonly #channels = new Map<FileSession, { channel: ServerChannel; io: ChannelIo }>()
  readonly #ended = new AbortController()
  readonly #closed: Promise<void>
  #connection: Connection | undefined
  #timer: NodeJS.Timeout
  #partner: { contactId: string; files: PartnerFiles; admission: Admission<AccessSettings> } | undefined

  constructor(socket: Socket, parts: GuestParts) {
    this.#socket = socket
    this.#parts = parts
    const { options, failedLogins, limits } = parts
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    this.#signIn = new SignIn({ host: options.sessionHost, failedLogins, address, tries: limits.signInTries })
    this.#timer = setTimeout(() => socket.destroy(), limits.loginMs)
    socket.on('error', () => {})
    this.#closed = new Promise<void>((resolve) => {
      socket.once('close', () => void this.#finish().then(resolve, resolve))
    })
  }

  welcome(connection: Connection): void {
    this.#connection = connection
    connection.on('error', () => this.#socket.destroy())
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
    this.#parts.options.onFault?.(error)
    this.#socket.destroy()
  }

  async #authenticate(context: Parameters<SignIn['answer']>[0]): Promise<void> {
    const outcome = await this.#signIn.answer(context)
    if (outcome === 'refused') return
    if (outcome === 'over') return void this.#connection?.end()
    const files = this.#parts.enter(outcome)
    if (files === undefined) return void this.#connection?.end()
    const { contactId, timeouts } = outcome
    this.#partner = { contactId, files, admission: outcome }
    if (this.#socket.destroyed) return
    this.#startIdling(timeouts.idleMs)
    this.#parts.options.sessionHost.opened(this.#asSession(contactId))
  }

  /** What the engine may do with a partner that called: end it. Files to send wait in the outbox until it takes them. */
  #asSession(contactId: string): Session {
    return {
      contactId,
      encrypted: true,
      ended: this.#ended.signal,
      push: () =>
        Promise.reject(new NodeError('conflict', 'an SFTP client takes files itself; nothing can be pushed')),
      fetch: () => Promise.resolve(),
      close: () => this.end(new NodeError('connection_lost', 'the session was closed')),
    }
  }

  /** Called at every request: the timer of a signed-in connection is only wound up again. */
  #active(): void {
    this.#timer.refresh()
  }

  #startIdling(idleMs: number): void {
    clearTimeout(this.#timer)
    const late = new NodeError('timed_out', 'the session was idle for too long')
    this.#timer = setTimeout(() => void this.end(late), idleMs)
  }

  #openSession(accept: () => import('ssh2').Session, reject: () => void): void {
    if (this.#partner === undefined || this.#channels.size >= this.#parts.limits.channelsPerConnection)
      return reject()
    const session = accept()
    // Only the subsystem: without listeners the library refuses shells, commands, terminals and forwarding.
    session.on('subsystem', (acceptSubsystem, rejectSubsystem, { name }) => {
      if (name === 'sftp') this.#openChannel(acceptSubsystem())
      else rejectSubsystem()
    })
  }

  #openChannel(channel: ServerChannel): void {
    const partner = this.#partner
    if (partner === undefined) return
    const { limits } = this.#parts
    const io = new ChannelIo(channel, this.#socket, limits.queuedOctets)
    const broken = (error: unknown) => this.#fault(error)
    const session = new FileSession({
      io,
      admission: partner.admission,
      files: partner.files,
      limits,
      active: () => this.#active(),
      broken,
    })
    this.#channels.set(session, { channel, io })
    const ended = () => {
      const reason = new NodeError('connection_lost', 'the partner ended the session')
      void session.end(reason).finally(() => this.#channels.delete(session))
      // OpenSSH's client waits for the channel's close after its own end.
      channel.exit(0)
      io.end()
    }
    io.start((whole) => session.take(whole), ended, broken)
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#timer)
    const reason = new NodeError('connection_lost', 'the partner closed the connection')
    if (!this.#ended.signal.aborted) this.#ended.abort(reason)
    try {
      for (const { io } of this.#channels.values()) io.end()
      await Promise.allSettled([...this.#channels.keys()].map((session) => session.end(reason)))
      await this.#signIn.finish().catch((error: unknown) => this.#parts.options.onFault?.(error))
    } finally {
      if (this.#partner !== undefined) this.#parts.leave(this.#partner.contactId)
      this.#parts.gone()
    }
  }
}
