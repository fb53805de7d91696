// Queries that run at every request are compiled once per database handle and kept. Building and compiling a query
// takes about ten times as long as SQLite needs to run it. Both databases run them directly: the query builder's queue of
// connections costs SQLite more than the statement itself, and on PostgreSQL it would let none begin before the last has
// ended.

import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

type Named = { hotParameter: string }
export type Arg<A> = <K extends keyof A & string>(name: K) => A[K]
/** SQLite answers at once. A promise where there is none costs more than a small statement. */
export type Answer<Row> = Row[] | Promise<Row[]>
type Run<Row> = (parameters: readonly unknown[]) => Answer<Row>
/** `once`: each row is asked for once or twice, so that its answer is not worth keeping. */
export type Asked = 'again' | 'once'
type Prepare = (sql: string, asked: Asked) => Run<unknown>

const direct = new WeakMap<Kysely<Tables>, Prepare>()

/** Only for a handle whose connection nobody else uses: what it runs is not queued behind the builder's own statements. */
export function runDirectly(db: Kysely<Tables>, prepare: Prepare): void {
  direct.set(db, prepare)
}

/**
 * `build` is called once per kind of database. `arg('code')` stands for the value given at each run. There can be no
 * `in` lists: the text of the statement would depend on their length.
 */
export function hot<A extends object, Row>(
  build: (db: Kysely<Tables>, arg: Arg<A>) => Compilable<Row>,
  asked: Asked = 'again',
) {
  const compiled = new Map<unknown, CompiledQuery<Row>>()
  const runs = new WeakMap<Kysely<Tables>, (args: A) => Answer<Row>>()

  function runOn(db: Kysely<Tables>) {
    const kind = db.getExecutor().adapter.constructor
    let query = compiled.get(kind)
    if (!query) {
      // The builder treats this placeholder as if it were the value.
      query = build(db, (name) => ({ hotParameter: name }) as unknown as A[typeof name]).compile()
      compiled.set(kind, query)
    }
    const names = query.parameters.map((value) => (isNamed(value) ? value.hotParameter : undefined))
    const fixed = query.parameters
    const bind = (args: A) => {
      const values: unknown[] = []
      for (let nth = 0; nth < fixed.length; nth++) {
        const name = names[nth] as (keyof A & string) | undefined // as `arg` took it
        values.push(name === undefined ? fixed[nth] : args[name])
      }
      return values
    }
    const run = (direct.get(db)?.(query.sql, asked) as Run<Row> | undefined) ?? throughBuilder(db, query)
    return (args: A) => run(bind(args))
  }

  return (db: Kysely<Tables>, args: A): Answer<Row> => {
    let run = runs.get(db)
    if (!run) runs.set(db, (run = runOn(db)))
    return run(args)
  }
}

const ROWS_TOGETHER = 32

/** Inserts many rows, mostly by a statement for so many of them: to build and compile one costs as much as to run it. */
export function hotInsert<T extends keyof Tables>(
  table: T,
  columns: readonly (keyof Tables[T] & string)[],
): (db: Kysely<Tables>, rows: readonly Partial<Tables[T]>[]) => Promise<void> {
  const insert = (count: number) =>
    hot<readonly unknown[], unknown>((db, arg) => {
      const valueAt = (row: number, nth: number) => arg(String(row * columns.length + nth) as never)
      const rowAt = (row: number) =>
        Object.fromEntries(columns.map((column, nth) => [column, valueAt(row, nth)]))
      const values = Array.from({ length: count }, (_, row) => rowAt(row))
      return db.insertInto(table).values(values as never) // the columns of that table, as the type above says
    })
  const [one, many] = [insert(1), insert(ROWS_TOGETHER)]
  return async (db, rows) => {
    const inserting: Promise<unknown>[] = []
    for (let from = 0; from < rows.length;) {
      const count = rows.length - from < ROWS_TOGETHER ? 1 : ROWS_TOGETHER
      const values: unknown[] = []
      for (const row of rows.slice(from, from + count)) for (const column of columns) values.push(row[column])
      inserting.push(Promise.resolve((count === 1 ? one : many)(db, values)))
      from += count
    }
    await Promise.all(inserting)
  }
}

function throughBuilder<Row>(db: Kysely<Tables>, query: CompiledQuery<Row>): Run<Row> {
  return async (parameters) => (await db.executeQuery<Row>({ ...query, parameters })).rows
}

function isNamed(value: unknown): value is Named {
  return typeof value === 'object' && value !== null && 'hotParameter' in value
}
