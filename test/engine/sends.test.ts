// Sends, retries and resets against each other.

import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { clearLeftovers } from '../../src/engine/staging/leftovers.ts'
import { MemorySource } from '../support/transport-ends.ts'
import { createFolder } from '../../src/engine/transports/folder/folder.ts'
import type { FolderSettings } from '../../src/contract/contact-settings.ts'
import type { Transport } from '../../src/engine/transports/transport.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { NodeError } from '../../src/errors.ts'
import { sealChannel, updateChannel } from '../../src/store/channels.ts'
import { takeReceipt } from '../../src/engine/sessions/receipts.ts'
import { requestSend, wasSent } from '../../src/transfers/request.ts'
import { requestResend } from '../../src/transfers/resend.ts'
import { requestRetry } from '../../src/transfers/retry.ts'
import type { Store } from '../../src/store/database/store.ts'
import { claimDue } from '../../src/store/transfers/claims.ts'
import { runTransfer } from '../../src/engine/scheduling/run-transfer.ts'
import { beforeNextWrite, testOnBoth, waitFor } from '../support/harness.ts'
import { Gate, Line } from './line.ts'
import type { LineOptions } from './line.ts'
import { CODE, channelOf, runningRig, startRig } from './rig.ts'
import type { Rig, RigOptions } from './rig.ts'
import { offerOf } from './wire.ts'
import { pino } from 'pino'
import type { TestContext } from 'node:test'
import { reachAll } from '../support/reach.ts'

const folderTransport = createFolder({ scriptRoots: [] })

async function lineRig(t: TestContext, options: LineOptions, change: Channel = {}, more: RigOptions = {}) {
  const line = new Line(options)
  const rig = await startRig(t, { ...more, transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: line.protocol as 'sftp' })
  await rig.putChannel(CODE, channelOf(rig, { connection: { ips: ['127.0.0.1'] }, ...change }))
  return { rig: rig.run(), line }
}

testOnBoth('of two sends at once one starts and the other is a conflict', async (t, database) => {
  const { rig } = await lineRig(t, {}, {}, { database })
  await rig.put('a.txt', 'a')
  const both = await Promise.allSettled([rig.send(), rig.send()])
  const [started] = both.filter((one) => one.status === 'fulfilled')
  const [refused] = both.filter((one) => one.status === 'rejected')
  assert.ok(started && refused)
  assert.equal((refused.reason as NodeError).code, 'conflict')
  assert.equal((await rig.ended(started.value.id)).state, 'COMPLETED')
  assert.deepEqual(await rig.inbox(), ['a.txt'])
})

for (const [what, count] of [
  ['a file', 1],
  ['each of many files', 20],
] as const)
  test(`${what} whose name is taken by one that holds the same has not arrived, however often it is tried`, async (t) => {
    const integrations = { postEmisionAction: 'EMISION_DELETE' as const }
    const rig = await runningRig(t, (made) =>
      channelOf(made, { integrations, allowSendDuplicateFiles: true }),
    )
    const names = Array.from({ length: count }, (_, nth) => `ready-${nth}.txt`)
    const untaken: string[] = []
    for (const name of names) {
      untaken.push(await rig.put(name, 'READY', rig.place.inbox))
      await rig.put(name, 'READY')
    }
    const { id } = await rig.send()
    assert.equal((await rig.ended(id)).state, 'FAILED')
    for (const _ of [1, 2]) {
      const again = await rig.ended((await rig.retry()).id)
      assert.deepEqual([again.state, await rig.errorCode(again.id)], ['FAILED', 'name_taken'])
    }
    assert.deepEqual((await readdir(join(rig.place.files, 'out'))).sort(), names.toSorted())
    for (const path of untaken) await rm(path)
    assert.equal((await rig.ended((await rig.retry()).id)).state, 'COMPLETED')
    assert.deepEqual((await rig.inbox()).sort(), names.toSorted())
    assert.deepEqual(await readdir(join(rig.place.files, 'out')), [])
  })

test('a file that is taken away while it is asked to be sent once more is a conflict', async (t) => {
  const { rig } = await lineRig(t, {})
  const path = await rig.put('a.txt', 'a')
  const { id } = await rig.sendAndEnd()
  const asking = {
    store: rig.store,
    fileRoots: rig.context.roots.fileRoots,
    requestedBy: null,
    // Asked for when the file has been found and compared.
    now: () => {
      rmSync(path)
      return rig.context.now()
    },
  }
  await assert.rejects(requestResend(asking, await rig.channel(), await rig.transfer(id), 'lost there'), {
    code: 'conflict',
  })
})

