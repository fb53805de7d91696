// Our ends of the SFTP benchmark, in a process of their own as a node would be: a listener, and a client that is told
// what to do. `SFTP_END` holds where the files lie, the sshd to call, and which swaps (docs/sftp.md) are on.

import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { sftpClientTransport } from '../src/engine/transports/sftp-client/sftp-client.ts'
import type { SftpSettings } from '../src/contract/contact-settings.ts'
import { loadSsh } from '../src/engine/transports/ssh/library.ts'
import type { Call, Session } from '../src/engine/transports/transport.ts'
import { startTestListener } from '../test/support/sftp/listener.ts'
import { HostDouble } from '../test/support/sftp/session-host.ts'
import { offerPlainly, openPlainly, withFile } from './plain.ts'
import { reachAll } from '../test/support/reach.ts'

export interface EndSettings {
  there: string
  back: string
  sshd: { port: number; username: string; privateKey: string; fingerprint: string }
  packetMemory: boolean
  socketMemory: boolean
}

export type Order =
  | { do: 'push'; from: string; to: string; sync: boolean }
  | { do: 'fetch'; from: string }
  | { do: 'usage' }
  | { do: 'stop' }

/** What it says first. */
export type Ready = { port: number; key: string; notes: readonly string[] }
export type Usage = { cpuSeconds: number; idle: number; most: number }

const never = new AbortController().signal
const given = JSON.parse(process.env['SFTP_END'] ?? '') as EndSettings
const { notes } = loadSsh({ packetMemory: given.packetMemory })
const host = new HostDouble(given.back)
host.offer = offerPlainly(given.back)
const server = await serve()
const idle = process.memoryUsage().rss
let most = idle
const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50)

process.on('message', (order: Order) => void obey(order))
process.send?.({ port: server.port, key: server.userKey.path, notes } satisfies Ready)

async function serve() {
  const { there, socketMemory } = given
  const listener = await startTestListener({ socketMemory })
  listener.host.offer = offerPlainly(there)
  listener.outbox.list = async () => []
  // As a node finds it: in the database, without leaving its thread.
  listener.outbox.find = async (application, name) => {
    const found = statSync(join(there, name), { throwIfNoEntry: false })
    return found === undefined
      ? undefined
      : { id: name, channel: application, name, size: found.size, mtimeMs: found.mtimeMs }
  }
  listener.outbox.open = async (_application, entry) => openPlainly(join(there, entry.name))
  listener.outbox.taken = async () => {}
  return listener
}

async function obey(order: Order): Promise<void> {
  if (order.do === 'push') await pushAll(order)
  if (order.do === 'fetch') await fetchAll(order.from)
  if (order.do === 'stop') {
    clearInterval(watch)
    await server.stop()
    process.disconnect()
    return
  }
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuSeconds: (user + system) / 1e6, idle, most } satisfies Usage)
}

async function pushAll({ from, to, sync }: { from: string; to: string; sync: boolean }): Promise<void> {
  const line = await session({ inbox: to, outbox: '/' }, sync)
  const names = await readdir(from)
  const queue = names.values()
  const progress = { moved: () => {}, safe: () => {}, placing: () => Promise.resolve() }
  const worker = async () => {
    for (const name of queue)
      await withFile(join(from, name), { name, application: 'A' }, (file) => line.push(file, progress, never))
  }
  await Promise.all(Array.from({ length: Math.min(32, names.length) }, worker))
  await line.close()
}

async function fetchAll(from: string): Promise<void> {
  const line = await session({ inbox: '/', outbox: from }, true)
  await line.fetch(never)
  await line.close()
}

function session(folders: { inbox: string; outbox: string }, syncFiles: boolean): Promise<Session> {
  const { port, username, privateKey, fingerprint } = given.sshd
  const call: Call<SftpSettings> = {
    contactId: 'c',
    host: '127.0.0.1',
    port,
    localId: 'B',
    remoteId: 'A',
    settings: { username, privateKey, hostKeys: [fingerprint], ...folders },
    applications: async () => ['A'],
    reach: reachAll('c'),
    ways: 'B',
    timeouts: { connectMs: 5000, syncMs: 5000, ackMs: 30_000, idleMs: 60_000 },
    compression: false,
    security: {
      encrypted: true,
      authentication: 'NONE',
      localKey: undefined,
      remoteKey: undefined,
      rsaLocalKey: undefined,
      rsaRemoteKey: undefined,
    },
    signal: never,
  }
  return sftpClientTransport({ syncFiles }).connect(call, host)
}
