// Files that come in: resumed, reset, offered twice, refused. Over the engine's session host, as any transport reaches it.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { linkSync, renameSync } from 'node:fs'
import { link, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { clearStrays, sweepStrays } from '../../src/engine/staging/leftovers.ts'
import type { Offer, Reach, Session } from '../../src/engine/transports/transport.ts'
import { NodeError } from '../../src/errors.ts'
import { markOf } from '../../src/files/place.ts'
import type { Store, Tx } from '../../src/store/database/store.ts'
import { putReceived } from '../../src/store/transfers/receptions.ts'
import { moveTransfer } from '../../src/store/transfers/transfers.ts'
import { beforeNextWrite, testOnBoth, waitFor } from '../support/harness.ts'
import { CODE, channelOf, runningRig, startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { diskFault, meanwhile } from '../support/meanwhile.ts'
import { reachAll } from '../support/reach.ts'
import { offerOf } from './wire.ts'

const BYTES = randomBytes(3_000_000)

async function halfFiles(rig: Rig): Promise<string[]> {
  return readdir(join(rig.place.dataDir, 'partial')).catch(() => [])
}

const partials = (rig: Rig) => rig.store.db.selectFrom('partial_file').selectAll().execute()

testOnBoth('a file that broke off goes on where it was, with identical bytes', async (t, database) => {
  const rig = await runningRig(
    t,
    (rig) => channelOf(rig, { connection: { advancedConfigurationTransmission: { registersBlock: 100 } } }),
    { database },
  )
  const offer = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const first = await rig.host().offer(offer)
  assert.equal(first.position, 0)
  await first.write(BYTES.subarray(0, 2_000_000), 0)
  await first.abandon(new NodeError('connection_lost', 'cut'), true)
  const failed = await rig.lastReception()
  assert.equal(failed.state, 'FAILED')
  assert.equal(await rig.errorCode(failed.id), 'connection_lost')
  const second = await rig.host().offer(offer)
  assert.equal(second.position, 2_000_000)
  await second.write(BYTES.subarray(2_000_000), 2_000_000)
  await second.complete({ size: BYTES.length })
  assert.ok((await rig.read('in', 'a.bin')).equals(BYTES))
  await waitFor('it is over', async () => (await rig.lastReception()).state === 'COMPLETED')
  assert.deepEqual([await halfFiles(rig), await partials(rig)], [[], []])
})

test('a restart point beyond what lies there is not believed', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const offer = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const first = await rig.host().offer(offer)
  await first.write(BYTES.subarray(0, 1_000_000), 0)
  await first.abandon(new NodeError('connection_lost', 'cut'), true)
  await rig.store.write((tx) => tx.updateTable('partial_file').set({ position: 2_500_000 }).execute())
  const second = await rig.host().offer(offer)
  assert.equal(second.position, 1_000_000)
  await second.write(BYTES.subarray(1_000_000), 1_000_000)
  await second.complete({ size: BYTES.length })
  assert.ok((await rig.read('in', 'a.bin')).equals(BYTES))
})

test('a reset during a reception stops it at once and leaves no half file', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const incoming = await rig.host().offer(offerOf('a.bin'))
  await incoming.write(BYTES, 0)
  assert.equal((await halfFiles(rig)).length, 1)
  const [id = ''] = await rig.reset()
  // The partner says nothing more: what is here goes all the same.
  await waitFor('the half file is gone', async () => (await halfFiles(rig)).length === 0)
  assert.equal((await rig.transfer(id)).state, 'CANCELLED')
  await assert.rejects(incoming.write(BYTES, BYTES.length), { code: 'cancelled' })
  await assert.rejects(incoming.complete({ size: BYTES.length }), { code: 'cancelled' })
  await incoming.abandon(new NodeError('connection_lost', 'cut'), true)
  await waitFor('its restart point is gone', async () => (await partials(rig)).length === 0)
  assert.deepEqual(await rig.list('in'), [])
  const next = await rig.host().offer(offerOf('b.txt'))
  await next.complete({ size: 0 })
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

test('the same file over a second session takes the place of the first, which is dead', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const offer = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const dead = await rig.host().offer(offer)
  await dead.write(BYTES.subarray(0, 2_000_000), 0)
  const alive = await rig.host().offer(offer)
  assert.equal(alive.position, 2_000_000)
  await assert.rejects(dead.write(Buffer.alloc(10), 2_000_000), { code: 'connection_lost' })
  await alive.write(BYTES.subarray(2_000_000), 2_000_000)
  await alive.complete({ size: BYTES.length })
  await dead.abandon(new NodeError('connection_lost', 'at last'), true)
  assert.ok((await rig.read('in', 'a.bin')).equals(BYTES))
  assert.deepEqual(await rig.list('in'), ['a.bin'])
})

test('a file offered again while the first is still being opened takes its place, and nothing stays open', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig), { receptionIdleMs: 100 })
  const offer = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const store = rig.context.store as { write: Store['write'] }
  const { write } = store
  const [opening, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  store.write = async (change) => {
    store.write = write
    opening.resolve()
    await goOn.promise
    return write(change)
  }
  const first = rig.host().offer(offer)
  await opening.promise
  const second = rig.host().offer(offer)
  // It finds the first, which waits for the database.
  for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate)
  goOn.resolve()
  const dead = await first
  const alive = await second
  await assert.rejects(dead.write(BYTES, 0), { code: 'connection_lost' })
  await dead.abandon(new NodeError('connection_lost', 'at last'), true)
  await alive.write(BYTES.subarray(alive.position), alive.position)
  await alive.complete({ size: BYTES.length })
  assert.ok((await rig.read('in', 'a.bin')).equals(BYTES))
  await waitFor('every reception is over', async () => {
    const open = await rig.store.db
      .selectFrom('transfer')
      .select('id')
      .where('state', '=', 'IN_PROGRESS')
      .execute()
    return open.length === 0
  })
  assert.deepEqual([await halfFiles(rig), await partials(rig)], [[], []])
})

