import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../../../../test/support/harness.ts'
import { makeStaging } from '../../staging/staging.ts'
import { SmallPart } from './small-part.ts'
import { WriteTogether } from './write-together.ts'

const EVERY = { octets: 4 * 1024 * 1024, pauseMs: 1000 }
const MIB = 1024 * 1024

async function scene(t: TestContext) {
  const dataDir = await tempFolder(t)
  const staging = makeStaging(dataDir)
  const together = new WriteTogether({ staging })
  const kept: number[] = []
  const part = (name: string, most: number) =>
    new SmallPart(staging.incomingQuick(name), together, {
      most,
      every: EVERY,
      checkpoint: async (position) => void kept.push(position),
    })
  /** What all of them may have in memory, as far as it is free. */
  const freeMib = () => {
    let taken = 0
    while (together.takeRoom(MIB)) taken++
    together.giveBack(taken * MIB)
    return taken
  }
  return { dataDir, together, part, kept, freeMib }
}

const sha256 = (text: string) => hash('sha256', text)

test('small files stay in memory until they are whole, and are written with those of others', async (t) => {
  const { part, freeMib } = await scene(t)
  const texts = ['', 'a', 'b'.repeat(10_000)]
  const parts = texts.map((_, nth) => part(String(nth), 10_000))
  for (const [nth, one] of parts.entries()) {
    const text = Buffer.from(texts[nth] ?? '')
    await one.write(text.subarray(0, 5000), 0)
    await one.write(text.subarray(5000), Math.min(5000, text.length))
    const into = Buffer.alloc(20_000)
    assert.equal(into.toString('latin1', 0, await one.read(into, 0)), texts[nth])
    assert.ok(!existsSync(one.path))
  }
  const whole = await Promise.all(parts.map((one) => one.finish()))
  assert.deepEqual(
    whole,
    texts.map((text) => ({ size: text.length, sha256: sha256(text) })),
  )
  assert.deepEqual(
    parts.map(({ path }) => readFileSync(path, 'latin1')),
    texts,
  )
  assert.equal(freeMib(), 16)
})

test('what comes out of order, is more than was announced or has no room goes to the disk as it comes', async (t) => {
  const { part, together, freeMib } = await scene(t)
  const behind = part('behind', 10)
  await behind.write(Buffer.from('56789'), 5)
  await behind.write(Buffer.from('01234'), 0)
  const more = part('more', 4)
  await more.write(Buffer.from('0123'), 0)
  await more.write(Buffer.from('456789'), 4)
  assert.equal(readFileSync(more.path, 'latin1'), '0123456789')
  const cut = part('cut', 10)
  await cut.write(Buffer.from('xxxxx'), 0)
  await cut.truncate(0)
  await cut.write(Buffer.from('0123456789'), 0)
  assert.ok(together.takeRoom(15 * MIB))
  const none = part('none', 2 * MIB)
  await none.write(Buffer.from('0123456789'), 0)
  assert.equal(readFileSync(none.path, 'latin1'), '0123456789')
  together.giveBack(15 * MIB)
  for (const one of [behind, more, cut, none]) {
    assert.deepEqual(await one.finish(), { size: 10, sha256: sha256('0123456789') })
    assert.equal(readFileSync(one.path, 'latin1'), '0123456789')
  }
  assert.equal(freeMib(), 16)
})

test('what is kept of a file that breaks off is on the disk, and nothing is left of one that is given up', async (t) => {
  const { part, kept, freeMib } = await scene(t)
  const broken = part('broken', 10)
  await broken.write(Buffer.from('0123'), 0)
  await broken.keepAll()
  await broken.close()
  assert.deepEqual(kept, [4])
  assert.equal(readFileSync(broken.path, 'latin1'), '0123')
  const empty = part('empty', 10)
  await empty.keepAll()
  await empty.close()
  assert.deepEqual(kept, [4])
  const dropped = part('dropped', 10)
  await dropped.write(Buffer.from('0123'), 0)
  await dropped.close()
  for (const one of [empty, dropped]) assert.ok(!existsSync(one.path))
  await assert.rejects(dropped.write(Buffer.from('4'), 4), /is closed/)
  await assert.rejects(dropped.read(Buffer.alloc(4), 0), /is closed/)
  await assert.rejects(dropped.finish(), /is closed/)
  assert.equal(freeMib(), 16)
})

test('one that is given up while it is written is not whole, and nothing is written of it afterwards', async (t) => {
  const { part, freeMib } = await scene(t)
  const one = part('one', 10)
  await one.write(Buffer.from('0123'), 0)
  const finishing = one.finish()
  const refused = assert.rejects(finishing, /is closed/)
  await one.close()
  rmSync(one.path)
  await refused
  // The order after it is answered after it.
  const next = part('next', 10)
  await next.write(Buffer.from('0'), 0)
  await next.finish()
  assert.ok(!existsSync(one.path))
  assert.equal(freeMib(), 16)
})

test('why octets could not be written is told, and their room is free again', async (t) => {
  const { dataDir, part, freeMib } = await scene(t)
  const one = part('one', 10)
  await one.write(Buffer.from('0123'), 0)
  writeFileSync(join(dataDir, 'partial'), 'no folder')
  await assert.rejects(one.finish(), { code: 'conflict', message: /is no folder/ })
  await assert.rejects(one.keepAll(), { code: 'conflict' })
  await one.close()
  assert.equal(freeMib(), 16)
})
