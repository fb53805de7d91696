// What is old goes: lists and totals stay exact, the archive has every row once, and nothing is forgotten that would be
// sent again.

import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { makeLog } from '../../src/log.ts'
import { discardOld } from '../../src/quarantine/age.ts'
import { findChannel, updateChannel } from '../../src/store/channels.ts'
import { findQuarantined } from '../../src/store/quarantine.ts'
import { dropHeld, holdInOutbox, undecidedFiles } from '../../src/store/held-files.ts'
import type { Store, Tx } from '../../src/store/database/store.ts'
import { holdTask, releaseTask } from '../../src/store/upkeep-tasks.ts'
import { insertToken, listTokens } from '../../src/store/tokens.ts'
import { addToOutbox, allWaitingFiles, takeFromOutbox } from '../../src/store/transfers/outbox.ts'
import { oweReceipt, receiptsDelivered } from '../../src/store/transfers/receipts.ts'
import { findReceived, putReceived } from '../../src/store/transfers/receptions.ts'
import { forgetReceived, oldSent } from '../../src/store/retention/old-memories.ts'
import { rememberSent } from '../../src/store/transfers/sent-files.ts'
import { retentionTask } from '../../src/upkeep/retention.ts'
import type { RetentionParts } from '../../src/upkeep/retention.ts'
import { attempt } from '../../src/upkeep/upkeep.ts'
import type { Pieces, Task } from '../../src/upkeep/upkeep.ts'
import { addCompleted } from '../support/completed-transfer.ts'
import { postgres, startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { fillUp, skipWithoutMount, smallDisk } from '../support/small-disk.ts'
import { putIntoQuarantine } from '../support/quarantine.ts'
import { FULL, PLAIN } from '../support/seed.ts'

const DAY_MS = 86_400_000
/** Noon, so that a day more or less is a day more or less. */
const NOW = Date.UTC(2026, 5, 15, 12)
/** More than go at once, after those that stay. */
const MANY = 180
const FEW = 60

/** One transfer an hour, each with a file; the newest an hour ago. */
async function fill({ store }: TestNode, code: string, count: number): Promise<string[]> {
  const ids: string[] = []
  await store.write(async (tx) => {
    for (let index = 0; index < count; index++) {
      const at = NOW - (count - index) * 3_600_000
      ids.unshift(await addCompleted(tx, code, { name: `f${index}.txt`, at, tookMs: 1000 }))
    }
  })
  return ids
}

/** All pages as a third-party system reads them. */
async function listed(node: TestNode, operation: 'listTransfers' | 'channelHistory', code: string) {
  const rows: { transferId?: string }[] = []
  for (let page = 1; ; page++) {
    const { body } = await node.call(operation, { code, query: { page, size: 40 } })
    const { content, totalElements } = body as { content: { transferId?: string }[]; totalElements: number }
    rows.push(...content)
    if (content.length === 0) return { rows, total: totalElements }
  }
}

/** Without the pauses that a busy node needs. */
const quickly = (parts: RetentionParts) => ({ ...retentionTask(parts), pauseMs: 0 })

const archivesIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith('archive-'))
    .map((name) => ({ name, size: statSync(join(folder, name)).size }))

const archived = (folder: string) =>
  archivesIn(folder)
    .flatMap(({ name }) =>
      gunzipSync(readFileSync(join(folder, name)))
        .toString()
        .trim()
        .split('\n'),
    )
    .map((line) => JSON.parse(line) as { kind: string; id?: string; position?: number; channelCode: string })

