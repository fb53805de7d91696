import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnEnds } from 'node:timers/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { Session } from '../transports/transport.ts'
import { Lines } from './lines.ts'
import type { ExtraLine, LineWork, MoreLines, Waiting } from './lines.ts'

type Named = Session & { name: string; end(reason: NodeError): void }

function filesOf(count: number, size = 10): TransferFileRecord[] {
  return Array.from({ length: count }, (_, index) => ({ index, size }) as TransferFileRecord)
}

function sessionOf(name: string): Named {
  const ended = new AbortController()
  return {
    name,
    answerMs: 1,
    ended: ended.signal,
    end: (reason: NodeError) => ended.abort(reason),
  } as unknown as Named
}

const aTurn = (_session: Session): Promise<unknown> => turnEnds()

const nameOf = (session: Session) => (session as Named).name

/** Each file takes one turn of the event loop. */
function workOf(
  who: string,
  went: string[],
  { atOnce = 1, send = aTurn } = {},
): LineWork & { failures: unknown[]; stop: AbortController } {
  const stop = new AbortController()
  const failures: unknown[] = []
  return {
    atOnce,
    over: stop.signal,
    stop,
    failures,
    failed: (_, thrown, { ended }) => {
      failures.push(thrown)
      if (ended.aborted) stop.abort(thrown)
    },
    send: async (session, { index }) => {
      await send(session)
      went.push(`${who} ${index} ${nameOf(session)}`)
    },
  }
}

/** Sends twenty files, and tells over which session each went and how often a further one was asked for. */
async function sendAll(answer: (asked: number, sent: number) => ExtraLine | 'no room' | 'refused') {
  const went: string[] = []
  let asked = 0
  const more: MoreLines = {
    wanted: ({ lines, files }: Waiting) => (files > 0 ? 2 : lines),
    open: () => Promise.resolve(answer(++asked, went.length)),
  }
  await new Lines(sessionOf('first'), more).sendAll(filesOf(20), workOf('it', went))
  assert.equal(new Set(went.map((one) => one.split(' ')[1])).size, 20)
  assert.equal(went.length, 20)
  return { over: new Set(went.map((one) => one.split(' ')[2])), asked }
}

test('where there is no room for a further session yet, each file asks again', async () => {
  let back = 0
  const line = { session: sessionOf('second'), giveBack: () => back++ }
  const { over, asked } = await sendAll((_, sent) => (sent < 5 ? 'no room' : line))
  assert.deepEqual(over, new Set(['first', 'second']))
  assert.ok(asked > 2, `asked ${asked} times`)
  assert.equal(back, 1)
})

test('a partner that has refused a further session is not asked again', async () => {
  const { over, asked } = await sendAll(() => 'refused')
  assert.deepEqual([over, asked], [new Set(['first']), 1])
})

test('as many further lines as there are are tried for at once, and never many', async () => {
  const waves: number[] = []
  let calling = 0
  const more: MoreLines = {
    wanted: ({ lines, files }: Waiting) => Math.min(30, lines + files),
    open: async () => {
      if (calling++ === 0) waves.push(0)
      waves.push((waves.pop() ?? 0) + 1)
      await turnEnds()
      calling--
      return { session: sessionOf(`further ${waves.length}`), giveBack: () => {} }
    },
  }
  await new Lines(sessionOf('first'), more).sendAll(filesOf(1000), workOf('it', []))
  assert.deepEqual(waves, [1, 2, 4, 8, 8, 6])
})

test('a transfer of many files lets others have the line after some of its own', async () => {
  const went: string[] = []
  const lines = new Lines(sessionOf('first'))
  const many = lines.sendAll(filesOf(200), workOf('many', went))
  await turnEnds()
  await lines.sendAll(filesOf(3), workOf('few', went))
  const before = went.indexOf('few 2 first')
  assert.ok(before < 80, `the last of three came after ${before} files`)
  const first = went.indexOf('few 0 first')
  assert.deepEqual(went.slice(first, first + 3), ['few 0 first', 'few 1 first', 'few 2 first'])
  await many
  assert.equal(went.length, 203)
})

test('big files let others have the line after each', async () => {
  const went: string[] = []
  const lines = new Lines(sessionOf('first'))
  await Promise.all([
    lines.sendAll(filesOf(3, 2 ** 30), workOf('one', went)),
    lines.sendAll(filesOf(3, 2 ** 30), workOf('other', went)),
  ])
  assert.deepEqual(
    went.map((one) => one.split(' ')[0]),
    ['one', 'other', 'one', 'other', 'one', 'other'],
  )
})

