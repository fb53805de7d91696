import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnEnds } from 'node:timers/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import type { Session } from '../transports/transport.ts'
import { Lines } from './lines.ts'
import type { Line, Waiting } from './lines.ts'

const FILES = Array.from({ length: 20 }, (_, index) => ({ index, size: 10 }) as TransferFileRecord)

function sessionOf(name: string): Session & { name: string } {
  return { name, answerMs: 1, ended: new AbortController().signal } as unknown as Session & { name: string }
}

/** Sends all files, and tells over which session each went and how often a further one was asked for. */
async function sendAll(answer: (asked: number, sent: number) => Line | 'no room' | 'refused') {
  const went = new Map<number, string>()
  let asked = 0
  const more = {
    wanted: ({ lines, files }: Waiting) => (files > 0 ? 2 : lines),
    open: () => Promise.resolve(answer(++asked, went.size)),
  }
  const lines = new Lines(FILES, sessionOf('first'), more, {
    atOnce: 1,
    isOver: () => false,
    failed: (_, thrown) => assert.fail(String(thrown)),
    send: async (session, { index }) => {
      await turnEnds()
      assert.ok(!went.has(index))
      went.set(index, (session as unknown as { name: string }).name)
    },
  })
  await lines.sendAll()
  assert.equal(went.size, FILES.length)
  return { over: new Set(went.values()), asked }
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
