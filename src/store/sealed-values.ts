// Every place where a sealed value lies, and sealing them anew with the current key. Each row is changed only if it is
// still as it was read: whoever changed it meanwhile has sealed it himself.

import { NodeError } from '../errors.ts'
import { channelPlace } from './channels.ts'
import { contactPlace } from './contacts.ts'
import type { Db, Store } from './database/store.ts'
import { secretsPlace } from './events/subscriptions.ts'
import type { Seal } from './seal.ts'

type Sealed = { key: string; text: string }
/** A sealed value, and the place that it was sealed for. */
type Value = { place: string; sealed: string }
type Kind = {
  /** Rows in the order of their keys, after the one named. */
  read(db: Db, after: string, limit: number): Promise<Sealed[]>
  valuesIn(row: Sealed): Value[]
  /** The text with every value sealed anew that needs it; the same where none does. */
  renew(seal: Seal, row: Sealed): string
  write(store: Store, before: Sealed, text: string): Promise<void>
}

const KINDS: readonly Kind[] = [channels(), contacts(), subscriptions(), snapshots()]

/**
 * Whether a node must have the master key of before. Where the database lies beside the key, as soon as a platform has
 * begun: every node that starts signs the audit trail, and a database from before there was one has partners or channels.
 * A node that joins others on PostgreSQL may come with a key of its own until something is sealed that it could not open.
 */
export async function usesMasterKey({ db, dialect }: Store): Promise<boolean> {
  const first = await Promise.all(
    dialect.name === 'sqlite'
      ? [
          db.selectFrom('audit').select('id').limit(1).execute(),
          db.selectFrom('audit_head').select('name').limit(1).execute(),
          db.selectFrom('contact').select('id').limit(1).execute(),
          db.selectFrom('channel').select('code').limit(1).execute(),
        ]
      : [
          db.selectFrom('channel').select('code').where('secrets', '<>', '{}').limit(1).execute(),
          db.selectFrom('contact').select('id').where('secrets', '<>', '{}').limit(1).execute(),
          db.selectFrom('subscription').select('id').where('secrets', '<>', '').limit(1).execute(),
        ],
  )
  return first.some((rows) => rows.length > 0)
}

const VALUES_AT_ONCE = 200

/** All of them, in the order of their kinds. */
export async function* sealedValues(db: Db): AsyncGenerator<Value> {
  for (const kind of KINDS)
    for (let after: string | undefined = ''; after !== undefined;) {
      const rows = await kind.read(db, after, VALUES_AT_ONCE)
      for (const row of rows) yield* kind.valuesIn(row)
      after = rows.at(-1)?.key
    }
}

/**
 * Refuses a key that opens none of them: each transfer that needs a secret would fail for good, and what was sealed with
 * this key the other nodes could not open.
 */
export async function requireKeyOf(db: Db, seal: Seal): Promise<void> {
  let isEmpty = true
  for await (const value of sealedValues(db)) {
    if (opens(seal, value)) return
    isEmpty = false
  }
  if (isEmpty) return
  throw new NodeError(
    'bad_use',
    'no secret in the database opens with this master key: set ESCLUSA_MASTER_KEY, or put master-key back, as it was when they were sealed (where it is lost, esclusa export still writes the platform without its secrets)',
  )
}

export function opens(seal: Seal, { place, sealed }: Value): boolean {
  try {
    seal.open(place, sealed)
    return true
  } catch {
    return false
  }
}

/** How far a walk over all of them has come. */
export type ResealWalk = { kind: number; after: string; renewed: number }
export const RESEAL_START: ResealWalk = { kind: 0, after: '', renewed: 0 }

/** Some rows more; undefined when there are none left. */
export async function resealSome(
  store: Store,
  seal: Seal,
  { kind, after, renewed }: ResealWalk,
  limit: number,
): Promise<ResealWalk | undefined> {
  const place = KINDS[kind]
  if (!place) return undefined
  const rows = await place.read(store.db, after, limit)
  let count = renewed
  for (const row of rows) {
    const text = place.renew(seal, row)
    if (text === row.text) continue
    await place.write(store, row, text)
    count++
  }
  const last = rows.at(-1)
  return last && rows.length === limit
    ? { kind, after: last.key, renewed: count }
    : { kind: kind + 1, after: '', renewed: count }
}

