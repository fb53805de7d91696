// Many small files by the dozen against a real OpenSSH server: what is there after each step, and after what goes wrong.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { TestContext } from 'node:test'

import { NodeError } from '../../../errors.ts'
import { closeAfter, tempFolder, waitFor } from '../../../../test/support/harness.ts'
import { sftpCall, signInTo } from '../../../../test/support/sftp/call.ts'
import { startTestListener } from '../../../../test/support/sftp/listener.ts'
import { startTcpLine } from '../../../../test/support/tcp-line.ts'
import { noOpenSsh, startCuttingProxy, startOpenSsh } from '../../../../test/support/sftp/openssh.ts'
import type { OpenSsh } from '../../../../test/support/sftp/openssh.ts'
import { HostDouble, keyFor, patternBytes, sourceOf } from '../../../../test/support/sftp/session-host.ts'
import { fileOf } from '../../../../test/support/transport-ends.ts'
import type { PreparedFile, SmallBatches, SmallFile } from '../small-batches.ts'
import type { PushProgress, Session } from '../transport.ts'

import { sftpClientTransport } from './sftp-client.ts'

const skip = noOpenSsh
const never = new AbortController().signal
const quiet: PushProgress = { moved: () => {}, safe: () => {}, placing: () => Promise.resolve() }

let sshd: OpenSsh
before(async () => {
  if (!skip) sshd = await startOpenSsh()
})
after(() => sshd?.stop())

type Scene = {
  inbox: string
  session: Session
  small: SmallBatches
  contents: Map<string, Buffer>
  files: SmallFile[]
  /** Signs in once more, as another attempt does. */
  connect(): Promise<Session>
}

async function scene(
  t: TestContext,
  sizes: readonly number[],
  { port = sshd.port, inboxIsThere = true } = {},
): Promise<Scene> {
  const folder = await tempFolder(t)
  const inbox = join(folder, 'inbox')
  if (inboxIsThere) await mkdir(inbox)
  const contents = new Map(sizes.map((size, nth) => [`${nth}.bin`, patternBytes(size, nth)]))
  const files: SmallFile[] = []
  for (const [name, bytes] of contents) {
    const path = join(folder, name)
    await writeFile(path, bytes)
    const expected = { size: bytes.length, modifiedAt: Math.floor((await stat(path)).mtimeMs) }
    files.push({
      transferId: 't',
      attempt: 1,
      application: 'NOMINA',
      key: keyFor(name),
      name,
      path,
      expected,
    })
  }
  const transport = sftpClientTransport()
  const call = sftpCall(port, { ...signInTo(sshd), inbox, outbox: folder })
  const connect = async () => {
    const session = await transport.connect(call, new HostDouble(join(folder, 'engine')))
    closeAfter(t, () => session.close())
    return session
  }
  const session = await connect()
  assert.ok(session.small)
  return { inbox, session, small: session.small, contents, files, connect }
}

const place = (prepared: readonly (PreparedFile | undefined)[]) =>
  Promise.all(prepared.map(async (one) => one?.place()))

const hasCode = (code: string) => (thrown: unknown) => {
  assert.ok(thrown instanceof NodeError, String(thrown))
  assert.equal(thrown.code, code, thrown.message)
  return true
}

test('what is prepared is hidden, and has its name and bytes when it is placed', { skip }, async (t) => {
  const sizes = [0, 1, 10_240, 261_120, 300_000, ...Array.from({ length: 59 }, (_, nth) => 100 * nth)]
  const { inbox, small, contents, files } = await scene(t, sizes)
  const prepared = await small.prepare(files, never)
  assert.equal(readdirSync(inbox).length, sizes.length)
  assert.ok(readdirSync(inbox).every((name) => /^\.esclusa-[0-9a-f]{32}\.1\.part$/.test(name)))
  assert.deepEqual(await place(prepared), Array(sizes.length).fill('placed'))
  assert.deepEqual(readdirSync(inbox).sort(), [...contents.keys()].sort())
  for (const [name, bytes] of contents) assert.ok(readFileSync(join(inbox, name)).equals(bytes), name)
})

