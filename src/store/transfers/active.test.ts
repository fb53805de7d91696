import assert from 'node:assert/strict'
import { CompiledQuery } from 'kysely'
import { test } from 'node:test'
import { sqlite, withStore } from '../../../test/support/harness.ts'
import { isActive } from './active.ts'

test('transfers that are not over are found without going through all of them', async (t) => {
  const { db } = await withStore(t, sqlite)
  const planOf = async (query: { compile(): CompiledQuery }) => {
    const { sql, parameters } = query.compile()
    const plan = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters])
    const { rows } = await db.executeQuery(plan)
    return JSON.stringify(rows)
  }
  const all = db.selectFrom('transfer').select('id').where(isActive)
  assert.match(await planOf(all.where('channel_code', '=', 'x')), /INDEX transfer_(active|open)/)
  assert.match(await planOf(all.where('due_at', '<=', 1).orderBy('due_at')), /INDEX transfer_(due|open)/)
  const waiting = db.updateTable('transfer').set({ due_at: 1 }).where(isActive).where('due_at', '>', 1)
  assert.match(await planOf(waiting.where('state', '=', 'PENDING')), /INDEX transfer_(due|open)/)
})
