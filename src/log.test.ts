import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError } from './errors.ts'
import { shownError } from './log.ts'

test('an error whose cause holds the words of a partner is logged clean and short', () => {
  const cause = new Error(`no\0\u001b[2J${'x'.repeat(200_000)}`)
  const { message, stack } = shownError(new NodeError('remote_refused', 'refused', { cause })) as Error
  assert.match(message, /^refused: no \[2Jx+…$/)
  assert.equal(message.length, 2000)
  assert.match(stack ?? '', /^NodeError: refused\n {4}at /)
  assert.equal(stack?.length, 10_000)
})

test('what was thrown and is no error is logged as it is', () => {
  assert.equal(shownError('a word' as never), 'a word')
})
