// What every transport must do, whatever its protocol: the promises at the head of transport.ts, put to the test. A
// transport takes part by a setup that gives a fresh partner for each test; what its protocol cannot do is said by the
// partner (`lacks`) and shows as a skipped test, never as a missing one.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NodeError } from '../../src/errors.ts'
import type { ErrorCode } from '../../src/errors.ts'
import { MemoryHost, MemorySource, Told, fileOf, sampleBytes, sha256 } from './transport-ends.ts'
import type { Session, SessionHost, WireFile } from '../../src/engine/transports/transport.ts'

export type Lack =
  /** Nothing can be fetched. */
  | 'fetch'
  /** Several files at once over one session. */
  | 'concurrency'
  /** A taken name is the partner's business. */
  | 'taken names'
  /** The SHA-256 at the other end cannot be learned. */
  | 'remote hash'
  /** Half a file is the partner's to keep or drop. */
  | 'removing partials'

export type ConformancePartner = {
  lacks: readonly Lack[]
  connect: (host: SessionHost) => Promise<Session>
  /** What the partner sees under real names. */
  received: () => Promise<ReadonlyMap<string, Buffer>>
  /** How many half files lie at the partner's end. */
  partials: () => Promise<number>
  /** Puts a file where the next push would go. */
  occupy: (name: string, bytes: Buffer) => Promise<void>
  /** Makes a file ready for us to fetch. */
  offer: (name: string, bytes: Buffer) => Promise<void>
  /** What is still ready for us. */
  offered: () => Promise<string[]>
  /** Whether the protocol can carry the name; one that it cannot must be refused with file_refused. */
  carries: (name: string) => boolean
}

export type ConformanceSetup = (t: TestContext) => Promise<ConformancePartner>

const MIB = 1024 * 1024
const SIZES = [0, 1, 4095, 65_537, 5 * MIB + 17]
const NAMES = [
  'plain.txt',
  'with  two spaces.txt',
  `quote' and "double".txt`,
  'line\nbreak.txt',
  'tab\there.txt',
  'nómina €uro 日本.txt',
  '$(touch x);`y`|&.txt',
  'per%20cent%s.txt',
  '-rf',
  `${'n'.repeat(251)}.txt`,
  'é'.repeat(127),
]
const never = new AbortController().signal

type Scene = { partner: ConformancePartner; host: MemoryHost; session: Session; t: TestContext }

export function transportConformance(
  name: string,
  setup: ConformanceSetup,
  options: { skip?: string | false } = {},
): void {
  const check: Check = (title, run, needs) => {
    void test(`${name}: ${title}`, { skip: options.skip ?? false }, async (t) => {
      const partner = await setup(t)
      if (needs !== undefined && partner.lacks.includes(needs)) return t.skip(`its protocol has no ${needs}`)
      const before = openFiles()
      const host = new MemoryHost()
      const session = await partner.connect(host)
      try {
        await run({ partner, host, session, t })
      } finally {
        await session.close()
      }
      await nothingLeftOpen(before)
    })
  }
  pushes(check)
  breaks(check)
  placings(check)
  fetches(check)
}

type Check = (title: string, run: (scene: Scene) => Promise<void>, needs?: Lack) => void

