// The two memories that keep a file from being sent or taken twice. An entry's age counts from when upkeep first saw it.

import type { Db, Tx } from '../database/store.ts'

type Memory = 'sent_file' | 'received_file'
const MEMORIES = ['sent_file', 'received_file'] as const satisfies Memory[]

/** Gives new entries of a channel their time. */
export async function stampMemories(tx: Tx, code: string, now: number): Promise<void> {
  for (const memory of MEMORIES)
    await tx
      .updateTable(memory)
      .set({ seen_at: now })
      .where('channel_code', '=', code)
      .where('seen_at', '=', 0)
      .execute()
}

export type OldSent = { name: string; hash: string; seenAt: number }

/** Sent files that were seen before that time, oldest first, after the one given. */
export async function oldSent(
  db: Db,
  code: string,
  before: number,
  most: number,
  after?: OldSent,
): Promise<OldSent[]> {
  let query = db
    .selectFrom('sent_file')
    .select(['name', 'hash', 'seen_at as seenAt'])
    .where('channel_code', '=', code)
    .where('seen_at', '>', 0)
    .where('seen_at', '<', before)
    .orderBy('seen_at')
    .orderBy('name')
    .orderBy('hash')
    .limit(most)
  if (after)
    query = query.where((eb) =>
      eb.or([
        eb('seen_at', '>', after.seenAt),
        eb.and([eb('seen_at', '=', after.seenAt), eb('name', '>', after.name)]),
        eb.and([eb('seen_at', '=', after.seenAt), eb('name', '=', after.name), eb('hash', '>', after.hash)]),
      ]),
    )
  return query.execute()
}

export async function forgetSent(tx: Tx, code: string, files: readonly OldSent[]): Promise<void> {
  for (const { name, hash } of files)
    await tx
      .deleteFrom('sent_file')
      .where('channel_code', '=', code)
      .where('name', '=', name)
      .where('hash', '=', hash)
      .execute()
}

/** True: there may be more. */
export async function forgetReceived(tx: Tx, code: string, before: number, most: number): Promise<boolean> {
  const rows = await tx
    .selectFrom('received_file')
    .select(['key_name', 'key_date', 'key_time'])
    .where('channel_code', '=', code)
    .where('seen_at', '>', 0)
    .where('seen_at', '<', before)
    .limit(most)
    .execute()
  for (const row of rows)
    await tx
      .deleteFrom('received_file')
      .where('channel_code', '=', code)
      .where('key_name', '=', row.key_name)
      .where('key_date', '=', row.key_date)
      .where('key_time', '=', row.key_time)
      .execute()
  return rows.length === most
}
