import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { link, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { closeAfter, tempFolder } from '../../test/support/harness.ts'
import { diskFault, meanwhile } from '../../test/support/meanwhile.ts'
import { skipWithoutPrlimit, withNothingToOpen } from '../../test/support/open-files.ts'
import { zoneOf } from '../domain/time.ts'
import { ensureFolder, exists, isPlaced, markOf, placeFile, placeMarked, stampedName } from './place.ts'

const AT = Date.parse('2026-11-15T10:30:00.123Z')
const utc = zoneOf('UTC')

// Awaited before the first test: what is awaited between two of them may find the run over (--test-force-exit).
const shm = await mkdtemp('/dev/shm/esclusa-').catch(() => undefined)
const here = shm && (await stat('/tmp')).dev !== (await stat(shm)).dev
const skip = here ? false : 'SKIPPED: there is no second file system at /dev/shm'

test('a stamp stands before the extension', () => {
  assert.equal(stampedName('report.txt', 8, AT, utc), 'report.20261115.txt')
  assert.equal(stampedName('report.txt', 17, AT, utc, 2), 'report.20261115103000123.2.txt')
  assert.equal(stampedName('report', 14, AT, utc), 'report.20261115103000')
  assert.equal(stampedName('report.txt', 0, AT, utc), 'report.txt')
  assert.equal(stampedName('.profile', 8, AT, utc), '.profile.20261115')
})

test('any stamped name fits 255 octets, is whole characters and keeps its short extension', () => {
  const names = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 255 })
    .filter((name) => Buffer.byteLength(name) <= 255 && !name.includes('/') && name.isWellFormed())
  const long = fc.tuple(
    fc.constantFrom('n', 'é', '€', '😀'),
    fc.constantFrom('', '.txt', `.${'e'.repeat(250)}`),
  )
  const either = fc.oneof(
    names,
    long.map(([one, ending]) => {
      const room = 255 - Buffer.byteLength(ending)
      return one.repeat(Math.floor(room / Buffer.byteLength(one))) + ending
    }),
  )
  fc.assert(
    fc.property(either, fc.constantFrom(8, 14, 17), fc.nat(99), (name, digits, nth) => {
      const stamped = stampedName(name, digits, AT, utc, nth)
      assert.ok(Buffer.byteLength(stamped) <= 255)
      assert.ok(stamped.isWellFormed())
      assert.ok(stamped.includes('20261115'))
      if (Buffer.byteLength(extname(name)) <= 32)
        assert.equal(extname(name) === '' || stamped.endsWith(extname(name)), true)
    }),
  )
})

test('a file is moved without ever replacing another', async (t) => {
  const root = await tempFolder(t)
  const [from, target] = [join(root, 'from'), join(root, 'to', 'name')]
  await mkdir(join(root, 'to'))
  await writeFile(from, 'ours')
  await placeFile(from, target)
  assert.deepEqual([await readdir(root), await readdir(join(root, 'to'))], [['to'], ['name']])
  await writeFile(from, 'a second')
  await assert.rejects(placeFile(from, target), { code: 'name_taken' })
  assert.equal(await readFile(target, 'utf8'), 'ours')
  assert.equal(await readFile(from, 'utf8'), 'a second')
})

test('a file that takes the old name while the folder is synced stays there', async (t) => {
  const root = await tempFolder(t)
  const [from, target, next] = [join(root, 'from'), join(root, 'target'), join(root, 'next')]
  await writeFile(from, 'old')
  await writeFile(next, 'next')
  const placing = placeFile(from, target)
  renameSync(next, from)
  await placing
  assert.equal(await readFile(from, 'utf8'), 'next')
  assert.equal(await readFile(target, 'utf8'), 'old')
  await assert.rejects(
    placeFile(from, join(root, 'other'), () => false),
    { code: 'file_changed' },
  )
  assert.deepEqual((await readdir(root)).sort(), ['from', 'target'])
})

test('across file systems a file that is replaced while it is copied is left alone', { skip }, async (t) => {
  const root = await tempFolder(t)
  const other = await mkdtemp('/dev/shm/esclusa-')
  closeAfter(t, () => rm(other, { recursive: true, force: true }))
  const [from, next] = [join(root, 'from'), join(root, 'next')]
  await writeFile(from, 'old')
  await writeFile(next, 'next')
  const placing = placeFile(from, join(other, 'target'))
  renameSync(next, from)
  await assert.rejects(placing, { code: 'file_changed' })
  assert.equal(await readFile(from, 'utf8'), 'next')
  assert.deepEqual(await readdir(other), [])
})