function pushes(check: Check): void {
  check(
    'files of every size arrive byte for byte and leave nothing beside them',
    async ({ partner, session }) => {
      for (const size of SIZES) await pushWhole(session, `size-${size}.bin`, sampleBytes(size, size + 1))
      const received = await partner.received()
      assert.deepEqual([...received.keys()].sort(), SIZES.map((size) => `size-${size}.bin`).sort())
      for (const size of SIZES)
        assert.ok(received.get(`size-${size}.bin`)?.equals(sampleBytes(size, size + 1)), `${size} octets`)
      assert.equal(await partner.partials(), 0)
    },
  )

  check('odd names arrive as they are, or are refused with file_refused', async ({ partner, session }) => {
    for (const [index, name] of NAMES.entries()) {
      const pushing = pushWhole(session, name, sampleBytes(100, index))
      if (partner.carries(name)) await pushing
      else await assert.rejects(pushing, failsWith('file_refused'))
    }
    const received = await partner.received()
    assert.deepEqual([...received.keys()].sort(), NAMES.filter((name) => partner.carries(name)).sort())
    for (const [name, bytes] of received) assert.ok(bytes.equals(sampleBytes(100, NAMES.indexOf(name))), name)
  })

  check(
    'bytes are read once, in order, and the file is visible only after placing',
    async ({ partner, session }) => {
      const source = new MemorySource(sampleBytes(3 * MIB + 5))
      const told = new Told()
      told.onPlacing = async () => assert.equal((await partner.received()).size, 0, 'visible before placing')
      await session.push(fileOf('once.bin', source), told, never)
      let expected = 0
      for (const { position, length } of source.reads) {
        assert.equal(position, expected)
        expected += length
      }
      assert.equal(expected, source.size)
      assert.equal(told.placings, 1)
      assert.equal(told.moves.at(-1), source.size)
      assert.deepEqual(
        told.moves,
        told.moves.toSorted((a, b) => a - b),
      )
      assert.deepEqual([...(await partner.received()).keys()], ['once.bin'])
    },
  )

  check(
    'the SHA-256 at the other end is that of what lies there',
    async ({ session }) => {
      const bytes = sampleBytes(MIB + 1)
      const file = fileOf('hashed.bin', new MemorySource(bytes), { verify: true })
      const told = new Told()
      const heard: (string | undefined)[] = []
      told.onPlacing = async (hash) => void heard.push(hash)
      assert.equal((await session.push(file, told, never)).remoteSha256, sha256(bytes))
      assert.deepEqual(heard, [sha256(bytes)], 'it is told before the file gets its name')
    },
    'remote hash',
  )

  check(
    'bytes that went wrong on the way are never seen under the real name',
    async ({ session, partner }) => {
      const file = fileOf('wrong.bin', new MemorySource(sampleBytes(1000)), { verify: true })
      const told = new Told()
      told.onPlacing = async () => {
        throw new NodeError('hash_mismatch', 'not what was sent')
      }
      await assert.rejects(session.push(file, told, never), { code: 'hash_mismatch' })
      assert.deepEqual([...(await partner.received()).keys()], [])
    },
    'remote hash',
  )

  check(
    'twenty files at once over one session do not mix',
    async ({ partner, session }) => {
      const numbers = Array.from({ length: 20 }, (_, index) => index)
      await Promise.all(numbers.map((at) => pushWhole(session, `many-${at}`, sampleBytes(100_000 + at, at))))
      const received = await partner.received()
      for (const at of numbers) assert.ok(received.get(`many-${at}`)?.equals(sampleBytes(100_000 + at, at)))
      assert.equal(received.size, 20)
    },
    'concurrency',
  )

  check('a closed session says so and takes nothing more', async ({ session, partner }) => {
    await session.close()
    assert.ok(session.ended.aborted)
    await assert.rejects(pushWhole(session, 'late.txt', sampleBytes(10)), NodeError)
    assert.equal((await partner.received()).size, 0)
  })

  check('closing a session ends what runs through it, half way', async ({ session, partner }) => {
    const source = new MemorySource(sampleBytes(8 * MIB))
    let closing: Promise<void> | undefined
    const file = fileOf('half.bin', {
      size: source.size,
      read: (into, position) => {
        if (position >= 2 * MIB) closing ??= session.close()
        return source.read(into, position)
      },
    })
    await assert.rejects(session.push(file, new Told(), never), NodeError)
    await closing
    assert.equal((await partner.received()).size, 0)
  })
}

async function pushWhole(session: Session, name: string, bytes: Buffer): Promise<WireFile> {
  const file = fileOf(name, new MemorySource(bytes))
  await session.push(file, new Told(), never)
  await session.settled?.(file.key)
  return file
}

