import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { appendFile, mkdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../../../test/support/harness.ts'
import { ReadAhead } from './read-ahead.ts'

async function withFile(t: TestContext, bytes: Uint8Array) {
  const path = join(await tempFolder(t), 'a.bin')
  await writeFile(path, bytes)
  const { size, mtimeMs } = await stat(path)
  return { path, expected: { size, modifiedAt: Math.floor(mtimeMs) } }
}

test('a small file is read whole and hashed, and what becomes of it afterwards does not matter', async (t) => {
  for (const bytes of [randomBytes(10_000), Buffer.alloc(0)]) {
    const { path, expected } = await withFile(t, bytes)
    const source = await ReadAhead.open(path, expected)
    await rm(path)
    const into = Buffer.alloc(20_000, 7)
    assert.equal(await source.read(into, 0), bytes.length)
    assert.deepEqual(into.subarray(0, bytes.length), bytes)
    assert.equal(await source.read(into, bytes.length), 0)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    assert.deepEqual([await source.finish(), await source.receiptHash()], [sha256, sha256])
    source.hashAlso('sha512', 'octets')
    assert.equal(await source.receiptHash(), createHash('sha512').update(bytes).digest('hex'))
    assert.equal(await source.finish(), sha256)
    const records = Buffer.from('\0\x03abc\0\0\0\x05hello', 'latin1')
    const other = await withFile(t, records)
    const ofRecords = await ReadAhead.open(other.path, other.expected)
    ofRecords.hashAlso('sha256', 'records')
    assert.equal(await ofRecords.receiptHash(), createHash('sha256').update('abchello').digest('hex'))
    assert.equal(await ofRecords.finish(), createHash('sha256').update(records).digest('hex'))
  }
})

test('a file that is no longer the one that was picked up is not read', async (t) => {
  const after = async (change: (path: string) => Promise<unknown>, code: string) => {
    const { path, expected } = await withFile(t, randomBytes(100))
    await change(path)
    await assert.rejects(ReadAhead.open(path, expected), { code })
  }
  await after((path) => appendFile(path, 'more'), 'file_changed')
  await after((path) => writeFile(path, 'less'), 'file_changed')
  await after((path) => rm(path), 'file_missing')
  await after(async (path) => {
    await rename(path, `${path}.old`)
    await symlink(`${path}.old`, path)
  }, 'file_changed')
  await after(async (path) => {
    await rm(path)
    await mkdir(path)
  }, 'file_refused')
})
