// Opens SQLite or PostgreSQL as a Store, with its schema up to date.

import { NodeError, messageOf } from '../../errors.ts'
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
    throw thrown instanceof NodeError
      ? thrown
      : new NodeError('unavailable', `the database cannot be opened: ${messageOf(thrown)}`, { cause: thrown })
  }
}

/** Opens the database as it is, whatever version made it. Only the driver that is needed is loaded. */
export async function connectTo({ databaseUrl, dataDir, leaseSeconds }: OpenOptions): Promise<Store> {
  if (databaseUrl) return (await import('./postgres.ts')).openPostgres(databaseUrl, leaseSeconds)
  return (await import('./sqlite.ts')).openSqlite(dataDir)
}