testOnBoth(
  'a reset during a send stops it at once and leaves nothing at the partner’s',
  async (t, database) => {
    const gate = new Gate()
    const { rig } = await lineRig(
      t,
      {
        onPush: async (_push, file, progress, signal) => {
          await writeFile(join(rig.place.inbox, '.half'), 'half')
          progress.moved(1)
          try {
            await gate.pass(signal)
          } finally {
            await rm(join(rig.place.inbox, '.half'))
          }
          throw new Error(`${file.name} went on`)
        },
      },
      {},
      { database },
    )
    await rig.put('a.txt', 'a')
    const { id } = await rig.send()
    await waitFor('the push', () => gate.waiting === 1)
    assert.deepEqual(await rig.reset(), [id])
    await waitFor('the push is over', async () => (await rig.hidden()).length === 0)
    const { state, error } = await rig.transfer(id)
    assert.equal(state, 'CANCELLED')
    assert.match(error ?? '', /reset of tester/)
    await rig.stop(5000)
    assert.equal((await rig.transfer(id)).state, 'CANCELLED', 'it was moved after its end')
    assert.deepEqual(await rig.list('out'), ['a.txt'])
    assert.equal((await rig.history()).filter((event) => event === 'TRANSFER_CANCELLED').length, 1)
  },
)

testOnBoth(
  'a reset of a transfer that waits for its next attempt removes what the last one left at the partner’s',
  async (t, database) => {
    const bytes = randomBytes(3_000_000)
    const breaking: Transport<FolderSettings> = {
      ...folderTransport,
      connect: async (call, host) => {
        const session = await folderTransport.connect(call, host)
        const push = session.push.bind(session)
        return Object.assign(session, {
          push: (...[file, progress, signal]: Parameters<typeof push>) =>
            push({ ...file, source: new MemorySource(bytes, 2_000_000) }, progress, signal),
        })
      },
    }
    const connection = { advancedConfigurationConnection: { retries: 5 } }
    const change = (rig: Rig) => channelOf(rig, { connection })
    const rig = await runningRig(t, change, { database, transports: [breaking] })
    await rig.put('a.bin', bytes)
    const { id } = await rig.send()
    await waitFor('an attempt has failed', async () => {
      const { state, attempts } = await rig.transfer(id)
      return state === 'PENDING' && attempts > 0
    })
    assert.equal((await rig.hidden()).length, 1, 'there is nothing to go on from')
    assert.deepEqual(await rig.reset(), [id])
    await waitFor('nothing is left', async () => (await readdir(rig.place.inbox)).length === 0)
    assert.equal((await rig.transfer(id)).state, 'CANCELLED')
  },
)

for (const oneFileAtATime of [true, false]) {
  const how = oneFileAtATime ? 'one after the other' : 'side by side'
  test(`a file that the partner refuses holds up no other, ${how}; a retry sends it alone`, async (t) => {
    const offered: string[] = []
    let takesAll = false
    const { rig } = await lineRig(t, {
      capabilities: { oneFileAtATime },
      onPush: (push, { name }) => {
        offered.push(name)
        if (name !== 'b-2.txt' || takesAll) return push()
        return Promise.reject(new NodeError('remote_refused', 'not a name that it takes'))
      },
    })
    const names = ['a.txt', 'b-1.txt', 'b-2.txt', ...Array.from({ length: 40 }, (_, at) => `c-${at}.txt`)]
    for (const name of names) await rig.put(name, name)
    const { id, state, error } = await rig.sendAndEnd()
    assert.deepEqual([state, error], ['FAILED', 'b-2.txt: not a name that it takes'])
    assert.deepEqual(await rig.inbox(), names.filter((name) => name !== 'b-2.txt').toSorted())
    takesAll = true
    offered.length = 0
    const retried = await rig.ended((await rig.retry()).id)
    assert.deepEqual([retried.state, retried.retryOf, offered], ['COMPLETED', id, ['b-2.txt']])
    assert.equal((await rig.inbox()).length, names.length)
  })
}

test('a file that the partner has no room for holds up no other; a retry sends it alone', async (t) => {
  const offered: string[] = []
  const gone: string[] = []
  let hasRoom = false
  const names = ['held.txt', 'large.bin', ...Array.from({ length: 40 }, (_, at) => `small-${at}.txt`)]
  const gate = new Gate()
  const { rig } = await lineRig(t, {
    onPush: async (push, { name }, _progress, signal) => {
      offered.push(name)
      if (name === 'large.bin' && !hasRoom) throw new NodeError('no_space', 'quota exceeded')
      // Under way when the large one fails, and until all the others have gone.
      if (name === 'held.txt') await gate.pass(signal)
      const result = await push()
      if (gone.push(name) === names.length - 2) gate.open()
      return result
    },
  })
  for (const name of names) await rig.put(name, name)
  const { id, state, error } = await rig.sendAndEnd()
  assert.deepEqual([state, error], ['FAILED', 'large.bin: quota exceeded'])
  assert.equal(await rig.errorCode(id), 'no_space')
  assert.deepEqual(await rig.inbox(), names.filter((name) => name !== 'large.bin').toSorted())
  hasRoom = true
  offered.length = 0
  const retried = await rig.ended((await rig.retry()).id)
  assert.deepEqual([retried.state, offered], ['COMPLETED', ['large.bin']])
})

test('a partner that takes none of the first files is not offered all the others', async (t) => {
  let offered = 0
  const { rig } = await lineRig(t, {
    capabilities: { oneFileAtATime: true },
    onPush: () => {
      offered++
      return Promise.reject(new NodeError('remote_refused', 'closed'))
    },
  })
  for (let at = 0; at < 60; at++) await rig.put(`f-${at}.txt`, String(at))
  const { state, error } = await rig.sendAndEnd()
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /^f-\d+\.txt: closed \(and \d+ more files\)$/)
  assert.ok(offered >= 10 && offered < 30, `${offered} were offered`)
})

