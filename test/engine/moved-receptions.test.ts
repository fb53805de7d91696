// Received files that the channel moves on, and that somebody takes away before the node has written what became of them.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { endsSession } from '../../src/engine/transports/oftp2/protocol/reasons.ts'
import type { Call, Session, SessionHost } from '../../src/engine/transports/transport.ts'
import { NodeError } from '../../src/errors.ts'
import { markOf } from '../../src/files/place.ts'
import type { Store, Tx } from '../../src/store/database/store.ts'
import { requestFetch } from '../../src/transfers/fetch.ts'
import { tempFolder, waitFor } from '../support/harness.ts'
import { diskFault, meanwhile } from '../support/meanwhile.ts'
import { skipWithoutPrlimit, withNothingToOpen } from '../support/open-files.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { offerOf } from './wire.ts'

const OFTP2 = { protocol: 'oftp2', capabilities: { receipts: true } }

type Options = {
  retries?: number
  callingEnd?: 'REMOTO'
  timeoutAck?: number
  line?: Line
  integrations?: Channel['integrations']
}

/** Received files are moved to `sorted`, unless `integrations` says otherwise. */
async function movingRig(t: TestContext, options: Options = {}): Promise<Rig> {
  const { retries = 0, callingEnd, timeoutAck = 60, line = new Line(OFTP2) } = options
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  const postReceptionDirectory = join(rig.place.files, 'sorted')
  const moves = { postReceptionAction: 'RECEPTION_MOVE', postReceptionDirectory } as const
  const connection = {
    ips: ['127.0.0.1'],
    advancedConfigurationConnection: { retries, ...(callingEnd && { callingEnd }) },
    advancedConfigurationTransmission: { timeoutAck },
  }
  await rig.putChannel(CODE, channelOf(rig, { integrations: options.integrations ?? moves, connection }))
  return rig.run()
}

/** Each write, with the phase that it leaves the file in; `judge` may throw before it is durable. */
function judgeWrites(rig: Rig, judge: (phase: string | undefined) => Promise<void>): void {
  const store = rig.store as { write: Store['write'] }
  const { write } = store
  store.write = (change) =>
    write(async (tx: Tx) => {
      const value = await change(tx)
      const file = await tx.selectFrom('transfer_file').select('phase').executeTakeFirst()
      await judge(file?.phase)
      return value
    })
}

async function bring(rig: Rig, name = 'a.txt'): Promise<void> {
  const incoming = await rig.host('oftp2').offer(offerOf(name, { size: 1, restartFrom: 1 }))
  await incoming.write(Buffer.from('a'), 0)
  await incoming.complete({ size: 1 })
}

/** The disk does not show the file when it is to be moved: it is moved later. */
function postpone(t: TestContext, rig: Rig, name: string): { done: () => boolean } {
  return meanwhile(t, 'stat', 'before', { path: join(rig.place.files, 'in', name), act: diskFault })
}

async function receiptsOwed(rig: Rig): Promise<boolean[]> {
  const rows = await rig.store.db.selectFrom('owed_receipt').select('body').orderBy('id').execute()
  return rows.map(({ body }) => (JSON.parse(body) as { positive: boolean }).positive)
}

test('a file that was moved and taken away before that was written is done, and lies nowhere', async (t) => {
  const rig = await movingRig(t)
  let taken = false
  judgeWrites(rig, async (phase) => {
    if (taken || phase !== 'DONE') return
    taken = true
    await rm(join(rig.place.files, 'sorted', 'a.txt'))
    throw new NodeError('unavailable', 'the database does not answer')
  })
  await bring(rig)
  const { state, error, files } = await rig.lastReception()
  assert.ok(taken)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal(files[0]?.pathPost, null)
  assert.deepEqual(await receiptsOwed(rig), [true])
})

test('a file that somebody takes away before it is moved is missing', async (t) => {
  const rig = await movingRig(t)
  judgeWrites(rig, async (phase) => {
    if (phase === 'PLACED') await rm(join(rig.place.files, 'in', 'a.txt'), { force: true })
  })
  await bring(rig)
  const { id, state } = await rig.lastReception()
  assert.equal(state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'file_missing')
  assert.deepEqual(await receiptsOwed(rig), [false])
})

test('a file that is taken while it waits to be moved is done, and lies nowhere', async (t) => {
  const rig = await movingRig(t, { retries: 5 })
  const { goOn } = await resting(t, rig)
  await rm(join(rig.place.files, 'in', 'a.txt'))
  await goOn()
  const { files } = await rig.lastReception()
  assert.deepEqual([files[0]?.phase, files[0]?.pathPost], ['DONE', null])
  assert.deepEqual(await receiptsOwed(rig), [true])
})

