import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TransferRecord } from '../../domain/transfer.ts'
import { newFile } from '../../transfers/request.ts'
import { spansOf } from './spans.ts'

const found = { directory: 0, name: 'a.txt', path: '/a.txt', size: 5, modifiedAt: 1 }
const transfer: TransferRecord = {
  id: 't1',
  channelCode: 'BANCO-ACME-NOMINA',
  direction: 'EMISION',
  state: 'FAILED',
  type: 'MANUAL',
  encryption: false,
  error: 'the partner did not answer in time',
  errorCode: 'timed_out',
  requestedAt: 1000,
  startedAt: 3000,
  endedAt: 9000,
  retryOf: null,
  settled: false,
  attempts: 1,
  dueAt: 0,
  receiptsUntil: null,
  fence: 0,
  files: [
    { ...newFile(found, 0), keyDate: '', keyTime: '' },
    { ...newFile({ ...found, name: 'b.txt' }, 1), keyDate: '', keyTime: '' },
  ],
}
const made = {
  transfer,
  partner: 'acme',
  errorCode: 'timed_out',
  traceparent: undefined,
  fileEnds: new Map([['b.txt', 5000]]),
}

test('a failed transfer has a trace of its own, the code of its failure, and says which file did not arrive', () => {
  const [whole, ...files] = spansOf(made)
  assert.ok(whole && /^[0-9a-f]{32}$/.test(whole.traceId) && /^[0-9a-f]{16}$/.test(whole.spanId))
  assert.ok(!('parentSpanId' in whole))
  assert.deepEqual(whole.status, { code: 2, message: transfer.error })
  assert.deepEqual(
    whole.attributes.find(({ key }) => key === 'error.type'),
    { key: 'error.type', value: { stringValue: 'timed_out' } },
  )
  assert.deepEqual(
    [whole, ...files].map((span) => [span.startTimeUnixNano, span.endTimeUnixNano, span.status.code]),
    [
      ['3000000000', '9000000000', 2],
      ['3000000000', '5000000000', 1],
      ['5000000000', '9000000000', 2],
    ],
  )
  assert.deepEqual(spansOf(made), [whole, ...files])
})

test('where the caller’s trace is not recorded nothing is told', () => {
  const parent = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'
  assert.deepEqual(spansOf({ ...made, traceparent: `00-${parent}-00` }), [])
  assert.equal(spansOf({ ...made, traceparent: `00-${parent}-01` }).length, 3)
})
