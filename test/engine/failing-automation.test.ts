// Automatic emissions that fail: not at every look, one entry in the history for each, and nothing left behind. Automatic
// fetches that fail: told once, and a partner that refuses the call is not called at every look.

import assert from 'node:assert/strict'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { PushMarkers } from '../../src/engine/transports/folder/push-markers.ts'
import { createFolder } from '../../src/engine/transports/folder/folder.ts'
import { clearLeftovers } from '../../src/engine/staging/leftovers.ts'
import type { Transport } from '../../src/engine/transports/transport.ts'
import type { FolderSettings } from '../../src/contract/contact-settings.ts'
import { NodeError } from '../../src/errors.ts'
import { findContact, putContact } from '../../src/store/contacts.ts'
import type { TransferRecord } from '../../src/domain/transfer.ts'
import { requestFetch } from '../../src/transfers/fetch.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { CODE, channelOf, startRig, withDirectories } from './rig.ts'
import type { Rig } from './rig.ts'

const folderTransport = createFolder({ scriptRoots: [] })

const MINUTE = 60_000
const PATIENCE_MS = 180_000

/** The partner has not taken a file of the same name yet. The wire form is another than the file. */
async function failing(t: TestContext, database?: TestDatabase): Promise<Rig> {
  const rig = await startRig(t, database && { database })
  await rig.putChannel(CODE, withDirectories(rig, { compression: true }), { automation: { every: '2s' } })
  for (const name of ['a.txt', 'a.txt.gz']) await writeFile(join(rig.place.inbox, name), 'the one before')
  await rig.put('a.txt', 'a')
  rig.run().automate(t)
  return rig
}

async function failures(rig: Rig): Promise<number> {
  const rows = await rig.store.db
    .selectFrom('transfer')
    .select('state')
    .where('state', '=', 'FAILED')
    .execute()
  return rows.length
}

/** At least so many: on a slow machine the next pause may be over, too. */
function failed(rig: Rig, times: number): Promise<unknown> {
  return waitFor(`${times} failures`, async () => (await failures(rig)) >= times, PATIENCE_MS)
}

async function pause(rig: Rig): Promise<{ failures: number; wait_until: number }> {
  const row = await rig.store.db.selectFrom('automation_run').selectAll().executeTakeFirstOrThrow()
  return row
}

/** A look goes by, and nothing is tried before the pause is over. */
async function waits(rig: Rig): Promise<void> {
  const { wait_until } = await pause(rig)
  const known = await ids(rig)
  await looked(rig)
  const now = await ids(rig)
  if (rig.context.now() < wait_until) assert.deepEqual(now, known)
}

/** The next emission is asked for before the pause is over. */
async function triedAtOnce(rig: Rig, change: () => Promise<unknown>): Promise<void> {
  const { wait_until } = await pause(rig)
  const known = await ids(rig)
  await change()
  await waitFor('another try', async () => (await ids(rig)).length > known.length, PATIENCE_MS)
  const next = await rig.store.db
    .selectFrom('transfer')
    .select('requested_at')
    .where('id', 'not in', known)
    .where('type', '=', 'AUTOMATIC')
    .orderBy('requested_at')
    .executeTakeFirstOrThrow()
  assert.ok(next.requested_at < wait_until, `${wait_until - next.requested_at} ms`)
  const over = async () => (await ids(rig, 'FAILED')).length > known.length
  await waitFor('its end', over, PATIENCE_MS)
}

async function ids(rig: Rig, state?: 'FAILED'): Promise<string[]> {
  const rows = await rig.store.db
    .selectFrom('transfer')
    .select(['id', 'state'])
    .where('type', '=', 'AUTOMATIC')
    .execute()
  return rows.filter((row) => state === undefined || row.state === state).map(({ id }) => id)
}

/** A whole look of the automation that began after this call is over, and has started nothing. */
async function looked(rig: Rig): Promise<void> {
  const from = rig.context.now()
  const over = async () => {
    const row = await rig.store.db.selectFrom('automation_run').selectAll().executeTakeFirst()
    return row !== undefined && row.ran_at > from && row.held_until === 0
  }
  await waitFor('a look', over, PATIENCE_MS)
}

async function outgoing(rig: Rig): Promise<string[]> {
  return readdir(join(rig.place.dataDir, 'outgoing')).catch(() => [])
}

