// Queries that run at every request are compiled once per database handle and kept. Building and compiling a query
// takes about ten times as long as SQLite needs to run it. Both databases run them directly: the query builder's queue of
// connections costs SQLite more than the statement itself, and on PostgreSQL it would let none begin before the last has
// ended.

import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

type Named = { hotParameter: string }
export type Arg<A> = <K extends keyof A & string>(name: K) => A[K]
type Run<Row> = (parameters: readonly unknown[]) => Row[] | Promise<Row[]>

const direct = new WeakMap<Kysely<Tables>, (sql: string) => Run<unknown>>()

/** Only for a handle whose connection nobody else uses: what it runs is not queued behind the builder's own statements. */
export function runDirectly(db: Kysely<Tables>, prepare: (sql: string) => Run<unknown>): void {
  direct.set(db, prepare)
}

/**
 * `build` is called once per kind of database. `arg('code')` stands for the value given at each run. There can be no
 * `in` lists: the text of the statement would depend on their length.
 */
export function hot<A extends object, Row>(build: (db: Kysely<Tables>, arg: Arg<A>) => Compilable<Row>) {
  const compiled = new Map<unknown, CompiledQuery<Row>>()
  const runs = new WeakMap<Kysely<Tables>, (args: A) => Row[] | Promise<Row[]>>()

  function runOn(db: Kysely<Tables>) {
    const kind = db.getExecutor().adapter.constructor
    let query = compiled.get(kind)
    if (!query) {
      // The builder treats this placeholder as if it were the value.
      query = build(db, (name) => ({ hotParameter: name }) as unknown as A[typeof name]).compile()
      compiled.set(kind, query)
    }
    const { parameters } = query
    const bind = (args: A) =>
      parameters.map((value) => (isNamed(value) ? args[value.hotParameter as keyof A] : value))
    const run = (direct.get(db)?.(query.sql) as Run<Row> | undefined) ?? throughBuilder(db, query)
    return (args: A) => run(bind(args))
  }

  return async (db: Kysely<Tables>, args: A): Promise<Row[]> => {
    let run = runs.get(db)
    if (!run) runs.set(db, (run = runOn(db)))
    return run(args)
  }
}

function throughBuilder<Row>(db: Kysely<Tables>, query: CompiledQuery<Row>): Run<Row> {
  return async (parameters) => (await db.executeQuery<Row>({ ...query, parameters })).rows
}

function isNamed(value: unknown): value is Named {
  return typeof value === 'object' && value !== null && 'hotParameter' in value
}
