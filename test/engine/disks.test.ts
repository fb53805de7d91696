// Disks that fill up, folders without rights, and too many open files. A small tmpfs stands for the full disk and a read-only one for missing
// rights, since root is refused by nothing else; where mounting is not allowed these tests are skipped and say so.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, rm, statfs } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connectError } from '../../src/engine/transports/oftp2/connect.ts'
import { Upload } from '../../src/files/upload.ts'
import { tempFolder, waitFor } from '../support/harness.ts'
import { skipWithoutPrlimit, withNothingToOpen } from '../support/open-files.ts'
import { mount, remount, skipWithoutMount, smallDisk } from '../support/small-disk.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig, withDirectories } from './rig.ts'
import type { Rig } from './rig.ts'
import { offerOf } from './wire.ts'

const skip = skipWithoutMount
const MANY = randomBytes(2_000_000)

async function fails(rig: Rig, id: string, code: string): Promise<void> {
  const done = await rig.ended(id)
  assert.equal(done.state, 'FAILED')
  assert.equal(await rig.errorCode(id), code, done.error ?? '')
  assert.ok((done.error ?? '').length > 10)
}

test('a full disk under the wire forms fails the emission; with room it is retried', { skip }, async (t) => {
  const rig = await startRig(t)
  await smallDisk(t, join(rig.place.dataDir, 'outgoing'))
  await rig.putChannel(CODE, withDirectories(rig, { compression: true }))
  await rig.put('a.bin', MANY)
  const { id } = await rig.run().send()
  await fails(rig, id, 'no_space')
  assert.deepEqual(await rig.inbox(), [])
  assert.deepEqual(await rig.list('out'), ['a.bin'])
  const { bfree, blocks } = await statfs(join(rig.place.dataDir, 'outgoing'))
  assert.ok(bfree > blocks - 4, 'half a wire form was left')
  remount(join(rig.place.dataDir, 'outgoing'), 'size=8m')
  assert.equal((await rig.ended((await rig.retry()).id)).state, 'COMPLETED')
})

test(
  'a full disk in the partner’s inbox fails the emission; with room the retry arrives whole',
  { skip },
  async (t) => {
    const rig = await startRig(t)
    await smallDisk(t, rig.place.inbox)
    await rig.putChannel(CODE, channelOf(rig, { integrations: { postEmisionAction: 'EMISION_DELETE' } }))
    await rig.put('a.bin', MANY)
    const { id } = await rig.run().send()
    await fails(rig, id, 'no_space')
    assert.deepEqual(await rig.inbox(), [])
    assert.deepEqual(await rig.list('out'), ['a.bin'])
    remount(rig.place.inbox, 'size=8m')
    const done = await rig.ended((await rig.retry()).id)
    assert.equal(done.state, 'COMPLETED', done.error ?? '')
    assert.ok((await rig.delivered('a.bin')).equals(MANY))
  },
)

test(
  'a full disk under half files fails the reception and the partner keeps its file',
  { skip },
  async (t) => {
    const rig = await startRig(t)
    await smallDisk(t, join(rig.place.dataDir, 'partial'))
    await rig.putChannel(CODE, channelOf(rig))
    await rig.run().offer('a.bin', MANY)
    assert.equal(((await rig.fetch()) as { code?: string }).code, 'no_space')
    await fails(rig, (await rig.lastReception()).id, 'no_space')
    assert.deepEqual(await readdir(rig.place.outbox), ['a.bin'])
    assert.deepEqual(await rig.list('in'), [])
    remount(join(rig.place.dataDir, 'partial'), 'size=8m')
    assert.equal(await rig.fetch(), undefined)
    assert.ok((await rig.read('in', 'a.bin')).equals(MANY))
  },
)