testOnBoth('a failed automatic emission waits 1, 2, 4 … minutes and leaves nothing', async (t, database) => {
  const rig = await failing(t, database)
  for (const times of [1, 2, 3]) {
    await failed(rig, times)
    const { failures: inARow, wait_until } = await pause(rig)
    const last = await rig.store.db
      .selectFrom('transfer')
      .select('ended_at')
      .orderBy('position', 'desc')
      .where('state', '=', 'FAILED')
      .executeTakeFirstOrThrow()
    assert.equal(wait_until - (last.ended_at ?? 0), 2 ** (inARow - 1) * MINUTE)
    await waits(rig)
    rig.setAhead(2 ** (inARow - 1) * MINUTE)
  }
  await failed(rig, 4)
  await waitFor('nothing is staged', async () => (await outgoing(rig)).length === 0, PATIENCE_MS)
  assert.deepEqual(await rig.hidden(), [])
  const history = await rig.history()
  assert.deepEqual(history.slice(0, 2), ['TRANSFER_REQUESTED', 'TRANSFER_STARTED'])
  assert.deepEqual([...new Set(history.slice(2))], ['TRANSFER_FAILED'])
  for (const name of await rig.inbox()) await rm(join(rig.place.inbox, name))
  rig.setAhead(8 * MINUTE)
  await waitFor('it is sent', async () => (await rig.inbox()).length === 1, PATIENCE_MS)
  await waitFor('the pause is over', async () => (await pause(rig)).failures === 0, PATIENCE_MS)
})

test('another file, another configuration, a retry, a reset, a clock set back: it is tried at once', async (t) => {
  const rig = await failing(t)
  await failed(rig, 1)
  await triedAtOnce(rig, () => rig.put('a.txt', 'changed'))
  await triedAtOnce(rig, () =>
    rig.store.write((tx) => tx.updateTable('channel').set({ revision: 7 }).execute()),
  )
  await triedAtOnce(rig, () => rig.reset())
  await triedAtOnce(rig, () => rig.retry())
  await triedAtOnce(rig, () => Promise.resolve(rig.setAhead(-60 * MINUTE)))
})

test('the same file keeps its key, so that the partner’s end goes on with what is there', async (t) => {
  let broken = true
  const breaking: Transport<FolderSettings> = {
    ...folderTransport,
    connect: async (call, host) => {
      const session = await folderTransport.connect(call, host)
      const push = session.push.bind(session)
      return Object.assign(session, {
        push: async (...given: Parameters<typeof push>) => {
          const [file, progress, signal] = given
          if (!broken) return push(file, progress, signal)
          const short = { size: file.source.size, read: () => Promise.reject(cut()) }
          return push({ ...file, source: short }, progress, signal)
        },
      })
    },
  }
  const rig = await startRig(t, { transports: [breaking] })
  await rig.putChannel(CODE, channelOf(rig), { automation: { every: '2s' } })
  // Small ones are read whole before anything is written.
  await rig.put('a.txt', Buffer.alloc(300 * 1024, 'a'))
  rig.run().automate(t)
  await failed(rig, 1)
  rig.setAhead(MINUTE)
  await failed(rig, 2)
  // A retry by somebody, which fails as well: the next automatic one still knows the file.
  await rig.retry(CODE)
  await failed(rig, 3)
  // The next try may just be making it anew.
  await waitFor('one half file, however often it fails', async () => (await rig.hidden()).length === 1)
  broken = false
  rig.setAhead(10 * MINUTE)
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'), PATIENCE_MS)
  await waitFor('nothing is left', async () => (await rig.hidden()).length === 0, PATIENCE_MS)
  const keys = await rig.store.db.selectFrom('transfer_file').select(['key_date', 'key_time']).execute()
  assert.equal(new Set(keys.map((key) => JSON.stringify(key))).size, 1)
})

function cut(): Error {
  return Object.assign(new Error('the disk went away'), { code: 'ENOSPC' })
}

test('what earlier versions left is swept at a start, but not what may be retried', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  await writeFile(join(rig.place.inbox, 'a.txt'), 'the one before')
  await rig.put('a.txt', 'a')
  rig.run()
  const old: TransferRecord[] = []
  for (let times = 0; times < 3; times += 1) old.push(await rig.sendAndEnd())
  const [first, second, last] = old as [TransferRecord, TransferRecord, TransferRecord]
  const { db } = rig.store
  // As the version before would have left them: two of the automation, one of a person.
  await db
    .updateTable('transfer')
    .set({ type: 'AUTOMATIC' })
    .where('id', 'in', [first.id, second.id])
    .execute()
  const markers = new PushMarkers(rig.place.inbox)
  for (const { id, files } of old) {
    const { keyName: name = '', keyDate: date = '', keyTime: time = '' } = files[0] ?? {}
    const folder = join(rig.place.dataDir, 'outgoing', id)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '0-1.x'), 'a')
    await db
      .updateTable('transfer_file')
      .set({ staged_path: join(folder, '0-1.x') })
      .where('transfer_id', '=', id)
      .execute()
    const { part } = markers.namesFor({
      key: { name, date, time },
      name: 'a.txt',
      transferId: id,
      attempt: 1,
    })
    await writeFile(part, 'a')
  }
  const strange = '.esclusa-0123456789abcdef0123456789abcdef.0123456789ab.part'
  await writeFile(join(rig.place.inbox, strange), 'of another platform')
  await clearLeftovers(rig.context, new Map([['folder', folderTransport as Transport<never>]]))
  assert.deepEqual(await outgoing(rig), [last.id])
  assert.equal((await rig.hidden()).length, 2)
  await rig.reset()
  await waitFor('a reset removes the rest', async () => (await outgoing(rig)).length === 0, PATIENCE_MS)
  await waitFor('and the half file', async () => (await rig.hidden()).join() === strange, PATIENCE_MS)
})

