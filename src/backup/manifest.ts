// What a backup says about itself: first what it is, last what it holds.

import { Type } from 'typebox'
import type { Static } from 'typebox'
import { Value } from 'typebox/value'
import { NodeError } from '../errors.ts'

export const MANIFEST = 'manifest.json'
export const CONTENTS = 'contents.json'
export const DATABASE = 'database/'
export const DATA = 'data/'
export const SQLITE_FILE = `${DATABASE}esclusa.db`

/** The first entry. */
export const Manifest = Type.Object({
  format: Type.Literal(1),
  /** Tells one backup from another. */
  id: Type.String(),
  /** The program that made it. */
  version: Type.String(),
  madeAt: Type.Integer(),
  dialect: Type.Union([Type.Literal('sqlite'), Type.Literal('postgres')]),
  /** Names of the migrations that the database has. */
  migrations: Type.Array(Type.String()),
  /** Where the data folder was: paths in the database begin so. */
  dataDir: Type.String(),
})
export type Manifest = Static<typeof Manifest>

/** The last entry: every other one, by name. One that lacks it was cut off. */
export const Contents = Type.Object({
  entries: Type.Record(Type.String(), Type.Object({ size: Type.Integer(), sha256: Type.String() })),
  /** How many rows each table has; of a SQLite file it is not counted. */
  rows: Type.Record(Type.String(), Type.Integer()),
})
export type Contents = Static<typeof Contents>

export function readJson<T extends typeof Manifest | typeof Contents>(schema: T, text: string): Static<T> {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (cause) {
    throw new NodeError('damaged', 'the backup is damaged: it does not say what it is', { cause })
  }
  if (!Value.Check(schema, read))
    throw new NodeError('bad_use', 'this is no backup that this version can read: run a newer Esclusa')
  return read
}
