// The demo may be started at any minute of a day, also just after midnight.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noticeFindings } from '../platform/notice-rules.ts'
import { expectationsAt } from './expected.ts'

test('what the demo expects is a valid platform at every minute of a day', () => {
  const day = Date.parse('2026-11-17T00:00:30Z')
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    const now = new Date(day + minute * 60_000)
    const expectations = expectationsAt(now)
    const channels = new Map(expectations.map(({ channel, direction }) => [channel, direction]))
    const { faults } = noticeFindings({ expectations }, { calendars: new Set(), channels })
    assert.deepEqual(faults, [], now.toISOString())
  }
})