test(
  'a full disk in the inbound folder fails the reception without half a file there',
  { skip },
  async (t) => {
    const rig = await startRig(t)
    await smallDisk(t, join(rig.place.files, 'in'))
    await rig.putChannel(CODE, channelOf(rig))
    await rig.run().offer('a.bin', MANY)
    assert.equal(((await rig.fetch()) as { code?: string }).code, 'no_space')
    await fails(rig, (await rig.lastReception()).id, 'no_space')
    assert.deepEqual(await readdir(join(rig.place.files, 'in')), [], 'something was left')
    assert.deepEqual(await readdir(rig.place.outbox), ['a.bin'])
    remount(join(rig.place.files, 'in'), 'size=8m')
    assert.equal(await rig.fetch(), undefined)
    assert.ok((await rig.read('in', 'a.bin')).equals(MANY))
  },
)

test(
  'a full disk where sent files are moved to leaves the original, and a retry moves it without sending it again',
  { skip },
  async (t) => {
    const rig = await startRig(t)
    await smallDisk(t, join(rig.place.files, 'done'))
    await rig.putChannel(
      CODE,
      channelOf(rig, {
        integrations: {
          postEmisionAction: 'EMISION_MOVE',
          postEmisionDirectory: join(rig.place.files, 'done'),
        },
      }),
    )
    await rig.put('a.bin', MANY)
    const { id } = await rig.run().send()
    await fails(rig, id, 'no_space')
    assert.deepEqual(await rig.list('out'), ['a.bin'])
    assert.deepEqual(await readdir(join(rig.place.files, 'done')), [])
    await rm(join(rig.place.inbox, 'a.bin'))
    remount(join(rig.place.files, 'done'), 'size=8m')
    assert.equal((await rig.ended((await rig.retry()).id)).state, 'COMPLETED')
    assert.deepEqual([await rig.list('out'), await rig.list('done')], [[], ['a.bin']])
    assert.deepEqual(await rig.inbox(), [], 'it was sent twice')
  },
)

test('folders without rights end in no_rights, wherever they are', { skip }, async (t) => {
  const rig = await startRig(t)
  const readOnly = async (folder: string) => {
    await mount(t, folder, 'size=1m,ro')
    return folder
  }
  const done = await readOnly(join(rig.place.files, 'done'))
  const inward = await readOnly(join(rig.place.files, 'locked'))
  await rig.putChannel(
    CODE,
    channelOf(rig, {
      directories: [
        { direction: 'EMISION', filePath: join(rig.place.files, 'out') },
        { direction: 'RECEPCION', filePath: inward },
      ],
      integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: done },
    }),
  )
  await rig.put('a.txt', 'a')
  await fails(rig, (await rig.run().send()).id, 'no_rights')
  assert.deepEqual(await rig.list('out'), ['a.txt'])
  await rig.offer('b.txt', 'b')
  assert.equal(((await rig.fetch()) as { code?: string }).code, 'no_rights')
  await waitFor('the reception', async () => (await rig.lastReception()).state === 'FAILED')
  assert.deepEqual(await readdir(rig.place.outbox), ['b.txt'])
})

test('a partner’s inbox without rights fails the emission at once', { skip }, async (t) => {
  const rig = await startRig(t)
  await mount(t, rig.place.inbox, 'size=1m,ro')
  await rig.putChannel(
    CODE,
    channelOf(rig, { connection: { advancedConfigurationConnection: { retries: 3 } } }),
  )
  await rig.put('a.txt', 'a')
  await fails(rig, (await rig.run().send()).id, 'no_rights')
})

test('an upload onto a full or read-only disk is told as such, and leaves nothing', { skip }, async (t) => {
  const folder = join(await tempFolder(t), 'out')
  await smallDisk(t, folder)
  const limits = { most: 1e9, quota: { octets: 1e9, files: 10 }, diskReserveOctets: 0 }
  const upload = async () => {
    const begun = await Upload.begin(join(folder, 'a.bin'), undefined, limits)
    try {
      await begun.write(Readable.from([MANY]))
    } finally {
      await begun.discard()
    }
  }
  await assert.rejects(upload(), { code: 'no_space', message: `no space left to write to ${folder}` })
  assert.deepEqual(await readdir(folder), [])
  remount(folder, 'ro')
  await assert.rejects(upload(), { code: 'no_rights' })
})

