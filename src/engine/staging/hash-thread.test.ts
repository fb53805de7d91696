import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { FileHash, RecordHash, ThreadHash } from './hash-thread.ts'

const hexOf = (digest: string, bytes: Buffer) => createHash(digest).update(bytes).digest('hex')

test('files hashed in a thread have the same hash, in pieces of any length, several at once', async () => {
  const whole = randomBytes(9 * 1024 * 1024 + 17)
  const hashIn = async (piece: number) => {
    const hash = new ThreadHash(['sha256', 'sha512'])
    const own = Buffer.allocUnsafe(piece)
    for (let at = 0; at < whole.length; at += piece) {
      const length = whole.copy(own, 0, at, at + piece)
      await hash.update(own.subarray(0, length))
      // The caller may use its memory again at once.
      own.fill(0)
    }
    return hash.digest()
  }
  const expected = [hexOf('sha256', whole), hexOf('sha512', whole)]
  for (const got of await Promise.all([1000_003, 261_120, 4 * 1024 * 1024].map(hashIn)))
    assert.deepEqual(got, expected)
})

test('nothing at all has a hash too, and one that is dropped disturbs no other', async () => {
  const dropped = new ThreadHash(['sha256'])
  await dropped.update(randomBytes(3 * 1024 * 1024))
  dropped.drop()
  assert.deepEqual(await new ThreadHash(['sha1']).digest(), [hexOf('sha1', Buffer.alloc(0))])
})

test('a file that stays small and one that grows have the hash of their octets', async () => {
  for (const size of [0, 1, 10_240, 1024 * 1024, 1024 * 1024 + 1, 5_000_000]) {
    const whole = randomBytes(size)
    const hash = new FileHash(['sha256', 'sha1'])
    const own = Buffer.allocUnsafe(300_000)
    for (let at = 0; at < size; at += own.length) {
      const length = whole.copy(own, 0, at)
      await hash.update(own.subarray(0, length))
      own.fill(0)
    }
    assert.deepEqual(await hash.digest(), [hexOf('sha256', whole), hexOf('sha1', whole)])
  }
})

test('records are hashed without their lengths, wherever the pieces cut them', async () => {
  const hashIn = async (lengths: readonly number[], piece: number) => {
    const records = lengths.map((length) => randomBytes(length))
    const whole = Buffer.concat(records.flatMap((one) => [Uint8Array.of(one.length >> 8, one.length), one]))
    const hash = new RecordHash(['sha256'])
    for (let at = 0; at < whole.length; at += piece) await hash.update(whole.subarray(at, at + piece))
    assert.deepEqual(await hash.digest(), [hexOf('sha256', Buffer.concat(records))])
  }
  const small = [0, 1, 2, 255, 256, 0, 300]
  for (const piece of [1, 2, 3, 257, 10_000]) await hashIn(small, piece)
  // Enough for a thread.
  const big = Array.from({ length: 40 }, () => [...small, 65_535]).flat()
  for (const piece of [261_121, 5_000_000]) await hashIn(big, piece)
})

test('whoever waits to bring more is let go when nobody wants the hash any more', async () => {
  for (const hash of [new ThreadHash(['sha256']), new FileHash(['sha256'])]) {
    const bringing = hash.update(Buffer.alloc(20 * 1024 * 1024, 1))
    hash.drop()
    await bringing
    await hash.update(Buffer.alloc(20 * 1024 * 1024, 1))
  }
  // What comes late begins nothing anew: the process could not end.
  const small = new FileHash(['sha256'])
  await small.update(Buffer.alloc(10))
  small.drop()
  await small.update(Buffer.alloc(20 * 1024 * 1024, 1))
})
