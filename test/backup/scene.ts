// A platform with partners over three protocols, its node as a process of its own, and the commands that back it up:
// what the suites of backup and restore stand on.

import assert from 'node:assert/strict'
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { OperationName } from '../../src/contract/operations.ts'
import { ask } from '../crash/operator.ts'
import { NodeProcess, esclusa } from '../crash/node-process.ts'
import type { Settings } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { releasePlatform } from '../upgrade/release-platform.ts'

export type Scene = {
  root: string
  settings: Settings
  sftpPort: number
  at(...path: string[]): string
  run(...args: string[]): Promise<string>
  /** Asks the running node; its status, and what it says where it refuses. */
  ask(name: OperationName, code: string): Promise<{ status: number; message: string }>
  start(): Promise<void>
  stop(): Promise<void>
  put(path: string, text: string): Promise<void>
  list(path: string): Promise<string[]>
  /** Waits until the last transfer of the channel has that status. */
  until(code: string, status: string): Promise<void>
  /** As if its disk were lost: the database, the data folder with it where it is asked for. */
  lose(what: 'database' | 'data'): Promise<void>
}

export const SALARIES = 'BANCO-ACME-NOMINA'
export const ORDERS = 'BANCO-ACME-PEDIDO'
export const LEDGER = 'BANCO-BETA-LIBRO'
export const PAYMENTS = 'BANCO-GAMMA-PAGOS'

export async function setScene(t: TestContext, database: TestDatabase): Promise<Scene> {
  const root = await tempFolder(t)
  const at = (...path: string[]) => join(root, ...path)
  for (const folder of ['files/out', 'files/in', 'files/taken', 'files/waiting', 'acme/in', 'acme/out'])
    await mkdir(at(folder), { recursive: true })
  const databaseUrl = await database.create(t, at('data'))
  const sftpPort = await freePort()
  const settings: Settings = {
    ESCLUSA_DATA_DIR: at('data'),
    ESCLUSA_FILE_ROOTS: at('files'),
    ESCLUSA_PORT: '0',
    ESCLUSA_SFTP_PORT: String(sftpPort),
    ESCLUSA_DRAIN_SECONDS: '2',
    // PostgreSQL ends a transaction that stands still for half of it: a busy machine may need a second.
    ESCLUSA_LEASE_SECONDS: '6',
    ESCLUSA_LOG_LEVEL: 'warn',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
  }
  await writeFile(at('platform.yaml'), JSON.stringify(releasePlatform(root)))
  await esclusa(settings, 'apply', at('platform.yaml'))
  let node: NodeProcess | undefined
  let token = ''
  const call = async (name: OperationName, code: string) => {
    const reply = await ask(node?.url ?? '', token, name, code)
    assert.ok(reply, 'the node does not answer')
    return reply
  }
  closeAfter(t, async () => {
    await node?.kill()
  })
  const scene: Scene = {
    root,
    settings,
    sftpPort,
    at,
    run: (...args) => esclusa(settings, ...args),
    ask: async (name, code) => {
      const { status, body } = await call(name, code)
      return { status, message: (body as { message?: string }).message ?? '' }
    },
    start: async () => {
      node = await NodeProcess.start(settings)
      token ||= (await esclusa(settings, 'token', 'create', '--user', 'ana')).trim()
    },
    stop: async () => {
      await node?.stop()
      node = undefined
    },
    put: async (path, text) => {
      await writeFile(at(path), text)
      const then = Date.now() / 1000 - 60
      await utimes(at(path), then, then)
    },
    list: async (path) => (await readdir(at(path))).filter((name) => !name.startsWith('.')).sort(),
    until: async (code, status) => {
      const last = async () => {
        const { body } = await call('listTransfers', code)
        return (body as { content: { status: string }[] }).content[0]?.status
      }
      await waitFor(`${code} to be ${status}`, async () => (await last()) === status, 60_000)
    },
    lose: async (what) => {
      if (databaseUrl) await onDatabase(databaseUrl, 'drop schema public cascade; create schema public')
      if (what === 'data') await rm(at('data'), { recursive: true })
      else
        for (const name of ['esclusa.db', 'esclusa.db-wal', 'esclusa.db-shm'])
          await rm(at('data', name), { force: true })
    },
  }
  return scene
}

async function onDatabase(connectionString: string, statement: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(statement)
  await client.end()
}
