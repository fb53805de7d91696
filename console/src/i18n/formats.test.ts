// Times and durations in lists.

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

test('durations have a space before their unit in Spanish, and none in English', () => {
  const [es, en] = [makeFormats('es-ES'), makeFormats('en-GB')]
  // The space is one that does not break.
  const said = (ms: number) => [es.duration(ms).replaceAll(/\s/g, ' '), en.duration(ms)]
  assert.deepEqual(said(42), ['42 ms', '42ms'])
  assert.deepEqual(said(3_200), ['3,2 s', '3.2s'])
  assert.deepEqual(said(59_600), ['1 min 0 s', '1m 0s'])
  assert.deepEqual(said(3_725_000), ['1 h 2 min', '1h 2m'])
})
