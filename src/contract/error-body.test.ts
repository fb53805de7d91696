// What does not fit a pattern is told by what would fit, never by a rule that it keeps.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApiDocument } from '../http/document/openapi.ts'
import { Platform } from './administration/platform-file.ts'
import { wordsFor } from './error-body.ts'

function patternsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  for (const [key, inside] of Object.entries(value)) {
    if (key === 'pattern' && typeof inside === 'string') found.add(inside)
    else patternsIn(inside, found)
  }
  return found
}

test('every pattern of the interface and of the platform file has words for what would fit', () => {
  const patterns = new Set([...patternsIn(openApiDocument()), ...patternsIn(Platform)])
  assert.ok(patterns.size > 10)
  for (const pattern of patterns) {
    const isPlainText = pattern.startsWith('^[^\\u0000')
    const words = wordsFor('pattern', { pattern })
    assert.equal(words === 'must not contain control characters', isPlainText, `${pattern}: ${words}`)
  }
})