test('bytes that arrived wrong never become visible at the partner’s', async (t) => {
  const { rig } = await lineRig(
    t,
    {
      onPush: async (push, _file, progress) => {
        await progress.placing('0'.repeat(64))
        return push()
      },
    },
    { validationHashFiles: true },
  )
  await rig.put('a.txt', 'a')
  const { id, state } = await rig.sendAndEnd()
  assert.deepEqual([state, await rig.errorCode(id)], ['FAILED', 'hash_mismatch'])
  assert.deepEqual(await readdir(rig.place.inbox), [])
})

test('where the transport cannot say what the partner has, a hash that is asked for counts as wrong', async (t) => {
  const { rig } = await lineRig(
    t,
    { onPush: async (push) => ({ ...(await push()), remoteSha256: undefined }) },
    { validationHashFiles: true },
  )
  await rig.put('a.txt', 'a')
  const { id, state } = await rig.sendAndEnd()
  assert.deepEqual([state, await rig.errorCode(id)], ['FAILED', 'hash_mismatch'])
})

test('a stop that comes before the first file has begun completes nothing', async (t) => {
  const line = new Line()
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'sftp' })
  await rig.putChannel(CODE, channelOf(rig, { connection: { ips: ['127.0.0.1'] } }))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const now = Date.now()
  const [claim] = await claimDue(rig.store, { owner: rig.context.owner, now, until: now + 60_000 }, 1)
  assert.ok(claim)
  const { session, giveBack } = await rig.sessions.lend(await rig.plan(), 0)
  const stop = new AbortController()
  const stopping = async () => stop.abort(new NodeError('unavailable', 'the node is stopping'))
  await runTransfer(rig.runner, claim, stop.signal, { ...session, discard: stopping })
  await giveBack(true)
  assert.ok(stop.signal.aborted)
  assert.equal((await rig.transfer(id)).state, 'PENDING')
  assert.equal((await rig.run().ended(id)).state, 'COMPLETED')
  assert.deepEqual(await rig.inbox(), ['a.txt'])
})

test('a file that cannot be read, of the name and size of one that was sent, counts as not sent', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  const path = await rig.put('a.txt', 'a')
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  const asking = { store: rig.store, fileRoots: [rig.place.files], now: Date.now, requestedBy: null }
  const looked = { name: 'a.txt', path, size: 1, modifiedAt: 0 }
  assert.equal(await wasSent(asking, CODE, looked), true)
  await rm(path)
  assert.equal(await wasSent(asking, CODE, { ...looked, modifiedAt: 1 }), false)
})

test('what was sent and received is remembered for as long as the channel is there', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig))
  await rig.put('a.txt', 'a')
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  const offer = offerOf('b.txt')
  await (await rig.host().offer(offer)).complete({ size: 0 })
  await rig.lastReception()
  rig.setAhead(20 * 365 * 86_400_000)
  await clearLeftovers(rig.context, new Map())
  await assert.rejects(rig.send(), { code: 'conflict', message: /a\.txt was sent already/ })
  await assert.rejects(rig.host().offer(offer), { code: 'duplicate_file' })
  await rig.stop()
  await rig.store.write((tx) => tx.deleteFrom('channel').execute())
  for (const table of ['sent_file', 'received_file'] as const)
    assert.deepEqual(await rig.store.db.selectFrom(table).selectAll().execute(), [])
})

test('a reset that the node was not told of is found at the next write, and nothing becomes visible', async (t) => {
  const gate = new Gate()
  const { rig } = await lineRig(t, {
    onPush: async (push) => {
      await gate.pass()
      return push()
    },
  })
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await waitFor('the push', () => gate.waiting === 1)
  await rig.reset(CODE, { tell: false })
  gate.open()
  await rig.stop(5000)
  assert.equal((await rig.transfer(id)).state, 'CANCELLED')
  assert.deepEqual(await readdir(rig.place.inbox), [], 'visible, or a partial file was left')
})

test('a reset between the claim and the start is found before anything is done', async (t) => {
  const line = new Line()
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'sftp' })
  const preEmisionFile = await rig.script('before', 'echo it ran')
  await rig.putChannel(
    CODE,
    channelOf(rig, { connection: { ips: ['127.0.0.1'] }, integrations: { preEmisionFile } }),
  )
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const now = rig.context.now()
  const [claim] = await claimDue(rig.store, { owner: rig.context.owner, now, until: now + 60_000 }, 1)
  assert.ok(claim)
  await rig.reset(CODE, { tell: false })
  await runTransfer(rig.runner, claim, new AbortController().signal)
  assert.equal((await rig.transfer(id)).state, 'CANCELLED')
  assert.deepEqual([line.calls.length, rig.events, await rig.output(id)], [0, [], ''])
})