function breaks(check: Check): void {
  check('a push cut at any octet goes on and both files are identical', async ({ partner, host }) => {
    const bytes = sampleBytes(2 * MIB + 3)
    for (const cut of [0, 1, 70_000, MIB, bytes.length - 1]) {
      const name = `cut-${cut}.bin`
      const file = fileOf(name, new MemorySource(bytes, cut))
      const told = new Told()
      const first = await partner.connect(host)
      await assert.rejects(first.push(file, told, never), failsWith('connection_lost'))
      await first.close()
      assert.equal((await partner.received()).has(name), false, 'half a file is visible')
      // The belief may be too high: the partner knows what it has.
      const second = await partner.connect(host)
      const whole = fileOf(name, new MemorySource(bytes), { key: file.key, restartFrom: cut })
      await second.push(whole, new Told(), never)
      await second.settled?.(file.key)
      await second.close()
      assert.ok((await partner.received()).get(name)?.equals(bytes), `cut at ${cut}`)
    }
    assert.equal(await partner.partials(), 0)
  })

  check('an abort stops the push with its reason and leaves nothing visible', async ({ partner, host }) => {
    const reason = new NodeError('unavailable', 'the node is stopping')
    const { file, bytes } = await abortedPush(partner, host, reason)
    assert.equal((await partner.received()).size, 0)
    const again = await partner.connect(host)
    const restartFrom = bytes.length
    await again.push(
      fileOf(file.name, new MemorySource(bytes), { key: file.key, restartFrom }),
      new Told(),
      never,
    )
    await again.close()
    assert.ok((await partner.received()).get(file.name)?.equals(bytes))
  })

  check(
    'a push that is cancelled leaves no partial file',
    async ({ partner, host }) => {
      await abortedPush(partner, host, new NodeError('cancelled', 'reset'))
      assert.equal((await partner.received()).size, 0)
      assert.equal(await partner.partials(), 0)
    },
    'removing partials',
  )
}

/** Aborts in the middle of the bytes. */
async function abortedPush(partner: ConformancePartner, host: MemoryHost, reason: NodeError) {
  const bytes = sampleBytes(8 * MIB)
  const stop = new AbortController()
  const session = await partner.connect(host)
  const source = new MemorySource(bytes)
  const file = fileOf('aborted.bin', {
    size: source.size,
    read: (into, position) => {
      if (position >= 3 * MIB) stop.abort(reason)
      return source.read(into, position)
    },
  })
  await assert.rejects(session.push(file, new Told(), stop.signal), failsWith(reason.code))
  await session.close()
  return { file, bytes }
}

function placings(check: Check): void {
  check(
    'a name that is taken is never overwritten',
    async ({ partner, session }) => {
      await partner.occupy('taken.txt', Buffer.from('of somebody else'))
      await assert.rejects(pushWhole(session, 'taken.txt', Buffer.from('ours')), failsWith('name_taken'))
      assert.equal((await partner.received()).get('taken.txt')?.toString(), 'of somebody else')
    },
    'taken names',
  )

  check('a push that may have arrived looks first, and sends only what is not there', async (scene) => {
    const { partner, session } = scene
    for (const size of [0, 100_000]) {
      const bytes = sampleBytes(size, 9)
      const there = fileOf(`there-${size}.bin`, new MemorySource(bytes))
      await session.push(there, new Told(), never)
      const again = { ...there, source: new MemorySource(bytes), restartFrom: size, mayBeThere: true }
      await session.push(again, new Told(), never)
      await session.settled?.(there.key)
      const absent = fileOf(`absent-${size}.bin`, new MemorySource(bytes), {
        restartFrom: size,
        mayBeThere: true,
      })
      await session.push(absent, new Told(), never)
      await session.settled?.(absent.key)
      const received = await partner.received()
      assert.ok(received.get(there.name)?.equals(bytes))
      assert.ok(received.get(absent.name)?.equals(bytes))
    }
    assert.equal((await partner.received()).size, 4)
    assert.equal(await partner.partials(), 0)
  })

  check('nothing is visible when this node may no longer go on at placing', async ({ partner, host }) => {
    for (const code of ['lease_lost', 'cancelled', 'file_changed'] as const) {
      const session = await partner.connect(host)
      const told = new Told()
      told.onPlacing = () => Promise.reject(new NodeError(code, 'no'))
      const file = fileOf(`unplaced-${code}.bin`, new MemorySource(sampleBytes(200_000)))
      await assert.rejects(session.push(file, told, never), failsWith(code))
      await session.close()
      assert.equal((await partner.received()).size, 0, code)
    }
  })
}