testOnBoth(
  'transfers and history older than they are kept go, and are in the archive once',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const archiveDir = join(node.dataDir, 'archive')
    const ids = await fill(node, PLAIN, MANY)
    const config = { keepTransfersDays: 3, keepHistoryDays: 5, archiveDir, fileRoots: [node.files] }
    let clock = NOW
    const parts = {
      store: node.store,
      owner: 'test',
      log: makeLog('silent', 'test'),
      now: () => clock,
      config,
    }
    // A run before this one was cut off after it had written to the archive.
    mkdirSync(archiveDir)
    await attempt(
      { ...parts },
      { ...retentionTask(parts), run: (_, hold) => retentionTask(parts).run(cutAfterOne, hold) },
    )
    for (const name of readdirSync(archiveDir)) appendFileSync(join(archiveDir, name), 'half of a piece')
    clock += 3_600_000
    await attempt(parts, quickly(parts))
    const kept = ids.filter((_, index) => (index + 1) * 3_600_000 + 3_600_000 <= 3 * DAY_MS + 1000)
    const transfers = await listed(node, 'listTransfers', PLAIN)
    assert.equal(transfers.total, kept.length)
    assert.deepEqual(
      transfers.rows.map(({ transferId }) => transferId),
      kept,
    )
    const history = await listed(node, 'channelHistory', PLAIN)
    assert.equal(history.rows.length, history.total)
    const lines = archived(archiveDir)
    const gone = lines.filter(({ kind }) => kind === 'transfer').map(({ id }) => id)
    assert.equal(gone.length, ids.length - kept.length, 'each one once')
    assert.deepEqual(new Set(gone), new Set(ids.filter((id) => !kept.includes(id))))
    const entries = lines.filter(({ kind, channelCode }) => kind === 'history' && channelCode === PLAIN)
    assert.deepEqual(
      entries.map(({ position }) => position),
      entries.map((_, index) => index + 1),
    )
  },
)

/** As if the node were killed after the first piece of whatever it does. */
async function cutAfterOne(piece: () => Promise<boolean>): Promise<void> {
  await piece()
  throw new Error('killed')
}

test('old rows go in at most five pieces a second, so that few requests meet one', async (t) => {
  const node = await startTestHttp(t)
  await fill(node, PLAIN, MANY)
  const config = {
    keepTransfersDays: 1,
    keepHistoryDays: undefined,
    archiveDir: undefined,
    fileRoots: [node.files],
  }
  const parts = { store: node.store, owner: 'test', log: makeLog('silent', 'test'), now: () => NOW, config }
  const pauses: number[] = []
  const timed: Task = {
    ...retentionTask(parts),
    run: (inPieces, hold) =>
      retentionTask(parts).run((piece) => {
        let ended = -Infinity
        return inPieces(async () => {
          pauses.push(performance.now() - ended)
          const more = await piece()
          ended = performance.now()
          return more
        })
      }, hold),
  }
  await attempt(parts, timed)
  assert.equal((await listed(node, 'listTransfers', PLAIN)).total, 24)
  assert.ok(pauses.length > 4, 'more than go at once')
  // Timers may be a little early.
  assert.ok(Math.min(...pauses) > 190, `pauses of ${pauses.join(', ')} ms`)
})

testOnBoth(
  'a channel’s own rule counts, and what lies to be sent is never forgotten',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const out = join(node.files, 'retained')
    mkdirSync(out, { recursive: true })
    const channel = await findChannel(node.store.db, FULL)
    assert.ok(channel)
    const config = { ...channel.config, directories: [{ direction: 'EMISION' as const, filePath: out }] }
    await node.store.write((tx) => updateChannel(tx, { ...channel, config, keep: { transfersDays: 2 } }))
    const [, second] = await fill(node, FULL, FEW)
    await fill(node, PLAIN, FEW)
    for (const name of ['lies.txt', 'gone.txt'])
      await node.store.write((tx) => rememberSent(tx, { channelCode: FULL, name, hash: 'ab', size: 4 }))
    writeFileSync(join(out, 'lies.txt'), 'here')
    const remembered = async () =>
      (await node.store.db.selectFrom('sent_file').select('name').where('channel_code', '=', FULL).execute())
        .map(({ name }) => name)
        .sort()
    const settings = {
      keepTransfersDays: undefined,
      keepHistoryDays: undefined,
      archiveDir: undefined,
      fileRoots: [node.files],
    }
    let clock = NOW
    const parts = {
      store: node.store,
      owner: 'test',
      log: makeLog('silent', 'test'),
      now: () => clock,
      config: settings,
    }
    await attempt(parts, quickly(parts))
    assert.ok((await listed(node, 'listTransfers', FULL)).total < FEW)
    assert.equal((await listed(node, 'listTransfers', PLAIN)).total, FEW)
    assert.deepEqual(await remembered(), ['gone.txt', 'lies.txt'], 'both are younger than the rule')
    clock += 2 * DAY_MS + 1
    await attempt(parts, quickly(parts))
    assert.deepEqual(await remembered(), ['lies.txt'])
    assert.equal(
      (await listed(node, 'listTransfers', FULL)).rows.some(({ transferId }) => transferId === second),
      false,
    )
    rmSync(join(out, 'lies.txt'))
    clock += DAY_MS
    await attempt(parts, quickly(parts))
    assert.deepEqual(await remembered(), [])
  },
)