test('a reset after small files were noted ahead of their turn is found before one becomes visible', async (t) => {
  const { rig } = await lineRig(t, {
    onPush: async (push) => {
      await waitFor('it is noted', async () => {
        const file = await rig.store.db.selectFrom('transfer_file').select('maybe_visible').executeTakeFirst()
        return file?.maybe_visible === 1
      })
      await rig.reset(CODE, { tell: false })
      return push()
    },
  })
  for (let nth = 0; nth < 8; nth++) await rig.put(`${nth}.txt`, 'a')
  const { id } = await rig.send()
  assert.equal((await rig.ended(id)).state, 'CANCELLED')
  await rig.stop(5000)
  assert.deepEqual(await readdir(rig.place.inbox), [])
})

for (const among of ['few', 'many'] as const)
  test(`a reset that came while small files were pushed lets no further one become visible (${among})`, async (t) => {
    const count = among === 'few' ? 8 : 200
    let pushed = 0
    const { rig } = await lineRig(t, {
      onPush: async (push) => {
        // The first ones have looked at the claim a moment before.
        if (++pushed === 4) await rig.reset(CODE, { tell: false })
        return push()
      },
      capabilities: { oneFileAtATime: true },
    })
    for (let nth = 0; nth < count; nth++) await rig.put(`${String(nth).padStart(3, '0')}.txt`, 'a')
    const { id } = await rig.send()
    assert.equal((await rig.ended(id)).state, 'CANCELLED')
    await rig.stop(5000)
    assert.ok((await rig.inbox()).length < 4, 'placed after the reset')
  })

test('small files that have arrived are neither deleted nor recorded once another node has the transfer', async (t) => {
  let pushed = 0
  const { rig } = await lineRig(
    t,
    {
      onPush: async (push) => {
        const result = await push()
        if (++pushed === 20) {
          const now = Date.now() + 2 * 3_600_000
          await claimDue(rig.store, { owner: 'another', now, until: now + 15_000 }, 1)
        }
        return result
      },
    },
    { integrations: { postEmisionAction: 'EMISION_DELETE' } },
    { leaseMs: 3_600_000 },
  )
  for (let nth = 0; nth < 100; nth++) await rig.put(`${String(nth).padStart(3, '0')}.txt`, 'a')
  const { id } = await rig.send()
  await waitFor('it is taken over', async () => (await rig.transfer(id)).fence === 2)
  await rig.stop(5000)
  const { files } = await rig.transfer(id)
  const there = new Set(await rig.list('out'))
  // An action that was under way at that moment is done, and cannot be recorded any more.
  for (const { phase, name } of files)
    if (phase !== 'ARRIVED') assert.equal(there.has(name), phase !== 'DONE', `${name} is ${phase}`)
})

test('small files with an action are each recorded, acted upon and done', async (t) => {
  const { rig } = await lineRig(t, {}, { integrations: { postEmisionAction: 'EMISION_DELETE' } })
  const names = Array.from({ length: 150 }, (_, nth) => `${String(nth).padStart(3, '0')}.txt`)
  for (const name of names) await rig.put(name, name)
  const { id } = await rig.send()
  const { state, files } = await rig.ended(id)
  assert.equal(state, 'COMPLETED')
  assert.ok(files.every(({ phase, actionPost }) => phase === 'DONE' && actionPost === 'EMISION_DELETE'))
  assert.deepEqual(await rig.inbox(), names)
  assert.deepEqual(await rig.list('out'), [])
})

test('a reset that comes when the file has arrived leaves one end and one only', async (t) => {
  const { rig } = await lineRig(t, {
    onPush: async (push) => {
      const result = await push()
      await rig.reset()
      return result
    },
  })
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  assert.equal((await rig.ended(id)).state, 'CANCELLED')
  await rig.stop(5000)
  const ends = (await rig.history()).filter((event) => /COMPLETED|FAILED|CANCELLED/.test(event))
  assert.deepEqual(ends, ['TRANSFER_CANCELLED'])
  assert.deepEqual(await rig.list('out'), ['a.txt'], 'a post-action ran')
})

test('after a reset that comes when the last file was recorded nobody hears of a completion', async (t) => {
  const { rig } = await lineRig(t, {})
  const store = rig.context.store as { write: Store['write'] }
  const write = store.write.bind(store)
  let wasReset = false
  store.write = async (change) => {
    const file = await rig.store.db.selectFrom('transfer_file').select('phase').executeTakeFirst()
    if (file?.phase === 'DONE' && !wasReset) {
      wasReset = true
      await rig.reset(CODE, { tell: false })
    }
    return write(change)
  }
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  assert.equal((await rig.ended(id)).state, 'CANCELLED')
  await rig.stop(5000)
  assert.ok(!(await rig.history()).includes('TRANSFER_COMPLETED'))
  assert.deepEqual(
    rig.events.filter((event) => JSON.stringify(event).includes('COMPLETED')),
    [],
  )
})

test('a retry after a reset is refused, and so is one after a success', async (t) => {
  const { rig } = await lineRig(t, {
    onPush: () => Promise.reject(new NodeError('remote_refused', 'no')),
  })
  await rig.put('a.txt', 'a')
  assert.equal((await rig.sendAndEnd()).state, 'FAILED')
  await rig.reset()
  await assert.rejects(rig.retry(), { code: 'conflict', message: /retried or reset already/ })
})