test('a file offered again while the broken one is still being put away goes on where that was', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const offer = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const broken = await rig.host().offer(offer)
  await broken.write(BYTES.subarray(0, 2_000_000), 0)
  const puttingAway = broken.abandon(new NodeError('connection_lost', 'cut'), true)
  const next = await rig.host().offer(offer)
  assert.equal(next.position, 2_000_000)
  await puttingAway
  await next.write(BYTES.subarray(2_000_000), 2_000_000)
  await next.complete({ size: BYTES.length })
  assert.ok((await rig.read('in', 'a.bin')).equals(BYTES))
})

testOnBoth(
  'a file offered again after a lost acknowledgement is not delivered twice',
  async (t, database) => {
    const rig = await runningRig(
      t,
      (rig) => channelOf(rig, { integrations: { postReceptionRename: true } }),
      { database },
    )
    const offer = offerOf('a.txt', { size: 1, restartFrom: 1 })
    const first = await rig.host().offer(offer)
    await first.write(Buffer.from('a'), 0)
    await first.complete({ size: 1 })
    const again = await rig.host().offer(offer)
    assert.equal(again.position, 1, 'the bytes can be skipped')
    await again.complete({ size: 1 })
    await assert.rejects(rig.host().offer({ ...offer, restartFrom: 0 }), { code: 'duplicate_file' })
    const longer = { ...offer, size: 2, restartFrom: 2 }
    await assert.rejects(rig.host().offer(longer), { code: 'duplicate_file' }, 'another file is confirmed')
    assert.deepEqual(await rig.list('in'), ['a.txt'])
  },
)

const transfersOf = (rig: Rig) =>
  rig.store.db.selectFrom('transfer').select(['id', 'state', 'error']).orderBy('id').execute()

const phasesOf = async (rig: Rig, id: string) =>
  (await rig.transfer(id)).files.map(({ name, phase }) => `${name} ${phase}`)

/** A small file's last row follows its acknowledgement. */
async function phasesBecome(rig: Rig, id: string | undefined, wanted: string[]): Promise<void> {
  await waitFor(wanted.join(), async () => (await phasesOf(rig, id ?? '')).join() === wanted.join())
}

async function bring(rig: Rig, name: string, reach: Reach): Promise<void> {
  const incoming = await rig.host().offer(offerOf(name, { reach }))
  await incoming.write(Buffer.from(name), 0)
  await incoming.complete({ size: name.length })
}

testOnBoth('several files of one channel at once are one transfer', async (t, database) => {
  const rig = await runningRig(t, (rig) => channelOf(rig), { database, receptionIdleMs: 2000 })
  const names = ['a', 'b', 'c', 'd']
  const all = await Promise.all(names.map((name) => rig.host().offer(offerOf(name))))
  await Promise.all(all.map((incoming, at) => incoming.write(Buffer.from(names[at] ?? ''), 0)))
  await Promise.all(all.map((incoming) => incoming.complete({ size: 1 })))
  assert.deepEqual(await rig.list('in'), names)
  assert.equal((await transfersOf(rig)).length, 1)
  // Nobody says that this was all: it ends by itself.
  await waitFor('it is over', async () => (await transfersOf(rig))[0]?.state === 'COMPLETED')
  const [one] = await transfersOf(rig)
  assert.deepEqual(
    (await phasesOf(rig, one?.id ?? '')).toSorted(),
    names.map((name) => `${name} DONE`),
  )
})

