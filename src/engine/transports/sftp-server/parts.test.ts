// The small parts of the server by themselves: paths, spans, turns, counts of failed sign-ins.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { isTemporaryName } from '../temporary-name.ts'
import { canonicalPath, isFileName, placeOf } from './paths.ts'
import { ByteRanges } from './byte-ranges.ts'
import { PerNameQueue } from './per-name-queue.ts'

const applications = ['NOMINA', 'A.B_1']

test('whatever a path says, its place is in the tree and its name one plain component', () => {
  const piece = fc.oneof(
    fc.constantFrom('..', '.', '', 'NOMINA', 'in', 'out', 'A.B_1', '%2e%2e', '~', 'etc', '\u0000'),
    fc.string({ unit: 'binary' }),
  )
  const path = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('/'))
  fc.assert(
    fc.property(fc.oneof(path, fc.string({ unit: 'binary' })), (text) => {
      const canonical = canonicalPath(text)
      if (canonical !== undefined)
        assert.ok(
          !canonical
            .split('/')
            .slice(1)
            .some((part) => part === '..' || part === '.'),
        )
      const place = placeOf(text, applications)
      if (place === undefined || place.kind === 'root') return
      assert.ok(applications.includes(place.application))
      if (place.kind === 'file') {
        assert.ok(isFileName(place.name) && !place.name.includes('/') && !place.name.includes('\u0000'))
        assert.ok(Buffer.byteLength(place.name) <= 255)
      }
    }),
    { numRuns: 2000 },
  )
})

test('temporary names of common clients are known as such', () => {
  const temporary = [
    'a.txt.part',
    'a.txt.filepart',
    'a.TMP',
    '.a.txt',
    '.in.a.txt.',
    'a.txt.1a2B3c4d.partial',
    '.part',
  ]
  for (const name of temporary) assert.ok(isTemporaryName(name), name)
  for (const name of ['a.txt', 'part', 'a.parts', 'x.tmpl']) assert.ok(!isTemporaryName(name), name)
})

test('ranges know exactly the octets that were added', () => {
  const edge = fc.nat({ max: 40 })
  fc.assert(
    fc.property(fc.array(fc.tuple(edge, edge), { maxLength: 20 }), edge, (pairs, cut) => {
      const ranges = new ByteRanges()
      const set = new Set<number>()
      for (const [from, to] of pairs) {
        ranges.add(from, to)
        for (let at = from; at < to; at++) set.add(at)
      }
      ranges.cut(cut)
      for (const at of set) if (at >= cut) set.delete(at)
      let prefix = 0
      while (set.has(prefix)) prefix++
      assert.equal(ranges.prefix, prefix)
      assert.equal(ranges.end, Math.max(-1, ...set) + 1)
      for (let from = 0; from < 40; from += 3)
        for (let to = from; to < 40; to += 5) {
          const all = Array.from({ length: to - from }, (_, at) => from + at).every((at) => set.has(at))
          assert.equal(ranges.covers(from, to), all)
        }
    }),
  )
})

test('a client that scatters its writes cannot fill the memory with ranges', () => {
  const ranges = new ByteRanges()
  let kept = 0
  while (kept < 50_000 && ranges.add(kept * 2, kept * 2 + 1)) kept++
  assert.equal(kept, 1000)
})

test('work on one name waits for its turn, work on another does not', async () => {
  const queue = new PerNameQueue()
  const log: string[] = []
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const first = queue.take(['a'], async () => {
    await gate
    log.push('a1')
    throw new Error('a failure does not stop the next')
  })
  const both = queue.take(['a', 'b'], async () => void log.push('ab'))
  const last = queue.take(['b'], async () => void log.push('b'))
  await queue.take(['c'], async () => void log.push('c'))
  assert.deepEqual(log, ['c'])
  open()
  await assert.rejects(first)
  await Promise.all([both, last])
  assert.deepEqual(log, ['c', 'a1', 'ab', 'b'])
})