test('a failure is retried once', async (t) => {
  const { rig } = await lineRig(t, {
    onPush: () => Promise.reject(new NodeError('remote_refused', 'no')),
  })
  await rig.put('a.txt', 'a')
  await rig.sendAndEnd()
  const both = await Promise.allSettled([rig.retry(), rig.retry()])
  assert.deepEqual(both.map((one) => one.status).sort(), ['fulfilled', 'rejected'])
})

testOnBoth('a retry goes on from the checkpoint and both files are identical', async (t, database) => {
  const bytes = randomBytes(3_000_000)
  const from: number[] = []
  let broken = true
  const { rig } = await lineRig(
    t,
    {
      onPush: async (push, file, progress) => {
        from.push(file.restartFrom)
        if (!broken) return push()
        // The real push, over a source that is cut: what the partner holds is what was sent before.
        const line = await cutLine.open({ ...callLike(rig) }, rig.host('sftp'))
        const cut = new MemorySource(bytes, 2_000_000)
        await line.push({ ...file, source: cut }, progress, new AbortController().signal).catch(() => {})
        progress.safe(1_900_000)
        throw new NodeError('protocol_violation', 'cut')
      },
    },
    { connection: { ips: ['127.0.0.1'], advancedConfigurationTransmission: { registersBlock: 100 } } },
    { database },
  )
  const cutLine = new Line()
  cutLine.leadTo(rig)
  await rig.put('a.bin', bytes)
  const failed = await rig.sendAndEnd()
  assert.equal(failed.state, 'FAILED')
  assert.equal(failed.files[0]?.position, 1_843_200, 'the checkpoint, at 100 blocks of 1 KiB')
  broken = false
  const retried = await rig.ended((await rig.retry()).id)
  assert.equal(retried.state, 'COMPLETED', retried.error ?? '')
  assert.equal(retried.type, 'RETRY')
  assert.deepEqual(from, [0, 1_843_200])
  assert.ok((await rig.delivered('a.bin')).equals(bytes))
  assert.ok(rig.counted.EMISION < bytes.length * 2)
})

for (const bytes of ['', 'some octets'])
  test(`an attempt that died just before the partner could see the file makes the next one look first (${bytes.length} octets)`, async (t) => {
    const told: boolean[] = []
    const { rig } = await lineRig(
      t,
      {
        onPush: async (push, file, progress) => {
          told.push(file.mayBeThere)
          if (told.length > 1) return push()
          await progress.placing()
          throw new NodeError('connection_lost', 'cut')
        },
      },
      { connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 1 } } },
    )
    await rig.put('a.bin', bytes)
    const done = await rig.sendAndEnd()
    assert.equal(done.state, 'COMPLETED', done.error ?? '')
    assert.deepEqual(told, [false, true])
    assert.deepEqual(
      done.files.map(({ position, maybeVisible }) => [position, maybeVisible]),
      [[bytes.length, false]],
    )
  })

test('a file that the partner says it does not have is not looked for by the next automatic emission', async (t) => {
  const told: boolean[] = []
  const faults = [
    new NodeError('connection_lost', 'cut'),
    new NodeError('remote_refused', 'no', { cause: { placed: false } }),
  ]
  const { rig } = await lineRig(t, {
    onPush: async (push, file, progress) => {
      told.push(file.mayBeThere)
      const fault = faults.shift()
      if (!fault) return push()
      await progress.placing()
      throw fault
    },
  })
  await rig.put('a.bin', 'some octets')
  const { store } = rig
  const asking = { store, fileRoots: [rig.place.files], now: () => Date.now(), requestedBy: null }
  const keys: string[] = []
  for (const state of ['FAILED', 'FAILED', 'COMPLETED']) {
    const { id, files } = await requestSend(asking, await rig.channel(), 'AUTOMATIC')
    keys.push(...files.map(({ keyDate, keyTime }) => keyDate + keyTime))
    rig.wake()
    assert.equal((await rig.ended(id)).state, state)
  }
  assert.equal(new Set(keys).size, 1)
  assert.deepEqual(told, [false, true, false])
})

for (const compression of ['NO', 'LZW'] as const)
  test(`what may have arrived is looked for by the next automatic emission, also if it is packed anew (${compression})`, async (t) => {
    const told: boolean[] = []
    const connection = { ips: ['127.0.0.1'], advancedConfigurationTransmission: { compression } }
    const onPush: LineOptions['onPush'] = async (push, file, progress) => {
      told.push(file.mayBeThere)
      if (told.length > 1) return push()
      await progress.placing()
      throw new NodeError('connection_lost', 'cut')
    }
    const { rig } = await lineRig(t, { onPush }, { connection })
    await rig.put('a.txt', 'some octets')
    const { store } = rig
    const asking = { store, fileRoots: [rig.place.files], now: () => Date.now(), requestedBy: null }
    for (const state of ['FAILED', 'COMPLETED']) {
      const { id } = await requestSend(asking, await rig.channel(), 'AUTOMATIC')
      rig.wake()
      assert.equal((await rig.ended(id)).state, state)
    }
    assert.deepEqual(told, [false, true])
  })

