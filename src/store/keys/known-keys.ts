// What is public of the keys of channels, kept beside them: fingerprints, names and ends. It holds for one revision of one
// channel, so whatever writes a channel, a node of the version before too, makes it void without knowing of it. Sealing
// anew does not: the keys stay the same.

import type { Db, Tx } from '../database/store.ts'
import { batches } from '../database/batches.ts'

export type ChannelVersion = { code: string; id: string; revision: number }

export type KnownKey = {
  side: 'LOCAL' | 'REMOTE'
  /** Lower-case hex SHA-256 of the certificate, or of the public key where there is none. */
  fingerprint: string
  /** Of a certificate. */
  subject?: string
  endsAt?: number
  /** A certificate that stands behind the key's own, as that of its issuer does. */
  isBehind?: true
  /** Why it does not open. Of such a one nothing else is known, and nothing is kept. */
  unreadable?: string
}

export type KeysOfVersion = ChannelVersion & { keys: readonly KnownKey[] }

/** Channels in the order of their codes. */
export async function channelVersions(db: Db): Promise<(ChannelVersion & { contactId: string })[]> {
  return db
    .selectFrom('channel')
    .select(['code', 'id', 'revision', 'contact_id as contactId'])
    .orderBy('code')
    .execute()
}

/** By code, those that are kept for exactly these versions. */
export async function findKnownKeys(
  db: Db,
  channels: readonly ChannelVersion[],
): Promise<Map<string, readonly KnownKey[]>> {
  const wanted = new Map(channels.map((channel) => [channel.code, channel]))
  const found = new Map<string, readonly KnownKey[]>()
  for (const some of batches([...wanted.keys()]))
    for (const row of await db
      .selectFrom('channel_keys')
      .selectAll()
      .where('channel_code', 'in', some)
      .execute()) {
      const { id, revision } = wanted.get(row.channel_code) ?? {}
      if (row.channel_id === id && row.revision === revision)
        found.set(row.channel_code, JSON.parse(row.keys) as KnownKey[]) // written just below
    }
  return found
}

/** Everything that is kept, for whatever versions, in the order of the codes: up to so many after that one. */
export async function nextKnownKeys(db: Db, after: string, most: number): Promise<KeysOfVersion[]> {
  const rows = await db
    .selectFrom('channel_keys')
    .selectAll()
    .where('channel_code', '>', after)
    .orderBy('channel_code')
    .limit(most)
    .execute()
  return rows.map(({ channel_code: code, channel_id: id, revision, keys }) => ({
    code,
    id,
    revision,
    keys: JSON.parse(keys) as KnownKey[], // written just below
  }))
}

export async function putKnownKeys(tx: Tx, found: readonly KeysOfVersion[]): Promise<void> {
  for (const some of batches(found))
    await tx
      .insertInto('channel_keys')
      .values(
        some.map(({ code, id, revision, keys }) => ({
          channel_code: code,
          channel_id: id,
          revision,
          keys: JSON.stringify(keys),
        })),
      )
      .onConflict((conflict) =>
        conflict.column('channel_code').doUpdateSet((eb) => ({
          channel_id: eb.ref('excluded.channel_id'),
          revision: eb.ref('excluded.revision'),
          keys: eb.ref('excluded.keys'),
        })),
      )
      .execute()
}
