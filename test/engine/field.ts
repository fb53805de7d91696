// One test for each field of the channel, named after it. The meta-test in fields.test.ts compares the names used here
// with the contract's schema, so a new field without a test is found.

import { test } from 'node:test'
import type { TestContext } from 'node:test'

/** `path` as the interface spells it, dots between; several tests may be about one field. */
export function field(path: string, effect: string, run: (t: TestContext) => Promise<void>): void {
  test(`${path}: ${effect}`, run)
}