test('a file that an earlier attempt has brought, and compared before it got its name, is not asked for its hash again', async (t) => {
  const tried: boolean[] = []
  const { rig } = await lineRig(
    t,
    {
      onPush: async (push, file) => {
        tried.push(file.mayBeThere)
        const { remoteSha256 } = await push()
        if (tried.length > 1) return { receipt: 'none', remoteSha256: undefined, found: true }
        assert.ok(remoteSha256)
        throw new NodeError('connection_lost', 'cut before the answer to the rename')
      },
    },
    {
      validationHashFiles: true,
      connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 1 } },
    },
  )
  await rig.put('a.bin', 'some octets')
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  assert.deepEqual(tried, [false, true])
})

function callLike(rig: Rig) {
  const security = {
    encrypted: false,
    authentication: 'NONE' as const,
    localKey: undefined,
    remoteKey: undefined,
  }
  return {
    contactId: 'acme',
    reach: reachAll('acme'),
    host: '',
    port: 0,
    localId: 'BANCO',
    remoteId: 'ACME',
    settings: {},
    applications: async () => ['NOMINA'],
    ways: 'B' as const,
    timeouts: { connectMs: 1, syncMs: 1, ackMs: 1, idleMs: 1 },
    security: { ...security, rsaLocalKey: undefined, rsaRemoteKey: undefined },
    compression: false,
    signal: rig.context.stopping,
  }
}

/** A transfer that failed at the partner's end by an error of that code, on a channel that packs its files or not. */
async function failedAt(
  t: TestContext,
  compression: 'NO' | 'LZW',
  code: 'remote_refused' | 'connection_lost',
) {
  let broken = true
  const options: LineOptions = {
    onPush: async (push, _file, progress) => {
      if (!broken) return push()
      await progress.placing()
      throw new NodeError(code, 'no')
    },
  }
  const connection = { ips: ['127.0.0.1'], advancedConfigurationTransmission: { compression } }
  const { rig } = await lineRig(t, options, { connection })
  await rig.put('a.txt', 'secret content')
  const { files } = await rig.sendAndEnd()
  broken = false
  return { rig, staged: files[0]?.stagedPath ?? undefined }
}

/** id-envelopedData of CMS. */
const ENVELOPED = Buffer.from('06092a864886f70d010703', 'hex')

for (const [form, compression, code] of [
  ['as it is', 'NO', 'remote_refused'],
  ['packed', 'LZW', 'connection_lost'],
] as const)
  test(`a retry sends nothing in clear that the channel has meanwhile been told to encrypt (${form})`, async (t) => {
    const theirs = await makeTestKey('theirs')
    const { rig } = await failedAt(t, compression, code)
    const channel = await rig.channel()
    const security = { cryptography: true, ciphrate: 'FILE', rsaRemoteKey: theirs.certificatePem } as const
    const sealed = sealChannel(rig.context.seal, CODE, { ...channel.config, security })
    await rig.store.write((tx) => updateChannel(tx, { ...channel, ...sealed }))
    const retried = await rig.ended((await rig.retry()).id)
    assert.equal(retried.state, 'COMPLETED', retried.error ?? '')
    const [name = ''] = await rig.inbox()
    assert.ok((await rig.delivered(name)).includes(ENVELOPED))
  })

test('a retry makes a wire form that is gone anew', async (t) => {
  const { rig, staged } = await failedAt(t, 'LZW', 'connection_lost')
  assert.ok(staged)
  await rm(staged)
  const retried = await rig.ended((await rig.retry()).id)
  assert.equal(retried.state, 'COMPLETED', retried.error ?? '')
})

const RECEIPTS: LineOptions = {
  protocol: 'oftp2',
  capabilities: { receipts: true, remoteHash: false },
  onPush: async (push) => ({ ...(await push()), receipt: 'awaited' }),
}
const CONFIRMED: Channel = {
  connection: { ips: ['127.0.0.1'], advancedConfigurationTransmission: { downloadConf: true } },
  integrations: { postEmisionAction: 'EMISION_DELETE' },
}

function receiptFor(file: { keyName: string; keyDate: string; keyTime: string }, positive: boolean) {
  const key = { name: file.keyName, date: file.keyDate, time: file.keyTime }
  const about = { reason: 'no', reasonCode: '34', hash: undefined, signed: false }
  return { key, positive, ...about, originator: 'BANCO', destination: 'ACME' }
}

