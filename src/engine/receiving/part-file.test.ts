import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../../test/support/harness.ts'
import { PartFile } from './part-file.ts'

const EVERY = { octets: 4 * 1024 * 1024, pauseMs: 1000 }
const MANY = 64

test('what is under way when a file is closed goes into that file and no other', async (t) => {
  const folder = await tempFolder(t)
  const path = join(folder, 'big.part')
  const part = await PartFile.open(path, 0, EVERY, async () => {})
  // More than there are threads, so that most of them have not begun.
  const piece = Buffer.alloc(256 * 1024, 1)
  const writing = Array.from({ length: MANY }, (_, nth) => part.write(piece, nth * piece.length))
  const closing = part.close()
  // Whoever opens files now may be given the number that the closed one had.
  const others = Array.from({ length: 8 }, (_, nth) => join(folder, `other-${nth}`))
  const opened = others.map((other) => openSync(other, 'w'))
  await Promise.all([closing, ...writing])
  for (const other of opened) closeSync(other)
  assert.deepEqual(
    others.map((other) => statSync(other).size),
    others.map(() => 0),
  )
  assert.equal(statSync(path).size, MANY * piece.length)
})

test('nothing is read, written or synced after the end', async (t) => {
  const folder = await tempFolder(t)
  const path = join(folder, 'big.part')
  const part = await PartFile.open(path, 0, EVERY, async () => {})
  await part.write(Buffer.from('before'), 0)
  await part.close()
  const other = join(folder, 'other')
  const file = openSync(other, 'w+')
  await assert.rejects(part.write(Buffer.from('after'), 0), /is closed/)
  await assert.rejects(part.read(Buffer.alloc(10), 0), /is closed/)
  await assert.rejects(part.truncate(0), /is closed/)
  await assert.rejects(part.finish(), /is closed/)
  closeSync(file)
  assert.equal(readFileSync(other, 'utf8'), '')
  assert.equal(readFileSync(path, 'utf8'), 'before')
})
