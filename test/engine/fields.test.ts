// Every field of the contract's Channel has a test of its effect, or is named here as a label.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { Channel } from '../../src/contract/channel.ts'

/** Shown and kept, without effect on what moves. */
const LABELS = [
  'name',
  'category',
  'version',
  'localEntity',
  'remoteEntity',
  'security.version',
  'security.rsaLocalKeyName',
  'security.rsaRemoteKeyName',
]

type Shape = { properties?: Record<string, Shape>; items?: Shape }

function leaves(shape: Shape, path = ''): string[] {
  const inside = shape.properties ?? shape.items?.properties
  if (!inside) return [path]
  return Object.entries(inside).flatMap(([name, one]) => leaves(one, path === '' ? name : `${path}.${name}`))
}

const here = new URL('.', import.meta.url)
const tested = readdirSync(here)
  .filter((name) => /^fields-.*\.test\.ts$/.test(name))
  .flatMap((name) => [
    ...readFileSync(new URL(name, here), 'utf8').matchAll(/^\s*field\(\s*'([A-Za-z.]+)',/gm),
  ])
  .map((match) => match[1] ?? '')

test('every field of the contract is tested by name or is a label', () => {
  const fields = leaves(Channel as Shape)
  assert.ok(fields.length > 60, `only ${fields.length} fields were found in the schema`)
  const missing = fields.filter((path) => !tested.includes(path) && !LABELS.includes(path))
  assert.deepEqual(missing, [])
})

test('no test and no label is about a field that does not exist', () => {
  const fields = leaves(Channel as Shape)
  assert.deepEqual(
    [...tested, ...LABELS].filter((path) => !fields.includes(path)),
    [],
  )
})
