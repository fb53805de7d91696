// The calling side against a real OpenSSH server: what is there afterwards, byte for byte.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { TestContext } from 'node:test'

import { NodeError } from '../../../errors.ts'
import type { ErrorCode } from '../../../errors.ts'
import { isNotPlaced } from '../../sending/emission.ts'
import { sftpCall, signInTo } from '../../../../test/support/sftp/call.ts'
import { HostDouble, keyFor, patternBytes, sourceOf } from '../../../../test/support/sftp/session-host.ts'
import {
  makeKey,
  noOpenSsh,
  startCuttingProxy,
  startOpenSsh,
  startSleepyLine,
} from '../../../../test/support/sftp/openssh.ts'
import type { CuttingProxy, OpenSsh, SleepyLine } from '../../../../test/support/sftp/openssh.ts'
import { startTestListener } from '../../../../test/support/sftp/listener.ts'
import { fileOf } from '../../../../test/support/transport-ends.ts'
import type { Call, PushProgress, Session, WireFile } from '../transport.ts'

import type { SftpSettings } from '../../../contract/contact-settings.ts'
import { sftpClientTransport } from './sftp-client.ts'
import { closeAfter, waitFor } from '../../../../test/support/harness.ts'

const skip = noOpenSsh
const quiet: PushProgress = { moved: () => {}, safe: () => {}, placing: () => Promise.resolve() }
const never = new AbortController().signal
const MIB = 1024 * 1024

let sshd: OpenSsh
let proxy: CuttingProxy
let root: string
let folders = 0

before(async () => {
  if (skip) return
  sshd = await startOpenSsh()
  proxy = await startCuttingProxy(sshd.port)
  root = await mkdtemp(join(tmpdir(), 'esclusa-sftp-'))
})

after(async () => {
  if (skip) return
  await proxy.stop()
  await sshd.stop()
  await rm(root, { recursive: true, force: true })
})

async function freshFolders(): Promise<{ inbox: string; outbox: string; host: HostDouble }> {
  const folder = join(root, `case-${folders++}`)
  const inbox = join(folder, 'inbox')
  const outbox = join(folder, 'outbox')
  await mkdir(inbox, { recursive: true })
  await mkdir(outbox)
  return { inbox, outbox, host: new HostDouble(join(folder, 'engine')) }
}

function callTo(
  settings: Partial<SftpSettings>,
  change: Partial<Call<SftpSettings>> = {},
): Call<SftpSettings> {
  const nowhere = { inbox: '/nowhere', outbox: '/nowhere' }
  return sftpCall(sshd.port, { ...signInTo(sshd), ...nowhere, ...settings }, change)
}

function wireFile(
  name: string,
  bytes: Buffer,
  change: Partial<WireFile> = {},
): WireFile & { source: { reads: number[] } } {
  const source = sourceOf(bytes)
  return { ...fileOf(name, source, { key: keyFor(name), ...change }), source }
}

async function withSession<T>(
  call: Call<SftpSettings>,
  host: HostDouble,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await sftpClientTransport().connect(call, host)
  try {
    return await use(session)
  } finally {
    await session.close()
  }
}

function failsWith(code: ErrorCode, words = '') {
  return (error: unknown) => {
    assert.ok(error instanceof NodeError, String(error))
    assert.equal(error.code, code, error.message)
    assert.ok(error.message.includes(words), error.message)
    return true
  }
}

test('a pushed file lies in the inbox under its real name and nothing else does', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(5 * MIB + 17, 1)
  let safe = 0
  const file = wireFile('nómina €.txt', bytes)
  await withSession(callTo({ inbox }), host, (session) =>
    session.push(file, { ...quiet, safe: (at) => (safe = at) }, never),
  )
  assert.deepEqual(await readdir(inbox), ['nómina €.txt'])
  assert.ok((await readFile(join(inbox, 'nómina €.txt'))).equals(bytes))
  assert.equal(safe, bytes.length)
  assert.deepEqual(
    file.source.reads,
    [...file.source.reads].sort((a, b) => a - b),
  )
})

const LINES: { what: string; config: string; compression?: boolean; log: RegExp }[] = [
  { what: 'keys changed every MiB', config: 'RekeyLimit 1M', log: /rekey(?:ing|ed)?\b/gi },
  { what: 'a cipher with a code of its own', config: 'Ciphers aes256-ctr', log: /cipher: aes256-ctr/g },
  { what: 'compression', config: '', compression: true, log: /compression: zlib@openssh\.com/g },
]
for (const { what, config, compression = false, log } of LINES)
  test(`large files keep their bytes over a line with ${what}`, { skip }, async () => {
    const { inbox, outbox, host } = await freshFolders()
    const bytes = patternBytes(12 * MIB + 5, 77)
    await writeFile(join(outbox, 'down'), bytes)
    const own = await startOpenSsh(`LogLevel DEBUG1\n${config}`)
    try {
      const { port, hostKey, userKey } = own
      const settings = { inbox, outbox, hostKeys: [hostKey.fingerprint], privateKey: userKey.private }
      await withSession(callTo(settings, { port, compression }), host, async (session) => {
        await session.push(wireFile('up', bytes), quiet, never)
        await session.fetch(never)
      })
      const found = (await readFile(own.log, 'latin1')).match(log) ?? []
      assert.ok(found.length > 1, `${found.length} times ${log} in the log of sshd`)
    } finally {
      await own.stop()
    }
    assert.ok((await readFile(join(inbox, 'up'))).equals(bytes))
    assert.ok((await host.bytesOf('down'))[0]?.equals(bytes))
  })

