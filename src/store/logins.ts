// Failed sign-ins and their locks, shared by every door, thread and node. What is kept is bounded: failures go after the
// span in which they count, locks after they have ended, addresses after the time for which they are remembered.

import { hot } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'

/** Digests of the account and the address. */
export type LoginPair = { account: string; address: string }
export type LoginCounts = {
  pair: number | null
  byAddress: number | null
  byAccount: number | null
  /** When the account last signed in from that address, as far as it is kept. */
  successAt: number | null
}
export type LoginLock = { scope: string; level: number; until: number }

const counts = hot<LoginPair & { since: number }, LoginCounts>((db, arg) =>
  db.selectNoFrom((eb) => [
    eb
      .selectFrom('login_failure')
      .select(eb.fn.countAll<number>().as('count'))
      .where('account', '=', arg('account'))
      .where('address', '=', arg('address'))
      .where('at', '>', arg('since'))
      .as('pair'),
    eb
      .selectFrom('login_failure')
      .select(eb.fn.countAll<number>().as('count'))
      .where('address', '=', arg('address'))
      .where('at', '>', arg('since'))
      .as('byAddress'),
    eb
      .selectFrom('login_failure')
      .select(eb.fn.countAll<number>().as('count'))
      .where('account', '=', arg('account'))
      .where('at', '>', arg('since'))
      .as('byAccount'),
    eb
      .selectFrom('login_success')
      .select('at')
      .where('account', '=', arg('account'))
      .where('address', '=', arg('address'))
      .as('successAt'),
  ]),
)

const locks = hot<{ one: string; two: string; three: string }, LoginLock>((db, arg) =>
  db
    .selectFrom('login_lock')
    .selectAll()
    .where(({ or, eb }) =>
      or([eb('scope', '=', arg('one')), eb('scope', '=', arg('two')), eb('scope', '=', arg('three'))]),
    ),
)

/** Failures after `since`. */
export async function countLoginFailures(db: Db, pair: LoginPair, since: number): Promise<LoginCounts> {
  const [found] = await counts(db, { ...pair, since })
  return found ?? { pair: 0, byAddress: 0, byAccount: 0, successAt: null }
}

export async function findLoginLocks(
  db: Db,
  scopes: readonly [string, string, string],
): Promise<LoginLock[]> {
  return locks(db, { one: scopes[0], two: scopes[1], three: scopes[2] })
}

export async function addLoginFailure(tx: Tx, pair: LoginPair, at: number): Promise<void> {
  await tx
    .insertInto('login_failure')
    .values({ ...pair, at })
    .execute()
}

export async function putLoginLock(tx: Tx, lock: LoginLock): Promise<void> {
  await tx
    .insertInto('login_lock')
    .values(lock)
    .onConflict((conflict) => conflict.column('scope').doUpdateSet(lock))
    .execute()
}

export async function removeLoginLocks(tx: Tx, scopes: readonly string[]): Promise<void> {
  if (scopes.length > 0) await tx.deleteFrom('login_lock').where('scope', 'in', scopes).execute()
}

/** The pair starts anew. */
export async function forgetLoginFailures(tx: Tx, { account, address }: LoginPair): Promise<void> {
  await tx.deleteFrom('login_failure').where('account', '=', account).where('address', '=', address).execute()
}

export async function putLoginSuccess(tx: Tx, pair: LoginPair, at: number): Promise<void> {
  await tx
    .insertInto('login_success')
    .values({ ...pair, at })
    .onConflict((conflict) => conflict.columns(['account', 'address']).doUpdateSet({ at }))
    .execute()
}

/** Addresses from which anybody signed in after `since`, each with its last time. */
export async function knownLoginAddresses(db: Db, since: number): Promise<{ address: string; at: number }[]> {
  return db
    .selectFrom('login_success')
    .select(({ fn }) => ['address', fn.max<number>('at').as('at')])
    .where('at', '>', since)
    .groupBy('address')
    .execute()
}

/** What no longer counts. */
export async function clearLogins(
  tx: Tx,
  before: { failures: number; locks: number; successes: number },
): Promise<void> {
  await tx.deleteFrom('login_failure').where('at', '<=', before.failures).execute()
  await tx.deleteFrom('login_lock').where('until', '<=', before.locks).execute()
  await tx.deleteFrom('login_success').where('at', '<=', before.successes).execute()
}
