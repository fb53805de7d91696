// How long an archive file was when what it holds was taken out of the database, in the same transaction. What lies
// beyond it was written by a run that was cut off, and is written again.

import { hostname } from 'node:os'
import type { Db, Tx } from '../database/store.ts'

export type ArchiveMark = { file: string; length: number }

// Each machine has files of its own, in a folder that several may share.
const nameOf = (folder: string) => `archive ${hostname()} ${folder}`

export async function archiveMark(db: Db, folder: string): Promise<ArchiveMark | undefined> {
  const row = await db
    .selectFrom('meta')
    .select('value')
    .where('name', '=', nameOf(folder))
    .executeTakeFirst()
  return row && (JSON.parse(row.value) as ArchiveMark) // written by putArchiveMark alone
}

export async function putArchiveMark(tx: Tx, folder: string, mark: ArchiveMark): Promise<void> {
  const row = { name: nameOf(folder), value: JSON.stringify(mark) }
  await tx
    .insertInto('meta')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: row.value }))
    .execute()
}
