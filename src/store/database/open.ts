// Opens SQLite or PostgreSQL as a Store, with its schema up to date.

import { sql } from 'kysely'
import { messageOf, NodeError, systemCode } from '../../errors.ts'
import { migrate } from './migrate.ts'
import type { Store } from './store.ts'

export type OpenOptions = {
  databaseUrl?: string | undefined
  dataDir: string
  /** A node that stalls inside a transaction must not keep rows locked for longer than its leases. */
  leaseSeconds?: number | undefined
}

/** Opens the database and brings its schema up to date, under a lock so that only one of several nodes does it. */
export async function openStore(options: OpenOptions): Promise<Store> {
  const store = await connectTo(options)
  try {
    await migrate(store)
    return store
  } catch (thrown) {
    await store.close()
    throw notOpened(options, thrown)
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
export async function connectTo({ databaseUrl, dataDir, leaseSeconds }: OpenOptions): Promise<Store> {
  if (databaseUrl) return (await import('./postgres.ts')).openPostgres(databaseUrl, leaseSeconds)
  return (await import('./sqlite.ts')).openSqlite(dataDir)
}
