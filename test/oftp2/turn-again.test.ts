// A partner that looks for files now and then gives the turn at each look, also when the session of an earlier one is
// still open.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '../support/harness.ts'
import { startPair } from './pair.ts'

for (const callingEnd of ['REMOTO', 'INDISTINTO'] as const)
  test(`what is asked for between two looks of the partner goes with the next one (${callingEnd})`, async (t) => {
    const pair = await startPair(t)
    const relation = await pair.relate(() => ({
      left: { channels: { FILES: { connection: { advancedConfigurationConnection: { callingEnd } } } } },
      right: { channels: { FILES: { automation: { watch: true } } } },
    }))
    // The turn in which the partner gets its receipt comes back to it, and the session stays open.
    await pair.put(relation, 'right', 'FILES', 'theirs.txt', 'theirs')
    await pair.arrived(relation, 'left', 'FILES', 'theirs.txt')
    await waitFor('the receipt to be delivered', async () => {
      const { db } = pair.left.store
      return db
        .selectFrom('owed_receipt')
        .select('id')
        .where('delivered_at', 'is not', null)
        .executeTakeFirst()
    })
    await pair.put(relation, 'left', 'FILES', 'ours.txt', 'ours')
    const id = await pair.send('left', relation.code('left', 'FILES'))
    const { state, error } = await pair.ended('left', id, 60_000)
    assert.equal(state, 'COMPLETED', error ?? '')
  })