test('an empty file and a hundred small ones arrive over one connection at once', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const names = Array.from({ length: 100 }, (_, at) => `small-${at}`)
  await withSession(callTo({ inbox }), host, async (session) => {
    await session.push(wireFile('empty', Buffer.alloc(0)), quiet, never)
    await Promise.all(
      names.map((name, at) => session.push(wireFile(name, patternBytes(10_240, at)), quiet, never)),
    )
  })
  assert.deepEqual((await readdir(inbox)).sort(), ['empty', ...names].sort())
  for (const [at, name] of names.entries())
    assert.ok((await readFile(join(inbox, name))).equals(patternBytes(10_240, at)), name)
  assert.equal((await readFile(join(inbox, 'empty'))).length, 0)
})

test('the hash of what lies at the partner is told when reading back is asked for', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(700_000, 2)
  const transport = sftpClientTransport()
  assert.equal(transport.capabilities.remoteHash, true)
  const session = await transport.connect(callTo({ inbox }), host)
  const result = await session.push(wireFile('hashed', bytes, { verify: true }), quiet, never)
  await session.close()
  assert.equal(result.remoteSha256, createHash('sha256').update(bytes).digest('hex'))
})

test(
  'a taken name is not overwritten, even by a file of the same bytes from another transfer',
  { skip },
  async () => {
    const { inbox, host } = await freshFolders()
    await writeFile(join(inbox, 'taken'), 'theirs')
    await withSession(callTo({ inbox }), host, async (session) => {
      await assert.rejects(
        session.push(wireFile('taken', Buffer.from('ours!!')), quiet, never),
        failsWith('name_taken'),
      )
      await assert.rejects(
        session.push(wireFile('taken', Buffer.from('theirs')), quiet, never),
        failsWith('name_taken'),
      )
    })
    assert.equal(await readFile(join(inbox, 'taken'), 'utf8'), 'theirs')
    assert.deepEqual(await readdir(inbox), ['taken'])
  },
)

test('a name taken while the file is on its way is not overwritten either', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const file = wireFile('late', patternBytes(3 * MIB, 3))
  let planted: Promise<void> | undefined
  const moved = () => void (planted ??= writeFile(join(inbox, 'late'), 'theirs'))
  await withSession(callTo({ inbox }), host, (session) =>
    assert.rejects(session.push(file, { ...quiet, moved }, never), failsWith('name_taken')),
  )
  await planted
  assert.equal(await readFile(join(inbox, 'late'), 'utf8'), 'theirs')
  assert.deepEqual(await readdir(inbox), ['late'])
})

async function cutPush(inbox: string, host: HostDouble, bytes: Buffer, octets: number): Promise<number> {
  proxy.cutAfter(octets)
  let safe = 0
  await assert.rejects(
    withSession(callTo({ inbox }, { port: proxy.port }), host, (session) =>
      session.push(wireFile('resumed', bytes), { ...quiet, safe: (at) => (safe = at) }, never),
    ),
    failsWith('connection_lost'),
  )
  proxy.cutAfter(Infinity)
  return safe
}

test('a cut push resumes at its restart point and reads only the rest once more', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(12 * MIB, 4)
  const safe = await cutPush(inbox, host, bytes, 6 * MIB)
  assert.ok(safe > 0, 'nothing was safe')
  const file = wireFile('resumed', bytes, { restartFrom: safe })
  let first: number | undefined
  await withSession(callTo({ inbox }), host, (session) =>
    session.push(file, { ...quiet, moved: (at) => void (first ??= at) }, never),
  )
  assert.ok((first ?? 0) > safe, `sent again from ${first}`)
  assert.ok((await readFile(join(inbox, 'resumed'))).equals(bytes))
  assert.deepEqual(await readdir(inbox), ['resumed'])
})

test('a retry takes over what the failed transfer left, and leaves nothing itself', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(50_000, 6)
  const broken = {
    ...quiet,
    placing: () => Promise.reject(new NodeError('connection_lost', 'the line broke')),
  }
  await withSession(callTo({ inbox }), host, async (session) => {
    const last = wireFile('pay', bytes, { attempt: 3, again: true })
    await assert.rejects(session.push(last, broken, never), failsWith('connection_lost'))
    assert.equal((await readdir(inbox)).length, 1, 'nothing was left to take over')
    // A retry is a transfer of its own, so its attempts are counted anew.
    await session.push(wireFile('pay', bytes, { attempt: 1, again: true }), quiet, never)
  })
  assert.deepEqual(await readdir(inbox), ['pay'])
})

test('bytes that changed at the partner are found by comparing and sent again', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(12 * MIB, 5)
  const safe = await cutPush(inbox, host, bytes, 8 * MIB)
  const [part = ''] = await readdir(inbox)
  const there = await readFile(join(inbox, part))
  there[2 * MIB] = (there[2 * MIB] ?? 0) ^ 1
  await writeFile(join(inbox, part), there)
  await withSession(callTo({ inbox }), host, (session) =>
    session.push(wireFile('resumed', bytes, { restartFrom: safe }), quiet, never),
  )
  assert.ok((await readFile(join(inbox, 'resumed'))).equals(bytes))
})

