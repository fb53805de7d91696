// One big file over several connections, against real OpenSSH.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import type { SftpSettings } from '../../../contract/contact-settings.ts'
import { sftpCall, signInTo } from '../../../../test/support/sftp/call.ts'
import { HostDouble, patternBytes, sourceOf } from '../../../../test/support/sftp/session-host.ts'
import { noOpenSsh, startCuttingProxy, startOpenSsh } from '../../../../test/support/sftp/openssh.ts'
import type { CuttingProxy, OpenSsh } from '../../../../test/support/sftp/openssh.ts'
import { fileOf } from '../../../../test/support/transport-ends.ts'
import { OPEN } from '../ssh/sftp-packet.ts'
import type { Call, Source } from '../transport.ts'

import { sendBytes } from './byte-flow.ts'
import { hangUp, openRemote, sftpClientTransport } from './sftp-client.ts'
import type { Way } from './side-lines.ts'

const skip = noOpenSsh
const never = new AbortController().signal
const MIB = 1024 * 1024

let sshd: OpenSsh
let near: CuttingProxy
let far: CuttingProxy
let root: string

before(async () => {
  if (skip) return
  sshd = await startOpenSsh()
  near = await startCuttingProxy(sshd.port)
  far = await startCuttingProxy(sshd.port, 15)
  root = await mkdtemp(join(tmpdir(), 'esclusa-sides-'))
})

after(async () => {
  if (skip) return
  await near.stop()
  await far.stop()
  await sshd.stop()
  await rm(root, { recursive: true, force: true })
})

function callTo(port: number, settings: Partial<SftpSettings> = {}): Call<SftpSettings> {
  return sftpCall(port, { ...signInTo(sshd), inbox: root, ...settings })
}

/** Writes a file over a first line and a side line; gives what lies there, and how many octets the side line took. */
async function writeOverTwo(name: string, bytes: Buffer, cutSideAfter: number) {
  const path = join(root, name)
  const first = await openRemote(callTo(sshd.port))
  near.cutAfter(cutSideAfter)
  const second = await openRemote(callTo(near.port))
  const safe: number[] = []
  try {
    const handle = await first.remote.open(path, OPEN.WRITE | OPEN.CREAT | OPEN.TRUNC)
    const side: Way = { remote: second.remote, handle: await second.remote.open(path, OPEN.WRITE) }
    const sides = [side]
    let carried = 0
    const write = side.remote.write.bind(side.remote)
    side.remote.write = (...given) => {
      carried += given[2]
      return write(...given)
    }
    const { answered } = await sendBytes({
      remote: first.remote,
      handle,
      path,
      source: sourceOf(bytes),
      from: 0,
      progress: { moved: () => {}, safe: (at) => safe.push(at), placing: () => Promise.resolve() },
      signal: never,
      sides,
    })
    await answered
    await first.remote.close(handle)
    return { there: await readFile(path), carried, safe, left: sides.length }
  } finally {
    for (const { line, remote } of [first, second]) await hangUp(line, remote.requests, 0)
  }
}

test('two lines write one file, and what is safe has no gaps', { skip }, async () => {
  const bytes = patternBytes(24 * MIB + 5, 1)
  const { there, carried, safe } = await writeOverTwo('both', bytes, Infinity)
  assert.ok(there.equals(bytes))
  assert.ok(carried > MIB && carried < bytes.length, `the side line took ${carried}`)
  assert.equal(safe.at(-1), bytes.length)
  assert.deepEqual(
    safe,
    safe.toSorted((a, b) => a - b),
  )
})

test('what a side line lost is written again over the first', { skip }, async () => {
  const bytes = patternBytes(24 * MIB + 5, 2)
  const { there, carried, safe, left } = await writeOverTwo('broken', bytes, 2 * MIB)
  assert.ok(there.equals(bytes))
  assert.ok(carried > 2 * MIB)
  assert.equal(left, 0)
  assert.equal(safe.at(-1), bytes.length)
})

async function until(met: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !met(); await setTimeout(5))
    assert.ok(Date.now() < deadline, 'not within a minute')
}

/** Pushes a big file over the long line; its second half is not read before `open` connections are there. */
async function pushFar(name: string, settings: Partial<SftpSettings>, open: number) {
  const bytes = patternBytes(28 * MIB, 3)
  const whole = sourceOf(bytes)
  const source: Source = {
    size: whole.size,
    read: async (into, position) => {
      if (position > 14 * MIB) await until(() => far.connections() >= 2 * open)
      return whole.read(into, position)
    },
  }
  const session = await sftpClientTransport().connect(
    callTo(far.port, settings),
    new HostDouble(join(root, 'x')),
  )
  let most = 0
  try {
    await session.push(
      fileOf(name, source),
      {
        moved: () => (most = Math.max(most, far.connections() / 2)),
        safe: () => {},
        placing: () => Promise.resolve(),
      },
      never,
    )
  } finally {
    await session.close()
  }
  assert.ok((await readFile(join(root, name))).equals(bytes))
  assert.deepEqual(
    (await readdir(root)).filter((one) => one.startsWith('.')),
    [],
  )
  await until(() => far.connections() === 0)
  return most
}

test('on a long line further connections carry a big file, and are closed after it', { skip }, async () => {
  assert.ok((await pushFar('far', {}, 2)) >= 2)
})

test('a contact with one session gets one connection', { skip }, async () => {
  assert.equal(await pushFar('alone', { sessions: 1 }, 1), 1)
})
