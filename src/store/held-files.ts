// Files that are not sent until a person says so. A restore makes them: it cannot know what was sent since the backup.

import { batches } from './database/batches.ts'
import type { Db, Tx } from './database/store.ts'
import type { Tables } from './database/tables.ts'
import { recordTaken, toOutboxFile } from './transfers/outbox.ts'
import { rememberSent } from './transfers/sent-files.ts'

export type HeldFile = {
  id: string
  channelCode: string
  path: string
  name: string
  size: number
  modifiedAt: number
  /** It lies ready for a partner who calls. */
  outboxId: string | null
  heldAt: number
}

export async function holdFile(tx: Tx, file: HeldFile): Promise<void> {
  await tx.insertInto('held_file').values(toRow(file)).execute()
}

/** Hidden from the partner while it is held. */
export async function holdInOutbox(tx: Tx, file: HeldFile & { outboxId: string }): Promise<void> {
  await tx.updateTable('outbox_file').set({ taken_at: file.heldAt }).where('id', '=', file.outboxId).execute()
  await holdFile(tx, file)
}

/** Those still to be decided, in the order of channels and names. */
export async function undecidedFiles(db: Db): Promise<HeldFile[]> {
  const rows = await db
    .selectFrom('held_file')
    .selectAll()
    .where('dropped_at', 'is', null)
    .orderBy('channel_code')
    .orderBy('name')
    .orderBy('id')
    .execute()
  return rows.map(toHeld)
}

/** Whether a send must leave a file alone. */
export async function heldIn(
  db: Db,
  channelCode: string,
): Promise<(file: { path: string; size: number; modifiedAt: number }) => boolean> {
  const rows = await db
    .selectFrom('held_file')
    .select(['path', 'size', 'modified_at'])
    .where('channel_code', '=', channelCode)
    .where('outbox_id', 'is', null)
    .execute()
  const held = new Map(rows.map((row) => [row.path, row]))
  return ({ path, size, modifiedAt }) => {
    const row = held.get(path)
    return row?.size === size && row.modified_at === modifiedAt
  }
}

/** It may be sent, or taken by the partner. */
export async function releaseHeld(tx: Tx, file: HeldFile): Promise<void> {
  if (file.outboxId !== null)
    await tx.updateTable('outbox_file').set({ taken_at: null }).where('id', '=', file.outboxId).execute()
  await tx.deleteFrom('held_file').where('id', '=', file.id).execute()
}

/** A retry of their transfer is the decision to send them. */
export async function releasePaths(tx: Tx, channelCode: string, paths: readonly string[]): Promise<void> {
  for (const some of batches(paths))
    await tx
      .deleteFrom('held_file')
      .where('channel_code', '=', channelCode)
      .where('outbox_id', 'is', null)
      .where('path', 'in', some)
      .execute()
}

/** The partner has it: it counts as sent. Without a hash (the file is gone) there is nothing to remember. */
export async function dropHeld(tx: Tx, file: HeldFile, hash: string | undefined, now: number): Promise<void> {
  const { channelCode, name, size } = file
  if (file.outboxId !== null) {
    const row = await tx
      .selectFrom('outbox_file')
      .selectAll()
      .where('id', '=', file.outboxId)
      .executeTakeFirst()
    if (row) await recordTaken(tx, toOutboxFile(row), now)
  } else if (hash !== undefined) await rememberSent(tx, { channelCode, name, hash, size })
  await tx.updateTable('held_file').set({ dropped_at: now }).where('id', '=', file.id).execute()
}

function toHeld(row: Tables['held_file']): HeldFile {
  return {
    id: row.id,
    channelCode: row.channel_code,
    path: row.path,
    name: row.name,
    size: row.size,
    modifiedAt: row.modified_at,
    outboxId: row.outbox_id,
    heldAt: row.held_at,
  }
}

function toRow(file: HeldFile): Tables['held_file'] {
  return {
    id: file.id,
    channel_code: file.channelCode,
    path: file.path,
    name: file.name,
    size: file.size,
    modified_at: file.modifiedAt,
    outbox_id: file.outboxId,
    held_at: file.heldAt,
    dropped_at: null,
  }
}