test('an earlier try that linked the file is recognised, another file is not', async (t) => {
  const root = await tempFolder(t)
  const [from, target] = [join(root, 'from'), join(root, 'to')]
  await writeFile(from, 'ours')
  const expected = { size: 4, sha256: 'ae8e5ee5fd5e0b4f9e2b5b1f7e5a1d2c' }
  assert.equal(await isPlaced(from, target, expected), false)
  await link(from, target)
  assert.equal(await isPlaced(from, target, expected), true)
  await rm(target)
  await writeFile(target, 'ours')
  assert.equal(await isPlaced(from, target, expected), false)
})

test('a received file is in place and marked as such in one go', async (t) => {
  const root = await tempFolder(t)
  const [from, target] = [join(root, 'from'), join(root, 'to', 'name')]
  await mkdir(join(root, 'to'))
  await writeFile(from, 'ours')
  const placing = placeMarked(from, target)
  // Nobody has had a turn yet: a node that dies from now on left both or neither.
  assert.deepEqual([existsSync(from), existsSync(markOf(from)), existsSync(target)], [false, true, true])
  await placing
  await writeFile(from, 'a second')
  await assert.rejects(placeMarked(from, target), { code: 'name_taken' })
  assert.equal(await readFile(from, 'utf8'), 'a second')
})

test(
  'across file systems many files of like names are copied at once without mixing',
  { skip },
  async (t) => {
    const root = await tempFolder(t)
    closeAfter(t, () => rm(shm ?? '', { recursive: true, force: true }))
    const names = Array.from({ length: 40 }, (_, at) => `a-long-common-beginning-of-the-name-${at}.txt`)
    for (const name of names) await writeFile(join(root, name), name.repeat(5000))
    await Promise.all(names.map((name) => placeFile(join(root, name), join(shm ?? '', name))))
    assert.deepEqual((await readdir(shm ?? '')).sort(), names.sort())
    for (const name of names) assert.equal(await readFile(join(shm ?? '', name), 'utf8'), name.repeat(5000))
    assert.deepEqual(await readdir(root), [])
    await writeFile(join(root, names[0] ?? ''), 'another')
    await assert.rejects(placeFile(join(root, names[0] ?? ''), join(shm ?? '', names[0] ?? '')), {
      code: 'name_taken',
    })
    assert.equal((await readdir(shm ?? '')).length, 40, 'a hidden copy was left')
  },
)

test('a folder that is a file, or lies under one, is said to be no folder: no name is taken', async (t) => {
  const file = join(await tempFolder(t), 'in')
  await writeFile(file, 'a file')
  for (const path of [file, join(file, 'deeper')])
    await assert.rejects(ensureFolder(path), { code: 'conflict', message: `${path} is no folder` })
})

test(
  'a file that cannot be compared because too much is open is not taken for another one',
  { skip: skipWithoutPrlimit },
  async (t) => {
    const folder = await tempFolder(t)
    const target = join(folder, 'there')
    await writeFile(target, 'x')
    const expected = { size: 1, sha256: createHash('sha256').update('x').digest('hex') }
    const compare = () => isPlaced(join(folder, 'gone'), target, expected)
    await withNothingToOpen(() => assert.rejects(compare(), { code: 'disk_fault' }))
    assert.equal(await compare(), true)
  },
)

test('a file that the disk does not show for a moment is not said to be gone', async (t) => {
  const folder = await tempFolder(t)
  const [from, target] = [join(folder, 'from'), join(folder, 'to')]
  await writeFile(from, 'ours')
  await link(from, target)
  const told = { code: 'disk_fault' }
  meanwhile(t, 'lstat', 'before', { path: from, act: diskFault })
  await assert.rejects(exists(from), told)
  assert.equal(await exists(from), true)
  const expected = { size: 4, sha256: '' }
  for (const path of [from, target]) {
    meanwhile(t, 'stat', 'before', { path, act: diskFault })
    await assert.rejects(isPlaced(from, target, expected), told)
    assert.equal(await isPlaced(from, target, expected), true)
  }
  for (const gone of [join(folder, 'gone'), join(from, 'under a file'), join(folder, 'x'.repeat(256))])
    assert.equal(await exists(gone), false)
})
