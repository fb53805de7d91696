// Small files that go by the dozen (sending/send-together.ts): that they do, and what becomes of those that cannot.

import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { rename, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FolderSettings } from '../../src/contract/contact-settings.ts'
import type { Channel } from '../../src/contract/channel.ts'
import { createFolder } from '../../src/engine/transports/folder/folder.ts'
import type { PreparedFile } from '../../src/engine/transports/small-batches.ts'
import type { Session, Transport } from '../../src/engine/transports/transport.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { Gate } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig, RigOptions } from './rig.ts'

const FILES = 40

function test(name: string, run: (t: TestContext, database: TestDatabase) => Promise<void>): void {
  testOnBoth(name, async (t, database) => {
    if (availableParallelism() < 2) return t.skip('on a single core files go one by one')
    await run(t, database)
  })
}

type Watched = { transport: Transport<FolderSettings>; pushed: string[]; prepared: number }

/** The folder transport itself. `onPrepared` stands before what it has prepared is told. */
function watchedFolder(onPrepared?: (prepared: readonly PreparedFile[]) => Promise<void> | void): Watched {
  const folder = createFolder({ scriptRoots: [] })
  const watched: Watched = { transport: folder, pushed: [], prepared: 0 }
  watched.transport = {
    ...folder,
    connect: async (call, host) => {
      const session: Session = await folder.connect(call, host)
      const { small } = session
      return {
        ...session,
        contactId: session.contactId,
        reach: session.reach,
        encrypted: session.encrypted,
        ended: session.ended,
        push: (file, progress, signal) => {
          watched.pushed.push(file.name)
          return session.push(file, progress, signal)
        },
        settled: (key) => session.settled?.(key) ?? Promise.resolve(),
        fetch: (signal) => session.fetch(signal),
        close: () => session.close(),
        small: small && {
          ...small,
          synced: () => small.synced(),
          prepare: async (files, signal) => {
            const all = await small.prepare(files, signal)
            const ready = all.flatMap((one) => (one ? [one] : []))
            watched.prepared += ready.length
            await onPrepared?.(ready)
            return all
          },
        },
      }
    },
  }
  return watched
}

type Sent = { rig: Rig; watched: Watched; contents: Map<string, Buffer> }

async function sending(
  t: TestContext,
  options: RigOptions,
  { channel = {}, watched = watchedFolder() }: { channel?: Channel; watched?: Watched } = {},
): Promise<Sent> {
  const rig = await startRig(t, { ...options, transports: [watched.transport] })
  await rig.putChannel(CODE, channelOf(rig, channel))
  const contents = new Map<string, Buffer>()
  for (let nth = 0; nth < FILES; nth++) {
    const name = `${String(nth).padStart(2, '0')}.bin`
    contents.set(name, randomBytes(nth * 100))
    await rig.put(name, contents.get(name) ?? '')
  }
  return { rig, watched, contents }
}

async function requireDelivered({ rig, contents }: Sent, names: Iterable<string>): Promise<void> {
  for (const name of names) assert.deepEqual(await rig.delivered(name), contents.get(name), name)
}

const out = (rig: Rig, name: string) => join(rig.place.files, 'out', name)

test('small files go by the dozen, and each is recorded with its hash', async (t, database) => {
  const sent = await sending(t, { database })
  const { rig, watched, contents } = sent
  const { state, files } = await rig.run().sendAndEnd()
  assert.equal(state, 'COMPLETED')
  assert.deepEqual([watched.prepared, watched.pushed], [FILES, []])
  await requireDelivered(sent, contents.keys())
  for (const { name, phase, hash: recorded, wireHash, maybeVisible, position } of files) {
    const sha256 = hash('sha256', contents.get(name) ?? '')
    assert.deepEqual(
      { phase, recorded, wireHash, maybeVisible, position },
      {
        phase: 'DONE',
        recorded: sha256,
        wireHash: sha256,
        maybeVisible: false,
        position: contents.get(name)?.length,
      },
    )
  }
  assert.deepEqual([await rig.hidden(), (await rig.inbox()).length], [[], FILES])
  assert.equal(
    rig.counted.EMISION,
    [...contents.values()].reduce((sum, { length }) => sum + length, 0),
  )
  // The same files once more: the memory against duplicates has all of them.
  await assert.rejects(rig.send(), /were sent already/)
})