testOnBoth('a refused file fails its reception by name, and the others stay', async (t, database) => {
  const rig = await runningRig(t, (rig) => channelOf(rig), { database })
  const reach = reachAll('acme', 'partner')
  await bring(rig, 'first.txt', reach)
  const wrong = await rig.host().offer(offerOf('wrong.txt', { reach }))
  await wrong.write(Buffer.from('x'), 0)
  await assert.rejects(wrong.complete({ size: 1, sha256: '0'.repeat(64) }), { code: 'hash_mismatch' })
  await bring(rig, 'last.txt', reach)
  rig.receptions.sessionDone(reach)
  await waitFor('it failed', async () => (await rig.lastReception()).state === 'FAILED')
  const [one, ...more] = await transfersOf(rig)
  assert.equal(more.length, 0)
  assert.match(one?.error ?? '', /wrong\.txt/)
  await phasesBecome(rig, one?.id, ['first.txt DONE', 'wrong.txt MOVING', 'last.txt DONE'])
  assert.deepEqual(await rig.list('in'), ['first.txt', 'last.txt'])
  assert.deepEqual([await halfFiles(rig), await partials(rig)], [[], []])
})

for (const [how, done] of [
  ['gives the turn', (rig: Rig, session: Session) => rig.host().turn(session)],
  ['ends the session', (_rig: Rig, _session: Session, over: AbortController) => over.abort()],
] as const)
  test(`a reception ends when the partner ${how}, and what comes then is the next one`, async (t) => {
    const rig = await runningRig(t, (rig) => channelOf(rig))
    const reach = reachAll('acme', 'partner')
    const over = new AbortController()
    const close = () => Promise.resolve()
    // The host asks it for nothing else.
    const session = {
      contactId: 'acme',
      reach,
      ended: over.signal,
      close,
    } as Session
    rig.host().opened(session)
    await bring(rig, 'a.txt', reach)
    await bring(rig, 'b.txt', reach)
    await done(rig, session, over)
    await bring(rig, 'c.txt', reachAll('acme', 'partner'))
    const [first, second] = await transfersOf(rig)
    await phasesBecome(rig, first?.id, ['a.txt DONE', 'b.txt DONE'])
    await phasesBecome(rig, second?.id, ['c.txt DONE'])
  })

test('a change of the channel acts from the next file on, in a transfer of its own', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const reach = reachAll('acme', 'partner')
  await bring(rig, 'a.txt', reach)
  await rig.store.write((tx) => tx.updateTable('channel').set({ revision: 2 }).execute())
  await bring(rig, 'b.txt', reach)
  const [first, second] = await transfersOf(rig)
  await phasesBecome(rig, first?.id, ['a.txt DONE'])
  await phasesBecome(rig, second?.id, ['b.txt DONE'])
})

testOnBoth('a file on another node waits for the one under way there, and no longer', async (t, database) => {
  const rig = await runningRig(t, (rig) => channelOf(rig), { database })
  const other = (await startRig(t, { beside: rig, database })).run()
  const reach = reachAll('acme', 'partner')
  await bring(rig, 'before.txt', reach)
  const open = await rig.host().offer(offerOf('here.txt', { reach }))
  const there = await other.host().offer(offerOf('there.txt', { reach: reachAll('acme', 'partner') }))
  await there.write(Buffer.from('there'), 0)
  const waiting = there.complete({ size: 5 })
  await open.complete({ size: 0 })
  await waiting
  assert.deepEqual(await rig.list('in'), ['before.txt', 'here.txt', 'there.txt'])
  const [first, second] = await transfersOf(rig)
  await phasesBecome(rig, first?.id, ['before.txt DONE', 'here.txt DONE'])
  await phasesBecome(rig, second?.id, ['there.txt DONE'])
})

