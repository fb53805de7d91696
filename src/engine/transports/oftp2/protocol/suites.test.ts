import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SUITE_OF_DIGEST, suiteOf } from './suites.ts'

test('the suites of OFTP2 are known by their two digits', () => {
  assert.deepEqual(suiteOf('02'), { cipher: 'AES-256-CBC', digest: 'sha1' })
  assert.deepEqual(suiteOf('05'), { cipher: '3DES-CBC', digest: 'sha512' })
  for (const unknown of ['00', '07', '', 'toString']) assert.equal(suiteOf(unknown), undefined)
})

test('the suite announced for a digest has that digest', () => {
  for (const [digest, code] of Object.entries(SUITE_OF_DIGEST)) assert.equal(suiteOf(code)?.digest, digest)
})
