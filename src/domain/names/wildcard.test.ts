import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { test } from 'node:test'
import { matchesWildcard } from './wildcard.ts'

test('a name fits a pattern exactly where a regular expression says so', () => {
  const letters = (alphabet: string) =>
    fc.array(fc.constantFrom(...Array.from(alphabet)), { maxLength: 8 }).map((some) => some.join(''))
  fc.assert(
    fc.property(letters('ab📄*?'), letters('ab📄📁'), (pattern, text) => {
      const expression = pattern.replaceAll(/\*+/g, '.*').replaceAll('?', '.')
      assert.equal(matchesWildcard(pattern, text), new RegExp(`^${expression}$`, 'u').test(text))
    }),
    { numRuns: 2000 },
  )
})

test('a long name against many stars is looked through once', () => {
  // To go back over every star would take longer than any test may.
  assert.equal(matchesWildcard(`${'*_'.repeat(100)}.txt`, '_'.repeat(255)), false)
})