test('a file whose rename was never answered counts as delivered, once', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(50_000, 6)
  await withSession(callTo({ inbox }), host, async (session) => {
    await session.push(wireFile('sure', bytes), quiet, never)
    // What a crash leaves behind: the file in place, and an engine that knows only that it was about to be.
    await session.push(wireFile('sure', bytes, { mayBeThere: true }), quiet, never)
    const whole = { mayBeThere: true, restartFrom: bytes.length }
    await session.push(wireFile('sure', bytes, whole), quiet, never)
    await assert.rejects(
      session.push(wireFile('sure', patternBytes(50_000, 7), whole), quiet, never),
      failsWith('name_taken'),
    )
  })
  assert.deepEqual(await readdir(inbox), ['sure'])
  assert.ok((await readFile(join(inbox, 'sure'))).equals(bytes))
})

test(
  'a rename that a sleeping server carries out late, while the file is sent again, delivers it once',
  { skip },
  async () => {
    const { inbox, host } = await freshFolders()
    const bytes = patternBytes(50_000, 6)
    const late = (content: Buffer) => ({ ...quiet, placing: () => writeFile(join(inbox, 'late'), content) })
    const file = wireFile('late', bytes, { mayBeThere: true })
    await withSession(callTo({ inbox }), host, async (session) => {
      await session.push(file, late(bytes), never)
      assert.deepEqual(await readdir(inbox), ['late'])
      await rm(join(inbox, 'late'))
      await assert.rejects(session.push(file, late(patternBytes(50_000, 7)), never), failsWith('name_taken'))
      await rm(join(inbox, 'late'))
      // Nobody has tried before: whatever lies there is not ours, even if it is the same.
      const first = wireFile('late', bytes)
      const refused = await session.push(first, late(bytes), never).catch((error: unknown) => error)
      assert.ok(failsWith('name_taken')(refused))
      assert.ok(isNotPlaced(refused), 'nor at a later attempt')
    })
    assert.deepEqual(await readdir(inbox), ['late'])
  },
)

/** Asleep from its first write on, from the second … and it wakes as its successor names the file, or a while later. */
const SLEEPS = Array.from({ length: 7 }, (_, writes) => writes)

for (const wakes of ['as its successor names the file', 'when the partner has taken the file'] as const)
  test(
    `a node that slept through an attempt of its successor, and wakes ${wakes}, leaves the file whole and sends nothing twice`,
    { skip },
    async (t) => {
      const line = await startSleepyLine(sshd.port)
      let slept = 0
      try {
        for (const writes of SLEEPS)
          for (const restartFrom of [0, 40_000])
            // It finds out at once that it has lost the file, or later.
            for (const awake of [1, 2, Infinity])
              slept += await sleepThrough(line, wakes, { writes, restartFrom, awake })
      } finally {
        await line.stop()
      }
      t.diagnostic(`asleep in ${slept} of ${SLEEPS.length * 6} attempts`)
      assert.ok(slept > 0, 'all of them ended before they were asleep')
    },
  )

async function sleepThrough(
  line: SleepyLine,
  wakes: 'as its successor names the file' | 'when the partner has taken the file',
  { writes, restartFrom, awake }: { writes: number; restartFrom: number; awake: number },
): Promise<number> {
  const { inbox, host } = await freshFolders()
  const bytes = patternBytes(120_000, writes)
  let holder = 1
  let mayBeThere = false
  const pushed = (session: Session, attempt: number, placing: () => Promise<void>) => {
    const mine = async () => {
      if (holder !== attempt) throw new NodeError('lease_lost', 'another node has it')
      mayBeThere = true
      await placing()
    }
    const change = { attempt, restartFrom, mayBeThere, again: attempt > 1 }
    return session.push(wireFile('pay', bytes, change), { ...quiet, placing: mine }, never)
  }
  // What an attempt before both of them left.
  const name = createHash('sha256')
    .update(JSON.stringify(['BANCO', 'NOMINA', 'pay', ...Object.values(keyFor('pay'))]))
    .digest('hex')
  if (restartFrom > 0)
    await writeFile(join(inbox, `.esclusa-${name.slice(0, 32)}.part`), bytes.subarray(0, restartFrom + 5000))

  const transport = sftpClientTransport()
  line.wake(Infinity)
  // Where half a request has come, there is no answer: it gives up.
  const timeouts = { connectMs: 60_000, syncMs: 60_000, ackMs: 1000, idleMs: 60_000 }
  const sleeper = await transport.connect(callTo({ inbox }, { port: line.port, timeouts }), host)
  line.sleepAfter(writes)
  const end = { come: false }
  const sleeping = pushed(sleeper, 1, async () => {})
    .catch(() => {})
    .finally(() => (end.come = true))
  await waitFor('the sleeper to sleep', () => end.come || line.sleeps())
  const isAsleep = !end.come
  const wake = async () => {
    const before = line.answers()
    line.wake(awake)
    const isBack = () => end.come || (awake !== Infinity && line.answers() > before)
    await waitFor('the sleeper to do what it can', isBack)
    line.cut()
  }
  const taken = join(inbox, '..', 'taken')
  await withSession(callTo({ inbox }), host, async (session) => {
    for (holder = 2; ; holder++) {
      const isFirst = holder === 2
      try {
        await pushed(session, holder, async () => {
          if (isFirst && wakes === 'as its successor names the file') await wake()
        })
        break
      } catch (error) {
        assert.ok(error instanceof NodeError && error.retry && isFirst, String(error))
      }
    }
  })
  const what = `asleep after ${writes} writes, from ${restartFrom}, awake for ${awake}`
  assert.ok((await readFile(join(inbox, 'pay'))).equals(bytes), what)
  await rename(join(inbox, 'pay'), taken)
  if (wakes === 'when the partner has taken the file') await wake()
  line.cut()
  await sleeping
  await sleeper.close()
  assert.deepEqual(
    (await readdir(inbox)).filter((one) => !one.startsWith('.')),
    [],
    `${what}: it came twice`,
  )
  assert.ok((await readFile(taken)).equals(bytes), `${what}: it was changed after it was taken`)
  return isAsleep ? 1 : 0
}

