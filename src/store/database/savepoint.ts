// Part of a transaction that may fail without the rest of it.

import { sql } from 'kysely'
import type { Tx } from './store.ts'

/** What `change` wrote is taken back if it throws; the transaction can go on. */
export async function tryInside<T>(tx: Tx, change: () => Promise<T>): Promise<T> {
  await sql`savepoint attempt`.execute(tx)
  try {
    const value = await change()
    await sql`release savepoint attempt`.execute(tx)
    return value
  } catch (thrown) {
    await sql`rollback to savepoint attempt`.execute(tx)
    await sql`release savepoint attempt`.execute(tx)
    throw thrown
  }
}
