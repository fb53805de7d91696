// Two states of a file that were once spelled by other columns: databases of that time, and nodes that still write so.

import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { TestContext } from 'node:test'
import { testOnBoth, withStore } from '../../../test/support/harness.ts'
import type { TestDatabase } from '../../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../../test/support/seed.ts'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { putContact, putLocalEntity } from '../contacts.ts'
import { newId } from '../database/ids.ts'
import { migrate } from '../database/migrate.ts'
import type { Store } from '../database/store.ts'
import { makeSeal } from '../seal.ts'
import { findTransfer, insertTransfer } from './transfers.ts'

const CODE = 'BANCO-ACME-NOMINA'

async function withTransfer(t: TestContext, database: TestDatabase): Promise<{ store: Store; id: string }> {
  const store = await withStore(t, database)
  const id = newId(1000)
  const made = { channelCode: CODE, direction: 'EMISION', type: 'MANUAL', requestedBy: 'ana' } as const
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    await seedChannel(tx, makeSeal('0'.repeat(32)), CODE, 'acme', {})
    await insertTransfer(tx, { ...made, id, now: 1000, retryOf: null, files: [] })
  })
  return { store, id }
}

type Old = { phase: string; directory: number; path: string; wireHash: string | null }

/** As the first version wrote them: it knew neither column. */
async function writeOld(store: Store, id: string, files: readonly Old[]): Promise<void> {
  for (const [idx, { phase, directory, path, wireHash }] of files.entries())
    await sql`insert into transfer_file (transfer_id, idx, directory, name, path, size, phase, position, key_name, key_date,
      key_time, wire_hash, receipt) values (${id}, ${idx}, ${directory}, 'a', ${path}, 10, ${phase}, 10, 'a', '', '',
      ${wireHash}, 'NONE')`.execute(store.db)
}

const OLD: readonly Old[] = [
  { phase: 'STAGED', directory: 0, path: '/srv/a', wireHash: 'abc' },
  { phase: 'STAGED', directory: 0, path: '/srv/b', wireHash: null },
  { phase: 'DONE', directory: 1, path: '/srv/c', wireHash: 'abc' },
  { phase: 'WAITING', directory: -1, path: '', wireHash: null },
  { phase: 'MOVING', directory: 0, path: '', wireHash: null },
]

function stateOf({ content, directory, maybeVisible }: TransferFileRecord): unknown[] {
  return [content, directory, maybeVisible]
}

const EXPECTED = [
  ['FILE', 0, true],
  ['FILE', 0, false],
  ['FILE', 1, false],
  ['CERTIFICATE', null, false],
  ['FILE', 0, false],
]

testOnBoth(
  'a database of the first version tells certificates and files that may be visible',
  async (t, database) => {
    const { store, id } = await withTransfer(t, database)
    for (const column of ['maybe_visible', 'content'])
      await sql`alter table transfer_file drop column ${sql.ref(column)}`.execute(store.db)
    await sql`delete from migration where name = '0004-file-states.sql'`.execute(store.db)
    await writeOld(store, id, OLD)
    await migrate(store)
    const rows = await store.db
      .selectFrom('transfer_file')
      .select(['content', 'maybe_visible'])
      .orderBy('idx')
      .execute()
    assert.deepEqual(
      rows.map(({ content, maybe_visible: maybe }) => [content, maybe]),
      EXPECTED.map(([content, , maybe]) => [content, Number(maybe)]),
    )
    assert.deepEqual((await findTransfer(store.db, id))?.files.map(stateOf), EXPECTED)
  },
)

testOnBoth('so do rows that a node of the first version writes meanwhile', async (t, database) => {
  const { store, id } = await withTransfer(t, database)
  await writeOld(store, id, OLD)
  assert.deepEqual((await findTransfer(store.db, id))?.files.map(stateOf), EXPECTED)
})
