// Several engines on one store, engines that stop, partners that are dead, channels that have too much: who runs what.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { READ_AHEAD_OCTETS } from '../../src/engine/staging/read-ahead.ts'
import { callFailed } from '../../src/engine/sessions/circuit-breaker.ts'
import { claimDue } from '../../src/store/transfers/claims.ts'
import { MemorySource } from '../support/transport-ends.ts'
import { NodeError } from '../../src/errors.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { Gate, Line, refuses } from './line.ts'
import type { LineOptions } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig, RigOptions } from './rig.ts'
import { callOf } from './wire.ts'

async function lineRig(t: TestContext, options: LineOptions, more: RigOptions = {}) {
  const line = new Line(options)
  const rig = await startRig(t, { ...more, transports: [line] })
  line.leadTo(rig)
  if (!more.beside) {
    await rig.putContact({ id: 'acme', protocol: 'sftp' })
    const connection = { ips: ['127.0.0.1'], advancedConfigurationTransmission: { registersBlock: 100 } }
    await rig.putChannel(CODE, channelOf(rig, { connection }))
  }
  return { rig, line }
}

testOnBoth(
  'a drain puts a running transfer back, and a second engine goes on from its restart point',
  async (t, database) => {
    const bytes = randomBytes(3_000_000)
    const gate = new Gate()
    const { rig: first } = await lineRig(
      t,
      {
        onPush: async (_push, file, progress, signal) => {
          const real = await plain.open(callOf(), first.host('sftp'))
          const cut = { ...file, source: new MemorySource(bytes, 2_500_000) }
          await real.push(cut, progress, new AbortController().signal).catch(() => {})
          progress.safe(2_450_000)
          await gate.pass(signal)
          throw new Error('it went on')
        },
      },
      { database },
    )
    const plain = new Line()
    plain.leadTo(first)
    await first.put('a.bin', bytes)
    const { id } = await first.run().send()
    await waitFor('it runs', () => gate.waiting === 1)
    await first.stop(0)
    const put = await first.transfer(id)
    assert.equal(put.state, 'PENDING')
    assert.equal(put.attempts, 0, 'a drain is no attempt')
    assert.equal(put.files[0]?.position, 2_355_200)
    const from: number[] = []
    const { rig: second } = await lineRig(
      t,
      {
        onPush: (push, file) => {
          from.push(file.restartFrom)
          return push()
        },
      },
      { beside: first },
    )
    second.run()
    assert.equal((await second.ended(id)).state, 'COMPLETED')
    assert.deepEqual(from, [2_355_200])
    assert.ok((await second.delivered('a.bin')).equals(bytes))
    assert.equal((await second.history()).filter((event) => event === 'TRANSFER_STARTED').length, 1)
  },
)

testOnBoth('a drain lets a transfer end that can', async (t, database) => {
  const { rig } = await lineRig(
    t,
    {
      onPush: async (push) => {
        begun = true
        await delay(100)
        return push()
      },
    },
    { database },
  )
  let begun = false
  await rig.put('a.txt', 'a')
  const { id } = await rig.run().send()
  await waitFor('it runs', () => begun)
  await rig.stop(60_000)
  assert.equal((await rig.transfer(id)).state, 'COMPLETED')
})

test('an engine that is stopped while it claims takes nothing more', async (t) => {
  const { rig } = await lineRig(t, {}, { workers: 1 })
  for (let at = 0; at < 100; at++) {
    const code = `BANCO-ACME-X${at}`
    await rig.putChannel(code, channelOf(rig, { allowSendDuplicateFiles: true }))
  }
  await rig.put('a.txt', 'a')
  for (let at = 0; at < 100; at++) await rig.send(`BANCO-ACME-X${at}`)
  rig.run()
  await rig.stop(0)
  const claimed = () =>
    rig.store.db.selectFrom('transfer').select('fence').where('lease_owner', 'is not', null).execute()
  assert.equal((await claimed()).length, 0)
  await delay(50)
  assert.equal((await claimed()).length, 0, 'the clock still runs')
})

test('a run that ends after its transfer was claimed anew leaves the new claim in hand', async (t) => {
  const { rig } = await lineRig(t, {})
  const id = 'parked, and claimed again before its run was over'
  rig.dispatcher.hold({ id, fence: 1 })
  const signal = rig.dispatcher.hold({ id, fence: 2 })
  rig.dispatcher.release({ id, fence: 1 })
  rig.dispatcher.cancel(id)
  assert.ok(signal.aborted, 'nobody keeps its lease, and nobody could stop it')
})

