import assert from 'node:assert/strict'
import { CompiledQuery } from 'kysely'
import { test } from 'node:test'
import { sqlite, withStore } from '../../../test/support/harness.ts'

test('what lies ready of one transfer is found without going through the rest', async (t) => {
  const { db } = await withStore(t, sqlite)
  const rows = db.deleteFrom('outbox_file')
  for (const query of [rows.where('transfer_id', '=', ''), rows.where('transfer_id', 'in', ['', ''])]) {
    const { sql, parameters } = query.compile()
    const plan = await db.executeQuery(CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]))
    assert.match(JSON.stringify(plan.rows), /INDEX outbox_file_transfer/, sql)
  }
})