testOnBoth(
  'a transfer stays while its partner has yet to take a file, or somebody to decide about it',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const { store } = node
    const ids = (await fill(node, PLAIN, MANY)).toReversed()
    const layOut = async (tx: Tx, index: number) => {
      const file = { channelCode: PLAIN, path: `/data/${index}`, name: `${index}`, size: 5, modifiedAt: NOW }
      const waiting = { ...file, id: `o${index}`, transferId: ids[index] ?? '', index: 0 }
      await addToOutbox(tx, waiting)
      return waiting
    }
    // Alone, side by side, and where one piece ends and the next begins.
    const waiting = [0, 1, 2, 20, 49, 50, 51, 52, 90]
    const held = [10, 60]
    const [taken, newest] = [30, MANY - 1]
    await store.write(async (tx) => {
      for (const index of [...waiting, newest]) await layOut(tx, index)
      await takeFromOutbox(tx, await layOut(tx, taken), NOW)
      for (const index of held)
        await holdInOutbox(tx, { ...(await layOut(tx, index)), outboxId: `o${index}`, heldAt: NOW })
    })
    const config = {
      keepTransfersDays: 1,
      keepHistoryDays: undefined,
      archiveDir: undefined,
      fileRoots: [node.files],
    }
    const parts = { store, owner: 'test', log: makeLog('silent', 'test'), now: () => clock, config }
    let clock = NOW
    const young = Array.from({ length: 24 }, (_, index) => MANY - 24 + index)
    const staysAfterRun = async (indexes: number[]) => {
      await attempt(parts, quickly(parts))
      const { rows, total } = await listed(node, 'listTransfers', PLAIN)
      assert.deepEqual(
        rows.map(({ transferId }) => ids.indexOf(transferId ?? '')),
        indexes.toSorted((a, b) => b - a),
      )
      assert.equal(total, indexes.length)
    }
    await staysAfterRun([...waiting, ...held, ...young])
    const lying = await allWaitingFiles(store.db)
    assert.equal(lying.length, waiting.length + 1)
    await store.write(async (tx) => {
      for (const file of lying) if (file.id !== 'o50') await takeFromOutbox(tx, file, NOW)
      for (const file of await undecidedFiles(tx)) await dropHeld(tx, file, undefined, NOW)
    })
    clock += 3_600_000
    await staysAfterRun([50, ...young.slice(1)])
  },
)

const KEPT_FOR_EVER = { keepTransfersDays: undefined, keepHistoryDays: undefined, archiveDir: undefined }

testOnBoth('receipts go a day after the partner has taken them, whatever is kept', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const { store } = node
  const log = makeLog('silent', 'test')
  const config = { ...KEPT_FOR_EVER, fileRoots: [node.files] }
  const parts = { store, owner: 'test', log, now: () => NOW, config }
  const [contact] = await store.db.selectFrom('contact').select('id').limit(1).execute()
  const owed = () => store.db.selectFrom('owed_receipt').select(['id', 'created_at']).orderBy('id').execute()
  await store.write(async (tx) => {
    for (let index = 0; index < MANY; index++) await oweReceipt(tx, contact?.id ?? '', {}, NOW - MANY + index)
  })
  const [waiting, late, ...taken] = (await owed()).map(({ id }) => id)
  await store.write(async (tx) => {
    await receiptsDelivered(tx, taken, NOW - DAY_MS - 1)
    await receiptsDelivered(tx, [late ?? ''], NOW - DAY_MS + 1)
  })
  await attempt(parts, quickly(parts))
  assert.deepEqual(
    (await owed()).map(({ id }) => id),
    [waiting, late],
  )
})

testOnBoth('tokens go a month after they have ended', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const { store } = node
  const config = { ...KEPT_FOR_EVER, fileRoots: [node.files] }
  const parts = { store, owner: 'test', log: makeLog('silent', 'test'), now: () => NOW, config }
  const [account] = await store.db.selectFrom('account').select('id').limit(1).execute()
  const token = { accountId: account?.id ?? '', name: 'nightly', createdAt: 0 }
  const monthAgo = NOW - 30 * DAY_MS
  await store.write(async (tx) => {
    await insertToken(tx, { ...token, id: 'long over', expiresAt: monthAgo - 1 })
    await insertToken(tx, { ...token, id: 'over', expiresAt: monthAgo })
    await insertToken(tx, { ...token, id: 'valid', expiresAt: NOW + 1 })
  })
  await attempt(parts, quickly(parts))
  assert.deepEqual((await listTokens(store.db)).map(({ id }) => id).toSorted(), ['over', 'valid'])
})