testOnBoth('two engines on one store run each transfer once', async (t, database) => {
  const pushed: string[] = []
  const onPush: NonNullable<LineOptions['onPush']> = (push, file) => {
    pushed.push(file.name)
    return push()
  }
  const { rig: first } = await lineRig(t, { onPush }, { database })
  const { rig: second } = await lineRig(t, { onPush }, { beside: first })
  const codes = Array.from({ length: 20 }, (_, at) => `BANCO-ACME-X${at}`)
  for (const code of codes) {
    const filePath = join(first.place.files, code)
    await first.putChannel(code, {
      directories: [{ direction: 'EMISION', filePath }],
      connection: { ips: ['127.0.0.1'] },
    })
    await first.put(`${code}.txt`, code, filePath)
  }
  first.run()
  second.run()
  const sent = await Promise.all(codes.map((code, at) => (at % 2 ? first : second).send(code)))
  for (const { id } of sent) assert.equal((await first.ended(id)).state, 'COMPLETED')
  assert.deepEqual(pushed.sort(), codes.map((code) => `${code}.txt`).sort())
})

// Of small files the claim is looked at when they are made ready, by the dozen, and once more when each is placed.
for (const [kind, count, octets, phase] of [
  ['small files', 8, 1, 'STAGED'],
  ['a big file', 1, READ_AHEAD_OCTETS + 1, 'WAITING'],
] as const)
  testOnBoth(`an engine that lost its lease can neither place ${kind} nor write`, async (t, database) => {
    const gate = new Gate()
    const { rig: stalled } = await lineRig(
      t,
      {
        onPush: async (push) => {
          await gate.pass()
          return push()
        },
      },
      { database, leaseMs: 3_600_000 },
    )
    for (let nth = 0; nth < count; nth++) await stalled.put(`${nth}.txt`, 'a'.repeat(octets))
    const { id } = await stalled.run().send()
    await waitFor('it runs', () => gate.waiting === count)
    await waitFor('it is written down', async () => (await stalled.transfer(id)).files[0]?.phase === phase)
    // An hour later for everybody but the one that stalls: another takes it over.
    const now = Date.now() + 2 * 3_600_000
    const [taken] = await claimDue(stalled.store, { owner: 'another', now, until: now + 15_000 }, 1)
    assert.equal(taken?.transfer.id, id)
    gate.open()
    await stalled.stop(5000)
    assert.deepEqual(await stalled.inbox(), [], 'it placed a file')
    const after = await stalled.transfer(id)
    assert.equal(after.state, 'IN_PROGRESS')
    assert.equal(after.fence, taken?.transfer.fence)
    assert.ok(after.files.every((file) => file.phase === phase))
  })

testOnBoth('a lost lease stops the running transfer at the next renewal', async (t, database) => {
  const stopped: unknown[] = []
  const gate = new Gate()
  const { rig } = await lineRig(
    t,
    {
      onPush: async (_push, _file, _progress, signal) => {
        signal.addEventListener('abort', () => stopped.push(signal.reason))
        await gate.pass(signal)
        throw new Error('it went on')
      },
    },
    { database, leaseMs: 3000 },
  )
  await rig.put('a.txt', 'a')
  const { id } = await rig.run().send()
  await waitFor('it runs', () => gate.waiting === 1)
  await rig.store.write((tx) =>
    tx
      .updateTable('transfer')
      .set({ fence: 99, lease_owner: 'another', lease_until: Date.now() + 60_000 })
      .where('id', '=', id)
      .execute(),
  )
  await waitFor('it is stopped', () => stopped.length === 1)
  assert.equal((stopped[0] as NodeError).code, 'lease_lost')
})

/** Channels with a file each, sent. */
async function sendMany(rig: Rig, count: number): Promise<string[]> {
  const sent: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const code = `BANCO-ACME-X${nth}`
    const filePath = join(rig.place.files, code)
    await rig.putChannel(code, {
      directories: [{ direction: 'EMISION', filePath }],
      connection: { ips: ['127.0.0.1'] },
    })
    await rig.put(`${code}.txt`, code, filePath)
    sent.push((await rig.send(code)).id)
  }
  return sent
}

