import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../../../../test/support/harness.ts'
import { NodeError } from '../../../errors.ts'
import {
  MemoryHost,
  MemorySource,
  Told,
  fileOf,
  sampleBytes,
} from '../../../../test/support/transport-ends.ts'
import type { PreparedFile, SmallFile } from '../small-batches.ts'
import type { Session, WireFile } from '../transport.ts'
import { createFolder } from './folder.ts'
import { reachAll } from '../../../../test/support/reach.ts'
import { OPEN_SESSION } from '../../../../test/support/open-session.ts'

const folderTransport = createFolder({ scriptRoots: [] })

const never = new AbortController().signal

async function openInbox(
  t: TestContext,
): Promise<{ inbox: string; session: Session; names: () => Promise<string[]> }> {
  const inbox = join(await tempFolder(t), 'inbox')
  await mkdir(inbox)
  const session = await folderTransport.connect(
    {
      contactId: 'acme',
      host: '',
      port: 0,
      localId: 'BANCO',
      remoteId: 'ACME',
      settings: { inbox },
      applications: async () => ['NOMINA'],
      reach: reachAll('acme'),
      ways: 'S',
      timeouts: { connectMs: 5000, syncMs: 5000, ackMs: 5000, idleMs: 60_000 },
      security: OPEN_SESSION,
      compression: false,
      signal: never,
    },
    new MemoryHost(),
  )
  t.after(() => session.close())
  return { inbox, session, names: async () => (await readdir(inbox)).sort() }
}

/** The same file in a later attempt, as the engine gives it after a crash. */
function again(file: WireFile, bytes: Buffer): WireFile {
  return { ...file, source: new MemorySource(bytes), attempt: 2, again: true }
}

test('a file that the partner took before its arrival was recorded is not sent again', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const bytes = sampleBytes(5000)
  const file = fileOf('a.bin', new MemorySource(bytes), { attempt: 1, again: false, verify: true })
  const { remoteSha256 } = await session.push(file, new Told(), never)
  await rm(join(inbox, 'a.bin'))
  const later = again(file, bytes)
  const told = new Told()
  assert.equal((await session.push(later, told, never)).remoteSha256, remoteSha256)
  assert.deepEqual([told.placings, (await names()).filter((name) => !name.startsWith('.'))], [0, []])
  await session.settled?.(file.key)
  assert.deepEqual(await names(), [])
})

test('an attempt that died between the real name and its mark is recognised, wherever the partner put the file', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const bytes = sampleBytes(5000)
  const file = fileOf('a.bin', new MemorySource(bytes), { attempt: 1, again: false })
  await session.push(file, new Told(), never)
  const [mark] = (await names()).filter((name) => name.endsWith('.done'))
  assert.ok(mark)
  await rename(join(inbox, mark), join(inbox, mark.replace('.done', '.0123456789ab.part')))
  await rename(join(inbox, 'a.bin'), join(inbox, '..', 'taken.bin'))
  await session.push(again(file, bytes), new Told(), never)
  await session.settled?.(file.key)
  assert.deepEqual(await names(), [])
})

test('an attempt that sleeps through another one’s success can give nothing its real name', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const bytes = sampleBytes(3_000_000)
  const file = fileOf('a.bin', new MemorySource(bytes), { attempt: 1, again: false })
  const sleeper = new Told()
  const asleep = Promise.withResolvers<void>()
  const wakeUp = Promise.withResolvers<void>()
  sleeper.onPlacing = () => {
    asleep.resolve()
    return wakeUp.promise
  }
  const slept = session.push(file, sleeper, never)
  await asleep.promise
  await session.push(again(file, bytes), new Told(), never)
  await session.settled?.(file.key)
  await rename(join(inbox, 'a.bin'), join(inbox, '..', 'taken.bin'))
  wakeUp.resolve()
  await assert.rejects(slept, NodeError)
  assert.deepEqual(await names(), [])
  assert.ok((await readFile(join(inbox, '..', 'taken.bin'))).equals(bytes))
})

test('a sleeper that wakes and takes over what its successor is writing costs an attempt, not the file', async (t) => {
  for (const size of [5000, 3_000_000]) {
    const { inbox, session, names } = await openInbox(t)
    const bytes = sampleBytes(size)
    const file = fileOf('a.bin', new MemorySource(bytes), { attempt: 2, again: true })
    const holder = new Told()
    holder.onPlacing = async () => {
      const lost = new NodeError('lease_lost', 'another node has it')
      const sleeper = Object.assign(new Told(), { onPlacing: () => Promise.reject(lost) })
      const late = { ...again(file, bytes), attempt: 1 }
      await assert.rejects(session.push(late, sleeper, never), { code: 'lease_lost' })
    }
    await assert.rejects(session.push(file, holder, never), { code: 'connection_lost', retry: true })
    await session.push({ ...again(file, bytes), attempt: 3 }, new Told(), never)
    await session.settled?.(file.key)
    assert.deepEqual(await names(), ['a.bin'])
    assert.ok((await readFile(join(inbox, 'a.bin'))).equals(bytes))
  }
})

