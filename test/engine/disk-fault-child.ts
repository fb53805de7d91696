// Sends or receives a file while strace makes calls of the system fail; disk-fault.test.ts runs it.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { PartFile } from '../../src/engine/receiving/part-file.ts'
import { NAME_ALONE } from '../../src/engine/transports/transport.ts'
import type { TransferRecord } from '../../src/domain/transfer.ts'
import type { Store } from '../../src/store/database/store.ts'
import { CODE, startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { offerOf } from './wire.ts'

const [scenario = '', folder = '', times = '1'] = process.argv.slice(2)
const BYTES = randomBytes(3_000_000)

async function rigOn(t: TestContext, direction: 'EMISION' | 'RECEPCION'): Promise<Rig> {
  const rig = (await startRig(t)).run()
  Object.assign(rig.context.roots, { fileRoots: [folder] })
  await rig.putChannel(CODE, {
    direction,
    directories: [{ direction, filePath: folder }],
    connection: { advancedConfigurationConnection: { retries: 1 } },
  })
  return rig
}

const scenarios: Record<string, (t: TestContext) => Promise<void>> = {
  /** The file is in its place by then, so it must be neither taken back nor refused. */
  received: async (t) => {
    const rig = await rigOn(t, 'RECEPCION')
    const { shown, rests } = noted(rig)
    const offered = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
    const incoming = await rig.host().offer(offered)
    await incoming.write(BYTES, 0)
    await assert.rejects(incoming.complete({ size: BYTES.length }), {
      code: 'unavailable',
      message: 'a.bin is here, but that could not be recorded',
    })
    const { attempts, error } = await isFinished(rig)
    // Each failure makes it rest longer than the one before, and `error` says what it waits for until it is done.
    assert.deepEqual([attempts, error], [Number(times), null])
    assert.equal(rests.size, attempts)
    for (const [nth, ms] of rests) {
      const most = 1000 * 2 ** (nth - 1)
      // Between half of it and all. Some of it may be over when it is written.
      assert.ok(ms <= most && ms > most / 2 - 100, `rest ${nth} took ${ms} ms`)
    }
    const disk = 'a.bin is here, but that could not be recorded: the disk reports an error'
    assert.ok(
      [...shown].some((text) => text?.startsWith(disk)),
      [...shown].join(),
    )
    assert.equal((await rig.host().offer(offered)).position, BYTES.length, 'it is not known that it is here')
  },
  /** Told otherwise, it would bring the file again, and meet the name of its own. */
  'received by name': async (t) => {
    const rig = await rigOn(t, 'RECEPCION')
    const key = { name: 'a.bin', date: NAME_ALONE, time: '0000000000' }
    const incoming = await rig.host().offer(offerOf('a.bin', { key }))
    await incoming.write(BYTES, 0)
    await incoming.complete({ size: BYTES.length })
    await isFinished(rig)
  },
  sent: async (t) => {
    const rig = await rigOn(t, 'EMISION')
    await rig.put('a.bin', BYTES, folder)
    const { state, error } = await rig.sendAndEnd()
    assert.deepEqual([state, error], ['COMPLETED', null])
    assert.ok((await rig.delivered('a.bin')).equals(BYTES))
    const told = `the disk reports an error at ${join(folder, 'a.bin')} (EIO)`
    assert.ok(rig.events.some((event) => event.kind === 'state' && event.error === told))
  },
  'restart point': async () => {
    const kept: number[] = []
    const everyOctet = { octets: 1, pauseMs: 0 }
    const keep = async (position: number) => void kept.push(position)
    const part = await PartFile.open(join(folder, 'a.part'), 0, everyOctet, keep)
    await part.write(BYTES, 0)
    const told = { code: 'disk_fault', message: 'the disk reports an error at the data folder (EIO)' }
    await assert.rejects(part.finish(), told)
    await assert.rejects(part.keepAll())
    assert.deepEqual(kept, [])
    await part.close()
  },
}

/** What `error` of the transfer is after each write, and for how long it rests after each attempt. */
function noted(rig: Rig) {
  const shown = new Set<string | null>()
  const rests = new Map<number, number>()
  const store = rig.store as { write: Store['write'] }
  const { write } = store
  store.write = (change) => {
    const now = rig.context.now()
    return write(async (tx) => {
      const value = await change(tx)
      const columns = ['error', 'attempts', 'due_at'] as const
      for (const { error, attempts, due_at } of await tx.selectFrom('transfer').select(columns).execute()) {
        shown.add(error)
        if (attempts > 0 && !rests.has(attempts)) rests.set(attempts, due_at - now)
      }
      return value
    })
  }
  return { shown, rests }
}

async function isFinished(rig: Rig): Promise<TransferRecord> {
  assert.deepEqual(await readdir(folder), ['a.bin'])
  rig.dispatcher.wake()
  const done = await rig.lastReception()
  assert.equal(done.state, 'COMPLETED')
  assert.deepEqual(await readdir(folder), ['a.bin'])
  assert.ok((await readFile(join(folder, 'a.bin'))).equals(BYTES))
  assert.deepEqual(await readdir(join(rig.place.dataDir, 'partial')), [])
  return done
}

test(scenario, async (t) => {
  await scenarios[scenario]?.(t)
})