testOnBoth(
  'what a silent engine held is taken over within two lease times, all of it',
  async (t, database) => {
    const leaseMs = 600_000
    const { rig } = await lineRig(t, {}, { database, leaseMs })
    const sent = await sendMany(rig, 40)
    const now = Date.now()
    const dead = { owner: 'dead', now, until: now + leaseMs }
    assert.equal((await claimDue(rig.store, dead, 100)).length, 40)
    rig.run()
    await rig.put('a.txt', 'a')
    const { id: own } = await rig.sendAndEnd()
    const fences = async () => {
      const rows = rig.store.db.selectFrom('transfer').select('fence').where('id', '<>', own)
      return (await rows.execute()).map(({ fence }) => fence)
    }
    assert.ok(
      (await fences()).every((fence) => fence === 1),
      'a lease was not respected',
    )
    rig.setAhead(leaseMs)
    await waitFor('all of them to be in other hands', async () =>
      (await fences()).every((fence) => fence > 1),
    )
    const after = rig.context.now() - now
    assert.ok(after <= 2 * leaseMs, `taken over after ${after} ms`)
    for (const id of sent) assert.equal((await rig.ended(id)).state, 'COMPLETED')
  },
)

testOnBoth(
  'a living engine keeps what it holds for many lease times, however busy its database connections',
  async (t, database) => {
    const gate = new Gate()
    const onPush: LineOptions['onPush'] = async (push, _file, _progress, signal) => {
      await gate.pass(signal)
      return push()
    }
    const leaseMs = 3000
    const { rig: busy } = await lineRig(t, { onPush }, { database, leaseMs })
    const { rig: other } = await lineRig(t, {}, { beside: busy, leaseMs })
    await busy.put('a.txt', 'a')
    const { id } = await busy.run().send()
    await waitFor('it runs', () => gate.waiting === 1)
    other.run()
    const over = Promise.withResolvers<void>()
    // SQLite has one writer, and no node beside the one that uses it.
    const jam = database.name === 'postgres' ? 10 : 0
    const jammed = Array.from({ length: jam }, () =>
      busy.store.write(async (tx) => {
        while (await Promise.race([over.promise.then(() => false), delay(200, true)]))
          await tx.selectFrom('meta').selectAll().execute()
      }),
    )
    const until = Date.now() + 2.5 * leaseMs
    await waitFor('more than two lease times', () => Date.now() > until)
    over.resolve()
    await Promise.all(jammed)
    assert.equal((await busy.transfer(id)).fence, 1, 'the other one took it')
    gate.open()
    assert.equal((await busy.ended(id)).state, 'COMPLETED')
  },
)

testOnBoth('an engine that wakes up late does not take its transfers from itself', async (t, database) => {
  const gate = new Gate()
  const onPush: LineOptions['onPush'] = async (push, _file, _progress, signal) => {
    await gate.pass(signal)
    return push()
  }
  const { rig } = await lineRig(t, { onPush }, { database })
  await rig.put('a.txt', 'a')
  const { id } = await rig.run().send()
  await waitFor('it runs', () => gate.waiting === 1)
  const { unbroken } = rig.context.heartbeat
  rig.setAhead(10 * rig.context.leaseMs)
  await waitFor('it knows that it was silent', () => unbroken.aborted)
  rig.wake()
  gate.open()
  const { state, fence } = await rig.ended(id)
  assert.deepEqual([state, fence], ['COMPLETED', 1])
})

testOnBoth(
  'a claim that its living engine has not in hand is let go, and its transfer runs',
  async (t, database) => {
    for (const heard of ['the answer to the claim was lost', 'its end could not be written']) {
      const { rig } = await lineRig(t, {}, { database, leaseMs: 1500 })
      await rig.put('a.txt', 'a')
      const { id } = await rig.send()
      const now = Date.now()
      const [claim] = await claimDue(rig.store, { owner: rig.context.owner, now, until: now + 1500 }, 1)
      const held = { id, fence: claim?.transfer.fence ?? 0 }
      if (heard.startsWith('its end')) rig.dispatcher.hold(held)
      rig.run()
      rig.dispatcher.release(held)
      const { state, fence } = await rig.ended(id)
      assert.deepEqual([state, fence], ['COMPLETED', 2], heard)
    }
  },
)

