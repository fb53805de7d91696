// Connections cut at random points, against real OpenSSH: whatever happens on the line, in the end each file is there
// once and whole. 30 rounds each way, 200 with ESCLUSA_LONG=1. The seed is printed, and taken from ESCLUSA_SEED.

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { NodeError } from '../../../errors.ts'
import { HostDouble, keyFor, patternBytes, sourceOf } from '../../../../test/support/sftp/session-host.ts'
import { sftpCall, signInTo } from '../../../../test/support/sftp/call.ts'
import { noOpenSsh, startCuttingProxy, startOpenSsh } from '../../../../test/support/sftp/openssh.ts'
import type { CuttingProxy, OpenSsh } from '../../../../test/support/sftp/openssh.ts'
import { fileOf } from '../../../../test/support/transport-ends.ts'
import type { Call, Session } from '../transport.ts'

import type { SftpSettings } from '../../../contract/contact-settings.ts'
import { sftpClientTransport } from './sftp-client.ts'

const skip = noOpenSsh
const rounds = process.env['ESCLUSA_LONG'] === '1' ? 200 : 30
const seed = Number(process.env['ESCLUSA_SEED'] ?? Date.now() % 1_000_000)
const never = new AbortController().signal
const MIB = 1024 * 1024

let sshd: OpenSsh
let proxy: CuttingProxy
let root: string
let state = seed

/** A small generator of its own, so that a seed repeats a run. */
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

before(async () => {
  if (skip) return
  sshd = await startOpenSsh()
  proxy = await startCuttingProxy(sshd.port)
  root = await mkdtemp(join(tmpdir(), 'esclusa-cut-'))
})

after(async () => {
  if (skip) return
  await proxy.stop()
  await sshd.stop()
  await rm(root, { recursive: true, force: true })
})

function callTo(inbox: string, outbox: string): Call<SftpSettings> {
  return sftpCall(proxy.port, { ...signInTo(sshd), inbox, outbox })
}

/** One attempt over a line that breaks after `octets`; a fault that cannot pass is an error of the test. */
async function attempt(
  call: Call<SftpSettings>,
  host: HostDouble,
  octets: number,
  use: (session: Session) => Promise<unknown>,
): Promise<boolean> {
  proxy.cutAfter(octets)
  let session: Session | undefined
  try {
    session = await transport.connect(call, host)
    await use(session)
    return true
  } catch (error) {
    assert.ok(error instanceof NodeError && error.retry, String(error))
    return false
  } finally {
    await session?.close()
  }
}

const transport = sftpClientTransport()

function cutPoint(size: number): number {
  // Half of the cuts fall near the end, where the file gets its name.
  return Math.floor(random() < 0.5 ? random() * (size + 8000) : size + 3500 + random() * 3000)
}

test(
  `pushes over a line that breaks arrive once and whole (${rounds} rounds, seed ${seed})`,
  { skip },
  async (t) => {
    const inbox = join(root, 'inbox')
    await mkdir(inbox)
    const host = new HostDouble(join(root, 'unused'))
    let attempts = 0
    for (let round = 0; round < rounds; round++) {
      const name = `file-${round}`
      const bytes = patternBytes(1 + Math.floor(random() * (round % 3 === 0 ? 3 * MIB : 40_000)), round + 1)
      let restartFrom = 0
      let mayBeThere = false
      const progress = {
        moved: () => {},
        safe: (at: number) => (restartFrom = at),
        placing: async () => void (mayBeThere = true),
      }
      const push = (session: Session) => {
        const file = fileOf(name, sourceOf(bytes), { key: keyFor(name), restartFrom, mayBeThere })
        return session.push(file, progress, never)
      }
      for (let tries = 0; ; tries++) {
        attempts++
        if (await attempt(callTo(inbox, '/'), host, tries < 4 ? cutPoint(bytes.length) : Infinity, push))
          break
      }
      assert.ok((await readFile(join(inbox, name))).equals(bytes), name)
    }
    t.diagnostic(`${attempts} attempts for ${rounds} files`)
    assert.deepEqual(
      (await readdir(inbox)).sort(),
      Array.from({ length: rounds }, (_, at) => `file-${at}`).sort(),
    )
  },
)

test(
  `fetches over a line that breaks bring each file once and whole (${rounds} rounds, seed ${seed})`,
  { skip },
  async () => {
    const outbox = join(root, 'outbox')
    await mkdir(outbox)
    const host = new HostDouble(join(root, 'engine'))
    // As the engine does: a file whose key was completed before is recognised, not received twice.
    const complete = new Set<string>()
    host.onComplete = (offer) => void complete.add(JSON.stringify(offer.key))
    for (let round = 0; round < rounds; round++) {
      const name = `file-${round}`
      const bytes = patternBytes(1 + Math.floor(random() * (round % 3 === 0 ? 3 * MIB : 40_000)), round + 1)
      await writeFile(join(outbox, name), bytes)
      const fetch = (session: Session) => session.fetch(never)
      for (let tries = 0; ; tries++) {
        const octets = tries < 4 ? cutPoint(bytes.length) : Infinity
        if ((await attempt(callTo('/', outbox), host, octets, fetch)) && (await readdir(outbox)).length === 0)
          break
      }
      assert.ok(
        (await host.bytesOf(name)).every((one) => one.equals(bytes)),
        name,
      )
      assert.ok(
        host.received.some((one) => one.offer.name === name),
        name,
      )
    }
    assert.equal(complete.size, rounds)
    assert.equal(host.open.size, 0)
  },
)
