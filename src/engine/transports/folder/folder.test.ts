import assert from 'node:assert/strict'
import { appendFile, mkdir, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../../../../test/support/harness.ts'
import { NodeError } from '../../../errors.ts'
import { transportConformance } from '../../../../test/support/transport-conformance.ts'
import type { ConformancePartner } from '../../../../test/support/transport-conformance.ts'
import {
  MemoryHost,
  MemorySource,
  Told,
  fileOf,
  sampleBytes,
} from '../../../../test/support/transport-ends.ts'
import type { Call, SessionHost } from '../transport.ts'
import type { FolderSettings } from '../../../contract/contact-settings.ts'
import { createFolder } from './folder.ts'
import { tryFolder } from './try-folder.ts'
import { reachAll } from '../../../../test/support/reach.ts'
import { OPEN_SESSION } from '../../../../test/support/open-session.ts'

const folderTransport = createFolder({ scriptRoots: [] })

const never = new AbortController().signal

function callTo(
  settings: Partial<FolderSettings>,
  change: Partial<Call<Partial<FolderSettings>>> = {},
): Call<Partial<FolderSettings>> {
  return {
    contactId: 'acme',
    host: '',
    port: 0,
    localId: 'BANCO',
    remoteId: 'ACME',
    settings,
    applications: async () => ['NOMINA'],
    reach: reachAll('acme'),
    ways: 'B',
    timeouts: { connectMs: 5000, syncMs: 5000, ackMs: 5000, idleMs: 60_000 },
    security: OPEN_SESSION,
    compression: false,
    signal: never,
    ...change,
  }
}

async function folderPartner(
  t: TestContext,
): Promise<ConformancePartner & { inbox: string; outbox: string }> {
  const root = await tempFolder(t)
  const [inbox, outbox] = [join(root, 'inbox'), join(root, 'outbox')]
  await mkdir(inbox)
  await mkdir(outbox)
  return {
    inbox,
    outbox,
    lacks: [],
    connect: (host: SessionHost) => folderTransport.connect(callTo({ inbox, outbox }), host),
    received: async () => {
      const names = (await readdir(inbox)).filter((name) => !name.startsWith('.'))
      return new Map(
        await Promise.all(names.map(async (name) => [name, await readFile(join(inbox, name))] as const)),
      )
    },
    partials: async () => (await readdir(inbox)).filter((name) => name.startsWith('.')).length,
    occupy: (name, bytes) => writeFile(join(inbox, name), bytes),
    offer: async (name, bytes) => {
      await writeFile(join(outbox, name), bytes)
      await utimes(join(outbox, name), 1_700_000_000, 1_700_000_000)
    },
    offered: () => readdir(outbox),
    carries: () => true,
  }
}

transportConformance('folder', folderPartner)

test('bytes of another file under the same key are not gone on from', async (t) => {
  const { inbox, connect, received } = await folderPartner(t)
  const session = await connect(new MemoryHost())
  const bytes = sampleBytes(3_000_000, 1)
  const first = fileOf('a.bin', new MemorySource(sampleBytes(3_000_000, 2), 2_500_000))
  await assert.rejects(session.push(first, new Told(), never))
  assert.equal((await readdir(inbox)).length, 1)
  await session.push(
    fileOf('a.bin', new MemorySource(bytes), { key: first.key, restartFrom: 2_000_000 }),
    new Told(),
    never,
  )
  assert.ok((await received()).get('a.bin')?.equals(bytes))
})

test('a file still being written in the outbox is left for the next time', async (t) => {
  const { outbox, connect, offered } = await folderPartner(t)
  const host = new MemoryHost()
  const session = await connect(host)
  await writeFile(join(outbox, 'growing.txt'), 'first line\n')
  // Grows between the two looks, for as long as the fetch takes.
  const growing = setInterval(() => void appendFile(join(outbox, 'growing.txt'), 'more\n'), 5)
  await session.fetch(never).finally(() => clearInterval(growing))
  assert.deepEqual(await offered(), ['growing.txt'])
  assert.equal(host.received.size, 0)
})

test('a file that changes while it is fetched is abandoned and stays', async (t) => {
  const { outbox, connect, offer, offered } = await folderPartner(t)
  const host = new MemoryHost()
  const session = await connect(host)
  await offer('changes.bin', sampleBytes(2_000_000))
  host.onWrite = () => appendFile(join(outbox, 'changes.bin'), 'x')
  await assert.rejects(session.fetch(never), { code: 'file_changed' })
  assert.equal(host.received.size, 0)
  assert.deepEqual(await offered(), ['changes.bin'])
  assert.deepEqual(
    host.abandoned.map(({ keep }) => keep),
    [false],
  )
})

test('a file that replaces the fetched one before it is taken away is not lost', async (t) => {
  const { outbox, connect, offer } = await folderPartner(t)
  const host = new MemoryHost()
  const session = await connect(host)
  await offer('again.txt', Buffer.from('first'))
  host.onComplete = () => writeFile(join(outbox, 'again.txt'), 'second')
  await session.fetch(never)
  host.onComplete = () => {}
  assert.equal(host.received.get('again.txt')?.toString(), 'first')
  await session.fetch(never)
  assert.equal(host.received.get('again.txt')?.toString(), 'second')
})

test('files under temporary names are not fetched', async (t) => {
  const { outbox, connect, offer, offered } = await folderPartner(t)
  const host = new MemoryHost()
  const names = ['.hidden', 'a.part', 'b.filepart', 'c.partial', 'd.TMP', 'e.temp']
  for (const name of names) await writeFile(join(outbox, name), 'x')
  await offer('template.tmpl', Buffer.from('x'))
  await (await connect(host)).fetch(never)
  assert.deepEqual([...host.received.keys()], ['template.tmpl'])
  assert.deepEqual((await offered()).sort(), names)
})

test('links in the outbox are not followed', async (t) => {
  const { outbox, connect } = await folderPartner(t)
  await symlink('/etc/hostname', join(outbox, 'link.txt'))
  const host = new MemoryHost()
  await (await connect(host)).fetch(never)
  assert.equal(host.offers.length, 0)
})

test('a folder is no encrypted session, and a missing one cannot be called', async (t) => {
  const { inbox } = await folderPartner(t)
  const call = callTo({ inbox })
  const secure = { ...call, security: { ...call.security, encrypted: true } }
  await assert.rejects(folderTransport.connect(secure, new MemoryHost()), { code: 'insecure_session' })
  const absent = callTo({ inbox: join(inbox, 'absent') })
  await assert.rejects(folderTransport.connect(absent, new MemoryHost()), { code: 'connect_failed' })
  const file = callTo({ inbox: '/etc/hostname' })
  await assert.rejects(folderTransport.connect(file, new MemoryHost()), NodeError)
})

test('a file in place of a folder is told in plain words, also by a session that is open', async (t) => {
  const { inbox, outbox, connect } = await folderPartner(t)
  const session = await connect(new MemoryHost())
  for (const folder of [inbox, outbox]) {
    await rm(folder, { recursive: true })
    await writeFile(folder, 'no folder')
  }
  const told = (path: string) => ({
    code: 'connect_failed',
    message: `the partner’s folder ${path} is not a folder`,
  })
  const file = fileOf('a.bin', new MemorySource(sampleBytes(3_000_000)))
  await assert.rejects(session.push(file, new Told(), never), told(inbox))
  const small = fileOf('b.bin', new MemorySource(sampleBytes(10)))
  await assert.rejects(session.push(small, new Told(), never), told(inbox))
  await assert.rejects(session.fetch(never), told(outbox))
  const below = join(inbox, 'below')
  await assert.rejects(folderTransport.connect(callTo({ inbox: below }), new MemoryHost()), told(below))
})

test('a folder that a link has led into the data folder is not used, neither to send, to fetch nor to sweep', async (t) => {
  const home = await tempFolder(t)
  const data = join(home, 'data')
  await mkdir(data)
  await writeFile(join(data, 'jwt-secret'), 'secret')
  await symlink(data, join(home, 'partner'))
  const guarded = createFolder({ dataDir: data, scriptRoots: [] })
  const inbox = join(home, 'partner')
  for (const folders of [{ inbox }, { outbox: inbox }])
    await assert.rejects(guarded.connect(callTo(folders), new MemoryHost()), { code: 'no_rights' })
  await assert.rejects(async () => guarded.discard?.({ inbox }, () => Promise.resolve([])), {
    code: 'no_rights',
  })
  await assert.rejects(tryFolder(inbox, { dataDir: data, scriptRoots: [] }), { code: 'no_rights' })
})