function renewValue(seal: Seal, place: string, sealed: string): string {
  if (seal.isCurrent(place, sealed)) return sealed
  let secret: string
  try {
    secret = seal.open(place, sealed)
  } catch {
    return sealed // no key we have opens it: whoever needs it is told so
  }
  return seal.seal(place, secret)
}

function renewAll(seal: Seal, secrets: Record<string, string>, placeOf: (name: string) => string) {
  return Object.fromEntries(
    Object.entries(secrets).map(([name, sealed]) => [name, renewValue(seal, placeOf(name), sealed)]),
  )
}

function channels(): Kind {
  return {
    read: (db, after, limit) =>
      db
        .selectFrom('channel')
        .select(['code as key', 'secrets as text'])
        .where('code', '>', after)
        .orderBy('code')
        .limit(limit)
        .execute(),
    valuesIn: ({ key, text }) => valuesOf(secretsIn(text), (field) => channelPlace(key, field as never)), // written by sealChannel
    renew: (seal, { key, text }) =>
      JSON.stringify(renewAll(seal, secretsIn(text), (field) => channelPlace(key, field as never))),
    write: (store, { key, text }, secrets) =>
      store.write(async (tx) => {
        await tx
          .updateTable('channel')
          .set({ secrets })
          .where('code', '=', key)
          .where('secrets', '=', text)
          .execute()
      }),
  }
}

function contacts(): Kind {
  return {
    read: (db, after, limit) =>
      db
        .selectFrom('contact')
        .select(['id as key', 'secrets as text'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute(),
    valuesIn: ({ key, text }) => valuesOf(secretsIn(text), (pointer) => contactPlace(key, pointer)),
    renew: (seal, { key, text }) =>
      JSON.stringify(renewAll(seal, secretsIn(text), (pointer) => contactPlace(key, pointer))),
    write: (store, { key, text }, secrets) =>
      store.write(async (tx) => {
        await tx
          .updateTable('contact')
          .set({ secrets })
          .where('id', '=', key)
          .where('secrets', '=', text)
          .execute()
      }),
  }
}

function subscriptions(): Kind {
  return {
    read: (db, after, limit) =>
      db
        .selectFrom('subscription')
        .select(['id as key', 'secrets as text'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute(),
    valuesIn: ({ key, text }) => (text === '' ? [] : [{ place: secretsPlace(key), sealed: text }]),
    renew: (seal, { key, text }) => (text === '' ? text : renewValue(seal, secretsPlace(key), text)),
    write: (store, { key, text }, secrets) =>
      store.write(async (tx) => {
        await tx
          .updateTable('subscription')
          .set({ secrets })
          .where('id', '=', key)
          .where('secrets', '=', text)
          .execute()
      }),
  }
}

/** A transfer that is not over keeps its channel as it was, sealed values and all. */
function snapshots(): Kind {
  return {
    read: async (db, after, limit) => {
      const rows = await db
        .selectFrom('transfer')
        .select(['id', 'snapshot'])
        .where('state', 'in', ['PENDING', 'IN_PROGRESS'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map(({ id, snapshot }) => ({ key: id, text: snapshot ?? '' }))
    },
    valuesIn: ({ text }) => {
      if (text === '') return []
      const { code, secrets } = channelIn(text)
      return valuesOf(secrets, (field) => channelPlace(code, field as never))
    },
    renew: (seal, { text }) => {
      if (text === '') return text
      const record = channelIn(text)
      const secrets = renewAll(seal, record.secrets, (field) => channelPlace(record.code, field as never))
      return JSON.stringify({ ...record, secrets })
    },
    write: (store, { key, text }, snapshot) =>
      store.write(async (tx) => {
        await tx
          .updateTable('transfer')
          .set({ snapshot })
          .where('id', '=', key)
          .where('snapshot', '=', text)
          .execute()
      }),
  }
}

function valuesOf(secrets: Record<string, string>, placeOf: (name: string) => string): Value[] {
  return Object.entries(secrets).map(([name, sealed]) => ({ place: placeOf(name), sealed }))
}

/** As it was when the transfer began. */
function channelIn(text: string) {
  return JSON.parse(text) as { code: string; secrets: Record<string, string> } // written by snapshotOf
}

function secretsIn(text: string): Record<string, string> {
  return JSON.parse(text) as Record<string, string> // sealed values by name, written by us
}