test('the files of all transfers count for how many lines there are, and each line works for another one', async () => {
  const went: string[] = []
  const heard: number[] = []
  let made = 0
  let open = 0
  const more: MoreLines = {
    wanted: ({ files, lines }) => {
      heard.push(files)
      return files > 20 ? 4 : lines
    },
    open: () => {
      open++
      return Promise.resolve({ session: sessionOf(`further ${++made}`), giveBack: () => void open-- })
    },
  }
  const lines = new Lines(sessionOf('first'), more)
  const parts = Array.from({ length: 8 }, (_, nth) => lines.sendAll(filesOf(16), workOf(`${nth}`, went)))
  await Promise.all(parts)
  assert.ok(Math.max(...heard) > 100, `${Math.max(...heard)} files were seen to wait`)
  assert.equal(made, 3)
  assert.equal(open, 0, 'given back when nothing is under way any more')
  assert.equal(went.length, 8 * 16)
  // As long as there are transfers enough, no two lines work for the same one.
  const early = went.slice(0, 48)
  for (const nth of new Set(early.map((one) => one.split(' ')[0])))
    assert.equal(
      new Set(early.filter((one) => one.startsWith(`${nth} `)).map((one) => one.slice(one.indexOf(' ', 2))))
        .size,
      1,
    )
})

test('files wait on no line behind a big one of another transfer', async () => {
  const went: string[] = []
  const [first, second] = [sessionOf('first'), sessionOf('second')]
  const big = Promise.withResolvers<void>()
  const more: MoreLines = {
    wanted: () => 2,
    open: () => Promise.resolve({ session: second, giveBack: () => {} }),
  }
  const lines = new Lines(first, more)
  const long = lines.sendAll(
    filesOf(1, 2 ** 30),
    workOf('long', went, { atOnce: 4, send: () => big.promise }),
  )
  await lines.sendAll(filesOf(6), workOf('few', went, { atOnce: 4 }))
  assert.deepEqual(
    went,
    Array.from({ length: 6 }, (_, nth) => `few ${nth} second`),
  )
  big.resolve()
  await long
})

test('a reset that cuts a further line in the middle of a file costs other transfers nothing', async () => {
  const went: string[] = []
  const second = sessionOf('second')
  let refused: boolean | undefined
  let asked = 0
  const more: MoreLines = {
    wanted: ({ lines }) => (asked === 0 ? 2 : lines),
    open: () => {
      asked++
      return Promise.resolve({ session: second, giveBack: (isRefused) => void (refused = isRefused) })
    },
  }
  const cut = new NodeError('cancelled', 'file 7 was stopped')
  const waits = Promise.withResolvers<void>()
  const send = async (session: Session) => {
    await turnEnds()
    if (session !== second) return
    await waits.promise
    throw cut
  }
  const lines = new Lines(sessionOf('first'), more)
  const works = ['a', 'b'].map((who) => workOf(who, went, { send, atOnce: 2 }))
  const all = works.map((work) => lines.sendAll(filesOf(40), work))
  await turnEnds()
  second.end(cut)
  waits.resolve()
  await Promise.all(all)
  assert.equal(went.length, 80)
  assert.equal(refused, false)
  assert.deepEqual(
    works.flatMap(({ failures }) => failures),
    [],
  )
})

test('a first line that breaks ends the attempt of each transfer that has a file to begin', async () => {
  const went: string[] = []
  const first = sessionOf('first')
  const lost = new NodeError('connection_lost', 'gone')
  const send = async () => {
    await turnEnds()
    first.ended.throwIfAborted()
  }
  const lines = new Lines(first)
  const works = ['a', 'b', 'c'].map((who) => workOf(who, went, { send }))
  const all = works.map((work) => lines.sendAll(filesOf(20), work))
  await turnEnds()
  first.end(lost)
  await Promise.all(all)
  assert.deepEqual(
    works.map(({ failures }) => failures),
    [[lost], [lost], [lost]],
  )
})

test('a session that is cut for one file ends its own transfer by that, and others by the cut', async () => {
  const went: string[] = []
  const first = sessionOf('first')
  const cut = new NodeError('cancelled', 'the session was cut in the middle of another file')
  const changed = new NodeError('file_changed', 'it changed')
  const told = Promise.withResolvers<void>()
  let begun = 0
  // The file that it is cut for is told of after those that waited behind it.
  const send = async () => {
    if (++begun === 1) {
      await told.promise
      throw changed
    }
    if (first.ended.aborted) throw cut
    await new Promise((_, reject) => first.ended.addEventListener('abort', () => reject(cut)))
  }
  const lines = new Lines(first)
  const own = workOf('own', went, { atOnce: 3, send })
  const other = workOf('other', went, { atOnce: 3, send })
  const all = [lines.sendAll(filesOf(5), own), lines.sendAll(filesOf(5), other)]
  await turnEnds()
  first.end(cut)
  await turnEnds()
  told.resolve()
  await Promise.all(all)
  assert.deepEqual([own.failures, other.failures], [[changed], [cut]])
  const late = workOf('late', went, { send })
  await lines.sendAll(filesOf(2), late)
  assert.deepEqual(late.failures, [cut])
  assert.deepEqual(went, [])
})

test('a transfer that is over while others have the lines waits for none of them', async () => {
  const went: string[] = []
  const waits = Promise.withResolvers<void>()
  const lines = new Lines(sessionOf('first'))
  const long = lines.sendAll(filesOf(1), workOf('long', went, { send: () => waits.promise }))
  const work = workOf('reset', went)
  const reset = lines.sendAll(filesOf(5), work)
  work.stop.abort()
  await reset
  assert.deepEqual(went, [])
  waits.resolve()
  await long
  assert.equal(went.length, 1)
})