for (const call of ['stat', 'lstat'] as const)
  test(`a file that the disk does not show (${call}) when it is to be moved is moved later`, async (t) => {
    const rig = await movingRig(t, { retries: 5 })
    const looks: { done: () => boolean }[] = []
    judgeWrites(rig, async (phase) => {
      if (phase !== 'PLACED' || looks.length > 0) return
      looks.push(meanwhile(t, call, 'before', { path: join(rig.place.files, 'in', 'a.txt'), act: diskFault }))
    })
    await bring(rig)
    const { state, error, files } = await rig.lastReception()
    assert.ok(looks[0]?.done())
    assert.equal(state, 'COMPLETED', error ?? '')
    assert.equal(files[0]?.pathPost, join(rig.place.files, 'sorted', 'a.txt'))
    assert.deepEqual([await rig.list('in'), await rig.list('sorted')], [[], ['a.txt']])
    assert.deepEqual(await receiptsOwed(rig), [true])
  })

test('a file that is to be moved later has its receipt when its reception fails by another one', async (t) => {
  const rig = await movingRig(t, { retries: 5 })
  const postponed = postpone(t, rig, 'a.txt')
  await bring(rig)
  await waitFor('it is to be moved', () => Promise.resolve(postponed.done()))
  const wrong = await rig.host('oftp2').offer(offerOf('b.txt', { size: 1 }))
  await wrong.write(Buffer.from('b'), 0)
  await assert.rejects(wrong.complete({ size: 1, sha256: '0'.repeat(64) }), { code: 'hash_mismatch' })
  const { state, error } = await rig.lastReception()
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /^b\.txt/)
  assert.deepEqual([await rig.list('in'), await rig.list('sorted')], [['a.txt'], []])
  assert.deepEqual(await receiptsOwed(rig), [false])
})

class CutLine extends Line {
  override async open(call: Call<unknown>, host: SessionHost): Promise<Session> {
    const session = await super.open(call, host)
    const fetch = async (signal: AbortSignal) => {
      await session.fetch(signal)
      throw new NodeError('connection_lost', 'the line broke')
    }
    return { ...session, fetch }
  }
}

test('a file that is to be moved later has its receipt when the fetch that brought it breaks', async (t) => {
  const line = new CutLine(OFTP2)
  const rig = await movingRig(t, { retries: 5, line })
  await rig.offer('a.txt', 'a')
  const postponed = postpone(t, rig, 'a.txt')
  const asking = { store: rig.store, fileRoots: [], now: rig.context.now, requestedBy: 'tester' }
  const { id } = await requestFetch(asking, await rig.channel())
  rig.wake()
  const { state, error } = await rig.ended(id)
  assert.deepEqual([state, error, postponed.done()], ['FAILED', 'the line broke', true])
  assert.deepEqual(await receiptsOwed(rig), [false])
})

test('a file whose move failed has one receipt, however often another one of its reception waits', async (t) => {
  const rig = await movingRig(t, { retries: 5 })
  await rig.put('a.txt', 'in the way', join(rig.place.files, 'sorted'))
  const waits = ['a.txt', 'b.txt', 'b.txt'].map((name) => postpone(t, rig, name))
  await bring(rig)
  await bring(rig, 'b.txt')
  const { id, state, attempts } = await rig.lastReception()
  assert.deepEqual([state, attempts, waits.map(({ done }) => done())], ['FAILED', 2, [true, true, true]])
  assert.equal(await rig.errorCode(id), 'name_taken')
  assert.deepEqual([await rig.list('in'), await rig.list('sorted')], [['a.txt'], ['a.txt', 'b.txt']])
  assert.deepEqual(new Set(await receiptsOwed(rig)), new Set([false, true]))
  assert.equal((await receiptsOwed(rig)).length, 2)
})

/** A reception that waits for its disk, until `goOn`. */
async function resting(t: TestContext, rig: Rig): Promise<{ goOn: () => Promise<void> }> {
  postpone(t, rig, 'a.txt')
  await bring(rig)
  rig.receptions.letGo(CODE)
  const dueAt = (due_at: number) =>
    rig.store.write(async (tx) => {
      const set = tx.updateTable('transfer').set({ due_at }).where('lease_until', 'is', null)
      return Number((await set.where('attempts', '=', 1).executeTakeFirst()).numUpdatedRows)
    })
  await waitFor('it rests', async () => (await dueAt(Date.now() + 600_000)) === 1)
  return {
    goOn: async () => {
      await dueAt(0)
      rig.wake()
      assert.equal((await rig.lastReception()).state, 'COMPLETED')
    },
  }
}

