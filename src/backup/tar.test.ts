import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { readTar, writeTar } from './tar.ts'
import type { WrittenEntry } from './tar.ts'

const LONG = `outgoing/${'a'.repeat(60)}/${'b'.repeat(200)}`
const FILES: Record<string, Buffer> = {
  'manifest.json': Buffer.from('{}'),
  empty: Buffer.alloc(0),
  'one-block': Buffer.alloc(512, 1),
  'name with ñ and €.txt': Buffer.from('text'),
  [LONG]: Buffer.alloc(100_000, 7),
}

async function* entriesOf(files: Record<string, Buffer>): AsyncGenerator<WrittenEntry> {
  for (const [name, bytes] of Object.entries(files))
    yield { name, size: bytes.length, mode: 0o600, modifiedAt: 1_700_000_000_000, body: [bytes] }
}

const packed = () => buffer(Readable.from(writeTar(entriesOf(FILES)), { objectMode: false }))

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function contentsOf(bytes: Buffer, length: number): Promise<Record<string, Buffer>> {
  const found: Record<string, Buffer> = {}
  for await (const entry of readTar(inPieces(bytes, length))) {
    found[entry.name] = await buffer(entry.body)
    assert.equal(entry.modifiedAt, 1_700_000_000_000)
  }
  return found
}

test('what is packed comes out again, in whatever pieces it is read', async () => {
  const bytes = await packed()
  for (const length of [97, 511, 513, 70_000, bytes.length])
    assert.deepEqual(await contentsOf(bytes, length), FILES)
})

test('the system’s tar reads what is packed, long and foreign names too', async (t) => {
  const folder = await tempFolder(t)
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: await packed() })
  for (const [name, bytes] of Object.entries(FILES)) {
    assert.deepEqual(await readFile(join(folder, name)), bytes)
    assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600)
  }
})

test('what the system’s tar packs is read', async (t) => {
  const folder = await tempFolder(t)
  for (const [name, bytes] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), bytes)
    await chmod(join(folder, name), 0o600)
  }
  const args = ['--format=pax', '--mtime=@1700000000', '-cf', '-', '-C', folder, ...Object.keys(FILES)]
  assert.deepEqual(await contentsOf(execFileSync('tar', args), 1000), FILES)
})

test('an archive that is cut off or changed in a header is told as damaged', async () => {
  const bytes = await packed()
  for (const end of [100, 600, 2000, bytes.length - 2000])
    await assert.rejects(contentsOf(bytes.subarray(0, end), 700), {
      code: 'damaged',
      message: /damaged: it ends too early/,
    })
  bytes[3] = (bytes[3] ?? 0) ^ 1
  await assert.rejects(contentsOf(bytes, 700), /damaged: a header does not add up/)
})

test('a body of another length than said is refused while it is packed', async () => {
  async function* wrong(): AsyncGenerator<WrittenEntry> {
    yield { name: 'x', size: 5, mode: 0o600, modifiedAt: 0, body: [Buffer.from('four')] }
  }
  await assert.rejects(buffer(Readable.from(writeTar(wrong()), { objectMode: false })), /x: 4 octets, not 5/)
})