testOnBoth('a node takes a reception of many files over: what is whole is finished', async (t, database) => {
  const rig = await runningRig(t, (rig) => channelOf(rig), { database })
  const reach = reachAll('acme', 'partner')
  await bring(rig, 'done.txt', reach)
  const id = (await transfersOf(rig))[0]?.id ?? ''
  await waitFor('its last row', async () => (await phasesOf(rig, id))[0] === 'done.txt DONE')
  const offered = async (name: string) => {
    const incoming = await rig
      .host()
      .offer(offerOf(name, { reach, size: name.length, restartFrom: name.length }))
    await incoming.write(Buffer.from(name), 0)
    return incoming
  }
  const whole = [await offered('whole.txt'), await offered('taken.txt'), await offered('lost.txt')]
  await rig.host().offer(offerOf('moving.txt', { reach }))
  const store = rig.context.store as { write: Store['write'] }
  const { write } = store
  // They are in place and acknowledged. That they are there is never recorded: this node is cut off.
  const cutOff = async (tx: Tx) => {
    const placed = await tx.selectFrom('received_file').selectAll().execute()
    if (placed.length > 1) throw new NodeError('lease_lost', 'this node is cut off')
  }
  store.write = (change) =>
    write(async (tx) => {
      const value = await change(tx)
      await cutOff(tx)
      return value
    })
  await Promise.all(whole.map((one, nth) => one.complete({ size: [9, 9, 8][nth] ?? 0 })))
  assert.deepEqual(await rig.list('in'), ['done.txt', 'lost.txt', 'taken.txt', 'whole.txt'])
  // Somebody takes one at once. Of another the power failed before anything was on the disk; nobody was told of that one.
  await rm(join(rig.place.files, 'in', 'taken.txt'))
  await rm(join(rig.place.files, 'in', 'lost.txt'))
  const { staged_path: lost } = await rig.store.db
    .selectFrom('transfer_file')
    .select('staged_path')
    .where('name', '=', 'lost.txt')
    .executeTakeFirstOrThrow()
  await rm(`${lost ?? ''}.placed`)
  await write((tx) =>
    tx.updateTable('transfer').set({ lease_owner: null, lease_until: null }).where('id', '=', id).execute(),
  )
  const other = (await startRig(t, { beside: rig, database })).run()
  const ended = await other.ended(id)
  assert.equal(ended.state, 'FAILED')
  assert.match(ended.error ?? '', /lost\.txt/)
  assert.deepEqual(await phasesOf(rig, id), [
    'done.txt DONE',
    'whole.txt DONE',
    'taken.txt DONE',
    'lost.txt WHOLE',
    'moving.txt MOVING',
  ])
  assert.deepEqual(await rig.list('in'), ['done.txt', 'whole.txt'])
  store.write = write
  await bring(other, 'lost.txt', reach)
  assert.deepEqual(await rig.list('in'), ['done.txt', 'lost.txt', 'whole.txt'])
})

test('a file that was moving when nobody held its reception any more is told of', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  await (await rig.host().offer(offerOf('a.bin', { size: BYTES.length }))).write(BYTES.subarray(0, 9), 0)
  const { id } = await rig.store.db.selectFrom('transfer').select('id').executeTakeFirstOrThrow()
  await rig.store.write((tx) =>
    tx.updateTable('transfer').set({ lease_owner: null, lease_until: null }).execute(),
  )
  const { state, error } = await (await startRig(t, { beside: rig })).run().ended(id)
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /^a\.bin: the node that received it stopped, or could not write to the database$/)
})

test('what is in place when it cannot be recorded stays, and the next claim finishes it', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const incoming = await rig.host().offer(offerOf('a.txt', { size: 1, restartFrom: 1 }))
  await incoming.write(Buffer.from('a'), 0)
  // The record that it is in place is written after the acknowledgement.
  const store = rig.store as { write: Store['write'] }
  const { write } = store
  let refused = false
  store.write = (change) => {
    const judged = async (tx: Tx) => {
      const value = await change(tx)
      const placed = await tx.selectFrom('received_file').selectAll().execute()
      refused ||= placed.length > 0
      if (placed.length > 0) throw new NodeError('unavailable', 'the database does not answer')
      return value
    }
    return write(judged)
  }
  await incoming.complete({ size: 1 })
  await waitFor('it could not be recorded', () => Promise.resolve(refused))
  store.write = write
  assert.deepEqual(await rig.list('in'), ['a.txt'])
  rig.dispatcher.wake()
  await waitFor('it is finished', async () => (await rig.lastReception()).state === 'COMPLETED')
  assert.deepEqual(await rig.list('in'), ['a.txt'])
  assert.ok(await rig.store.db.selectFrom('received_file').selectAll().executeTakeFirst())
  assert.deepEqual(await halfFiles(rig), [])
})

