// Changes to many channels at once, for platform files with thousands of them. Each function runs a few statements per
// five hundred channels, inside the caller's transaction.

import { batches } from './database/batches.ts'
import { channelsChanged, toChannel, toRow } from './channels.ts'
import type { ChannelRecord, HistoryEntry } from './channels.ts'
import type { Db, Dialect, Tx } from './database/store.ts'
import type { ChannelRow } from './database/tables.ts'
import { addEvents } from './events/outbox.ts'
import { tellHistory } from './events/told.ts'
import { isActive } from './transfers/active.ts'

/** Channels by their codes, or those of a contact or of a local entity. */
export type SomeChannels =
  | readonly string[]
  | { contactId: string }
  | { localCode: string }
  /** Those that may use it: its own, and all with automation, which may name another. */
  | { calendar: string }

/** All channels, or these, by code. */
export async function someChannels(db: Db, some?: SomeChannels): Promise<ChannelRecord[]> {
  return (await readRows(db, some)).map(toChannel)
}

/** The same, locked until the transaction ends. An update through the interface waits; none is lost. */
export async function lockChannels(tx: Tx, dialect: Dialect, some?: SomeChannels): Promise<ChannelRecord[]> {
  return (await readRows(tx, some, dialect.rowLocks)).map(toChannel)
}

async function readRows(db: Db, some: SomeChannels | undefined, lock = false): Promise<ChannelRow[]> {
  let query = db.selectFrom('channel').selectAll().orderBy('code')
  if (lock) query = query.forNoKeyUpdate()
  if (!some) return query.execute()
  if ('contactId' in some) return query.where('contact_id', '=', some.contactId).execute()
  if ('localCode' in some) return query.where('local_code', '=', some.localCode).execute()
  if ('calendar' in some)
    return query
      .where((eb) => eb.or([eb('calendar', '=', some.calendar), eb('automation', 'is not', null)]))
      .execute()
  const rows: ChannelRow[] = []
  for (const codes of batches(some.toSorted()))
    rows.push(...(await query.where('code', 'in', codes).execute()))
  return rows
}

/** Replaces channels that exist; their revision grows. */
export async function updateChannels(tx: Tx, channels: readonly ChannelRecord[]): Promise<void> {
  for (const some of batches(channels)) {
    const rows = some.map((channel) => toRow({ ...channel, revision: channel.revision + 1 }))
    await tx
      .insertInto('channel')
      .values(rows)
      .onConflict((conflict) =>
        conflict.column('code').doUpdateSet((eb) => ({
          contact_id: eb.ref('excluded.contact_id'),
          local_code: eb.ref('excluded.local_code'),
          alias: eb.ref('excluded.alias'),
          config: eb.ref('excluded.config'),
          secrets: eb.ref('excluded.secrets'),
          automation: eb.ref('excluded.automation'),
          calendar: eb.ref('excluded.calendar'),
          keep: eb.ref('excluded.keep'),
          max_opened_megabytes: eb.ref('excluded.max_opened_megabytes'),
          revision: eb.ref('excluded.revision'),
        })),
      )
      .execute()
  }
  if (channels.length > 0) await channelsChanged(tx)
}

export async function removeChannels(
  tx: Tx,
  codes: readonly string[],
  { at, detail }: { at: number; detail: string },
): Promise<void> {
  for (const some of batches(codes)) await tx.deleteFrom('channel').where('code', 'in', some).execute()
  await addEvents(
    tx,
    codes.map((channelCode) => ({ type: 'channel.removed' as const, at, channelCode, data: { detail } })),
  )
}

/** The same entry in the history of each channel; `auditIds` says by code which entry of the audit trail tells more. */
export async function addHistoryToAll(
  tx: Tx,
  codes: readonly string[],
  entry: HistoryEntry,
  auditIds?: ReadonlyMap<string, string>,
): Promise<void> {
  for (const some of batches(codes)) {
    const counted = await tx
      .updateTable('channel_state')
      .set((eb) => ({ history_count: eb('history_count', '+', 1) }))
      .where('code', 'in', some)
      .returning(['code', 'history_count'])
      .execute()
    const rows = counted.map((row) => ({
      channel_code: row.code,
      position: row.history_count,
      at: entry.at,
      event: entry.event,
      detail: entry.detail ?? null,
      audit_id: auditIds?.get(row.code) ?? entry.auditId ?? null,
    }))
    if (rows.length > 0) await tx.insertInto('history').values(rows).execute()
    await tellHistory(
      tx,
      counted.map((row) => row.code),
      [entry],
    )
  }
}

/** Which of the channels have a pending or running transfer. */
export async function channelsInUse(tx: Tx, codes: readonly string[]): Promise<string[]> {
  const inUse = new Set<string>()
  for (const some of batches(codes)) {
    const rows = await tx
      .selectFrom('transfer')
      .select('channel_code')
      .where('channel_code', 'in', some)
      .where(isActive)
      .execute()
    for (const row of rows) inUse.add(row.channel_code)
  }
  return [...inUse].sort()
}
