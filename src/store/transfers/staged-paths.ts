// Which files of the data folder have a row in the database. Those that have none were left over by a crash.

import type { Db } from '../database/store.ts'
import { isActive } from './active.ts'

/**
 * Every file in the data folder that a row names: half files, files of transfers that are not over, and what lies ready
 * for partners who call, or did when a backup was made and waits for somebody's decision.
 */
export async function knownPaths(db: Db): Promise<Set<string>> {
  const partial = await db.selectFrom('partial_file').select('path').execute()
  const staged = await db
    .selectFrom('transfer_file')
    .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
    .select('staged_path')
    .where(isActive)
    .where('staged_path', 'is not', null)
    .execute()
  const ready = await db.selectFrom('outbox_file').select('path').where('taken_at', 'is', null).execute()
  const held = await db
    .selectFrom('held_file')
    .select('path')
    .where('outbox_id', 'is not', null)
    .where('dropped_at', 'is', null)
    .execute()
  return new Set([
    ...[...partial, ...ready, ...held].map((row) => row.path),
    ...staged.map((row) => row.staged_path ?? ''),
  ])
}

export async function activeIds(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('transfer').select('id').where(isActive).execute()
  return rows.map(({ id }) => id)
}

/** Staged files of transfers that are not over, and of failures that a retry may still take over. */
export async function stagedPathsInUse(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('transfer_file')
    .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
    .select('transfer_file.staged_path')
    .distinct()
    .where('transfer_file.staged_path', 'is not', null)
    .where((eb) =>
      eb.or([
        isActive,
        // Automation makes them anew.
        eb.and([
          eb('transfer.state', '=', 'FAILED'),
          eb('transfer.settled', '=', 0),
          eb('transfer.type', '<>', 'AUTOMATIC'),
        ]),
      ]),
    )
    .execute()
  return rows.flatMap(({ staged_path: path }) => path ?? [])
}