test('a database that stops answering at any write of a reception costs neither the file nor its end', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig), { leaseMs: 1500 })
  const store = rig.context.store as { write: Store['write'] }
  const { write } = store
  const over = async () => {
    rig.receptions.letGo(CODE)
    const open = await rig.store.db
      .selectFrom('transfer')
      .select('id')
      .where('ended_at', 'is', null)
      .execute()
    return open.length === 0
  }
  const faults = [
    { name: 'never began', done: false, forGood: true },
    { name: 'was done, and nobody heard', done: true, forGood: true },
    { name: 'alone failed', done: false, forGood: false },
  ]
  // Whole, in place and done, completed.
  const WRITES = 3
  let refusals = 0
  for (let nth = 0; nth < WRITES; nth++)
    for (const fault of faults) {
      const name = `${nth} ${fault.name}`
      const offered = offerOf(name, { size: 1, restartFrom: 1 })
      const incoming = await rig.host().offer(offered)
      await incoming.write(Buffer.from('a'), 0)
      let count = 0
      store.write = async (change) => {
        const fails = fault.forGood ? count++ >= nth : count++ === nth
        if (!fails) return write(change)
        if (fault.done) await write(change)
        throw new NodeError('unavailable', 'the database does not answer')
      }
      const acknowledged = await incoming.complete({ size: 1 }).then(
        () => true,
        () => false,
      )
      await waitFor('what follows the acknowledgement', () => {
        rig.receptions.letGo(CODE)
        return count > nth || !acknowledged
      })
      store.write = write
      await waitFor(`the end of what began with ${name}`, over)
      if (acknowledged) assert.equal((await rig.lastReception()).state, 'COMPLETED', name)
      else {
        // The partner offers it again, and is believed, or told that it is here.
        refusals++
        const again = await rig.host().offer(offered)
        if (again.position === 0) await again.write(Buffer.from('a'), 0)
        await again.complete({ size: 1 })
        await waitFor('all is over', over)
      }
      assert.deepEqual(
        (await rig.list('in')).filter((one) => one.startsWith(name)),
        [name],
      )
      assert.equal((await rig.read('in', name)).toString(), 'a')
    }
  assert.ok(refusals >= 3, `only ${refusals} receptions met the fault`)
})

test('sizes and hashes that do not fit what arrived fail the reception', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  for (const [end, code] of [
    [{ size: 5 }, 'connection_lost'],
    [{ size: 1, sha256: '0'.repeat(64) }, 'hash_mismatch'],
  ] as const) {
    const incoming = await rig.host().offer(offerOf('a.txt'))
    await incoming.write(Buffer.from('a'), 0)
    await assert.rejects(incoming.complete(end), { code })
    await waitFor('it failed', async () => (await rig.errorCode((await rig.lastReception()).id)) === code)
  }
  assert.deepEqual(await rig.list('in'), [])
})

test('a file that does not fit what was sent has its transfer, though it came beside another reception', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const reach = reachAll('acme', 'partner')
  const first = await rig.host().offer(offerOf('first.txt', { reach }))
  await rig.store.write((tx) => tx.updateTable('channel').set({ revision: 2 }).execute())
  const wrong = await rig.host().offer(offerOf('wrong.txt', { reach: reachAll('acme', 'partner') }))
  await wrong.write(Buffer.from('a'), 0)
  const refused = assert.rejects(wrong.complete({ size: 1, sha256: '0'.repeat(64) }), {
    code: 'hash_mismatch',
  })
  await first.complete({ size: 0 })
  await refused
  await waitFor(
    'it failed',
    async () => (await rig.errorCode((await rig.lastReception()).id)) === 'hash_mismatch',
  )
  assert.deepEqual(await rig.list('in'), ['first.txt'])
})

test('names that are no plain names are refused at the door', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  for (const name of ['', '.', '..', 'a/b', '../../etc/passwd', 'nul\0', 'x'.repeat(256)])
    await assert.rejects(rig.host().offer(offerOf(name)), { code: 'file_refused' })
})

test('a file that cannot be opened here does not block the channel', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  await writeFile(join(rig.place.dataDir, 'partial'), 'a file where the folder should be')
  await assert.rejects(rig.host().offer(offerOf('a.txt')), NodeError)
  await rm(join(rig.place.dataDir, 'partial'))
  await mkdir(join(rig.place.dataDir, 'partial'))
  const incoming = await rig.host().offer(offerOf('b.txt'))
  await incoming.complete({ size: 0 })
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

test('a fetched file that cannot come in fails once, not at every look', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  await rig.put('b.txt', 'in the way', join(rig.place.files, 'in'))
  await rig.offer('b.txt', 'b')
  const failed = async () => (await rig.store.db.selectFrom('transfer').select('id').execute()).length
  const began = rig.context.now()
  for (let look = 0; look < 5; look++) await rig.fetch()
  const before = await failed()
  // On a slow machine the first pause of ten seconds may be over.
  if (rig.context.now() < began + 10_000) assert.equal(before, 1)
  rig.setAhead(600_000)
  await rig.fetch()
  assert.equal(await failed(), before + 1)
  await rm(join(rig.place.files, 'in', 'b.txt'))
  assert.equal((await rig.ended((await rig.retry()).id)).state, 'COMPLETED', 'a retry asks at once')
  assert.equal((await rig.read('in', 'b.txt')).toString(), 'b')
})

