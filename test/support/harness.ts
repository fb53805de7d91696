// What tests stand on: both databases, each test on a fresh one; a whole node in this process with users of every
// role, two partners and a few channels; calls by operation name. Everything is taken down when the test ends.

import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Context } from '../../src/http/context.ts'
import type { Log } from '../../src/log.ts'
import type { RunningNode } from '../../src/main.ts'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import type { CallOperation } from './call.ts'

const POSTGRES = process.env.ESCLUSA_TEST_POSTGRES || undefined
// Making the schema costs more than most tests: `npm test` makes it once for each database, and tests take copies. So
// does the first administrator's password: there is another copy for nodes that have been started before.
const POSTGRES_READY = process.env.ESCLUSA_TEST_POSTGRES_READY || undefined
const SQLITE_READY = process.env.ESCLUSA_TEST_SQLITE_READY || undefined
/** The engine's thread in one file: loading it from its sources costs more than most tests too. */
export const JOINED_WORKER = process.env.ESCLUSA_TEST_WORKER || undefined
// Nodes that a test starts as processes inherit the environment, and refuse settings they do not know.
for (const name of ['POSTGRES', 'POSTGRES_READY', 'SQLITE_READY', 'WORKER'])
  delete process.env[`ESCLUSA_TEST_${name}`]

export type TestDatabase = {
  name: 'sqlite' | 'postgres'
  /** Why it cannot be used here; undefined when it can. */
  skip: string | undefined
  /** A fresh database for whoever opens it with this data folder; undefined stands for SQLite in that folder. */
  create(t: TestContext, dataDir: string, state?: 'new' | 'started'): Promise<string | undefined>
  /** The same without any table. */
  createEmpty(t: TestContext): Promise<string | undefined>
}

export const sqlite: TestDatabase = {
  name: 'sqlite',
  skip: undefined,
  create: async (_, dataDir, state = 'new') => {
    if (!SQLITE_READY) return undefined
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const from = state === 'started' ? join(SQLITE_READY, 'started') : SQLITE_READY
    await copyFile(join(from, 'esclusa.db'), join(dataDir, 'esclusa.db'))
    return undefined
  },
  createEmpty: () => Promise.resolve(undefined),
}
export const postgres: TestDatabase = {
  name: 'postgres',
  skip: POSTGRES
    ? undefined
    : 'SKIPPED: no PostgreSQL (ESCLUSA_TEST_POSTGRES is not set; npm test starts one)',
  create: (t, _, state = 'new') =>
    createPostgresDatabase(
      t,
      state === 'started' && POSTGRES_READY ? `${POSTGRES_READY}_started` : POSTGRES_READY,
    ),
  createEmpty: (t) => createPostgresDatabase(t),
}
export const databases: readonly TestDatabase[] = [sqlite, postgres]

/** The same test on each database. */
export function testOnBoth(
  name: string,
  run: (t: TestContext, database: TestDatabase) => Promise<void>,
): void {
  for (const database of databases)
    test(`${name} (${database.name})`, { skip: database.skip ?? false }, (t) => run(t, database))
}

async function createPostgresDatabase(t: TestContext, template = 'template1'): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copies of files cost half of what pages in the log do.
  await onServer(`create database ${name} template ${template} strategy file_copy`)
  closeAfter(t, () => onServer(`drop database if exists ${name} with (force)`))
  const url = new URL(POSTGRES ?? '')
  url.pathname = `/${name}`
  return url.href
}

async function onServer(statement: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: POSTGRES })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export async function tempFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-test-'))
  closeAfter(t, () => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A store on a fresh database with its schema made. */
export async function withStore(t: TestContext, database: TestDatabase): Promise<Store> {
  const dataDir = await tempFolder(t)
  const store = await openStore({ dataDir, databaseUrl: await database.create(t, dataDir) })
  closeAfter(t, () => store.close())
  return store
}

export type TestNode = {
  url: string
  context: Context
  store: Store
  dataDir: string
  /** Undefined where it is SQLite in the data folder. */
  databaseUrl: string | undefined
  /** The one file root, where channels' paths lie. */
  files: string
  call: CallOperation
  /** A bearer token of a seeded user, made without a login. */
  token(username: string): Promise<string>
}

export type NodeOptions = {
  database?: TestDatabase
  settings?: Record<string, string>
  /** Leaves the platform empty but for the first administrator. */
  empty?: boolean
}

export type HttpOptions = NodeOptions & { log?: Log }

/** A whole node, as `esclusa serve` runs it, engine included. */
export async function startTestNode(
  t: TestContext,
  options: NodeOptions = {},
): Promise<TestNode & RunningNode> {
  return (await import('./test-node.ts')).startWholeNode(t, options)
}

/** The HTTP door and the store alone: what is asked for stays PENDING, and the clock may be set (`context.now`). */
export async function startTestHttp(t: TestContext, options: HttpOptions = {}): Promise<TestNode> {
  return (await import('./test-node.ts')).startHttpDoor(t, options)
}

/** What happens between the reads of whoever writes next and its transaction. */
export function beforeNextWrite(
  { context }: { context: { store: Store } },
  happens: () => Promise<unknown>,
): void {
  const { store } = context
  context.store = {
    ...store,
    write: async (change) => {
      if (context.store !== store) {
        context.store = store
        await happens()
      }
      return store.write(change)
    },
  }
}

// node:test runs `after` hooks in the order they were added; what was opened last must be closed first.
const closers = new WeakMap<TestContext, (() => Promise<void>)[]>()

export function closeAfter(t: TestContext, close: () => Promise<void>): void {
  const known = closers.get(t)
  if (known) {
    known.push(close)
    return
  }
  const all = [close]
  closers.set(t, all)
  t.after(async () => {
    for (const one of all.reverse()) await one()
  })
}

const LONGEST_PAUSE_MS = 60

/** Waits for a condition; the time is only the point at which it gives up. */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = 180_000,
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs
  // What is not there at once is looked for less often: the looks of a long wait cost more than the test itself.
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.2, LONGEST_PAUSE_MS)) {
    const value = await condition()
    if (value) return value
    if (Date.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
