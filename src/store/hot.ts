// Queries that run at every request are compiled once per database kind and kept: building and compiling one costs
// some ten times what SQLite needs to run it.

import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

type Named = { hotParameter: string }
type Arg<A> = <K extends keyof A & string>(name: K) => A[K]

/**
 * `build` is called once per database kind; `arg('code')` stands for the value given at each run. Values must be
 * bound as they are (no `in` lists: their length would be part of the text).
 */
export function hot<A extends object, Row>(build: (db: Kysely<Tables>, arg: Arg<A>) => Compilable<Row>) {
  const compiled = new Map<unknown, CompiledQuery<Row>>()
  return async (db: Kysely<Tables>, args: A): Promise<Row[]> => {
    const kind = db.getExecutor().adapter.constructor
    let query = compiled.get(kind)
    if (!query) {
      // The placeholder travels through the builder as if it were the value itself.
      query = build(db, (name) => ({ hotParameter: name }) as unknown as A[typeof name]).compile()
      compiled.set(kind, query)
    }
    const parameters = query.parameters.map((value) => (isNamed(value) ? args[value.hotParameter as keyof A] : value))
    return (await db.executeQuery<Row>({ ...query, parameters })).rows
  }
}

function isNamed(value: unknown): value is Named {
  return typeof value === 'object' && value !== null && 'hotParameter' in value
}
