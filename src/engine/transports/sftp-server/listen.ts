// The SFTP listener: takes connections, signs partners in and gives each its own tree. Everything it opens is counted
// and bounded, and `close` resolves when all of it is gone.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

import type { Server } from 'ssh2'

import { NodeError } from '../../../errors.ts'
import { listenerAlgorithms } from '../ssh/algorithms.ts'
import { loadSsh } from '../ssh/library.ts'
import { acceptSocket } from '../ssh/sockets.ts'
import type { LineSocket } from '../ssh/sockets.ts'
import { CallerPlaces } from '../caller-places.ts'
import { behindProxies, originOf, wasProxied } from '../proxy-header.ts'
import type { Proxies } from '../proxy-header.ts'
import { whyNotReadInto } from '../read-buffer.ts'
import type { Listener, Reach, SessionHost } from '../transport.ts'

import { ClientConnection } from './connection.ts'
import { HandleRoom } from './handles.ts'
import { Inbox, REMEMBER_MS } from './inbox.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import type { SftpServerLimits } from './limits.ts'
import type { KeptUpload, Outbox } from '../outbox.ts'
import { DownloadTracking } from './download-tracking.ts'
import { PerNameQueue } from './per-name-queue.ts'
import type { PartnerFiles, SessionFiles } from './tree.ts'

export interface SftpServerOptions {
  host: string
  port: number
  /** Private host keys, PEM or OpenSSH format; one per type is used. */
  hostKeys: readonly string[]
  sessionHost: SessionHost
  /** What waits for a partner, as one session may see it; asked once per connection. */
  outboxOf: (reach: Reach) => Outbox
  /** The code of the channel that the application stands for in the session; asked at every request. */
  channelOf: (reach: Reach, application: string) => Promise<string | undefined>
  /** A channel's uploads kept from before this run; without it a client cannot resume over a restart of the node. */
  keptUploads?: (channel: string) => Promise<readonly KeptUpload[]>
  /** The size of a file that was handed over since then; without it a client learns that until the node restarts. */
  takenSince?: (channel: string, name: string, since: number) => Promise<number | undefined>
  limits?: Partial<SftpServerLimits>
  /** Whose PROXY header is read, and must come; nobody's without it. */
  proxies?: Proxies
  /** Callers' sockets read into one place (read-buffer.ts), where that holds; on unless said otherwise. */
  socketMemory?: boolean
  /** What was wanted and is not so; for the log. */
  onNote?: (note: string) => void
  /** Faults of single connections that nobody awaits. */
  onFault?: (error: unknown) => void
}

export async function listenSftp(options: SftpServerOptions): Promise<Listener> {
  const registry = new ConnectionRegistry(options, await readsIntoOne(options))
  const server = createServer({ noDelay: true, pauseOnConnect: true })
  const take = (socket: Socket) => registry.take(socket)
  if (options.proxies === undefined) server.on('connection', take)
  else behindProxies(server, options.proxies, take)
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
      await registry.empty()
      await closed
    },
  }
}

/** Without packet memory ssh2 keeps what was read: then every read has memory of its own. */
async function readsIntoOne({ socketMemory = true, onNote }: SftpServerOptions): Promise<boolean> {
  if (!socketMemory || !loadSsh().packetMemory) return false
  const refused = await whyNotReadInto()
  if (refused === undefined) return true
  onNote?.(
    `SFTP callers keep the sockets that Node gives them, and their large uploads are slower: ${refused}. This is Node ${process.versions.node}; the swap was written for Node 24. ESCLUSA_SSH_SOCKET_MEMORY=off ends this message`,
  )
  return false
}

/** All connections of one listener and what their partners have in common. */
class ConnectionRegistry {
  readonly #options: SftpServerOptions
  readonly #limits: SftpServerLimits
  readonly #oneBuffer: boolean
  readonly #ssh: Server
  readonly #places: CallerPlaces
  readonly #connections = new Map<string, ClientConnection>()
  readonly #partners = new Map<string, { files: PartnerFiles; connections: number }>()

