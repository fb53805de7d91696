// Lines that break at any octet, again and again, while both ends live on: one end may know of a file what the other does
// not. At the end every file must be there once, whole, and every row must fit.
//
// ESCLUSA_LONG=1 puts in more files; ESCLUSA_SEED repeats a run's files and the octets at which lines break.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { closeAfter, testOnBoth } from '../support/harness.ts'
import { BrokenLines } from './broken-lines.ts'
import { NETWORK_KINDS } from './network-routes.ts'
import type { Route } from './routes.ts'
import { seededRandom } from './random.ts'
import { LONG, MIB, SEED, prepareTrial, putFiles, settle, startNode, sweep } from './trial.ts'
import type { Trial } from './trial.ts'
import { visible } from './observer.ts'
import { verdict } from './verdict.ts'

const ROUNDS = Number(process.env.ESCLUSA_ROUNDS ?? (LONG ? 60 : 5))
const ROUND_MS = 2500
/** Beyond this a route gets no more files until some have gone. */
const MOST_WAITING = 10

testOnBoth('lines that break at any octet lose nothing, and nothing comes twice', async (t, database) => {
  t.diagnostic(`seed ${SEED}, ${ROUNDS} rounds`)
  const lines = new BrokenLines(seededRandom(SEED + 1))
  closeAfter(t, () => lines.close())
  const options = { overNetwork: NETWORK_KINDS, between: (port: number) => lines.before(port) }
  const trial = await prepareTrial(t, database, [], {}, options)
  const node = await startNode(t, trial.settings)
  const hurrying = setInterval(() => void hurry(trial), 300)
  closeAfter(t, async () => clearInterval(hurrying))
  for (let round = 0; round < ROUNDS; round++) {
    for (const route of trial.routes)
      if ((await visible(route.source)).length <= MOST_WAITING)
        await putFiles(route, trial, { small: 6, big: round % 3 === 0 ? bigOf(route) : 0 })
    await delay(ROUND_MS)
    assert.deepEqual(trial.observer.faults, [], `after round ${round}, seed ${SEED}`)
  }
  lines.mend()
  await settle(trial, node)
  clearInterval(hurrying)
  await node.stop()
  await sweep(t, trial)
  await trial.observer.stop()
  assert.deepEqual([...trial.observer.faults, ...(await verdict(trial))], [], `seed ${SEED}`)
  const transfers = await trial.db.selectFrom('transfer').select('id').execute()
  t.diagnostic(
    `${transfers.length} transfers, ${trial.sources.count} files, ${Math.round(trial.sources.bytes / MIB)} MiB; ${lines.broken} of ${lines.carried} lines broke`,
  )
})

/** What SFTP has pushed is read back before it is gone on with: that must fit into the life of a line. */
function bigOf({ kind }: Route): number {
  return (['sftp', 'sftp verified', 'to sshd'].includes(kind) ? 2 : 12) * MIB
}

/** Pauses between attempts, and before a partner is called again, are over at once: nobody waits for minutes here. */
async function hurry({ db }: Trial): Promise<void> {
  const now = Date.now()
  await db.updateTable('partner_health').set({ open_until: now }).where('open_until', '>', now).execute()
  await db
    .updateTable('transfer')
    .set({ due_at: now })
    .where('state', '=', 'PENDING')
    .where('lease_owner', 'is', null)
    .where('due_at', '>', now)
    .execute()
}
