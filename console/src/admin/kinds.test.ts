import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Calendar, Expectation } from '../../../src/contract/calendar.ts'
import {
  PlatformContact,
  PlatformEntity,
  PlatformSubscription,
  PlatformUser,
} from '../../../src/contract/administration/platform-file.ts'
import { KINDS } from './kinds.ts'

type Schema = { properties?: Record<string, object> }

function leaves({ properties }: Schema, pointer = ''): string[] {
  if (!properties) return [pointer]
  return Object.entries(properties).flatMap(([name, inner]) => leaves(inner as Schema, `${pointer}/${name}`))
}

const SCHEMAS: Record<keyof typeof KINDS, Schema> = {
  users: PlatformUser,
  entities: PlatformEntity,
  partners: PlatformContact,
  calendars: Calendar,
  subscriptions: PlatformSubscription,
  expectations: Expectation,
}
/** Left out of a change the node keeps them. */
const KEPT = ['/passwordHash', '/contactInfo']

test('every field that a change would clear stands in its form', () => {
  for (const [name, { fields }] of Object.entries(KINDS)) {
    const missing = leaves(SCHEMAS[name as keyof typeof KINDS]).filter(
      (leaf) => !fields.some(({ pointer }) => leaf === pointer || leaf.startsWith(`${pointer}/`)),
    )
    assert.deepEqual(
      missing.filter((leaf) => !KEPT.includes(leaf)),
      [],
      name,
    )
  }
})