/** Received files are moved to a disk of one megabyte. */
async function movingRig(t: TestContext, retries: number): Promise<{ rig: Rig; sorted: string }> {
  const line = new Line({ protocol: 'oftp2', capabilities: { receipts: true } })
  const rig = await startRig(t, { transports: [line] })
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  const sorted = join(rig.place.files, 'sorted')
  await smallDisk(t, sorted)
  const integrations = { postReceptionAction: 'RECEPTION_MOVE', postReceptionDirectory: sorted } as const
  const connection = { advancedConfigurationConnection: { retries } }
  await rig.putChannel(CODE, channelOf(rig, { integrations, connection }))
  rig.run()
  const incoming = await rig.host('oftp2').offer(offerOf('a.bin', { size: MANY.length }))
  await incoming.write(MANY, 0)
  await incoming.complete({ size: MANY.length })
  rig.receptions.letGo(CODE)
  return { rig, sorted }
}

async function receiptsOwed(rig: Rig): Promise<boolean[]> {
  const rows = await rig.store.db.selectFrom('owed_receipt').select('body').execute()
  return rows.map(({ body }) => (JSON.parse(body) as { positive: boolean }).positive)
}

test('a received file is moved when the disk that it goes to has room again', { skip }, async (t) => {
  const { rig, sorted } = await movingRig(t, 30)
  const rest = await waitFor('a reception that waits', async () => {
    const row = await rig.store.db.selectFrom('transfer').selectAll().executeTakeFirst()
    return row && (row.attempts > 1 || row.state === 'FAILED') ? row : undefined
  })
  assert.equal(rest?.state, 'IN_PROGRESS')
  assert.match(rest?.error ?? '', /^a\.bin is here, but could not be moved: no space left/)
  assert.deepEqual([await rig.list('in'), await readdir(sorted)], [['a.bin'], []])
  assert.deepEqual(await receiptsOwed(rig), [])
  remount(sorted, 'size=8m')
  const { state, error, files } = await rig.lastReception()
  assert.deepEqual([state, error, files[0]?.pathPost], ['COMPLETED', null, join(sorted, 'a.bin')])
  assert.deepEqual([await rig.list('in'), await readdir(sorted)], [[], ['a.bin']])
  assert.deepEqual(await receiptsOwed(rig), [true])
})

test('a received file is not moved more often than the channel’s retries say', { skip }, async (t) => {
  const { rig, sorted } = await movingRig(t, 1)
  const { id, attempts } = await rig.lastReception()
  await fails(rig, id, 'no_space')
  assert.equal(attempts, 1)
  assert.deepEqual([await rig.list('in'), await readdir(sorted)], [['a.bin'], []])
  assert.deepEqual(await receiptsOwed(rig), [false])
})

test(
  'a partner that is not called because too much is open here is not counted as down',
  { skip: skipWithoutPrlimit },
  async (t) => {
    const line = new Line({
      onConnect: async ({ host, port }) => {
        const socket = connect({ host, port })
        const [thrown] = (await once(socket, 'error')) as [Error]
        throw connectError(thrown, `${host}:${port}`)
      },
    })
    const rig = await startRig(t, { transports: [line] })
    line.leadTo(rig)
    await rig.putContact({ id: 'acme', protocol: 'sftp' })
    await rig.putChannel(CODE, channelOf(rig, { connection: { ips: ['127.0.0.1'] } }))
    const plan = await rig.plan(CODE)
    const told = { code: 'disk_fault', message: /raise the node’s limit of open files/ }
    await withNothingToOpen(async () => {
      for (let call = 0; call < 4; call++) await assert.rejects(rig.sessions.lend(plan, 0), told)
    })
    assert.equal(line.calls.length, 4)
    assert.deepEqual(await rig.store.db.selectFrom('partner_health').selectAll().execute(), [])
  },
)