test('receptions of two channels share a session without mixing their files', async (t) => {
  const rig = await startRig(t)
  const groups = (name: string) => [
    { direction: 'RECEPCION' as const, filePath: join(rig.place.files, name), fileGroupsName: `${name}*` },
  ]
  await rig.putChannel('BANCO-ACME-ONE', { directories: groups('one') })
  await rig.putChannel('BANCO-ACME-TWO', { directories: groups('two') })
  await rig.offer('one.txt', '1')
  await rig.offer('two.txt', '2')
  assert.equal(await rig.fetch('BANCO-ACME-ONE'), undefined)
  assert.deepEqual([await rig.list('one'), await rig.list('two')], [['one.txt'], ['two.txt']])
})

// Two nodes at one file: the first one sleeps, the second takes its place, the first wakes up.

async function twoNodes(t: TestContext): Promise<[Rig, Rig]> {
  const sleeper = await startRig(t)
  const transmission = { advancedConfigurationTransmission: { registersBlock: 100 } }
  await sleeper.putChannel(CODE, channelOf(sleeper, { connection: transmission }))
  return [sleeper, await startRig(t, { beside: sleeper })]
}

test('a try that wakes up late can neither cut nor remove what another goes on with', async (t) => {
  const [sleeper, other] = await twoNodes(t)
  const offered = offerOf('a.bin', { size: BYTES.length, restartFrom: BYTES.length })
  const first = await sleeper.host().offer(offered)
  await first.write(BYTES.subarray(0, 1_000_000), 0)
  await waitFor('a restart point', async () => ((await partials(sleeper))[0]?.position ?? 0) > 0)
  const { id } = await sleeper.store.db.selectFrom('transfer').select('id').executeTakeFirstOrThrow()
  const failed = { from: 'IN_PROGRESS', to: 'FAILED', now: Date.now() } as const
  await other.store.write((tx) => moveTransfer(tx, id, failed))
  const second = await other.host().offer(offered)
  const { position } = second
  assert.ok(position > 0, 'nothing to go on from')
  await second.write(BYTES.subarray(position, 2_000_000), position)
  // It does not know that it lost the transfer.
  await first.write(BYTES.subarray(1_000_000, 1_500_000), 1_000_000)
  await first.abandon(new NodeError('file_changed', 'the partner says so'), false)
  await second.write(BYTES.subarray(2_000_000), 2_000_000)
  await second.complete({ size: BYTES.length })
  assert.ok((await other.read('in', 'a.bin')).equals(BYTES))
  await waitFor('no half file is left', async () => (await halfFiles(other)).length === 0)
})

test('a node that cannot place a file which another has taken over leaves it the octets', async (t) => {
  const rig = await runningRig(t, channelOf)
  await rig.put('a.bin', 'its name is taken', join(rig.place.files, 'in'))
  const incoming = await rig.host().offer(offerOf('a.bin', { size: BYTES.length, restartFrom: 0 }))
  await incoming.write(BYTES, 0)
  const store = rig.context.store as { write: Store['write'] }
  const { write } = store
  store.write = async (change) => {
    const done = await write(change)
    const { phase } = await rig.store.db.selectFrom('transfer_file').select('phase').executeTakeFirstOrThrow()
    if (phase === 'WHOLE') await write((tx) => tx.updateTable('transfer').set({ fence: 2 }).execute())
    return done
  }
  await assert.rejects(incoming.complete({ size: BYTES.length }), { code: 'name_taken' })
  assert.equal((await halfFiles(rig)).length, 1)
})

/** A file that is whole in the data folder, its transfer in nobody's hands. */
async function wholeFile(rig: Rig): Promise<Offer> {
  const offered = offerOf('a.txt', { size: 1, restartFrom: 1 })
  const incoming = await rig.host().offer(offered)
  await incoming.write(Buffer.from('a'), 0)
  const store = rig.context.store as { write: Store['write'] }
  const { write } = store
  store.write = async (change) => {
    await write(change)
    store.write = write
    throw new NodeError('unavailable', 'the database does not answer')
  }
  await assert.rejects(incoming.complete({ size: 1 }), { code: 'unavailable' })
  const { phase } = await rig.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
  assert.equal(phase, 'WHOLE')
  assert.deepEqual(await rig.list('in'), [])
  return offered
}

