// A node that calls a partner's real OpenSSH server: files pushed with their post-action, fetched by the automation,
// resumed after a break, and nothing at all sent to a server that shows another key.

import assert from 'node:assert/strict'
import { mkdir, readFile, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { TestContext } from 'node:test'
import { sampleBytes, sha256 } from '../support/transport-ends.ts'
import { makeKey, noOpenSsh, startCuttingProxy, startOpenSsh } from '../support/sftp/openssh.ts'
import type { OpenSsh } from '../support/sftp/openssh.ts'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { findChannel, insertChannels } from '../../src/store/channels.ts'
import { newId } from '../../src/store/database/ids.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import { CODE, startSftpNode } from './node.ts'
import type { SftpNode } from './node.ts'

const skip = noOpenSsh
let sshd: OpenSsh
before(async () => {
  if (!skip) sshd = await startOpenSsh()
})
after(() => sshd?.stop())

type Scene = SftpNode & { inbox: string; outbox: string }

type SceneOptions = {
  port?: number
  hostKey?: string
  channel?: (files: string) => Partial<PlatformChannel>
}

/** The partner's folders are by application, as `{application}` says. */
async function scene(t: TestContext, options: SceneOptions = {}): Promise<Scene> {
  const { port = sshd.port, hostKey = sshd.hostKey.fingerprint, channel } = options
  const home = await tempFolder(t)
  const [inbox, outbox] = [join(home, 'NOMINA/in'), join(home, 'NOMINA/out')]
  await mkdir(inbox, { recursive: true })
  await mkdir(outbox, { recursive: true })
  const own = await startSftpNode(t)
  const sftp = {
    username: sshd.username,
    privateKey: sshd.userKey.private,
    hostKeys: [hostKey],
    inbox: `${home}/{application}/in`,
    outbox: `${home}/{application}/out`,
  }
  await own.apply(
    { sftp, remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port }] },
    {
      connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 3 } },
      ...channel?.(own.files),
    },
  )
  return { ...own, inbox, outbox }
}

test('files are pushed, and moved aside afterwards', { skip }, async (t) => {
  const partner = await scene(t, {
    channel: (files) => ({
      integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: join(files, 'sent') },
    }),
  })
  const bytes = sampleBytes(300_000)
  const names = ['Nómina de mayo.txt', 'a.bin']
  await partner.put('a.bin', bytes)
  await partner.put('Nómina de mayo.txt', 'text')
  const { state, error } = await partner.ended(await partner.send())
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.deepEqual((await readdir(partner.inbox)).sort(), names)
  assert.ok((await readFile(join(partner.inbox, 'a.bin'))).equals(bytes))
  assert.deepEqual(await partner.list('sent'), names)
  assert.deepEqual(await partner.list('out'), [])
})

test('what lies in the partner’s outbox is fetched by the automation and taken away', { skip }, async (t) => {
  const partner = await scene(t, { channel: () => ({ automation: { watch: true } }) })
  const bytes = sampleBytes(2_000_000, 3)
  const path = join(partner.outbox, 'extract.bin')
  await writeFile(path, bytes)
  await utimes(path, 1_700_000_000, 1_700_000_000)
  assert.ok((await partner.arrived('extract.bin')).equals(bytes))
  await waitFor('the outbox to be empty', async () => (await readdir(partner.outbox)).length === 0)
  await waitFor(
    'the reception to end',
    async () => (await partner.transfers()).join() === 'RECEPCION COMPLETED',
  )
})

test(
  'a new file of the name, size and second of one that was fetched comes too; the same one left over does not',
  { skip },
  async (t) => {
    const partner = await scene(t, { channel: () => ({ automation: { watch: true } }) })
    const path = join(partner.outbox, 'day.txt')
    const put = async (text: string) => {
      await writeFile(`${path}.part`, text)
      await utimes(`${path}.part`, 1_700_000_000, 1_700_000_000)
      await rename(`${path}.part`, path)
      await waitFor('the outbox to be empty', async () => (await readdir(partner.outbox)).length === 0)
    }
    const taken = async () => {
      const text = String(await partner.arrived('day.txt'))
      await rm(join(partner.files, 'in', 'day.txt'))
      return text
    }
    await put('first')
    assert.equal(await taken(), 'first')
    await put('other')
    assert.equal(await taken(), 'other')
    await put('other')
    await put('first')
    assert.deepEqual(await partner.list('in'), [])
    // As an earlier version has left it: the list of transfers has the hash.
    await partner.node.store.db.updateTable('received_file').set({ wire_hash: null }).execute()
    await put('first')
    assert.deepEqual(await partner.list('in'), [])
    await put('third')
    assert.equal(await taken(), 'third')
  },
)

