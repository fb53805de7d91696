import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { makeParser } from './event-stream.ts'
import type { HeardEvent } from './event-stream.ts'

const state = (transferId: string) =>
  ({
    kind: 'state',
    transferId,
    channelCode: 'A-B-C',
    direction: 'EMISION',
    at: 1,
    status: 'FAILED',
  }) as const

test('events are heard whole and in order, however the stream is cut', () => {
  const ids = ['one', 'línea dos', 'three\nlines']
  const text = ids
    .map((id) => `: still here\n\nevent: state\ndata: ${JSON.stringify(state(id))}\n\n`)
    .join('')
  fc.assert(
    fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
      const heard: HeardEvent[] = []
      const parse = makeParser((event) => heard.push(event))
      const places = [0, ...cuts.sort((a, b) => a - b), text.length]
      for (let index = 1; index < places.length; index++) parse(text.slice(places[index - 1], places[index]))
      assert.deepEqual(heard, ids.map(state))
    }),
  )
})
