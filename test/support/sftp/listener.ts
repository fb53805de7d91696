// For tests and benchmarks: a listener with one partner, an engine double behind it and an outbox made of memory.
// Nothing of the product imports it.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { NodeError } from '../../../src/errors.ts'
import { HostDouble } from './session-host.ts'
import { makeKey } from './openssh.ts'
import type { KeyPair } from './openssh.ts'
import type {
  Admission,
  Caller,
  Listener,
  Reach,
  Timeouts,
} from '../../../src/engine/transports/transport.ts'

import { listenSftp } from '../../../src/engine/transports/sftp-server/listen.ts'
import type { SftpServerOptions } from '../../../src/engine/transports/sftp-server/listen.ts'
import type { Outbox, OutgoingEntry, OutgoingFile } from '../../../src/engine/transports/outbox.ts'
import type { AccessSettings } from '../../../src/contract/contact-settings.ts'

class MemoryOutbox implements Outbox {
  readonly files = new Map<string, { entry: OutgoingEntry; bytes: Buffer }>()
  readonly takenLog: string[] = []
  opened = 0
  #count = 0
  readonly #taken = new Set<string>()
  readonly #channels = new Map<string, Set<string>>()

  put(application: string, name: string, bytes: Buffer, channel = application): void {
    const entry = {
      id: `${++this.#count}`,
      channel,
      name,
      size: bytes.length,
      mtimeMs: 1_700_000_000_000,
    }
    this.files.set(`${application}/${name}`, { entry, bytes })
    this.#channels.set(application, (this.#channels.get(application) ?? new Set()).add(channel))
  }

  async channels(application: string): Promise<string[]> {
    return [...(this.#channels.get(application) ?? [])]
  }

  async list(application: string): Promise<OutgoingEntry[]> {
    return [...this.files].filter(([key]) => key.startsWith(`${application}/`)).map(([, file]) => file.entry)
  }

  async find(application: string, name: string): Promise<OutgoingEntry | undefined> {
    return this.files.get(`${application}/${name}`)?.entry
  }

  async open(application: string, entry: OutgoingEntry): Promise<OutgoingFile> {
    const bytes = this.files.get(`${application}/${entry.name}`)?.bytes
    if (bytes === undefined) throw new NodeError('file_missing', 'gone')
    this.opened++
    return {
      read: async (into: Uint8Array, position: number) =>
        bytes.copy(into, 0, position, position + into.length),
      close: async () => void this.opened--,
    }
  }

  async taken(application: string, entry: OutgoingEntry, how: 'read' | 'removed'): Promise<void> {
    const isThere = this.files.get(`${application}/${entry.name}`)?.entry.id === entry.id
    if (!isThere && !this.#taken.has(entry.id)) throw new NodeError('file_missing', 'withdrawn')
    this.#taken.add(entry.id)
    this.takenLog.push(`${how} ${application}/${entry.name}`)
    this.files.delete(`${application}/${entry.name}`)
  }
}

/** Each application is its only channel. */
export const channelNamed: SftpServerOptions['channelOf'] = async (reach, application) =>
  reach.refusal({ code: application }) ? undefined : application

export interface TestListener {
  listener: Listener
  port: number
  folder: string
  host: HostDouble
  outbox: MemoryOutbox
  hostKey: KeyPair
  userKey: KeyPair
  access: AccessSettings
  admission: (caller: Caller, of?: { contactId: string; access: AccessSettings }) => Admission<AccessSettings>
  timeouts: Timeouts
  faults: unknown[]
  stop(): Promise<void>
}

export async function startTestListener(change: Partial<SftpServerOptions> = {}): Promise<TestListener> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-sftpd-'))
  const hostKey = await makeKey(folder, 'host')
  const userKey = await makeKey(folder, 'user')
  const host = new HostDouble(join(folder, 'engine'))
  const outbox = new MemoryOutbox()
  const faults: unknown[] = []
  const access: AccessSettings = {
    username: 'acme',
    password: 'open sesame',
    authorizedKeys: [userKey.public],
  }
  const timeouts = { connectMs: 60_000, syncMs: 60_000, ackMs: 60_000, idleMs: 60_000 }
  const security = {
    encrypted: true,
    authentication: 'PASSWORD',
    localKey: undefined,
    remoteKey: undefined,
    rsaLocalKey: undefined,
    rsaRemoteKey: undefined,
  } as const
  /** Of a partner whose channels ask for no more than its sign-in. */
  const admission: TestListener['admission'] = ({ proof }, of = { contactId: 'acme', access }) => {
    const refusal = () =>
      proof.signedIn ? undefined : new NodeError('remote_refused', 'it has not signed in')
    const names = { contactId: of.contactId, localId: 'BANCO', remoteId: 'ACME' }
    const reach: Reach = { contactId: of.contactId, openedBy: 'partner', refusal }
    return { ...names, settings: of.access, reach, ways: 'B', timeouts, security, compression: false }
  }
  host.admissions = (caller) => {
    if (caller.id !== access.username) throw new NodeError('login_refused', `nobody is called ${caller.id}`)
    return admission(caller)
  }
  const options = { host: '127.0.0.1', port: 0, hostKeys: [hostKey.private], sessionHost: host }
  const listener = await listenSftp({
    ...options,
    outboxOf: () => outbox,
    channelOf: channelNamed,
    onFault: (e) => faults.push(e),
    ...change,
  })
  const port = listener.address.port
  return {
    listener,
    port,
    folder,
    host,
    outbox,
    hostKey,
    userKey,
    access,
    admission,
    timeouts,
    faults,
    async stop() {
      await listener.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
