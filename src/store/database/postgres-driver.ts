// PostgreSQL's connections as the query builder uses them, with two things that its own driver lacks. Statements that run
// at every request (prepared-queries.ts) are named, so that the server plans them once for each connection: planning takes
// longer than running them. And within a transaction they go out without waiting for each other, where nobody waits for an
// answer between them: otherwise each is a round trip.

import type { CompiledQuery, DatabaseConnection, Driver, QueryResult, TransactionSettings } from 'kysely'
import pg from 'pg'
import { NodeError } from '../../errors.ts'
import { noAnswer, translate } from './driver-errors.ts'

type Row = Record<string, unknown>

/** Names by text, the same on all connections. Another set of names makes the server plan anew. */
const names = new Map<string, string>()
let set = 0

function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) names.set(text, (name = `esclusa_${set}_${names.size}`))
  return name
}

/**
 * The server's plan no longer fits, because another node has changed the table, or it has none, because somebody cleared it
 * (26000). The next try makes a new one. The first is told by the place in the server's own code, for its code is that of
 * whatever the server cannot do, and its text is in the server's language.
 */
export function isStalePlan(thrown: unknown): boolean {
  if (!(thrown instanceof pg.DatabaseError)) return false
  return thrown.code === '26000' || thrown.routine === 'RevalidateCachedQuery'
}

export function forgetPlans(): void {
  names.clear()
  set += 1
}

export function openPool(settings: pg.PoolConfig, max: number): pg.Pool {
  const pool = new pg.Pool({ ...settings, max })
  // A connection may break at any moment. Only a query that is using it gets the error. Without a listener it would end
  // the process.
  const unheard = () => {}
  pool.on('error', unheard)
  pool.on('connect', (client) => client.on('error', unheard))
  return pool
}

/** A named statement outside of any transaction. */
export async function askPool(pool: pg.Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
  const ask = async () => (await pool.query<Row>(named(text, values))).rows
  try {
    return await ask()
  } catch (thrown) {
    if (!isStalePlan(thrown)) throw translate(thrown)
    forgetPlans()
    return ask().catch(raise)
  }
}

function named(text: string, values: readonly unknown[]): pg.QueryConfig {
  return { name: nameOf(text), text, values: values as unknown[] }
}

export function raise(thrown: unknown): never {
  throw translate(thrown)
}

export class PooledConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient
  #isBroken = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, rowCount, command } = await this.#client
      .query<Row>(sql, parameters as unknown[])
      .catch(this.#failed)
    const changed = CHANGES.has(command) ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}
    return { ...changed, rows: rows as R[] } // what the builder knows of the statement
  }

  /**
   * A statement that is planned once. That the server has no plan does not say here that somebody has cleared it: it makes
   * none in a transaction that has failed. The write's own fault tells, which is the first.
   */
  async ask(text: string, values: readonly unknown[]): Promise<Row[]> {
    return (await this.#client.query<Row>(named(text, values)).catch(this.#failed)).rows
  }

  streamQuery(): never {
    throw new Error('rows are not streamed')
  }

  /** What the server says that it did: a transaction that a statement has failed in is rolled back, whatever is asked. */
  async tell(command: string): Promise<string> {
    return (await this.#client.query(command).catch(this.#failed)).command
  }

  /** Without the server's word on a statement, nobody may be given the connection any more. */
  readonly #failed = (thrown: unknown): never => {
    if (!(thrown instanceof pg.DatabaseError)) this.#isBroken = true
    return raise(thrown)
  }

  async rollback(): Promise<void> {
    try {
      await this.tell('rollback')
    } catch (thrown) {
      // Nobody may be given what may still be inside the transaction.
      this.#isBroken = true
      throw thrown
    }
  }

  release(): void {
    this.#client.release(this.#isBroken)
  }
}

const CHANGES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

export class PostgresDriver implements Driver {
  readonly #pool: pg.Pool

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    return new PooledConnection(await this.#pool.connect().catch(raise))
  }

  async beginTransaction(connection: PooledConnection, settings: TransactionSettings): Promise<void> {
    const { isolationLevel } = settings
    await connection.tell(isolationLevel ? `begin isolation level ${isolationLevel}` : 'begin')
  }

  /** Without the server's answer nobody knows whether it was written: then it is not to be tried in another way. */
  async commitTransaction(connection: PooledConnection): Promise<void> {
    const done = await connection.tell('commit').catch((thrown: unknown) => {
      if (thrown instanceof pg.DatabaseError || thrown instanceof NodeError) throw thrown
      throw noAnswer(thrown)
    })
    if (done !== 'COMMIT') throw new Error('a statement of the transaction had failed: it was rolled back')
  }

  rollbackTransaction(connection: PooledConnection): Promise<void> {
    return connection.rollback()
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release()
  }

  /** The pool has other users. */
  async destroy(): Promise<void> {}
}