type Refusing = { rig: Rig; calls: () => number; answerWith: (fault: NodeError | undefined) => void }

/** Calls for files at each look, and is refused until the partner is told otherwise. */
async function refused(t: TestContext, database?: TestDatabase): Promise<Refusing> {
  let fault: NodeError | undefined = new NodeError('login_refused', 'the password is wrong')
  let calls = 0
  const refusing: Transport<FolderSettings> = {
    ...folderTransport,
    connect: (call, host) => {
      calls++
      return fault ? Promise.reject(fault) : folderTransport.connect(call, host)
    },
  }
  const rig = await startRig(t, { transports: [refusing], ...(database && { database }) })
  await rig.putChannel(CODE, channelOf(rig), { automation: { watch: true } })
  rig.run().automate(t)
  return { rig, calls: () => calls, answerWith: (next) => (fault = next) }
}

async function fetchPause(rig: Rig): Promise<{ failures: number; until: number }> {
  const row = await rig.store.db.selectFrom('automation_run').selectAll().executeTakeFirst()
  return { failures: row?.fetch_failures ?? 0, until: row?.fetch_wait_until ?? 0 }
}

function fetchFailed(rig: Rig, times: number): Promise<unknown> {
  return waitFor(
    `${times} failed fetches`,
    async () => (await fetchPause(rig)).failures >= times,
    PATIENCE_MS,
  )
}

async function details(rig: Rig): Promise<string[]> {
  const rows = await rig.store.db
    .selectFrom('history')
    .select(['event', 'detail'])
    .orderBy('position')
    .execute()
  return rows.map(({ event, detail }) => `${event} ${detail ?? ''}`)
}

const REFUSED = 'CONNECTION_REFUSED automatic fetch: the password is wrong'

testOnBoth('a partner that refuses the call is called after 1, 2, 4 … minutes', async (t, database) => {
  let from = Date.now()
  const { rig, calls, answerWith } = await refused(t, database)
  for (const times of [1, 2, 3]) {
    const pauseMs = 2 ** (times - 1) * MINUTE
    await fetchFailed(rig, times)
    const { until } = await fetchPause(rig)
    assert.ok(until >= from + pauseMs && until <= rig.context.now() + pauseMs, `${times} failures`)
    await looked(rig)
    await looked(rig)
    if (rig.context.now() < until) assert.equal(calls(), times, 'it was called before the pause was over')
    rig.setAhead(pauseMs)
    from = rig.context.now()
  }
  await fetchFailed(rig, 4)
  assert.deepEqual(await details(rig), [REFUSED], 'told once')
  answerWith(undefined)
  await rig.offer('b.txt', 'b')
  rig.setAhead(8 * MINUTE)
  await waitFor('it is fetched', async () => (await rig.list('in')).includes('b.txt'), PATIENCE_MS)
  await waitFor('the end of the pause', async () => (await fetchPause(rig)).failures === 0, PATIENCE_MS)
})

test('another configuration of channel or partner, a fetch, a reset: the partner is called at once', async (t) => {
  const { rig, calls } = await refused(t)
  const { store } = rig
  await fetchFailed(rig, 1)
  const calledAtOnce = async (change: () => Promise<unknown>) => {
    const [before, { until }] = [calls(), await fetchPause(rig)]
    await change()
    await waitFor('another call', () => calls() > before, PATIENCE_MS)
    assert.ok(rig.context.now() < until)
    // It failed as well, and waits from its beginning.
    const anew = async () => {
      const pause = await fetchPause(rig)
      return pause.failures === 1 && pause.until !== until
    }
    await waitFor('its end', anew, PATIENCE_MS)
  }
  await calledAtOnce(() => store.write((tx) => tx.updateTable('channel').set({ revision: 7 }).execute()))
  await calledAtOnce(() => rig.reset())
  await calledAtOnce(async () => {
    const { contactId } = await rig.channel()
    const contact = await findContact(store.db, contactId)
    assert.ok(contact)
    await store.write((tx) => putContact(tx, contact))
  })
  await calledAtOnce(async () => {
    const asking = { store, fileRoots: [], now: rig.context.now, requestedBy: 'tester' }
    const { id } = await requestFetch(asking, await rig.channel())
    rig.wake()
    await rig.ended(id)
  })
  assert.equal((await details(rig)).filter((one) => one === REFUSED).length, 5)
})

test('a partner that does not answer is left to the circuit breaker, and no entry is made of it', async (t) => {
  const { rig, calls, answerWith } = await refused(t)
  await fetchFailed(rig, 1)
  answerWith(new NodeError('connect_failed', 'nobody answers'))
  await rig.reset()
  await waitFor('three more calls, at one look after the other', () => calls() >= 4, PATIENCE_MS)
  const told = (await details(rig)).filter((one) => one.includes('nobody answers'))
  assert.deepEqual(told, [])
  assert.deepEqual(await fetchPause(rig), { failures: 1, until: 0 })
})