test('a name that is taken is never replaced: the file is left to a push', { skip }, async (t) => {
  const { inbox, session, small, contents, files } = await scene(t, [10, 20, 30])
  await writeFile(join(inbox, '0.bin'), 'of somebody else')
  const prepared = await small.prepare(files, never)
  assert.equal(prepared[0], undefined)
  await writeFile(join(inbox, '1.bin'), 'came meanwhile')
  assert.deepEqual(await place(prepared), [undefined, 'refused', 'placed'])
  const taken = contents.get('1.bin') ?? Buffer.alloc(0)
  const push = (mayBeThere: boolean) =>
    session.push(
      fileOf('1.bin', sourceOf(taken), { key: keyFor('1.bin'), mayBeThere, attempt: 1 }),
      quiet,
      never,
    )
  await assert.rejects(push(true), hasCode('name_taken'))
  assert.equal(readFileSync(join(inbox, '0.bin'), 'utf8'), 'of somebody else')
  assert.equal(readFileSync(join(inbox, '1.bin'), 'utf8'), 'came meanwhile')
  await rm(join(inbox, '1.bin'))
  await push(true)
  assert.ok(readFileSync(join(inbox, '1.bin')).equals(taken))
  assert.deepEqual(readdirSync(inbox).sort(), ['0.bin', '1.bin', '2.bin'])
})

test('what is dropped leaves nothing', { skip }, async (t) => {
  const { inbox, small, files } = await scene(t, [10, 20])
  for (const one of await small.prepare(files, never)) one?.drop()
  await waitFor('the temporary files to go', () => readdirSync(inbox).length === 0)
})

test(
  'a file that changed, a name no file can have and an inbox that is not there are left to a push',
  { skip },
  async (t) => {
    const { inbox, small, files } = await scene(t, [10, 20, 30])
    await writeFile(files[0]?.path ?? '', 'changed since')
    const odd = files.map((file, nth) => (nth === 1 ? { ...file, name: '../odd' } : file))
    const [changed, named, good] = await small.prepare(odd, never)
    assert.deepEqual([changed, named, typeof good], [undefined, undefined, 'object'])
    assert.equal(readdirSync(inbox).length, 1)
    const nowhere = await scene(t, [10, 20], { inboxIsThere: false })
    assert.deepEqual(await nowhere.small.prepare(nowhere.files, never), [undefined, undefined])
  },
)

test(
  'a line that breaks while files are prepared ends it; what is there is for the next attempt',
  { skip },
  async (t) => {
    const proxy = await startCuttingProxy(sshd.port)
    closeAfter(t, () => proxy.stop())
    proxy.cutAfter(300_000)
    const { inbox, small, files } = await scene(t, Array(64).fill(10_240), { port: proxy.port })
    await assert.rejects(small.prepare(files, never), hasCode('connection_lost'))
    assert.ok(readdirSync(inbox).every((name) => name.startsWith('.')))
  },
)

test('where the answer to the last step is lost, a push finds what happened', { skip }, async (t) => {
  let isDeaf = false
  const line = await startTcpLine(
    () => sshd.port,
    (near, far) => {
      near.on('data', (chunk) => far.write(chunk))
      far.on('data', (chunk) => !isDeaf && near.write(chunk))
    },
  )
  closeAfter(t, () => line.stop())
  const { inbox, small, files, contents, connect } = await scene(t, Array(8).fill(100), { port: line.port })
  const prepared = await small.prepare(files, never)
  isDeaf = true
  const placing = place(prepared)
  await waitFor('the files', () => existsSync(join(inbox, '7.bin')))
  for (const socket of line.open) socket.resetAndDestroy()
  assert.deepEqual(await placing, Array(8).fill('unknown'))
  // The partner takes one away at once.
  await rm(join(inbox, '0.bin'))
  isDeaf = false
  const session = await connect()
  for (const [name, bytes] of contents) {
    const change = { key: keyFor(name), mayBeThere: true, attempt: 2 }
    const { found } = await session.push(fileOf(name, sourceOf(bytes), change), quiet, never)
    assert.equal(found, true, name)
  }
  assert.equal(readdirSync(inbox).length, 7)
})

test('whoever stops it waits for no answer, and what was prepared goes', { skip }, async (t) => {
  const line = await startCuttingProxy(sshd.port, 150)
  closeAfter(t, () => line.stop())
  const { inbox, small, files } = await scene(t, Array(8).fill(10_240), { port: line.port })
  const stop = new AbortController()
  const preparing = assert.rejects(small.prepare(files, stop.signal), hasCode('cancelled'))
  await waitFor('the first temporary file', () => readdirSync(inbox).length > 0)
  stop.abort(new NodeError('cancelled', 'reset'))
  await preparing
  await waitFor('the temporary files to go', () => readdirSync(inbox).length === 0)
})

test('another server than OpenSSH takes files one by one', async (t) => {
  const listener = await startTestListener()
  closeAfter(t, () => listener.stop())
  const { port, userKey, hostKey } = listener
  const signIn = { username: 'acme', privateKey: userKey.private, hostKeys: [hostKey.fingerprint] }
  const call = sftpCall(port, { ...signIn, inbox: '/in', outbox: '/out' })
  const session = await sftpClientTransport().connect(call, new HostDouble(await tempFolder(t)))
  closeAfter(t, () => session.close())
  assert.equal(session.small, undefined)
})