  constructor(options: SftpServerOptions, oneBuffer: boolean) {
    this.#options = options
    this.#oneBuffer = oneBuffer
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    const { connections, connectionsPerContact, callersPerAddress, loginMs } = this.#limits
    this.#places = new CallerPlaces(
      {
        places: connections,
        reserved: Math.floor(connections / 2),
        perContact: connectionsPerContact,
        waitingPerAddress: callersPerAddress,
        signInMs: loginMs,
      },
      (address) => options.sessionHost.isKnown(address),
    )
    const config = { hostKeys: [...options.hostKeys], algorithms: listenerAlgorithms(), ident: 'Esclusa' }
    try {
      this.#ssh = new (loadSsh().ssh2.Server)(config)
    } catch (error) {
      throw new NodeError('bad_use', 'a host key of the SFTP listener cannot be read', { cause: error })
    }
    this.#ssh.on('connection', (ssh, info) => {
      const connection = this.#connections.get(`${info.ip}:${info.port}`)
      if (connection === undefined) ssh.end()
      else connection.welcome(ssh)
    })
    this.#ssh.on('error', (error: unknown) => options.onFault?.(error))
  }

  take(accepted: Socket): void {
    const { address } = originOf(accepted)
    // No octet was read yet, so no stranger costs more than this. Whose place is taken away hears nothing either.
    const place = address === '' ? undefined : this.#places.enter(address, () => line?.socket.destroy())
    if (place === undefined) return void accepted.destroy()
    // What came behind a proxy's header was read already.
    const oneBuffer = this.#oneBuffer && !wasProxied(accepted)
    const line: LineSocket = acceptSocket(accepted, { oneBuffer })
    const { socket } = line
    const key = `${socket.remoteAddress}:${socket.remotePort}`
    const connection = new ClientConnection(line, {
      address,
      limits: this.#limits,
      place,
      sessionHost: this.#options.sessionHost,
      onFault: (error) => this.#options.onFault?.(error),
      enter: (reach) => this.#enter(reach),
      leave: (contactId) => this.#leave(contactId),
      gone: () => this.#connections.delete(key),
    })
    this.#connections.set(key, connection)
    this.#ssh.injectSocket(socket)
  }

  async empty(): Promise<void> {
    const reason = new NodeError('unavailable', 'the listener is closing')
    await Promise.all([...this.#connections.values()].map((connection) => connection.end(reason)))
  }

  #enter(reach: Reach): SessionFiles | undefined {
    const { contactId } = reach
    let partner = this.#partners.get(contactId)
    if (partner === undefined) {
      const { sessionHost: host, keptUploads, takenSince } = this.#options
      const inbox = new Inbox({
        contactId,
        host,
        keptUploads: async (channel) => (await keptUploads?.(channel)) ?? [],
        takenBefore: async (channel, name) => takenSince?.(channel, name, Date.now() - REMEMBER_MS),
      })
      partner = {
        connections: 0,
        files: {
          inbox,
          downloads: new DownloadTracking(),
          queue: new PerNameQueue(),
          room: new HandleRoom({
            handles: this.#limits.handlesPerContact,
            entries: this.#limits.listedPerContact,
          }),
        },
      }
      this.#partners.set(contactId, partner)
    }
    if (partner.connections >= this.#limits.connectionsPerContact) return undefined
    partner.connections++
    const { outboxOf, channelOf, sessionHost } = this.#options
    return {
      ...partner.files,
      outbox: outboxOf(reach),
      channelOf: (application) => channelOf(reach, application),
      reachedNow: () => sessionHost.reached(reach),
    }
  }

  /** A partner's tables stay while they hold something a next connection could ask for. */
  #leave(contactId: string): void {
    const partner = this.#partners.get(contactId)
    if (partner !== undefined) partner.connections--
    for (const [id, one] of this.#partners)
      if (one.connections === 0 && one.files.inbox.isEmpty && one.files.downloads.isEmpty)
        this.#partners.delete(id)
  }
}