test('a channel that comes while the session is open is fetched for as well', { skip }, async (t) => {
  const partner = await scene(t, { channel: () => ({ automation: { watch: true } }) })
  await writeFile(join(partner.outbox, 'first.txt'), 'first')
  await partner.arrived('first.txt')
  const outbox = join(partner.outbox, '../../RECIBOS/out')
  await mkdir(outbox, { recursive: true })
  await writeFile(join(outbox, 'later.txt'), 'later')
  const { store } = partner.node
  const known = await findChannel(store.db, CODE)
  assert.ok(known)
  const code = CODE.replace('NOMINA', 'RECIBOS')
  await store.write((tx) => insertChannels(tx, [{ ...known, id: newId(Date.now()), code }]))
  assert.equal(String(await partner.arrived('later.txt')), 'later')
})

test('a push that breaks off is tried again and goes on', { skip }, async (t) => {
  const proxy = await startCuttingProxy(sshd.port)
  closeAfter(t, () => proxy.stop())
  const partner = await scene(t, {
    port: proxy.port,
    channel: () => ({
      connection: {
        ips: ['127.0.0.1'],
        advancedConfigurationConnection: { retries: 12 },
        advancedConfigurationTransmission: { registersBlock: 64 },
      },
    }),
  })
  const bytes = sampleBytes(6_000_000, 4)
  await partner.put('long.bin', bytes)
  proxy.cutAfter(3_000_000)
  const id = await partner.send()
  // What is tried again before anybody has looked gets nowhere.
  await waitFor('the first call', () => proxy.connections() > 0)
  proxy.cutAfter(1)
  const { db } = partner.node.store
  const tried = async () => {
    const row = await db
      .selectFrom('transfer')
      .select(['attempts', 'state'])
      .where('id', '=', id)
      .executeTakeFirst()
    return (row?.attempts ?? 0) > 0 || row?.state === 'FAILED'
  }
  await waitFor('the line to break', tried)
  const half = (await readdir(partner.inbox)).filter((name) => name.startsWith('.'))
  assert.equal(half.length, 1, 'half a file under a hidden name')
  const { position } = await db.selectFrom('transfer_file').select('position').executeTakeFirstOrThrow()
  assert.ok(position > 0 && position < bytes.length, `the restart point is ${position}`)
  proxy.cutAfter(Number.POSITIVE_INFINITY)
  const { state, error } = await partner.ended(id)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.deepEqual(await readdir(partner.inbox), ['long.bin'])
  assert.ok((await readFile(join(partner.inbox, 'long.bin'))).equals(bytes))
})

const numbered = (count: number) =>
  new Map(
    Array.from({ length: count }, (_, nth) => [
      `${String(nth).padStart(3, '0')}.bin`,
      sampleBytes((nth * 50) % 4000, nth + 1),
    ]),
  )

test('many small files go by the dozen; a name that is taken fails its file alone', { skip }, async (t) => {
  const partner = await scene(t, {
    channel: (files) => ({
      integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: join(files, 'sent') },
    }),
  })
  const contents = numbered(150)
  for (const [name, bytes] of contents) await partner.put(name, bytes)
  await writeFile(join(partner.inbox, '070.bin'), 'of somebody else')
  const { state, error, error_code: code } = await partner.ended(await partner.send())
  assert.deepEqual([state, code], ['FAILED', 'name_taken'], error ?? '')
  assert.deepEqual((await readdir(partner.inbox)).sort(), [...contents.keys()])
  assert.equal(await readFile(join(partner.inbox, '070.bin'), 'utf8'), 'of somebody else')
  contents.delete('070.bin')
  for (const [name, bytes] of contents)
    assert.ok((await readFile(join(partner.inbox, name))).equals(bytes), name)
  assert.deepEqual(await partner.list('sent'), [...contents.keys()])
  assert.deepEqual(await partner.list('out'), ['070.bin'])
  const { db } = partner.node.store
  const rows = await db.selectFrom('transfer_file').select(['name', 'phase', 'hash', 'wire_hash']).execute()
  for (const { name, phase, hash, wire_hash: wire } of rows.filter(({ name }) => contents.has(name))) {
    const expected = sha256(contents.get(name) ?? Buffer.alloc(0))
    assert.deepEqual([phase, hash, wire], ['DONE', expected, expected], name)
  }
  const { encryption } = await db.selectFrom('transfer').select('encryption').executeTakeFirstOrThrow()
  assert.ok(encryption)
})