type Calling = {
  server: Awaited<ReturnType<typeof startTestListener>>
  own: HostDouble
  call: ReturnType<typeof callTo>
}

/** A call to a server of our own, which takes files over and hands them over. */
async function withListener(
  place: { inbox: string } | { outbox: string },
  run: (calling: Calling) => Promise<void>,
): Promise<void> {
  const server = await startTestListener()
  try {
    const hostKeys = [server.hostKey.fingerprint]
    const settings = { username: 'acme', privateKey: server.userKey.private, hostKeys, ...place }
    const own = new HostDouble(join(server.folder, 'calling'))
    await run({ server, own, call: callTo(settings, { port: server.port }) })
  } finally {
    await server.stop()
  }
}

test(
  'a server that takes files over at once: one whose rename was never answered counts as delivered, once',
  { skip },
  () =>
    withListener({ inbox: '/NOMINA/in' }, async ({ server, own, call }) => {
      const bytes = patternBytes(50_000, 8)
      await withSession(call, own, async (session) => {
        await session.push(wireFile('sure', bytes), quiet, never)
        // It is shown there for a while, and nobody may read it.
        await session.push(wireFile('sure', bytes, { mayBeThere: true }), quiet, never)
        const shorter = wireFile('sure', bytes.subarray(1), { mayBeThere: true })
        await assert.rejects(session.push(shorter, quiet, never), failsWith('name_taken'))
      })
      assert.equal(server.host.received.length, 1)
      // If the node dies while it looks, the next attempt must find what this one found: no temporary file.
      assert.equal(server.host.offers.length, 1, 'a look has begun an upload')
    }),
)

test('the same at a server that takes files over at once', { skip }, () =>
  withListener({ inbox: '/NOMINA/in' }, async ({ server, own, call }) => {
    const bytes = patternBytes(50_000, 8)
    const earlier = () =>
      withSession(call, own, (session) => session.push(wireFile('late', bytes), quiet, never))
    const placing = async () => void (await earlier())
    const other = { ...quiet, placing }
    await withSession(call, own, (session) =>
      session.push(wireFile('late', bytes, { mayBeThere: true, attempt: 2 }), other, never),
    )
    assert.deepEqual(
      server.host.received.map(({ offer }) => offer.name),
      ['late'],
    )
    assert.equal(server.host.open.size, 0)
  }),
)

for (const readable of [true, false])
  test(
    `what a broken line left at a server of our own is gone on with ${readable ? 'where it may be read back' : 'from its beginning, where nobody may read'}`,
    { skip },
    () =>
      withListener({ inbox: '/NOMINA/in' }, async ({ server, own, call }) => {
        const bytes = patternBytes(12 * MIB, 10)
        const stop = new AbortController()
        let safe = 0
        const untilSafe = (at: number) => {
          safe = at
          stop.abort(new NodeError('unavailable', 'the node stops'))
        }
        await withSession(call, own, (session) =>
          assert.rejects(
            session.push(wireFile('resumed', bytes), { ...quiet, safe: untilSafe }, stop.signal),
            failsWith('unavailable'),
          ),
        )
        assert.ok(safe > 0 && safe < bytes.length)
        // The server learns of the end of a line in its own time.
        await waitFor('the half to be kept', () => server.host.abandoned.length > 0)
        server.host.readable = readable
        let first: number | undefined
        const file = wireFile('resumed', bytes, { restartFrom: safe, verify: readable })
        const result = await withSession(call, own, (session) =>
          session.push(file, { ...quiet, moved: (at) => void (first ??= at) }, never),
        )
        assert.equal((first ?? 0) > safe, readable, `sent again from ${first}`)
        if (readable) assert.equal(result.remoteSha256, createHash('sha256').update(bytes).digest('hex'))
        assert.equal(server.host.received.length, 1)
        assert.ok((await server.host.bytesOf('resumed'))[0]?.equals(bytes))
      }),
  )

test(
  'a file that was read and could not be kept has not been taken from a server that hands files over',
  { skip },
  () =>
    withListener({ outbox: '/NOMINA/out' }, async ({ server, own, call }) => {
      const bytes = patternBytes(50_000, 9)
      server.outbox.put('NOMINA', 'file', bytes)
      own.onComplete = () => {
        throw new NodeError('no_space', 'the disk is full')
      }
      const fetch = () => withSession(call, own, (session) => session.fetch(never))
      await assert.rejects(fetch(), failsWith('no_space'))
      assert.deepEqual(server.outbox.takenLog, [], 'it is lost')
      own.onComplete = () => {}
      await fetch()
      assert.ok((await own.bytesOf('file'))[0]?.equals(bytes))
      assert.equal(server.outbox.files.size, 0)
    }),
)