test('a node that wakes up and puts the file in place before its successor does not make that one fail', async (t) => {
  const [sleeper, other] = await twoNodes(t)
  const offered = await wholeFile(sleeper)
  const store = other.context.store as { write: Store['write'] }
  const { write } = store
  let woken = 0
  store.write = async (change) => {
    const value = await write(change)
    const row = await other.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
    if (row.phase === 'WHOLE' && woken === 0) {
      woken++
      await link(row.staged_path ?? '', row.path)
    }
    return value
  }
  other.run()
  const { state } = await other.lastReception()
  assert.deepEqual([state, woken, await other.list('in')], ['COMPLETED', 1, ['a.txt']])
  assert.deepEqual(await halfFiles(other), [])
  assert.equal((await other.host().offer(offered)).position, 1, 'it is not known that it is here')
})

test('a whole file that the disk does not show for a moment is put in place, and not taken for placed', async (t) => {
  const [sleeper, other] = await twoNodes(t)
  await wholeFile(sleeper)
  const row = await other.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
  const looked = meanwhile(t, 'lstat', 'before', { path: row.staged_path ?? '', act: diskFault })
  other.run()
  const { state } = await other.lastReception()
  assert.deepEqual([state, looked.done(), await other.list('in')], ['COMPLETED', true, ['a.txt']])
})

for (const moment of ['looks for its mark', 'marks it'] as const)
  test(`a node that wakes up and puts the file in place while its successor ${moment} does not make that one fail`, async (t) => {
    const [sleeper, other] = await twoNodes(t)
    const offered = await wholeFile(sleeper)
    const row = await other.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
    const from = row.staged_path ?? ''
    const mark = markOf(from)
    const looking = moment === 'looks for its mark'
    if (!looking) await link(from, row.path)
    const woken = looking
      ? meanwhile(t, 'lstat', 'after', {
          path: mark,
          act: () => {
            linkSync(from, row.path)
            renameSync(from, mark)
          },
        })
      : meanwhile(t, 'rename', 'before', { path: from, act: () => renameSync(from, mark) })
    other.run()
    const { state } = await other.lastReception()
    assert.deepEqual([state, woken.done(), await other.list('in')], ['COMPLETED', true, ['a.txt']])
    assert.deepEqual(await halfFiles(other), [])
    assert.equal((await other.host().offer(offered)).position, 1, 'it is not known that it is here')
  })

test('a second try at a file that another puts in place leaves nothing behind, whenever it dies', async (t) => {
  const [sleeper, other] = await twoNodes(t)
  const offered = await wholeFile(sleeper)
  const second = await other.host().offer(offered)
  // More than was announced does not stay in memory.
  await second.write(Buffer.from('ab'), 0)
  assert.equal((await halfFiles(other)).length, 2)
  sleeper.run()
  assert.equal((await sleeper.lastReception()).state, 'COMPLETED')
  const [row] = await partials(other)
  assert.ok(row, 'its half file is known to nobody')
  assert.deepEqual(await halfFiles(other), [basename(row.path)])
  // As if that node had died here: the partner comes again, and hears that the file is here.
  await (await sleeper.host().offer(offered)).complete({ size: 1 })
  assert.deepEqual([await partials(sleeper), await halfFiles(sleeper)], [[], []])
})

test('files that no row speaks of are swept at a start, unless another node is alive', async (t) => {
  const [first, second] = await twoNodes(t)
  const incoming = await first.host().offer(offerOf('a.txt', { size: 1, restartFrom: 1 }))
  // More than was announced does not stay in memory.
  await incoming.write(Buffer.from('ab'), 0)
  const [known] = await halfFiles(first)
  await writeFile(join(first.place.dataDir, 'partial', 'stray.part'), 'x')
  await second.context.heartbeat.beat()
  await clearStrays(first.context)
  assert.equal((await halfFiles(first)).length, 2, 'another node may be about to write its row')
  await clearStrays(second.context)
  assert.deepEqual(await halfFiles(first), [known])
  await incoming.complete({ size: 2 })
  assert.deepEqual(await first.list('in'), ['a.txt'])
})