for (const fetched of [false, true])
  test(`a ${fetched ? 'fetched file' : 'file'} that waits too long for a channel whose reception rests is kept`, async (t) => {
    const rig = await movingRig(t, { retries: 5, timeoutAck: 1 })
    const { goOn } = await resting(t, rig)
    const offered = offerOf('b.txt', { size: 1, restartFrom: 1, ...(fetched && { fetched }) })
    const first = await rig.host('oftp2').offer(offered)
    await first.write(Buffer.from('b'), 0)
    // Handed over, it is told like a node that cannot take it now: a conflict at a file's end is for good over OFTP2.
    const told = await first.complete({ size: 1 }).catch((thrown: unknown) => thrown)
    assert.ok(told instanceof NodeError)
    assert.deepEqual([told.code, endsSession(told)], fetched ? ['conflict', false] : ['unavailable', true])
    await goOn()
    // This node looks again at what it fetched and could not take, after a pause.
    rig.setAhead(60_000)
    const again = await rig.host('oftp2').offer(offered)
    assert.equal(again.position, 1, 'it must travel again')
    await again.complete({ size: 1 })
    const names = async () => (await rig.lastReception()).files.map(({ name }) => name)
    await waitFor('its reception is over', async () => (await names()).join() === 'b.txt')
    assert.equal((await rig.lastReception()).state, 'COMPLETED')
    assert.deepEqual([await rig.list('in'), await rig.list('sorted')], [[], ['a.txt', 'b.txt']])
  })

/** A script notes in `done` for which files it runs. */
async function scriptRig(t: TestContext, script: string): Promise<{ rig: Rig; done: string }> {
  const folder = await tempFolder(t)
  const [done, postReceptionFile] = [join(folder, 'done'), join(folder, 'post')]
  const lines = ['#!/bin/sh', `done=${done}`, 'echo "$ESCLUSA_FILE_NAME" >> "$done"', script]
  await writeFile(postReceptionFile, lines.join('\n'), { mode: 0o755 })
  const integrations = { postReceptionAction: 'RECEPTION_EXECUTE', postReceptionFile } as const
  const rig = await movingRig(t, { retries: 5, integrations })
  Object.assign(rig.context.roots, { scriptRoots: [folder] })
  return { rig, done }
}

test(
  'a script that cannot be started for a received file is started when it can be, and runs once',
  { skip: skipWithoutPrlimit },
  async (t) => {
    const { rig, done } = await scriptRig(t, 'true')
    let rests: Promise<string | null> | undefined
    judgeWrites(rig, async (phase) => {
      if (phase !== 'PLACED' || rests) return
      const noneLeft = Promise.withResolvers<void>()
      rests = withNothingToOpen(async () => {
        noneLeft.resolve()
        return whyItRests(rig)
      })
      await noneLeft.promise
    })
    await bring(rig)
    assert.match(
      (await rests) ?? '',
      /^a\.txt is here, but its script could not be started: too many files and connections are open at once/,
    )
    assert.deepEqual([existsSync(done), await receiptsOwed(rig)], [false, []])
    const { state, error } = await rig.lastReception()
    assert.deepEqual([state, error], ['COMPLETED', null])
    assert.equal(await readFile(done, 'utf8'), 'a.txt\n')
    assert.deepEqual(await receiptsOwed(rig), [true])
  },
)

async function whyItRests(rig: Rig): Promise<string | null> {
  let error: string | null = null
  await waitFor('it rests, or is over', async () => {
    rig.receptions.letGo(CODE)
    const row = await rig.store.db.selectFrom('transfer').selectAll().executeTakeFirstOrThrow()
    error = row.error
    return row.attempts > 0 || row.ended_at !== null
  })
  return error
}

test('a script that refuses its file does so once, though another file of its reception waits for its disk', async (t) => {
  const { rig, done } = await scriptRig(
    t,
    '[ "$ESCLUSA_FILE_NAME" = b.txt ] || [ "$(grep -c a.txt "$done")" = 1 ]',
  )
  const faults = new Set(['a.txt DONE', 'b.txt PLACED'])
  const store = rig.store as { write: Store['write'] }
  const { write } = store
  store.write = (change) =>
    write(async (tx) => {
      const value = await change(tx)
      for (const { name, phase, staged_path } of await tx.selectFrom('transfer_file').selectAll().execute()) {
        if (!faults.delete(`${name} ${phase}`)) continue
        if (name === 'b.txt')
          meanwhile(t, 'lstat', 'before', { path: markOf(staged_path ?? ''), act: diskFault })
        throw new NodeError('unavailable', 'the database does not answer')
      }
      return value
    })
  await bring(rig)
  await waitFor('the script of the first ran', () => Promise.resolve(faults.size === 1))
  await assert.rejects(bring(rig, 'b.txt'), { code: 'unavailable' })
  const { id, state, attempts } = await rig.lastReception()
  assert.deepEqual([state, attempts, await rig.errorCode(id)], ['FAILED', 1, 'script_failed'])
  assert.equal(await readFile(done, 'utf8'), 'a.txt\na.txt\nb.txt\n')
  assert.deepEqual(new Set(await receiptsOwed(rig)), new Set([false, true]))
})

test('a reception that rested waits for no call of the partner after the database did not answer', async (t) => {
  const rig = await movingRig(t, { retries: 5, callingEnd: 'REMOTO' })
  const { goOn } = await resting(t, rig)
  let met = false
  judgeWrites(rig, async (phase) => {
    if (phase !== 'DONE' || met) return
    met = true
    throw new NodeError('unavailable', 'the database does not answer')
  })
  await goOn()
  assert.deepEqual([met, await rig.list('sorted')], [true, ['a.txt']])
})
