import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../../test/support/harness.ts'
import { Copies } from './copies.ts'

function expectedOf(path: string) {
  const { size, mtimeMs } = statSync(path)
  return { size, modifiedAt: Math.floor(mtimeMs) }
}

test('files and octets are copied to new files and into memory, each with its hash', async (t) => {
  const folder = await tempFolder(t)
  const texts = ['', 'a', 'b'.repeat(100_000)]
  const sources = texts.map((text, nth) => {
    const path = join(folder, `from-${nth}`)
    writeFileSync(path, text)
    return { path, expected: expectedOf(path) }
  })
  const to = (name: string, nth: number) => join(folder, `${name}-${nth}`)
  const copies = new Copies()
  const copied = await copies.make(
    [
      ...sources.map((from, nth) => ({ from, to: to('file', nth) })),
      ...sources.map((from) => ({ from, to: null })),
      ...texts.map((text, nth) => ({ from: Buffer.from(text), to: to('octets', nth) })),
    ],
    true,
  )
  const hashes = texts.map((text) => hash('sha256', text))
  assert.deepEqual(
    copied.map((one) => one?.sha256),
    [...hashes, ...hashes, ...hashes],
  )
  assert.deepEqual(
    copied.slice(3, 6).map((one) => Buffer.from(one?.octets ?? []).toString()),
    texts,
  )
  for (const name of ['file', 'octets'])
    assert.deepEqual(
      texts.map((_, nth) => readFileSync(to(name, nth), 'utf8')),
      texts,
    )
  assert.ok(copies.isQuick)
})

test('what cannot be copied is only said to be so, and leaves nothing', async (t) => {
  const folder = await tempFolder(t)
  const path = join(folder, 'from')
  writeFileSync(path, 'abc')
  const expected = expectedOf(path)
  symlinkSync(path, join(folder, 'link'))
  mkdirSync(join(folder, 'there'))
  const to = (name: string) => join(folder, name)
  const copied = await new Copies().make([
    { from: { path, expected: { ...expected, size: 4 } }, to: to('size') },
    { from: { path, expected: { ...expected, modifiedAt: 1 } }, to: null },
    { from: { path: to('link'), expected }, to: to('linked') },
    { from: { path: to('gone'), expected }, to: null },
    { from: Buffer.from('x'), to: join(folder, 'no', 'folder') },
    { from: Buffer.from('x'), to: to('there') },
    { from: { path, expected }, to: to('good') },
  ])
  assert.deepEqual(
    copied.map((one) => one !== undefined),
    [false, false, false, false, false, false, true],
  )
  for (const name of ['size', 'linked']) assert.ok(!existsSync(to(name)))
})