testOnBoth('upkeep that a clock ahead of its time has done or held is done again', async (t, database) => {
  const { store } = await startTestHttp(t, { database })
  let runs = 0
  const task: Task = { name: 'counted', everyMs: 3_600_000, run: () => Promise.resolve(void runs++) }
  const parts = { store, owner: 'test', log: makeLog('silent', 'test'), now: () => NOW }
  await attempt({ ...parts, now: () => NOW + DAY_MS }, task)
  await attempt(parts, task)
  assert.equal(runs, 2)
  await attempt(parts, task)
  assert.equal(runs, 2, 'only when it is due')
  const ahead = { owner: 'gone', now: NOW + DAY_MS, until: NOW + DAY_MS + 120_000 }
  await store.write((tx) => holdTask(tx, 'held', ahead))
  await attempt(parts, { ...task, name: 'held' })
  assert.equal(runs, 3)
})

testOnBoth('a task of many short walks stays with its node until it is done', async (t, database) => {
  const { store } = await startTestHttp(t, { database })
  let clock = NOW
  const parts = { store, owner: 'test', log: makeLog('silent', 'test'), now: () => clock }
  const taken: boolean[] = []
  const walks = async (pieces: Pieces) => {
    for (let walk = 0; walk < 20; walk++) {
      await pieces(() => Promise.resolve(false))
      clock += 20_000
      const hold = { owner: 'other', now: clock, until: clock + 120_000 }
      taken.push(await store.write((tx) => holdTask(tx, 'long', hold)))
    }
  }
  await attempt(parts, { name: 'long', everyMs: 3_600_000, run: walks })
  assert.equal(taken.length, 20)
  assert.ok(!taken.includes(true))
})

// Where the first of two nodes is frozen until the second has done its work: before it asks for a transaction, or once it
// has read how long the file is.
for (const [at, frozen] of [
  ['before it says which file it begins', { write: 2 }],
  ['before it takes away what is in the file', { write: 3 }],
  ['before it writes to the file', { mark: 1 }],
] as [string, { write?: number; mark?: number }][])
  test(`a node frozen ${at} spoils nothing of the archive`, { skip: postgres.skip ?? false }, async (t) => {
    const node = await startTestHttp(t, { database: postgres })
    const { store } = node
    const archiveDir = join(node.dataDir, 'archive')
    const ids = [...(await fill(node, PLAIN, FEW)), ...(await fill(node, FULL, FEW))]
    const config = { ...KEPT_FOR_EVER, keepTransfersDays: 1, archiveDir, fileRoots: [node.files] }
    let clock = NOW
    const second = { store, owner: 'second', log: makeLog('silent', 'test'), now: () => clock, config }
    const seen = { write: 0, mark: 0 }
    const pass = async (what: keyof typeof seen) => {
      if (++seen[what] !== frozen[what]) return
      clock += 121_000
      await attempt(second, quickly(second))
    }
    const freezing: Store = {
      ...store,
      write: async (change) => (await pass('write'), store.write(change)),
      db: store.db.withPlugin({
        transformQuery: ({ node: query }) => query,
        transformResult: async ({ result }) => {
          if (JSON.stringify(result.rows).includes('archive-2026-06-15')) await pass('mark')
          return result
        },
      }),
    }
    const first = { ...second, store: freezing, owner: 'first' }
    await attempt(first, quickly(first))
    assert.equal(clock, NOW + 121_000)
    const left = async () =>
      (await store.db.selectFrom('transfer').select('id').execute()).map(({ id }) => id)
    const isWhole = async () => {
      const gone = archived(archiveDir).map(({ id }) => id ?? '')
      assert.deepEqual([...gone, ...(await left())].toSorted(), ids.toSorted(), 'each one once')
      return gone.length
    }
    const gone = await isWhole()
    clock += 3_600_000
    await attempt(second, quickly(second))
    assert.ok((await isWhole()) > gone, 'and nobody cuts it later')
  })