test('the engine notes the last step before it is asked for, and may forbid it', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const seen: string[][] = []
  const placing = async () => void seen.push(await readdir(inbox))
  const lost = new NodeError('lease_lost', 'another node has it')
  await withSession(callTo({ inbox }), host, async (session) => {
    await session.push(wireFile('placed', Buffer.from('x')), { ...quiet, placing }, never)
    await assert.rejects(
      session.push(
        wireFile('forbidden', Buffer.from('x')),
        { ...quiet, placing: () => Promise.reject(lost) },
        never,
      ),
      failsWith('lease_lost'),
    )
  })
  assert.ok(!seen[0]?.includes('placed') && seen[0]?.length === 1, String(seen))
  assert.ok(!(await readdir(inbox)).includes('forbidden'))
})

test('a file that is given up at its last step takes nothing from those beside it', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const bytes = [1, 2, 3].map((seed) => patternBytes(1000, seed)) as [Buffer, Buffer, Buffer]
  await withSession(callTo({ inbox }), host, async (session) => {
    /** Resolves when the file is open at the server; goes on when told to. */
    const begin = async (name: string, content: Buffer) => {
      const [opened, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const file = wireFile(name, content)
      const read = file.source.read.bind(file.source)
      file.source.read = async (into, position) => {
        opened.resolve()
        await goOn.promise
        return read(into, position)
      }
      const pushed = session.push(file, quiet, never)
      await Promise.race([opened.promise, pushed])
      return async () => (goOn.resolve(), pushed)
    }
    // OpenSSH gives each file the handle of the one that was closed before.
    let endSecond = async (): Promise<unknown> => undefined
    const placing = async () => {
      endSecond = await begin('second', bytes[1])
      throw new NodeError('unavailable', 'the database does not answer')
    }
    const first = session.push(wireFile('first', bytes[0]), { ...quiet, placing }, never)
    await assert.rejects(first, failsWith('unavailable'))
    const endThird = await begin('third', bytes[2])
    await endSecond()
    await endThird()
  })
  assert.deepEqual(await readFile(join(inbox, 'second')), bytes[1])
  assert.deepEqual(await readFile(join(inbox, 'third')), bytes[2])
})

test('a wrong host key stops the call and the message shows the key offered', { skip }, async () => {
  const { host } = await freshFolders()
  const other = await makeKey(root, 'other-host')
  const call = callTo({ hostKeys: [other.fingerprint] })
  await assert.rejects(
    sftpClientTransport().connect(call, host),
    failsWith('host_key_mismatch', sshd.hostKey.fingerprint),
  )
  await assert.rejects(
    sftpClientTransport().connect(callTo({ hostKeys: [] }), host),
    failsWith('host_key_mismatch'),
  )
})

test('a pinned RSA key is found on a server that prefers to show another one', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  await withSession(callTo({ inbox, hostKeys: [sshd.rsaHostKey.fingerprint] }), host, (session) =>
    session.push(wireFile('pinned', Buffer.from('x')), quiet, never),
  )
  assert.deepEqual(await readdir(inbox), ['pinned'])
})

test('a wrong password, a wrong key and an unreadable key are refused for good', { skip }, async () => {
  const { host } = await freshFolders()
  const stranger = await makeKey(root, 'stranger')
  const connect = (settings: Partial<SftpSettings>) => sftpClientTransport().connect(callTo(settings), host)
  await assert.rejects(connect({ privateKey: undefined, password: 'wrong' }), failsWith('login_refused'))
  await assert.rejects(connect({ privateKey: stranger.private }), failsWith('login_refused'))
  await assert.rejects(connect({ privateKey: 'not a key' }), failsWith('bad_use'))
})

for (const [kind, args] of [
  ['rsa', ['-t', 'rsa', '-b', '3072']],
  ['ecdsa', ['-t', 'ecdsa', '-b', '256']],
  ['ecdsa PKCS #8', ['-t', 'ecdsa', '-b', '384', '-m', 'PKCS8']],
] as const) {
  test(`an ${kind} key signs in`, { skip }, async () => {
    const { inbox, host } = await freshFolders()
    const key = await makeKey(root, `user-${kind.replaceAll(/\W/g, '')}`, args)
    await writeFile(join(sshd.folder, 'authorized_keys'), `${sshd.userKey.public}\n${key.public}\n`)
    await withSession(callTo({ inbox, privateKey: key.private }), host, (session) =>
      session.push(wireFile('signed', Buffer.from('x')), quiet, never),
    )
    assert.deepEqual(await readdir(inbox), ['signed'])
  })
}

test('a folder that is missing or closed to us refuses the file in clear words', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  await withSession(callTo({ inbox: `${inbox}/missing` }), host, (session) =>
    assert.rejects(
      session.push(wireFile('x', Buffer.from('x')), quiet, never),
      failsWith('remote_refused', 'no such file or folder'),
    ),
  )
})

test('a folder without rights is refused', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  // Whoever runs this owns the folder, and root may do anything: the partner lets in somebody who may not.
  const username = userInfo().uid === 0 ? 'nobody' : sshd.username
  await chmod(root, 0o755)
  await chmod(inbox, 0o555)
  await withSession(callTo({ inbox, username }), host, (session) =>
    assert.rejects(
      session.push(wireFile('x', Buffer.from('x')), quiet, never),
      failsWith('remote_refused', 'permission denied'),
    ),
  )
})