function fetches(check: Check): void {
  const needs = 'fetch'
  check(
    'what the partner has is fetched byte for byte and taken away',
    async ({ partner, session, host }) => {
      for (const size of SIZES) await partner.offer(`size-${size}.bin`, sampleBytes(size, size + 2))
      await session.fetch(never)
      assert.equal(host.received.size, SIZES.length)
      for (const size of SIZES)
        assert.ok(
          host.received.get(`size-${size}.bin`)?.equals(sampleBytes(size, size + 2)),
          `${size} octets`,
        )
      assert.deepEqual(await partner.offered(), [])
      assert.equal(host.open, 0)
      await session.fetch(never)
      assert.equal(host.offers.length, SIZES.length, 'nothing is offered twice')
    },
    needs,
  )

  check(
    'odd names are fetched as they are',
    async ({ partner, session, host }) => {
      const names = NAMES.filter((name) => partner.carries(name) && name !== 'plain.txt')
      for (const name of names) await partner.offer(name, Buffer.from(name))
      await session.fetch(never)
      assert.deepEqual([...host.received.keys()].sort(), names.sort())
    },
    needs,
  )

  check(
    'a file that is refused stays with the partner and holds up no other',
    async ({ partner, session, host }) => {
      for (const name of ['a', 'b', 'c']) await partner.offer(name, Buffer.from(name))
      host.onOffer = (offer) => {
        if (offer.name === 'a') throw new NodeError('file_refused', 'not wanted')
      }
      await session.fetch(never).catch(() => {})
      assert.deepEqual([...host.received.keys()].sort(), ['b', 'c'])
      assert.deepEqual(await partner.offered(), ['a'])
    },
    needs,
  )

  check(
    'what could not be put in place here stays with the partner',
    async ({ partner, session, host }) => {
      await partner.offer('kept.txt', Buffer.from('kept'))
      host.onComplete = () => {
        throw new NodeError('name_taken', 'there is one already')
      }
      await session.fetch(never).catch(() => {})
      assert.deepEqual(await partner.offered(), ['kept.txt'])
      assert.equal(host.received.size, 0)
    },
    needs,
  )

  check(
    'a fetch that breaks off goes on where it was',
    async ({ partner, host }) => {
      const bytes = sampleBytes(4 * MIB + 1)
      await partner.offer('long.bin', bytes)
      const stop = new AbortController()
      host.onWrite = (_offer, position) => {
        if (position >= 2 * MIB) stop.abort(new NodeError('unavailable', 'the node is stopping'))
      }
      const first = await partner.connect(host)
      await assert.rejects(first.fetch(stop.signal), failsWith('unavailable'))
      await first.close()
      assert.equal(host.received.size, 0)
      assert.equal(host.open, 0, 'an incoming file was neither completed nor abandoned')
      assert.deepEqual(await partner.offered(), ['long.bin'])
      let from = -1
      host.onWrite = (_offer, position) => void (from = from < 0 ? position : Math.min(from, position))
      const second = await partner.connect(host)
      await second.fetch(never)
      await second.close()
      assert.ok(host.received.get('long.bin')?.equals(bytes))
      assert.ok(from > 0, 'it began anew')
    },
    needs,
  )
}

function failsWith(code: ErrorCode) {
  return (thrown: unknown) => {
    assert.ok(thrown instanceof NodeError, `not a NodeError: ${String(thrown)}`)
    assert.equal(thrown.code, code, thrown.message)
    return true
  }
}

/** Handles and sockets of this process; Linux tells. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

/** What is closed goes away over some turns of the event loop. */
async function nothingLeftOpen(before: number | undefined): Promise<void> {
  if (before === undefined) return
  for (let turn = 0; turn < 5000 && (openFiles() ?? 0) > before; turn++) await nextTurn()
  assert.ok((openFiles() ?? 0) <= before, 'a handle or socket was left open')
}
