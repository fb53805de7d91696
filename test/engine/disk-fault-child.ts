// Receives a file while strace makes one call of the system fail; disk-fault.test.ts runs it. The file is in its place by
// then, so it must be neither taken back nor refused, and whoever claims the reception next records it.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '../support/harness.ts'
import { CODE, startRig } from './rig.ts'
import { offerOf } from './wire.ts'

const [folder = ''] = process.argv.slice(2)
const BYTES = randomBytes(3_000_000)

test('a file comes in', async (t) => {
  const rig = (await startRig(t)).run()
  Object.assign(rig.context.roots, { fileRoots: [folder] })
  await rig.putChannel(CODE, {
    direction: 'RECEPCION',
    directories: [{ direction: 'RECEPCION', filePath: folder }],
  })
  const offered = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const incoming = await rig.host().offer(offered)
  await incoming.write(BYTES, 0)
  await assert.rejects(incoming.complete({ size: BYTES.length }), {
    code: 'unavailable',
    message: 'a.bin is here, but that could not be recorded',
  })
  assert.deepEqual(await readdir(folder), ['a.bin'])
  rig.dispatcher.wake()
  await waitFor('it is finished', async () => (await rig.lastReception()).state === 'COMPLETED')
  assert.deepEqual(await readdir(folder), ['a.bin'])
  assert.ok((await readFile(join(folder, 'a.bin'))).equals(BYTES))
  assert.deepEqual(await readdir(join(rig.place.dataDir, 'partial')), [])
  assert.equal((await rig.host().offer(offered)).position, BYTES.length, 'it is not known that it is here')
})