function mountSmallDisk(folder: string): string | false {
  if (userInfo().uid !== 0) return 'mounting a small disk needs root'
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', folder], { stdio: 'ignore' })
    return false
  } catch {
    return 'a small disk cannot be mounted here'
  }
}

test(
  'a full disk at the partner is told as such, given back, and the file follows when there is room',
  { skip },
  async (t) => {
    const { inbox, host } = await freshFolders()
    const unable = mountSmallDisk(inbox)
    if (unable) return t.skip(unable)
    try {
      const bytes = patternBytes(4 * MIB, 8)
      let safe = 0
      const progress = { ...quiet, safe: (at: number) => (safe = at) }
      await withSession(callTo({ inbox }), host, (session) =>
        assert.rejects(session.push(wireFile('big', bytes), progress, never), failsWith('no_space')),
      )
      assert.deepEqual(await readdir(inbox), [], 'what it had no room for still lies there')
      execFileSync('mount', ['-o', 'remount,size=16m', inbox])
      await withSession(callTo({ inbox }), host, (session) =>
        session.push(wireFile('big', bytes, { restartFrom: safe }), quiet, never),
      )
      assert.ok((await readFile(join(inbox, 'big'))).equals(bytes))
    } finally {
      execFileSync('umount', [inbox])
    }
  },
)

test(
  'what lies in the outbox is taken once, and hidden, partial and strange things are left',
  { skip },
  async () => {
    const { outbox, host } = await freshFolders()
    const big = patternBytes(9 * MIB + 5, 9)
    await writeFile(join(outbox, 'big.bin'), big)
    for (let at = 0; at < 60; at++) await writeFile(join(outbox, `f${at}`), patternBytes(5000, at))
    await writeFile(join(outbox, 'empty'), '')
    await writeFile(join(outbox, '.hidden'), 'x')
    const growing = ['a.part', 'b.filepart', 'c.partial', 'd.TMP', 'e.temp']
    for (const name of growing) await writeFile(join(outbox, name), 'x')
    await mkdir(join(outbox, 'folder'))
    execFileSync('ln', ['-s', '/etc/passwd', join(outbox, 'link')])
    await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
    assert.equal(host.received.length, 62)
    assert.ok((await host.bytesOf('big.bin'))[0]?.equals(big))
    assert.ok((await host.bytesOf('f33'))[0]?.equals(patternBytes(5000, 33)))
    assert.deepEqual((await readdir(outbox)).sort(), ['.hidden', ...growing, 'folder', 'link'])
    assert.equal(host.open.size, 0)
    assert.equal(host.received[0]?.offer.application, 'NOMINA')
  },
)

test('an outbox named after the application is looked at for each of them', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  for (const application of ['AAA', 'BBB']) {
    await mkdir(join(outbox, application))
    await writeFile(join(outbox, application, 'file'), application)
  }
  await withSession(
    callTo({ outbox: `${outbox}/{application}` }, { applications: async () => ['AAA', 'BBB'] }),
    host,
    (session) => session.fetch(never),
  )
  assert.deepEqual(host.received.map((one) => one.offer.application).sort(), ['AAA', 'BBB'])
})

test('a refused file stays at the partner and the others still come', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  for (const name of ['a', 'b', 'c']) await writeFile(join(outbox, name), name)
  host.onOffer = (offer) => {
    if (offer.name === 'b') throw new NodeError('file_refused', 'not here')
  }
  await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
  assert.deepEqual(await readdir(outbox), ['b'])
  assert.deepEqual(host.received.map((one) => one.offer.name).sort(), ['a', 'c'])
})

test('a file that is still being written is left, and the others come', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  const growing = join(outbox, 'growing')
  await writeFile(growing, 'first line\n')
  await writeFile(join(outbox, 'whole'), 'whole')
  const writing = setInterval(() => appendFileSync(growing, 'next line\n'), 20)
  try {
    await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
  } finally {
    clearInterval(writing)
  }
  assert.deepEqual(
    host.offers.map(({ name }) => name),
    ['whole'],
  )
})

test('a file that has gone since the folder was listed holds up no other', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  for (const name of ['a', 'b', 'c']) await writeFile(join(outbox, name), name)
  host.onOffer = (offer) => {
    if (offer.name === 'b') rmSync(join(outbox, 'b'))
  }
  await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
  assert.deepEqual(host.received.map((one) => one.offer.name).sort(), ['a', 'c'])
})

test('what either end refuses, file or folder, is told when all the others are here', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  // More than go at once, and the oldest: those behind them must come all the same.
  const bad = Array.from({ length: 40 }, (_, at) => `bad${at}`)
  await mkdir(join(outbox, 'BBB'))
  for (const name of [...bad, 'good']) await writeFile(join(outbox, 'BBB', name), name)
  for (const name of bad) await utimes(join(outbox, 'BBB', name), 1_700_000_000, 1_700_000_000)
  host.onComplete = (offer) => {
    if (offer.name.startsWith('bad')) throw new NodeError('bad_signature', 'not signed')
  }
  // There is no folder of AAA.
  const call = callTo({ outbox: `${outbox}/{application}` }, { applications: async () => ['AAA', 'BBB'] })
  await withSession(call, host, (session) =>
    assert.rejects(session.fetch(never), failsWith('remote_refused')),
  )
  assert.deepEqual(
    host.received.map((one) => one.offer.name),
    ['good'],
  )
})