test('files that no row speaks of are swept while the node runs, but none that it writes', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  // It has no row before it is whole, for it comes with a name that is not its last.
  const incoming = await rig
    .host()
    .offer(offerOf('a.txt', { provisional: true, key: { name: 'a.txt', date: '', time: '' } }))
  await incoming.write(Buffer.from('a'), 0)
  const [written = ''] = await halfFiles(rig)
  assert.deepEqual(await partials(rig), [])
  const half = await rig.host().offer(offerOf('b.txt', { size: 2, restartFrom: 2 }))
  await half.write(Buffer.from('b'), 0)
  await half.abandon(new NodeError('connection_lost', 'cut'), true)
  const [{ path: kept } = { path: '' }] = await partials(rig)
  const strays = ['stray.part', 'stray.part.out', 'stray.quick.part.placed']
  for (const name of strays) await writeFile(join(rig.place.dataDir, 'partial', name), 'x')
  await sweepStrays(rig.context)
  const all = [written, basename(kept), ...strays]
  assert.deepEqual(
    (await halfFiles(rig)).toSorted(),
    all.toSorted(),
    'what is young may be about to get its row',
  )
  await sweepStrays({ ...rig.context, now: () => Date.now() + 11 * 60_000 })
  assert.deepEqual((await halfFiles(rig)).toSorted(), [written, basename(kept)].toSorted())
  await incoming.complete({ size: 1 })
  assert.equal((await rig.read('in', 'a.txt')).toString(), 'a')
})

test('what another node may be writing is left alone for a day', async (t) => {
  const [first, second] = await twoNodes(t)
  await mkdir(join(first.place.dataDir, 'partial'), { recursive: true })
  await writeFile(join(first.place.dataDir, 'partial', 'stray.part'), 'x')
  const later = (hours: number) => {
    const now = () => Date.now() + hours * 3_600_000
    return { ...first.context, now }
  }
  second.setAhead(30 * 3_600_000)
  await second.context.heartbeat.beat()
  await sweepStrays(later(23))
  assert.deepEqual(await halfFiles(first), ['stray.part'])
  await sweepStrays(later(25))
  assert.deepEqual(await halfFiles(first), [])
})

testOnBoth(
  'a file that another transfer puts in place while it is offered is not taken',
  async (t, database) => {
    const rig = await runningRig(t, (rig) => channelOf(rig), { database })
    const reach = reachAll('acme')
    const taken = async (name: string) => {
      const offer = offerOf(name, { size: BYTES.length, restartFrom: 0, reach })
      const key = { channelCode: CODE, ...offer.key }
      beforeNextWrite(rig, () =>
        rig.store.write((tx) =>
          putReceived(tx, key, { transferId: 'of another node', size: 1, wireHash: null }),
        ),
      )
      await assert.rejects(rig.host().offer(offer), { code: 'duplicate_file' })
    }
    await taken('begins.bin')
    await rig.host().offer(offerOf('under-way.bin', { size: BYTES.length, reach }))
    await taken('joins.bin')
    const rows = await rig.store.db.selectFrom('transfer_file').select('name').execute()
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['under-way.bin'],
    )
  },
)

testOnBoth(
  'a file that another transfer has put in place while it came is acknowledged, and fails nothing',
  async (t, database) => {
    const rig = await runningRig(t, (rig) => channelOf(rig), { database })
    const reach = reachAll('acme')
    const first = await rig.host().offer(offerOf('a.txt', { size: 1, restartFrom: 1, reach }))
    const again = offerOf('b.txt', { size: 1, restartFrom: 1, reach })
    const second = await rig.host().offer(again)
    await second.write(Buffer.from('b'), 0)
    // What a killed node had whole is finished by the next one, here and now.
    const key = { channelCode: CODE, ...again.key }
    await rig.store.write((tx) =>
      putReceived(tx, key, { transferId: 'of a killed node', size: 1, wireHash: null }),
    )
    await second.complete({ size: 1 })
    await first.write(Buffer.from('a'), 0)
    await first.complete({ size: 1 })
    const { state, files, error } = await rig.lastReception()
    assert.deepEqual([state, error, files.map(({ name }) => name)], ['COMPLETED', null, ['a.txt']])
    assert.deepEqual(await rig.list('in'), ['a.txt'])
    assert.deepEqual(await halfFiles(rig), [])
    // One of another size under that key is another file.
    await rig.host().offer(offerOf('d.txt', { size: 1, restartFrom: 1, reach }))
    const longer = offerOf('c.txt', { size: 2, restartFrom: 2, reach })
    const other = await rig.host().offer(longer)
    await other.write(Buffer.from('cc'), 0)
    await rig.store.write((tx) =>
      putReceived(tx, { ...key, ...longer.key }, { transferId: 'of a killed node', size: 1, wireHash: null }),
    )
    await assert.rejects(other.complete({ size: 2 }), { code: 'duplicate_file' })
  },
)