test('after a negative receipt nothing is deleted, the file does not count as sent, and a retry sends it anew', async (t) => {
  const { rig } = await lineRig(t, RECEIPTS, CONFIRMED)
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const waiting = async (which: string) => (await rig.transfer(which)).receiptsUntil !== null
  await waitFor('it waits for the receipt', () => waiting(id))
  const [first] = (await rig.transfer(id)).files
  assert.ok(first)
  await rig.host('oftp2').receipt(reachAll('acme'), receiptFor(first, false))
  assert.equal((await rig.ended(id)).state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'receipt_negative')
  assert.deepEqual(await rig.list('out'), ['a.txt'], 'deleted although it did not arrive')
  await rm(join(rig.place.inbox, 'a.txt'))
  const again = await rig.retry()
  await waitFor('it waits for the receipt', () => waiting(again.id))
  assert.deepEqual(await rig.inbox(), ['a.txt'])
  const [second] = (await rig.transfer(again.id)).files
  assert.ok(second)
  assert.notEqual(`${second.keyDate}${second.keyTime}`, `${first.keyDate}${first.keyTime}`)
  await rig.host('oftp2').receipt(reachAll('acme'), receiptFor(second, true))
  assert.equal((await rig.ended(again.id)).state, 'COMPLETED')
  assert.deepEqual(await rig.list('out'), [])
})

for (const now of ['encrypted anew', 'plain by now'] as const)
  test(`the receipt of a file that arrived with an emission before counts, though the file is ${now}`, async (t) => {
    const theirs = await makeTestKey('theirs')
    const tried: boolean[] = []
    const { rig } = await lineRig(
      t,
      {
        ...RECEIPTS,
        onPush: async (_push, { mayBeThere }, progress) => {
          tried.push(mayBeThere)
          if (mayBeThere) return { receipt: 'awaited', remoteSha256: undefined, found: true }
          await progress.placing()
          throw new NodeError('connection_lost', 'cut before the answer')
        },
      },
      { ...CONFIRMED, validationHashFiles: true },
    )
    const secure = async (ciphrate: 'FILE' | 'NO') => {
      const channel = await rig.channel()
      const security = { cryptography: true, ciphrate, rsaRemoteKey: theirs.certificatePem }
      const sealed = sealChannel(rig.context.seal, CODE, { ...channel.config, security })
      await rig.store.write((tx) => updateChannel(tx, { ...channel, ...sealed }))
    }
    await secure('FILE')
    await rig.put('a.txt', 'some octets')
    const { store } = rig
    const asking = { store, fileRoots: [rig.place.files], now: () => Date.now(), requestedBy: null }
    const first = await requestSend(asking, await rig.channel(), 'AUTOMATIC')
    rig.wake()
    const wireHash = (await rig.ended(first.id)).files[0]?.wireHash ?? undefined
    assert.ok(wireHash)
    if (now === 'plain by now') await secure('NO')
    const { id } = await requestSend(asking, await rig.channel(), 'AUTOMATIC')
    rig.wake()
    await waitFor('it waits for the receipt', async () => (await rig.transfer(id)).receiptsUntil !== null)
    const [file] = (await rig.transfer(id)).files
    assert.ok(file)
    assert.equal(file.hash, hash('sha256', 'some octets'), 'of the file itself')
    const receipt = { ...receiptFor(file, true), hash: wireHash, signed: true }
    await rig.host('oftp2').receipt(reachAll('acme'), receipt)
    const { state, error } = await rig.ended(id)
    assert.equal(state, 'COMPLETED', error ?? '')
    assert.deepEqual(tried, [false, true])
  })

test('a receipt that comes before the push has returned is not lost', async (t) => {
  const { rig } = await lineRig(
    t,
    {
      ...RECEIPTS,
      onPush: async (push, file) => {
        const result = await push()
        const { name: keyName, date: keyDate, time: keyTime } = file.key
        await rig.host('oftp2').receipt(reachAll('acme'), receiptFor({ keyName, keyDate, keyTime }, true))
        return { ...result, receipt: 'awaited' }
      },
    },
    CONFIRMED,
  )
  await rig.put('a.txt', 'a')
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  assert.deepEqual(await rig.list('out'), [])
})

/** A rig whose transfer of `a.txt` has given up waiting for the receipt. */
async function receiptLate(t: TestContext, change: Channel, more: RigOptions = {}) {
  const { rig } = await lineRig(t, RECEIPTS, { ...CONFIRMED, ...change }, more)
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await waitFor('it waits for the receipt', async () => (await rig.transfer(id)).receiptsUntil !== null)
  const { receiptsUntil } = await rig.transfer(id)
  rig.setAhead((receiptsUntil ?? 0) - rig.context.now() + 1000)
  const [file] = (await rig.ended(id)).files
  assert.equal(await rig.errorCode(id), 'receipt_late')
  assert.ok(file)
  return { rig, id, file }
}