test('what a run that was cut off has written twice is in the archive once, also when a day has passed', async (t) => {
  const node = await startTestHttp(t)
  const archiveDir = join(node.dataDir, 'archive')
  await fill(node, PLAIN, FEW)
  const config = { ...KEPT_FOR_EVER, keepTransfersDays: 1, archiveDir, fileRoots: [node.files] }
  let clock = NOW
  const parts = { store: node.store, owner: 'test', log: makeLog('silent', 'test'), now: () => clock, config }
  const dies: Store = {
    ...node.store,
    write: (change) =>
      node.store.write(async (tx) => {
        const done = await change(tx)
        const left = await tx.selectFrom('transfer').select('id').execute()
        if (left.length < FEW) throw new Error('killed before it was taken away')
        return done
      }),
  }
  await attempt(parts, quickly({ ...parts, store: dies }))
  assert.equal((await listed(node, 'listTransfers', PLAIN)).total, FEW)
  assert.ok(archived(archiveDir).length > 0)
  clock += DAY_MS
  await attempt(parts, quickly(parts))
  const gone = archived(archiveDir).map(({ id }) => id)
  assert.equal(gone.length, FEW)
  assert.equal(new Set(gone).size, FEW)
})

test('what becomes old enough while the archive is written goes with the next piece', async (t) => {
  const node = await startTestHttp(t)
  const archiveDir = join(node.dataDir, 'archive')
  const ids = await fill(node, PLAIN, FEW)
  const config = { ...KEPT_FOR_EVER, keepTransfersDays: 1, archiveDir, fileRoots: [node.files] }
  const parts = { store: node.store, owner: 'test', log: makeLog('silent', 'test'), now: () => NOW, config }
  const slow: Store = {
    ...node.store,
    write: async (change) => {
      if (ids.length === FEW && existsSync(archiveDir) && archived(archiveDir).length > 0)
        ids.push(
          await node.store.write((tx) =>
            addCompleted(tx, PLAIN, { name: 'late.txt', at: NOW - 9 * DAY_MS, tookMs: 1 }),
          ),
        )
      return node.store.write(change)
    },
  }
  await attempt(parts, quickly({ ...parts, store: slow }))
  assert.equal(ids.length, FEW + 1)
  const left = (await listed(node, 'listTransfers', PLAIN)).rows.map(({ transferId }) => transferId ?? '')
  const gone = archived(archiveDir).map(({ id }) => id ?? '')
  assert.deepEqual([...left, ...gone].toSorted(), ids.toSorted(), 'each one once')
})

testOnBoth('a node that lost a task while it slept does not free it for a third', async (t, database) => {
  const { store } = await startTestHttp(t, { database })
  const take = (owner: string, now: number) =>
    store.write((tx) => holdTask(tx, 'walk', { owner, now, until: now + 10 }))
  assert.ok(await take('sleeps', NOW))
  assert.ok(await take('at work', NOW + 20))
  await store.write((tx) => releaseTask(tx, 'walk', 'sleeps', NOW + 20))
  assert.equal(await take('third', NOW + 25), false)
})

test('nothing is taken away while an archive file is shorter than what was written', async (t) => {
  const node = await startTestHttp(t)
  const archiveDir = join(node.dataDir, 'archive')
  await fill(node, PLAIN, FEW)
  const config = { ...KEPT_FOR_EVER, keepTransfersDays: 2, archiveDir, fileRoots: [node.files] }
  let clock = NOW
  const parts = { store: node.store, owner: 'test', log: makeLog('silent', 'test'), now: () => clock, config }
  await attempt(parts, quickly(parts))
  const { total } = await listed(node, 'listTransfers', PLAIN)
  assert.ok(total < FEW)
  for (const name of readdirSync(archiveDir)) truncateSync(join(archiveDir, name), 10)
  clock += 7_200_000
  await attempt(parts, quickly(parts))
  assert.equal((await listed(node, 'listTransfers', PLAIN)).total, total)
})

testOnBoth(
  'a transfer is as old as its end, and a file that has just come is not forgotten',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const { store } = node
    const began = NOW - 9 * DAY_MS
    const long = await store.write(async (tx) => {
      await addCompleted(tx, PLAIN, { name: 'short.txt', at: began, tookMs: 1000 })
      return addCompleted(tx, PLAIN, { name: 'long.txt', at: began, tookMs: 8 * DAY_MS })
    })
    const config = {
      ...KEPT_FOR_EVER,
      keepTransfersDays: 3,
      archiveDir: undefined,
      fileRoots: [node.files],
    }
    const parts = { store, owner: 'test', log: makeLog('silent', 'test'), now: () => NOW, config }
    await attempt(parts, quickly(parts))
    assert.deepEqual(
      (await listed(node, 'listTransfers', PLAIN)).rows.map(({ transferId }) => transferId),
      [long],
    )
    // Between the look at which files are new and the forgetting of old ones.
    const key = { channelCode: PLAIN, name: 'new.txt', date: '20260615', time: '1200000001' }
    const sent = { channelCode: PLAIN, name: 'new.txt', hash: 'ab', size: 4 }
    await store.write(async (tx) => {
      await putReceived(tx, key, { transferId: long, size: 4, wireHash: null })
      await rememberSent(tx, sent)
      await forgetReceived(tx, PLAIN, NOW, 50)
    })
    assert.ok(await findReceived(store.db, key), 'it would be taken twice')
    assert.deepEqual(await oldSent(store.db, PLAIN, NOW, 50), [], 'it would be sent twice')
  },
)

