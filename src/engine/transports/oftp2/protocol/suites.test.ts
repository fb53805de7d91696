import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suiteOf } from './suites.ts'

test('the suites of OFTP2 are known by their two digits', () => {
  assert.deepEqual(suiteOf('02'), { cipher: 'AES-256-CBC', digest: 'sha1' })
  assert.deepEqual(suiteOf('05'), { cipher: '3DES-CBC', digest: 'sha512' })
  for (const unknown of ['00', '07', '', 'toString']) assert.equal(suiteOf(unknown), undefined)
})
