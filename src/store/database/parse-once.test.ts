import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOnce } from './parse-once.ts'

test('a row is parsed again when one of its columns has changed, and no more are kept than said', () => {
  let parses = 0
  const parse = parseOnce(
    2,
    (row: { id: string; body: string | null }) => row.id,
    ({ body }) => ({ body, parse: ++parses }),
  )
  const first = parse({ id: 'a', body: '1' })
  assert.equal(parse({ id: 'a', body: '1' }), first)
  assert.deepEqual([parse.known('a'), parse.known('b')], [first, undefined])
  assert.deepEqual(parse({ id: 'a', body: null }), { body: null, parse: 2 })
  assert.deepEqual(parse({ id: 'a', body: '1' }), { body: '1', parse: 3 })
  parse({ id: 'b', body: '1' })
  parse({ id: 'c', body: '1' })
  assert.deepEqual(parse({ id: 'a', body: '1' }), { body: '1', parse: 6 })
})