test('a receipt that comes too late must prove what the channel asks for, too', async (t) => {
  const { rig, id, file } = await receiptLate(t, { validationHashFiles: true })
  const wrong = { ...receiptFor(file, true), hash: 'ff'.repeat(32) }
  await rig.host('oftp2').receipt(reachAll('acme'), wrong)
  const { error, files } = await rig.transfer(id)
  assert.equal(files[0]?.receipt, 'NEGATIVE')
  assert.match(error ?? '', /its receipt came later, .* negative \(it shows the hash ffff/)
  assert.deepEqual(await rig.list('out'), ['a.txt'])
})

test('a receipt that is signed, but shows no hash, does not prove what was received', async (t) => {
  const { certificatePem: rsaRemoteKey } = await makeTestKey('theirs')
  const { rig, id, file } = await receiptLate(t, { validationHashFiles: true, security: { rsaRemoteKey } })
  await rig.host('oftp2').receipt(reachAll('acme'), { ...receiptFor(file, true), signed: true })
  const { error, files } = await rig.transfer(id)
  assert.equal(files[0]?.receipt, 'NEGATIVE')
  assert.match(error ?? '', /negative \(it shows no hash\)/)
})

for (const positive of [true, false])
  testOnBoth(
    `a receipt that comes between a retry’s look and its transaction is not lost (${positive ? 'positive' : 'negative'})`,
    async (t, database) => {
      const { rig, id, file } = await receiptLate(t, {}, { database })
      const { now } = rig.context
      const asking = { store: rig.store, fileRoots: [rig.place.files], now, requestedBy: null }
      beforeNextWrite({ context: asking }, () =>
        rig.host('oftp2').receipt(reachAll('acme'), receiptFor(file, positive)),
      )
      const { retryOf, files } = await requestRetry(asking, await rig.channel())
      assert.equal(retryOf, id)
      assert.deepEqual(
        files.map(({ phase, receipt }) => `${phase} ${receipt}`),
        [positive ? 'ARRIVED POSITIVE' : 'WAITING NONE'],
      )
    },
  )

test('a receipt over a session that does not reach its channel is told of with the channel and the reason', async (t) => {
  const { rig, file } = await receiptLate(t, {})
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const reach = { ...reachAll('acme'), refusal: () => new NodeError('remote_refused', 'other keys') }
  await takeReceipt(
    { ...rig.context, log },
    reach,
    receiptFor(file, true),
    (name) => name,
    () => rig.wake(),
  )
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    told.map(({ channel, refusal }) => [channel, refusal]),
    [[CODE, 'other keys']],
  )
})

testOnBoth(
  'a receipt that stood still while its transfer was retried is the retry’s',
  async (t, database) => {
    const { rig, id, file } = await receiptLate(t, {}, { database })
    let again = ''
    const context = { ...rig.context }
    beforeNextWrite({ context }, async () => {
      again = (await rig.retry()).id
    })
    await takeReceipt(
      context,
      reachAll('acme'),
      receiptFor(file, true),
      (name) => name,
      () => rig.wake(),
    )
    assert.equal((await rig.ended(again)).state, 'COMPLETED')
    assert.equal((await rig.transfer(id)).files[0]?.receipt, 'AWAITED')
    assert.deepEqual(await rig.list('out'), [])
  },
)

test('a negative receipt that came while nobody held the transfer is found by the next claim', async (t) => {
  const line = new Line(RECEIPTS)
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  await rig.putChannel(CODE, channelOf(rig, CONFIRMED))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  // As a node leaves it that dies right after recording the arrival.
  await rig.store.write(async (tx) => {
    await tx.updateTable('transfer_file').set({ phase: 'ARRIVED', receipt: 'NEGATIVE' }).execute()
  })
  assert.equal((await rig.run().ended(id)).state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'receipt_negative')
  assert.deepEqual(await rig.list('out'), ['a.txt'], 'deleted although it did not arrive')
})

test('files of transfers of the same second have keys of their own', async (t) => {
  const rig = await startRig(t)
  const now = Date.now()
  const asking = { store: rig.store, fileRoots: [rig.place.files], now: () => now, requestedBy: null }
  const keys = new Set<string>()
  await rig.put('a.txt', 'a')
  for (const code of ['BANCO-ACME-ONE', 'BANCO-ACME-TWO', 'BANCO-ACME-THREE']) {
    const { files } = await requestSend(asking, await rig.putChannel(code, channelOf(rig)), 'MANUAL')
    for (const { keyDate, keyTime } of files) keys.add(keyDate + keyTime)
  }
  assert.equal(keys.size, 3)
})

for (const postEmisionAction of ['EMISION_DELETE', 'EMISION_NO'] as const)
  testOnBoth(
    `a send that stood still between its look and its transaction sends nothing a second time (${postEmisionAction})`,
    async (t, database) => {
      let pushes = 0
      const onPush: LineOptions['onPush'] = (push) => (pushes++, push())
      const { rig } = await lineRig(t, { onPush }, { integrations: { postEmisionAction } }, { database })
      await rig.put('a.txt', 'a')
      let stood = false
      const frozen = Object.create(rig.store, {
        write: {
          value: async (work: Parameters<typeof rig.store.write>[0]) => {
            if (!stood) {
              stood = true
              assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
            }
            return rig.store.write(work)
          },
        },
      }) as typeof rig.store
      const asking = { store: frozen, fileRoots: [rig.place.files], now: Date.now, requestedBy: null }
      await assert.rejects(requestSend(asking, await rig.channel(CODE), 'AUTOMATIC'), {
        code: 'conflict',
        message: /no file to send|was sent already/,
      })
      assert.ok(stood)
      assert.equal(pushes, 1)
      // Another file has come in the meantime: that one goes.
      await rig.put('b.txt', 'b')
      const { files } = await requestSend(asking, await rig.channel(CODE), 'AUTOMATIC')
      assert.deepEqual(
        files.map(({ name }) => name),
        ['b.txt'],
      )
    },
  )
