import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelOf, runningRig } from './rig.ts'

test('a file goes out and one comes in', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  await rig.put('a.txt', 'hello')
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  assert.deepEqual(await rig.inbox(), ['a.txt'])
  await rig.offer('b.txt', 'world')
  assert.equal(await rig.fetch(), undefined)
  const got = await rig.lastReception()
  assert.equal(got.state, 'COMPLETED', got.error ?? '')
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})