test('many small files over a line that breaks again and again arrive once each', { skip }, async (t) => {
  const proxy = await startCuttingProxy(sshd.port)
  closeAfter(t, () => proxy.stop())
  const partner = await scene(t, {
    port: proxy.port,
    channel: () => ({
      connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 12 } },
    }),
  })
  const contents = numbered(500)
  for (const [name, bytes] of contents) await partner.put(name, bytes)
  const { db } = partner.node.store
  // Three dozens are some 500,000 octets, and a fourth begins when one of them has its names; then in the middle of what is left.
  proxy.cutAfter(700_000)
  const id = await partner.send()
  const attempts = async () =>
    (await db.selectFrom('transfer').select('attempts').where('id', '=', id).executeTakeFirstOrThrow())
      .attempts
  await waitFor('the line to break', async () => (await attempts()) > 0)
  const seen = (await readdir(partner.inbox)).filter((name) => !name.startsWith('.'))
  assert.ok(seen.length > 0 && seen.length < contents.size, `${seen.length} of ${contents.size} have gone`)
  proxy.cutAfter(100_000)
  await waitFor('the line to break again', async () => (await attempts()) > 1)
  proxy.cutAfter(Number.POSITIVE_INFINITY)
  const { state, error } = await partner.ended(id)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.deepEqual((await readdir(partner.inbox)).sort(), [...contents.keys()])
  for (const [name, bytes] of contents)
    assert.ok((await readFile(join(partner.inbox, name))).equals(bytes), name)
})

test('a server with another host key gets nothing, and the transfer shows its key', { skip }, async (t) => {
  const other = await makeKey(await tempFolder(t), 'other')
  const partner = await scene(t, { hostKey: other.fingerprint })
  await partner.put('a.bin', 'secret')
  const { state, error, error_code, attempts } = await partner.ended(await partner.send())
  assert.deepEqual([state, error_code, attempts], ['FAILED', 'host_key_mismatch', 0])
  assert.ok(
    error?.includes(sshd.hostKey.fingerprint) || error?.includes(sshd.rsaHostKey.fingerprint),
    error ?? '',
  )
  assert.deepEqual(await readdir(partner.inbox), [])
})

test(
  'a push that fails leaves nothing at the partner’s, and a reset removes what a broken line left',
  { skip },
  async (t) => {
    const proxy = await startCuttingProxy(sshd.port)
    closeAfter(t, () => proxy.stop())
    const partner = await scene(t, {
      port: proxy.port,
      channel: () => ({
        connection: {
          ips: ['127.0.0.1'],
          advancedConfigurationTransmission: { registersBlock: 64 },
        },
      }),
    })
    await partner.put('taken.bin', 'new')
    await writeFile(join(partner.inbox, 'taken.bin'), 'the one before')
    assert.equal((await partner.ended(await partner.send())).error_code, 'name_taken')
    assert.deepEqual(await readdir(partner.inbox), ['taken.bin'])
    await rm(join(partner.files, 'out', 'taken.bin'))
    await partner.put('long.bin', sampleBytes(6_000_000, 4))
    proxy.cutAfter(3_000_000)
    assert.equal((await partner.ended(await partner.send())).state, 'FAILED')
    assert.equal((await readdir(partner.inbox)).length, 2, 'there is nothing to go on from')
    proxy.cutAfter(Number.POSITIVE_INFINITY)
    await partner.node.call('resetChannel', { code: CODE, as: 'admin' })
    const swept = async () => (await readdir(partner.inbox)).join() === 'taken.bin'
    await waitFor('the half file to go', swept)
  },
)
