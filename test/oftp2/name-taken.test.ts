// A name that is taken at the partner's end, whoever calls: the emission fails, the automation waits, and neither end keeps
// anything of it.

import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '../support/harness.ts'
import { startPair } from './pair.ts'
import type { Pair, Relation } from './pair.ts'

const PATIENCE_MS = 180_000

async function kept({ dataDir }: { dataDir: string }, folder: string): Promise<string[]> {
  return readdir(join(dataDir, folder)).catch(() => [])
}

/** Seen over looks of the automation, of which each would have failed. */
async function failsOnce(pair: Pair, relation: Relation): Promise<void> {
  const code = relation.code('left', 'FILES')
  const { db } = pair.left.store
  const failed = async () =>
    (await db.selectFrom('transfer').select('id').where('channel_code', '=', code).execute()).length > 0
  await waitFor('a failure', failed, PATIENCE_MS)
  const ran = async () =>
    db.selectFrom('automation_run').selectAll().where('channel_code', '=', code).executeTakeFirstOrThrow()
  const waiting = await waitFor(
    'the pause',
    async () => {
      const row = await ran()
      return row.failures > 0 && row
    },
    PATIENCE_MS,
  )
  const { ran_at, wait_until } = waiting as Awaited<ReturnType<typeof ran>>
  await waitFor('another look', async () => (await ran()).ran_at > ran_at, PATIENCE_MS)
  const rows = await db
    .selectFrom('transfer')
    .select(['state', 'requested_at'])
    .where('channel_code', '=', code)
    .execute()
  assert.equal(rows.filter((row) => row.requested_at < wait_until).length, 1)
}

test('a name taken at the partner’s end fails once, and leaves nothing at either end', async (t) => {
  const pair = await startPair(t)
  for (const callingEnd of ['LOCAL', 'REMOTO'] as const) {
    const other = callingEnd === 'LOCAL' ? 'REMOTO' : 'LOCAL'
    const connection = (end: 'LOCAL' | 'REMOTO') => ({
      connection: { advancedConfigurationConnection: { callingEnd: end } },
    })
    const relation = await pair.relate((name) => ({
      left: {
        channels: {
          FILES: {
            ...connection(callingEnd),
            direction: 'EMISION',
            directories: pair.directories(name, 'left', 'FILES', { compression: true }),
            automation: { every: '2s' },
          },
        },
      },
      right: {
        channels: {
          FILES: {
            ...connection(other),
            directories: pair.directories(name, 'right', 'FILES', { compression: true }),
            ...(other === 'LOCAL' && { automation: { every: '2s' } }),
          },
        },
      },
    }))
    await writeFile(join(relation.folder('right', 'in', 'FILES'), 'a.txt'), 'the one before')
    await pair.put(relation, 'left', 'FILES', 'a.txt', 'a')
    await failsOnce(pair, relation)
    await waitFor('nothing staged', async () => (await kept(pair.left, 'outgoing')).length === 0, PATIENCE_MS)
    await waitFor('nothing half', async () => (await kept(pair.right, 'partial')).length === 0, PATIENCE_MS)
    assert.deepEqual(await pair.received(relation, 'right', 'FILES'), ['a.txt'])
  }
})
