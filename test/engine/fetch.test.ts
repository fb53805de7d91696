// Receptions that somebody asks for, where this node calls: the engine takes what the partner has, in one transfer.

import assert from 'node:assert/strict'
import { link, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import type { SessionHost } from '../../src/engine/transports/transport.ts'
import { newRecord } from '../../src/engine/receiving/incoming-record.ts'
import { runTransfer } from '../../src/engine/scheduling/run-transfer.ts'
import { NodeError } from '../../src/errors.ts'
import { claimDue } from '../../src/store/transfers/claims.ts'
import { insertFiles } from '../../src/store/transfers/transfers.ts'
import { requestFetch } from '../../src/transfers/fetch.ts'
import { testOnBoth } from '../support/harness.ts'
import { CODE, channelOf, runningRig, startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { offerOf } from './wire.ts'

async function fetch(rig: Rig) {
  const asking = { store: rig.store, fileRoots: [], now: rig.context.now, requestedBy: 'tester' }
  const { id } = await requestFetch(asking, await rig.channel())
  rig.wake()
  return rig.ended(id)
}

const onlyTexts = (rig: Rig): Channel => {
  const { directories = [] } = channelOf(rig)
  return channelOf(rig, {
    directories: directories.map((directory) => ({ ...directory, fileGroupsName: '*.txt' })),
  })
}

testOnBoth('a fetch takes all that the partner has, in one transfer', async (t, database) => {
  const rig = await runningRig(t, channelOf, { database })
  await rig.offer('a.txt', 'a')
  await rig.offer('b.txt', 'b')
  const { state, direction, type, files } = await fetch(rig)
  assert.deepEqual([state, direction, type], ['COMPLETED', 'RECEPCION', 'MANUAL'])
  assert.deepEqual(files.map(({ name }) => name).sort(), ['a.txt', 'b.txt'])
  assert.deepEqual(await rig.list('in'), ['a.txt', 'b.txt'])
  assert.deepEqual(await rig.history(), ['TRANSFER_REQUESTED', 'TRANSFER_STARTED', 'TRANSFER_COMPLETED'])
})

test('a fetch that finds nothing completes without files', async (t) => {
  const rig = await runningRig(t, channelOf)
  const { state, files } = await fetch(rig)
  assert.deepEqual([state, files], ['COMPLETED', []])
})

test('a fetch that finds only files that fit no directory fails and names one', async (t) => {
  const rig = await runningRig(t, onlyTexts)
  await rig.offer('a.bin', 'a')
  const { state, error } = await fetch(rig)
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /a\.bin/)
  assert.deepEqual(await rig.list('in'), [])
})

test('a failed fetch can be asked for again, and by a retry', async (t) => {
  const rig = await runningRig(t, onlyTexts)
  await rig.offer('a.bin', 'a')
  await fetch(rig)
  await rig.offer('b.txt', 'b')
  const again = await rig.ended((await rig.retry(CODE)).id)
  assert.equal(again.type, 'RETRY')
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

test('a file that breaks off in a fetch does not stand in the way of the next ones', async (t) => {
  const rig = await runningRig(t, channelOf)
  const host = rig.host() as { offer: SessionHost['offer'] }
  const { offer } = host
  host.offer = async (offered) => {
    const incoming = await offer(offered)
    const full = () => Promise.reject(new NodeError('no_space', 'the disk is full'))
    return offered.name === 'a.txt' ? { ...incoming, write: full } : incoming
  }
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await rig.offer(name, 'x')
  const { state, error } = await fetch(rig)
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /the disk is full/)
  assert.deepEqual(await rig.list('in'), ['b.txt', 'c.txt'])
})

test('a fetch during which the database stops answering goes on when it answers again', async (t) => {
  const rig = await runningRig(t, channelOf)
  const { store } = rig.context
  const { write } = store
  const host = rig.host() as { offer: SessionHost['offer'] }
  const { offer } = host
  let tries = 0
  host.offer = async (offered) => {
    const incoming = await offer(offered)
    if (offered.name !== 'a.txt' || tries++ > 0) return incoming
    const complete: typeof incoming.complete = async (end) => {
      store.write = () => Promise.reject(new NodeError('unavailable', 'the database does not answer'))
      await incoming.complete(end).finally(() => (store.write = write))
    }
    return { ...incoming, position: incoming.position, complete }
  }
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await rig.offer(name, 'x')
  const { state, error, files } = await fetch(rig)
  assert.deepEqual([state, error], ['COMPLETED', null])
  assert.deepEqual(files.map(({ name }) => name).sort(), ['a.txt', 'b.txt', 'c.txt'])
  assert.deepEqual(await rig.list('in'), ['a.txt', 'b.txt', 'c.txt'])
})

testOnBoth(
  'another file with the inode, size and time of one that was fetched is read before it is removed',
  async (t, database) => {
    const rig = await runningRig(t, channelOf, { database })
    // Whoever removes a file gives its inode to the next one.
    const inode = join(rig.place.files, 'inode')
    const put = async (text: string) => {
      await writeFile(inode, text)
      await utimes(inode, 1_700_000_000, 1_700_000_000)
      await link(inode, join(rig.place.outbox, 'a.txt'))
      const { state } = await fetch(rig)
      assert.deepEqual([state, await readdir(rig.place.outbox)], ['COMPLETED', []])
    }
    const taken = async () => {
      const path = join(rig.place.files, 'in', 'a.txt')
      const text = await readFile(path, 'utf8').catch(() => undefined)
      await rm(path, { force: true })
      return text
    }
    await put('first')
    assert.equal(await taken(), 'first')
    await put('other')
    assert.equal(await taken(), 'other')
    await put('first')
    await put('other')
    assert.equal(await taken(), undefined)
  },
)

test('a fetch that is cut off between two files calls again for the rest', async (t) => {
  const rig = await runningRig(t, channelOf)
  const host = rig.host() as { offer: SessionHost['offer'] }
  const { offer } = host
  const firstIsHere = Promise.withResolvers<void>()
  let cuts = 0
  host.offer = async (offered) => {
    if (offered.name === 'b.txt' && cuts === 0) {
      await firstIsHere.promise
      cuts++
      throw new NodeError('unavailable', 'the database does not answer')
    }
    const incoming = await offer(offered)
    const complete: typeof incoming.complete = async (end) => {
      await incoming.complete(end)
      firstIsHere.resolve()
    }
    return { ...incoming, position: incoming.position, complete }
  }
  for (const name of ['a.txt', 'b.txt']) await rig.offer(name, 'x')
  const { state, files } = await fetch(rig)
  assert.deepEqual([state, cuts], ['COMPLETED', 1])
  assert.deepEqual(files.map(({ name }) => name).sort(), ['a.txt', 'b.txt'])
  assert.deepEqual(await rig.list('in'), ['a.txt', 'b.txt'])
})

test('a file that one fetch is at is left to it by the next', async (t) => {
  const rig = await runningRig(t, channelOf)
  const host = rig.host() as { offer: SessionHost['offer'] }
  const { offer } = host
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let offers = 0
  host.offer = async (offered) => {
    const incoming = await offer(offered)
    if (offers++ > 0) return incoming
    const write: typeof incoming.write = async (chunk, position) => {
      begun.resolve()
      await goOn.promise
      return incoming.write(chunk, position)
    }
    return { ...incoming, position: incoming.position, write }
  }
  await rig.offer('a.txt', 'a')
  const first = fetch(rig)
  await begun.promise
  const lent = await rig.sessions.lend(await rig.plan(), 0)
  await lent.session.fetch(new AbortController().signal)
  goOn.resolve()
  const { state, error, files } = await first
  await lent.giveBack(true)
  assert.deepEqual([state, error, files.length], ['COMPLETED', null, 1])
  assert.deepEqual(await rig.list('in'), ['a.txt'])
})

test('a node that has lost a fetch while it slept takes no rows from the one that has it now', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  const asking = { store: rig.store, fileRoots: [], now: rig.context.now, requestedBy: 'tester' }
  const { id } = await requestFetch(asking, await rig.channel())
  await rig.store.write((tx) => tx.updateTable('transfer').set({ state: 'IN_PROGRESS' }).execute())
  const now = rig.context.now()
  const [claim] = await claimDue(rig.store, { owner: 'sleeps', now, until: now - 1 }, 1)
  assert.ok(claim)
  const [held] = await claimDue(rig.store, { owner: 'has it', now, until: now + 60_000 }, 1)
  assert.ok(held)
  const inbound = { channel: await rig.channel(), directory: {}, directoryIndex: 1 }
  const moving = newRecord(offerOf('b.txt'), inbound)
  await rig.store.write((tx) => insertFiles(tx, id, [moving]))
  await rig.offer('a.txt', 'a')
  await runTransfer(rig.runner, claim, new AbortController().signal)
  assert.deepEqual(
    (await rig.transfer(id)).files.map(({ name }) => name),
    ['b.txt'],
  )
  assert.deepEqual(await rig.list('in'), [])
})
