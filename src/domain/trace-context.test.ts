import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTraceParent } from './trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a traceparent names trace, span and whether it is recorded; a later version is read as far as it is known', () => {
  const sampled = { traceId: TRACE, spanId: SPAN, sampled: true }
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-01`), sampled)
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-00`), { ...sampled, sampled: false })
  assert.deepEqual(readTraceParent(`01-${TRACE}-${SPAN}-03-more`), sampled)
})

test('what is not one is none', () => {
  const zeros = (count: number) => '0'.repeat(count)
  for (const wrong of [
    '',
    'x',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${zeros(32)}-${SPAN}-01`,
    `00-${TRACE}-${zeros(16)}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01\n`,
  ])
    assert.equal(readTraceParent(wrong), undefined, wrong)
})
