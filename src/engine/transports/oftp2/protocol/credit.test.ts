import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Credit } from './credit.ts'

test('credit is spent buffer by buffer, never overdrawn, and made full again without adding up', () => {
  const credit = new Credit()
  assert.equal(credit.spend(1), false, 'there is none before a file begins')
  credit.renew(3)
  assert.equal(credit.spend(2), true)
  assert.equal(credit.left, 1)
  assert.equal(credit.spend(2), false)
  assert.equal(credit.left, 1, 'a refused spend costs nothing')
  credit.renew(3)
  assert.equal(credit.left, 3)
})