/** A process of its own, which can be limited. */
const SFTP_SERVER = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
  '/usr/libexec/sftp-server',
  '/usr/lib/ssh/sftp-server',
].find((path) => existsSync(path))

test('files that are refused when they are here do not stay open at an OpenSSH', { skip }, async (t) => {
  if (SFTP_SERVER === undefined) return t.skip('OpenSSH’s sftp-server is not found')
  const { outbox, host } = await freshFolders()
  const bad = Array.from({ length: 100 }, (_, at) => `bad${at}`)
  for (const name of [...bad, 'good']) await writeFile(join(outbox, name), name)
  for (const name of bad) await utimes(join(outbox, name), 1_700_000_000, 1_700_000_000)
  host.onComplete = (offer) => {
    if (offer.name.startsWith('bad')) throw new NodeError('bad_signature', 'not signed')
  }
  const few = await startOpenSsh(`ForceCommand ulimit -n 64 && exec ${SFTP_SERVER}`)
  closeAfter(t, () => few.stop())
  const call = sftpCall(few.port, { ...signInTo(few), inbox: '/nowhere', outbox })
  await withSession(call, host, (session) => assert.rejects(session.fetch(never), failsWith('bad_signature')))
  assert.deepEqual(
    host.received.map((one) => one.offer.name),
    ['good'],
  )
})

/** An Esclusa that lets few files be open at once, with files for us of which most are refused when they are here. */
async function refusedAtEsclusa(t: TestContext, sessions?: number) {
  const server = await startTestListener({ limits: { handlesPerChannel: 40 } })
  closeAfter(t, () => server.stop())
  const names = Array.from({ length: 60 }, (_, at) => `bad${String(at).padStart(2, '0')}`)
  for (const name of [...names, 'good', 'other']) server.outbox.put('NOMINA', name, Buffer.from(name))
  const host = new HostDouble(join(server.folder, 'caller'))
  host.onComplete = (offer) => {
    if (offer.name.startsWith('bad')) throw new NodeError('bad_signature', 'not signed')
  }
  const { username, password } = server.access
  const hostKeys = [server.hostKey.fingerprint]
  const settings = { username, password, hostKeys, inbox: '/{application}/in', outbox: '/{application}/out' }
  return { server, host, names, call: sftpCall(server.port, { ...settings, sessions }) }
}

test('where refused files stay open at the partner, those behind them come over further connections, and none counts as taken', async (t) => {
  const { server, host, names, call } = await refusedAtEsclusa(t)
  await withSession(call, host, async (session) => {
    await assert.rejects(session.fetch(never), failsWith('bad_signature'))
    assert.deepEqual(host.received.map((one) => one.offer.name).sort(), ['good', 'other'])
    assert.deepEqual(
      server.outbox.takenLog.filter((one) => one.includes('bad')),
      [],
    )
    // What the session has left open counts in its next fetch too.
    server.outbox.put('NOMINA', 'late', Buffer.from('late'))
    await assert.rejects(session.fetch(never), failsWith('bad_signature'))
  })
  assert.deepEqual(host.received.map((one) => one.offer.name).sort(), ['good', 'late', 'other'])
  assert.deepEqual(
    [...server.outbox.files.keys()],
    names.map((name) => `NOMINA/${name}`),
  )
  await waitFor('nothing stays open at the partner', async () => server.outbox.opened === 0)
})

test('a partner that allows one connection gets no further one for the files behind refused ones', async (t) => {
  const { server, host, names, call } = await refusedAtEsclusa(t, 1)
  await withSession(call, host, (session) => assert.rejects(session.fetch(never), failsWith('bad_signature')))
  assert.equal(server.host.sessions.length, 1)
  assert.ok(host.offers.length < names.length, 'all the others were asked for')
  assert.deepEqual(server.outbox.takenLog, [])
})

test('files that the partner does not let be removed do not hide those behind them', { skip }, async (t) => {
  const { outbox, host } = await freshFolders()
  const names = Array.from({ length: 80 }, (_, at) => `kept${String(at).padStart(2, '0')}`)
  for (const name of names) await writeFile(join(outbox, name), name)
  const readOnly = await startOpenSsh('ForceCommand internal-sftp -R')
  closeAfter(t, () => readOnly.stop())
  const call = sftpCall(readOnly.port, { ...signInTo(readOnly), inbox: '/nowhere', outbox })
  await withSession(call, host, (session) =>
    assert.rejects(session.fetch(never), failsWith('remote_refused')),
  )
  assert.deepEqual(host.received.map((one) => one.offer.name).sort(), names)
})

test(
  'a file of the same name, size and second as one that was received is read before it is removed',
  { skip },
  async () => {
    const { outbox, host } = await freshFolders()
    host.remembers = true
    const put = async (text: string) => {
      await writeFile(join(outbox, 'X'), text)
      await utimes(join(outbox, 'X'), 1_700_000_000, 1_700_000_000)
      await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
      assert.deepEqual(await readdir(outbox), [])
    }
    const texts = async () => (await host.bytesOf('X')).map(String)
    await put('first')
    await put('other')
    assert.deepEqual(await texts(), ['first', 'other'])
    // As after a removal that failed: each of them is here, and goes without coming again.
    await put('other')
    await put('first')
    assert.deepEqual(await texts(), ['first', 'other'])
  },
)

