// Directories that change between the look at the files and the start of the transfer.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Directory } from '../../src/contract/channel.ts'
import { sealChannel, updateChannel } from '../../src/store/channels.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig } from './rig.ts'

function outbound(rig: Rig, folder: string, change: Directory = {}): Directory {
  return { direction: 'EMISION', filePath: join(rig.place.files, folder), ...change }
}

async function setDirectories(rig: Rig, directories: Directory[]): Promise<void> {
  const channel = await rig.channel()
  const sealed = sealChannel(rig.context.seal, CODE, { ...channel.config, directories })
  await rig.store.write((tx) => updateChannel(tx, { ...channel, ...sealed }))
}

test('directories in another order when the transfer starts: each file goes as its own directory says', async (t) => {
  const rig = await startRig(t)
  const plain = outbound(rig, 'plain')
  const packed = outbound(rig, 'packed', { compression: true })
  await rig.putChannel(CODE, channelOf(rig, { directories: [plain, packed] }))
  await rig.put('a.txt', 'from plain', plain.filePath)
  await rig.put('b.txt', 'from packed', packed.filePath)
  const { id } = await rig.send()
  await setDirectories(rig, [packed, plain])
  const done = await rig.run().ended(id)
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  assert.equal(String(await rig.delivered('a.txt')), 'from plain')
  assert.equal(String(gunzipSync(await rig.delivered('b.txt'))), 'from packed')
})

test('a file whose directory is gone when the transfer starts fails by its name, and the others go', async (t) => {
  const rig = await startRig(t)
  const gone = outbound(rig, 'gone', { compression: true })
  const kept = outbound(rig, 'kept')
  await rig.putChannel(CODE, channelOf(rig, { directories: [gone, kept] }))
  const path = await rig.put('a.txt', 'a', gone.filePath)
  await rig.put('b.txt', 'b', kept.filePath)
  const { id } = await rig.send()
  await setDirectories(rig, [kept])
  const done = await rig.run().ended(id)
  assert.equal(done.state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'file_refused')
  assert.match(done.error ?? '', new RegExp(`${path} is in no outbound directory`))
  assert.deepEqual(await rig.inbox(), ['b.txt'])
  assert.equal(String(await rig.delivered('b.txt')), 'b')
  // The directory is set again: a retry sends what is left, as it says now.
  await setDirectories(rig, [kept, gone])
  const again = await rig.ended((await rig.retry()).id)
  assert.equal(again.state, 'COMPLETED', again.error ?? '')
  assert.equal(String(gunzipSync(await rig.delivered('a.txt'))), 'a')
})

test('the only outbound directory gets another path: what was picked up from the old one still goes', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(
    CODE,
    channelOf(rig, { directories: [outbound(rig, 'monday', { compression: true })] }),
  )
  await rig.put('a.txt', 'a', join(rig.place.files, 'monday'))
  const { id } = await rig.send()
  await setDirectories(rig, [outbound(rig, 'tuesday', { compression: true })])
  const done = await rig.run().ended(id)
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  assert.equal(String(gunzipSync(await rig.delivered('a.txt'))), 'a')
})
