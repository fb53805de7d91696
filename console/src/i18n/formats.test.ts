// Times in lists.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFormats } from './formats.ts'

test('a moment of another year is written with its year, one of this year without', () => {
  const { moment } = makeFormats('en-GB')
  const year = new Date().getFullYear()
  const other = new Date().getMonth() === 5 ? 6 : 5
  assert.match(moment(new Date(year - 1, other, 12, 9, 30).getTime()), new RegExp(`${year - 1}.*09:30`))
  assert.doesNotMatch(moment(new Date(year, other, 12, 9, 30).getTime()), new RegExp(String(year)))
  assert.match(moment(Date.now()), /^\d\d:\d\d$/)
})
