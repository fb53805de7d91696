// Opens SQLite or PostgreSQL as a Store, with its schema up to date.

import { sql } from 'kysely'
import { messageOf, NodeError, systemCode } from '../../errors.ts'
import { appliedNames, migrate, missing, ownMigrations } from './migrate.ts'
import type { Deadlines, Store } from './store.ts'

export type OpenOptions = {
  databaseUrl?: string | undefined
  dataDir: string
  /** A node that stalls inside a transaction must not keep rows locked for longer than its leases. */
  leaseSeconds?: number | undefined
  /** Without them a statement takes as long as it takes: for backups, restores and commands that somebody waits for. */
  deadlines?: Deadlines | undefined
}

/**
 * Those of a node. What is urgent is given up so early that the sign of life comes on another connection before the leases
 * are over.
 */
export function nodeDeadlines({ leaseSeconds }: { leaseSeconds: number }): Deadlines {
  return { ordinaryMs: 30_000, urgentMs: Math.min(10_000, Math.max(2000, leaseSeconds * 200)) }
}

/** Opens the database and brings its schema up to date, under a lock so that only one of several nodes does it. */
export async function openStore(options: OpenOptions): Promise<Store> {
  const store = await connectTo(options)
  try {
    await bringUpToDate(store, options)
    return store
  } catch (thrown) {
    await store.close()
    throw notOpened(options, thrown)
  }
}

/** Migrations have no deadline: a table may be large, and another node may be at them. */
async function bringUpToDate(store: Store, options: OpenOptions): Promise<void> {
  if (!options.databaseUrl || !options.deadlines) return migrate(store)
  const applied = await appliedNames(store.db).catch(() => new Set<string>()) // the table may not exist yet
  if (missing(ownMigrations(), applied).length === 0) return
  const patient = await connectTo({ ...options, deadlines: undefined })
  try {
    await migrate(patient)
  } finally {
    await patient.close()
  }
}

/** Whether it is a PostgreSQL that no node has been started on. Changes nothing. */
export async function isEmptyPostgres(options: OpenOptions): Promise<boolean> {
  if (options.databaseUrl === undefined) return false
  const store = await connectTo(options)
  try {
    const { rows } = await sql<{
      made: boolean
    }>`select to_regclass('migration') is not null as made`.execute(store.db)
    return rows[0]?.made !== true
  } catch (thrown) {
    throw notOpened(options, thrown)
  } finally {
    await store.close()
  }
}

function notOpened(options: OpenOptions, thrown: unknown): NodeError {
  if (thrown instanceof NodeError && thrown.code !== 'unavailable') return thrown
  const cause = thrown instanceof NodeError ? thrown.cause : thrown
  // Where several addresses were tried, there is a code and no message.
  const why = cause instanceof Error && cause.message === '' ? systemCode(cause) : messageOf(cause)
  return new NodeError('unavailable', `the database${placeOf(options)} cannot be opened: ${why}`, { cause })
}

/** Without the password. */
function placeOf({ databaseUrl }: OpenOptions): string {
  if (databaseUrl === undefined || !URL.canParse(databaseUrl)) return ''
  const { hostname, port, searchParams } = new URL(databaseUrl)
  const host = searchParams.get('host') ?? (hostname || 'localhost')
  return ` at ${host}:${port || searchParams.get('port') || 5432} (ESCLUSA_DATABASE_URL)`
}

/** Opens the database as it is, whatever version made it. Only the driver that is needed is loaded. */
export async function connectTo({ databaseUrl, dataDir, ...limits }: OpenOptions): Promise<Store> {
  if (databaseUrl) return (await import('./postgres.ts')).openPostgres(databaseUrl, limits)
  return (await import('./sqlite.ts')).openSqlite(dataDir)
}
