// Received files that the channel moves on, and that somebody takes away before the node has written what became of them.

import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { NodeError } from '../../src/errors.ts'
import type { Store, Tx } from '../../src/store/database/store.ts'
import { diskFault, meanwhile } from '../support/meanwhile.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { offerOf } from './wire.ts'

async function movingRig(t: TestContext, retries = 0): Promise<Rig> {
  const line = new Line({ protocol: 'oftp2', capabilities: { receipts: true } })
  const rig = await startRig(t, { transports: [line] })
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  const postReceptionDirectory = join(rig.place.files, 'sorted')
  await rig.putChannel(
    CODE,
    channelOf(rig, {
      integrations: { postReceptionAction: 'RECEPTION_MOVE', postReceptionDirectory },
      connection: { advancedConfigurationConnection: { retries } },
    }),
  )
  return rig.run()
}

/** Each write, with the phase that it leaves the file in; `judge` may throw before it is durable. */
function judgeWrites(rig: Rig, judge: (phase: string | undefined) => Promise<void>): void {
  const store = rig.store as { write: Store['write'] }
  const { write } = store
  store.write = (change) =>
    write(async (tx: Tx) => {
      const value = await change(tx)
      const file = await tx.selectFrom('transfer_file').select('phase').executeTakeFirst()
      await judge(file?.phase)
      return value
    })
}

async function bring(rig: Rig): Promise<void> {
  const incoming = await rig.host('oftp2').offer(offerOf('a.txt', { size: 1, restartFrom: 1 }))
  await incoming.write(Buffer.from('a'), 0)
  await incoming.complete({ size: 1 })
}

async function receiptsOwed(rig: Rig): Promise<boolean[]> {
  const rows = await rig.store.db.selectFrom('owed_receipt').select('body').execute()
  return rows.map(({ body }) => (JSON.parse(body) as { positive: boolean }).positive)
}

test('a file that was moved and taken away before that was written counts as moved', async (t) => {
  const rig = await movingRig(t)
  let taken = false
  judgeWrites(rig, async (phase) => {
    if (taken || phase !== 'DONE') return
    taken = true
    await rm(join(rig.place.files, 'sorted', 'a.txt'))
    throw new NodeError('unavailable', 'the database does not answer')
  })
  await bring(rig)
  const { state, error, files } = await rig.lastReception()
  assert.ok(taken)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal(files[0]?.pathPost, join(rig.place.files, 'sorted', 'a.txt'))
  assert.deepEqual(await receiptsOwed(rig), [true])
})

test('a file that somebody takes away before it is moved is missing', async (t) => {
  const rig = await movingRig(t)
  judgeWrites(rig, async (phase) => {
    if (phase === 'PLACED') await rm(join(rig.place.files, 'in', 'a.txt'), { force: true })
  })
  await bring(rig)
  const { id, state } = await rig.lastReception()
  assert.equal(state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'file_missing')
  assert.deepEqual(await receiptsOwed(rig), [false])
})

for (const call of ['stat', 'lstat'] as const)
  test(`a file that the disk does not show (${call}) when it is to be moved is moved later`, async (t) => {
    const rig = await movingRig(t, 5)
    const looks: { done: () => boolean }[] = []
    judgeWrites(rig, async (phase) => {
      if (phase !== 'PLACED' || looks.length > 0) return
      looks.push(meanwhile(t, call, 'before', { path: join(rig.place.files, 'in', 'a.txt'), act: diskFault }))
    })
    await bring(rig)
    const { state, error, files } = await rig.lastReception()
    assert.ok(looks[0]?.done())
    assert.equal(state, 'COMPLETED', error ?? '')
    assert.equal(files[0]?.pathPost, join(rig.place.files, 'sorted', 'a.txt'))
    assert.deepEqual([await rig.list('in'), await rig.list('sorted')], [[], ['a.txt']])
    assert.deepEqual(await receiptsOwed(rig), [true])
  })