test('what cannot go by the dozen goes by itself and tells its fault; the others arrive', async (t, database) => {
  const sent = await sending(t, { database })
  const { rig, watched, contents } = sent
  await writeFile(join(rig.place.inbox, '03.bin'), 'of somebody else')
  const { id } = await rig.send()
  await writeFile(out(rig, '05.bin'), 'changed after it was picked up')
  await rename(out(rig, '07.bin'), join(rig.place.files, 'elsewhere'))
  await symlink(join(rig.place.files, 'elsewhere'), out(rig, '07.bin'))
  rig.run().wake()
  const { state, error, files } = await rig.ended(id)
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /0[357]\.bin.*\(and 2 more files\)/)
  assert.deepEqual(watched.pushed, ['03.bin'], 'the others are refused before')
  const faulty = ['03.bin', '05.bin', '07.bin']
  assert.deepEqual(
    files
      .filter(({ phase }) => phase !== 'DONE')
      .map(({ name }) => name)
      .sort(),
    faulty,
  )
  await requireDelivered(
    sent,
    [...contents.keys()].filter((name) => !faulty.includes(name)),
  )
  assert.equal(String(await rig.delivered('03.bin')), 'of somebody else')
  assert.deepEqual([await rig.hidden(), (await rig.inbox()).length], [[], FILES - 2])
})

test('a folder that leads out of the file roots by a link when the transfer runs gives nothing', async (t, database) => {
  const { rig, watched } = await sending(t, { database })
  const { id } = await rig.send()
  await rename(join(rig.place.files, 'out'), join(rig.place.root, 'away'))
  await symlink(join(rig.place.root, 'away'), join(rig.place.files, 'out'))
  rig.run().wake()
  assert.equal((await rig.ended(id)).state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'no_rights')
  assert.deepEqual([watched.prepared, await rig.inbox(), await rig.hidden()], [0, [], []])
})

test('a reset while a dozen is prepared leaves nothing at the partner’s', async (t, database) => {
  const gate = new Gate()
  const watched = watchedFolder(() => gate.pass(AbortSignal.timeout(60_000)))
  const { rig } = await sending(t, { database }, { watched })
  const { id } = await rig.run().send()
  await waitFor('files that are prepared', () => gate.waiting > 0)
  assert.deepEqual(await rig.reset(), [id])
  gate.open()
  await waitFor('the end of the run', async () => (await rig.hidden()).length === 0)
  await rig.stop()
  assert.deepEqual([await rig.inbox(), await rig.hidden()], [[], []])
})

test('a node that has lost the transfer while a dozen was prepared leaves nothing at the partner’s', async (t, database) => {
  const gate = new Gate()
  const watched = watchedFolder(() => gate.pass(AbortSignal.timeout(60_000)))
  const { rig } = await sending(t, { database }, { watched })
  const { id } = await rig.run().send()
  await waitFor('files that are prepared', () => gate.waiting > 0)
  const taken = { fence: 9, lease_owner: 'another', lease_until: rig.context.now() + 600_000 }
  await rig.store.write((tx) => tx.updateTable('transfer').set(taken).where('id', '=', id).execute())
  gate.open()
  await waitFor('the end of the run', async () => (await rig.hidden()).length === 0)
  await rig.stop()
  assert.deepEqual([await rig.inbox(), await rig.hidden()], [[], []])
})

test('a file that got its name though that went wrong is found by its push, and counts once', async (t, database) => {
  let isWrong = false
  const watched = watchedFolder(([first]) => {
    if (isWrong || !first) return
    isWrong = true
    const place = first.place.bind(first)
    first.place = async () => ((await place()) === 'placed' ? 'unknown' : 'placed')
  })
  const { rig, contents } = await sending(t, { database }, { watched })
  const { state, error } = await rig.run().sendAndEnd()
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal(watched.pushed.length, 1)
  assert.deepEqual([await rig.hidden(), await rig.inbox()], [[], [...contents.keys()]])
})

test('another attempt finds what one that was cut off has placed, and sends nothing twice', async (t, database) => {
  let isCut = false
  // The first file gets its name, and then nothing more is done with its dozen: as if the node had died there.
  const watched = watchedFolder(([first]) => {
    if (isCut || !first) return
    isCut = true
    const place = first.place.bind(first)
    first.place = () => {
      void place()
      throw new Error('cut off')
    }
  })
  const sent = await sending(t, { database }, { watched })
  const { rig, contents } = sent
  assert.equal((await rig.run().sendAndEnd()).state, 'FAILED')
  const seen = await rig.inbox()
  assert.ok(seen.length > 0)
  // The partner takes away what it sees.
  const [taken = ''] = seen
  await rename(join(rig.place.inbox, taken), join(rig.place.root, taken))
  assert.ok((await rig.hidden()).length > 0, 'what the attempt has left')
  const retried = await rig.ended((await rig.retry()).id)
  assert.equal(retried.state, 'COMPLETED', retried.error ?? '')
  const left = [...contents.keys()].filter((name) => name !== taken)
  assert.deepEqual([await rig.hidden(), await rig.inbox()], [[], left])
  await requireDelivered(sent, left)
})