test(
  'a file that the partner does not let be removed comes once, and is not read at every fetch',
  { skip },
  async (t) => {
    const { outbox, host } = await freshFolders()
    host.remembers = true
    const readOnly = await startOpenSsh('ForceCommand internal-sftp -R')
    closeAfter(t, () => readOnly.stop())
    const call = sftpCall(readOnly.port, { ...signInTo(readOnly), inbox: '/nowhere', outbox })
    const put = async (text: string) => {
      await writeFile(join(outbox, 'kept'), text)
      await utimes(join(outbox, 'kept'), 1_700_000_000, 1_700_000_000)
    }
    await put('first')
    const fetchBy = async (transport: ReturnType<typeof sftpClientTransport>) => {
      const session = await transport.connect(call, host)
      await assert.rejects(session.fetch(never), failsWith('remote_refused', 'remove'))
      await session.close()
    }
    const node = sftpClientTransport()
    for (let nth = 0; nth < 3; nth++) await fetchBy(node)
    assert.equal(host.received.length, 1)
    // Nobody has read it: otherwise this would have come.
    await put('other')
    await fetchBy(node)
    assert.equal(host.received.length, 1)
    // A node that has started over has compared nothing yet.
    await fetchBy(sftpClientTransport())
    assert.deepEqual((await host.bytesOf('kept')).map(String), ['first', 'other'])
  },
)

test('a file that cannot be completed stays at the partner', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  await writeFile(join(outbox, 'kept'), 'kept')
  host.onComplete = () => {
    throw new NodeError('no_space', 'the disk is full')
  }
  await withSession(callTo({ outbox }), host, (session) =>
    assert.rejects(session.fetch(never), failsWith('no_space')),
  )
  assert.deepEqual(await readdir(outbox), ['kept'])
})

test('a file replaced while the engine completes the old one is not removed', { skip }, async () => {
  const { outbox, host } = await freshFolders()
  await writeFile(join(outbox, 'again'), 'first')
  host.onComplete = async () => {
    await writeFile(join(outbox, 'again'), 'second version')
  }
  await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
  assert.equal(await readFile(join(outbox, 'again'), 'utf8'), 'second version')
})

test(
  'the same file offered twice has the same key; another moment or size makes another one',
  { skip },
  async () => {
    const { outbox, host } = await freshFolders()
    const path = join(outbox, 'keyed')
    const put = async (text: string, moment: number) => {
      await writeFile(path, text)
      await utimes(path, moment, moment)
      await withSession(callTo({ outbox }), host, (session) => session.fetch(never))
    }
    await put('aaaa', 1_700_000_000)
    await put('aaaa', 1_700_000_000)
    await put('aaaa', 1_700_000_001)
    await put('aaaaa', 1_700_000_000)
    const keys = host.offers.map((offer) => JSON.stringify(offer.key))
    assert.equal(keys[0], keys[1])
    assert.equal(new Set(keys).size, 3)
  },
)

test('a stopped push ends at once, leaves no temporary file and the session goes on', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const stop = new AbortController()
  await withSession(callTo({ inbox }), host, async (session) => {
    const progress = { ...quiet, moved: () => stop.abort(new NodeError('cancelled', 'reset')) }
    await assert.rejects(
      session.push(wireFile('stopped', patternBytes(4 * MIB, 10)), progress, stop.signal),
      failsWith('cancelled'),
    )
    await session.push(wireFile('next', Buffer.from('next')), quiet, never)
  })
  assert.deepEqual(await readdir(inbox), ['next'])
})

test('a push that is stopped as it begins leaves no temporary file', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  let stopped = 0
  await withSession(callTo({ inbox }), host, async (session) => {
    // At any of its first moments: among them that in which the file was opened and nothing was written.
    for (let nth = 0; nth < 40; nth++) {
      const stop = new AbortController()
      const name = `stopped-${nth}`
      const pushing = session.push(wireFile(name, patternBytes(MIB, nth)), quiet, stop.signal)
      const ended = pushing.catch((error: unknown) => error)
      for (let turn = 0; turn < nth % 8; turn++) await new Promise((resolve) => setImmediate(resolve))
      stop.abort(new NodeError('cancelled', 'reset'))
      const end = await ended
      // It was quicker.
      if (end instanceof Error) assert.ok(failsWith('cancelled')(end))
      else await rm(join(inbox, name))
      stopped += end instanceof Error ? 1 : 0
    }
    await session.push(wireFile('next', Buffer.from('next')), quiet, never)
  })
  assert.ok(stopped >= 10, `${stopped} of 40 were stopped`)
  assert.deepEqual(await readdir(inbox), ['next'])
})

test('nothing listens: the call fails as unreachable and may be tried again', { skip }, async () => {
  const { host } = await freshFolders()
  await assert.rejects(
    sftpClientTransport().connect(callTo({}, { port: 1 }), host),
    failsWith('connect_failed'),
  )
})

test('a session stays open for whoever holds it, however long the next file takes', { skip }, async () => {
  const { inbox, host } = await freshFolders()
  const timeouts = { connectMs: 60_000, syncMs: 60_000, ackMs: 60_000, idleMs: 1 }
  await withSession(callTo({ inbox }, { timeouts }), host, async (session) => {
    // Another call, which takes longer than the idle time.
    await withSession(callTo({ inbox }), host, (other) =>
      other.push(wireFile('other', Buffer.from('b')), quiet, never),
    )
    await session.push(wireFile('late', Buffer.from('a')), quiet, never)
  })
  assert.equal(await readFile(join(inbox, 'late'), 'utf8'), 'a')
})