/** Small files of a first attempt that go by the dozen, each as a later attempt would push it, too. */
async function dozenIn(inbox: string, count: number) {
  const files: { small: SmallFile; later: WireFile }[] = []
  for (let nth = 0; nth < count; nth++) {
    const bytes = sampleBytes(5000, nth + 1)
    const path = join(inbox, '..', `source-${nth}`)
    await writeFile(path, bytes)
    const { size, mtimeMs } = await stat(path)
    const file = fileOf(`${nth}.bin`, new MemorySource(bytes), { attempt: 1 })
    const expected = { size, modifiedAt: Math.floor(mtimeMs) }
    files.push({ small: { ...file, attempt: 1, path, expected }, later: again(file, bytes) })
  }
  return files
}

async function prepared(session: Session, dozen: readonly { small: SmallFile }[]): Promise<PreparedFile[]> {
  const made = await session.small?.prepare(
    dozen.map(({ small }) => small),
    never,
  )
  return (made ?? []).map((one) => one ?? assert.fail('one could not be prepared'))
}

test('a dozen that sleeps through another attempt’s success can give nothing its real name', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const dozen = await dozenIn(inbox, 3)
  const asleep = await prepared(session, dozen)
  for (const { later } of dozen) {
    await session.push(later, new Told(), never)
    await session.settled?.(later.key)
    await rename(join(inbox, later.name), join(inbox, '..', later.name))
  }
  assert.deepEqual(await Promise.all(asleep.map((one) => one.place())), ['unknown', 'unknown', 'unknown'])
  assert.deepEqual(await names(), [])
})

test('of a dozen whose attempt died, what had its name is found without a word of it, and the rest is sent', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const dozen = await dozenIn(inbox, 2)
  const [first] = await prepared(session, dozen)
  assert.equal(session.small?.marks, true)
  assert.equal(await first?.place(), 'placed')
  await rename(join(inbox, '0.bin'), join(inbox, '..', 'taken.bin'))
  for (const { later } of dozen) {
    await session.push(later, new Told(), never)
    await session.settled?.(later.key)
  }
  assert.deepEqual(await names(), ['1.bin'])
})

test('a later attempt goes on from the restart point of an earlier one, under a name of its own', async (t) => {
  const { inbox, session } = await openInbox(t)
  const bytes = sampleBytes(4_000_000)
  const file = fileOf('a.bin', new MemorySource(bytes, 2_000_000), { attempt: 1, again: false })
  await assert.rejects(session.push(file, new Told(), never))
  const left = await readdir(inbox)
  const told = new Told()
  let during: string[] = []
  told.onPlacing = async () => void (during = await readdir(inbox))
  await session.push({ ...again(file, bytes), restartFrom: 1_000_000 }, told, never)
  assert.ok((told.moves[0] ?? 0) > 1_000_000, 'it went on from the restart point')
  assert.deepEqual([left.length, during.length], [1, 1])
  assert.notEqual(left[0], during[0])
  assert.ok((await readFile(join(inbox, 'a.bin'))).equals(bytes))
})

test('bytes that went wrong on the way are found before the partner can see the file', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const bytes = sampleBytes(5000)
  const file = fileOf('a.bin', new MemorySource(bytes), { attempt: 1, again: false, verify: true })
  const told = new Told()
  // Whole and synced, and not hashed yet.
  told.safe = () => {
    for (const name of readdirSync(inbox)) writeFileSync(join(inbox, name), 'x', { flag: 'r+' })
  }
  let there: string | undefined
  told.onPlacing = (sha256) => {
    there = sha256
    return Promise.reject(new NodeError('hash_mismatch', 'these are not the bytes'))
  }
  await assert.rejects(session.push(file, told, never), { code: 'hash_mismatch' })
  const wrong = Buffer.concat([Buffer.from('x'), bytes.subarray(1)])
  assert.equal(there, createHash('sha256').update(wrong).digest('hex'))
  assert.deepEqual(await names(), [], 'visible, or left for a later attempt to go on from')
})

test('what attempts left is discarded by key, and nothing else', async (t) => {
  const { inbox, session, names } = await openInbox(t)
  const bytes = sampleBytes(3_000_000)
  const cut = (name: string) => fileOf(name, new MemorySource(bytes, 2_000_000), { attempt: 1 })
  const [mine, other] = [cut('a.bin'), cut('b.bin')]
  for (const file of [mine, other]) await assert.rejects(session.push(file, new Told(), never))
  const done = fileOf('c.bin', new MemorySource(bytes), { attempt: 1 })
  await session.push(done, new Told(), never)
  assert.equal((await names()).length, 4)
  await folderTransport.discard?.({ inbox }, () => Promise.resolve([mine.key, done.key]))
  const left = await names()
  assert.equal(left.length, 2)
  assert.ok(left[0]?.endsWith('.part') && left[1] === 'c.bin', left.join(', '))
})