testOnBoth(
  'a dead partner with many channels costs few calls, and recovers by one probe',
  async (t, database: TestDatabase) => {
    let dead = true
    const { rig, line } = await lineRig(
      t,
      {
        onConnect: async () => {
          await delay(5)
          if (dead) refuses()
        },
      },
      { database },
    )
    const count = database.name === 'sqlite' ? 100 : 40
    const codes = Array.from({ length: count }, (_, at) => `BANCO-ACME-X${at}`)
    for (const code of codes) {
      const filePath = join(rig.place.files, code)
      await rig.putChannel(code, {
        directories: [{ direction: 'EMISION', filePath }],
        connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 1000 } },
      })
      await rig.put(`${code}.txt`, code, filePath)
    }
    for (const code of codes) await rig.send(code)
    rig.run()
    const pending = () =>
      rig.store.db.selectFrom('transfer').select('due_at').where('state', '=', 'PENDING').execute()
    /** When the last of them is due; the clock is set ahead only while all of them wait. */
    const lastDue = () =>
      waitFor('all wait', async () => {
        const due = (await pending()).map((row) => row.due_at)
        return due.length === count && Math.min(...due) > rig.context.now() && Math.max(...due)
      }).then(Number)
    const health = () => rig.store.db.selectFrom('partner_health').selectAll().executeTakeFirst()
    const until = rig.context.now() + 300_000
    while (rig.context.now() < until) rig.setAhead((await lastDue()) - rig.context.now() + 1)
    const due = await lastDue()
    assert.ok(line.calls.length < 12, `${line.calls.length} calls in five minutes to a partner that is down`)
    dead = false
    // When the next probe may go. It tells all the others, whatever they were waiting for.
    rig.setAhead(Math.max(due, (await health())?.open_until ?? 0) - rig.context.now() + 1)
    await waitFor('all are sent', async () => (await rig.inbox()).length === count)
    assert.equal(await health(), undefined)
  },
)

testOnBoth(
  'a session that opened well is used, and counts as no failed call, where its success cannot be written',
  async (t, database) => {
    const { rig, line } = await lineRig(t, {}, { database })
    const { context, store, sessions } = rig
    const failures = async () =>
      (await store.db.selectFrom('partner_health').select('failures').executeTakeFirst())?.failures
    await callFailed(context, 'acme', 'nobody answers')
    let writes = 0
    context.store = {
      ...store,
      write: (change) =>
        writes++ === 0
          ? Promise.reject(new NodeError('unavailable', 'the database does not answer'))
          : store.write(change),
    }
    const plan = await rig.plan()
    const first = await sessions.lend(plan, 0)
    assert.equal(first.session.ended.aborted, false)
    assert.equal(await failures(), 1)
    // Whoever uses it next writes that the partner answers.
    const second = await sessions.lend(plan, 0)
    assert.equal(await failures(), undefined)
    for (const lent of [first, second]) await lent.giveBack(false)
    assert.deepEqual([line.calls.length, first.session.ended.aborted], [1, true])
  },
)

testOnBoth('a channel with many files does not starve another', async (t, database) => {
  const order: string[] = []
  const asked = Promise.withResolvers<void>()
  const { rig } = await lineRig(
    t,
    {
      onPush: async (push, file) => {
        order.push(file.name)
        // The small one is begun while the big one is at its first files.
        await asked.promise
        return push()
      },
    },
    { database, workers: 1 },
  )
  await rig.putChannel('BANCO-ACME-SMALL', {
    directories: [{ direction: 'EMISION', filePath: join(rig.place.files, 'small') }],
    connection: { ips: ['127.0.0.1'] },
  })
  for (let at = 0; at < 200; at++) await rig.put(`many-${at}`, `${at}`)
  await rig.put('only', 'one', join(rig.place.files, 'small'))
  const big = await rig.run().send()
  await waitFor('the big one is at it', () => order.length > 0)
  const small = await rig.send('BANCO-ACME-SMALL')
  await waitFor('the small one is begun', async () => (await rig.transfer(small.id)).state === 'IN_PROGRESS')
  asked.resolve()
  assert.equal((await rig.ended(small.id)).state, 'COMPLETED')
  const place = order.indexOf('only')
  assert.ok(place >= 0 && place < 150, `the only file of its channel came after ${place} others`)
  assert.equal((await rig.ended(big.id)).state, 'COMPLETED')
})