test(
  'a disk that fills while the archive is written keeps the rows, and with room they go',
  {
    skip: skipWithoutMount,
  },
  async (t) => {
    const node = await startTestHttp(t)
    const archiveDir = join(node.dataDir, 'archive')
    await smallDisk(t, archiveDir)
    const ids = await fill(node, PLAIN, MANY)
    const config = { ...KEPT_FOR_EVER, keepTransfersDays: 6, archiveDir, fileRoots: [node.files] }
    const told: { level: string; code: unknown }[] = []
    const hears = (level: string) => (about: { err: { code: unknown } }) =>
      told.push({ level, code: about.err.code })
    const log = Object.assign(makeLog('silent', 'test'), { warn: hears('warn'), error: hears('error') })
    let clock = NOW
    const parts = { store: node.store, owner: 'test', log, now: () => clock, config }
    const gone = () => archived(archiveDir).map(({ id }) => id ?? '')
    const isWhole = async (most: number) => {
      const left = (await listed(node, 'listTransfers', PLAIN)).rows.map(({ transferId }) => transferId ?? '')
      assert.deepEqual([...gone(), ...left].toSorted(), ids.toSorted(), 'each one once')
      assert.ok(left.length <= most)
    }
    // An empty disk that is full, and then one on which a part of the next piece still has its place.
    for (const days of [6, 1]) {
      fillUp(archiveDir)
      config.keepTransfersDays = days
      const before = archivesIn(archiveDir)
      for (let nth = 1; nth <= 2; nth++) {
        await attempt(parts, quickly(parts))
        assert.deepEqual(told.splice(0), [{ level: 'error', code: 'no_space' }])
        assert.deepEqual(archivesIn(archiveDir), before, 'nothing of it is left')
        clock += 30_000
      }
      rmSync(join(archiveDir, 'fill'))
      await attempt(parts, quickly(parts))
      await isWhole(days * 24)
      clock += 3_600_000
    }
    assert.deepEqual(told, [])
  },
)

test('an archive file that another database has written is left as it is', async (t) => {
  const node = await startTestHttp(t)
  const archiveDir = join(node.dataDir, 'archive')
  const ids = await fill(node, PLAIN, FEW)
  const config = { ...KEPT_FOR_EVER, keepTransfersDays: 1, archiveDir, fileRoots: [node.files] }
  const parts = { store: node.store, owner: 'test', log: makeLog('silent', 'test'), now: () => NOW, config }
  const name = `archive-2026-06-15-${hostname()}.jsonl.gz`
  const theirs = gzipSync('{"kind":"transfer","id":"theirs"}\n')
  mkdirSync(archiveDir)
  writeFileSync(join(archiveDir, name), theirs)
  await attempt(parts, quickly(parts))
  assert.deepEqual(readFileSync(join(archiveDir, name)), theirs)
  assert.equal(archived(archiveDir).length, 1 + ids.length - 24)
  assert.equal(readdirSync(archiveDir).length, 2)
})

testOnBoth('a quarantined file that nobody decides about is discarded in the end', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const path = await putIntoQuarantine(node, 'q1', { channelCode: PLAIN })
  const { quarantinedAt } = (await findQuarantined(node.store.db, 'q1')) ?? { quarantinedAt: 0 }
  await discardOld(node.context, quarantinedAt)
  assert.ok(existsSync(path), 'it is not older than that')
  await discardOld(node.context, quarantinedAt + 1)
  assert.ok(!existsSync(path))
  const file = await findQuarantined(node.store.db, 'q1')
  assert.deepEqual([file?.state, file?.decidedBy], ['DISCARDED', null])
  await discardOld(node.context, (file?.decidedAt ?? 0) + 1)
  assert.equal(await findQuarantined(node.store.db, 'q1'), undefined)
})
