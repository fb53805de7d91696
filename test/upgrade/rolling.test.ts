// A rolling upgrade: nodes of the release before and of today on one PostgreSQL, replaced one by one while channels are
// at work. ESCLUSA_LONG=1 runs 50 channels through many replacements.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visible } from '../crash/observer.ts'
import { esclusa } from '../crash/node-process.ts'
import type { NodeProcess, Settings } from '../crash/node-process.ts'
import { ask } from '../crash/operator.ts'
import { KINDS, OPERATOR } from '../crash/routes.ts'
import { LONG, MIB, SEED, prepareTrial, putFiles, settle, startNode, sweep } from '../crash/trial.ts'
import type { Trial } from '../crash/trial.ts'
import { verdict } from '../crash/verdict.ts'
import { postgres, waitFor } from '../support/harness.ts'
import { previousRelease, skipWithoutHistory } from './previous-release.ts'

const NODES = LONG ? 3 : 2
const CHANNELS = LONG ? 50 : 8
const ROUNDS = LONG ? 20 : 1
/** When nobody has anything to do: what was put in is done already. */
const MORE_AFTER_MS = 1000
const SETTINGS = { ESCLUSA_LEASE_SECONDS: '4' }

test(
  'nodes are replaced by those of the next version one by one, and nothing is lost, twice or half',
  { skip: postgres.skip ?? skipWithoutHistory },
  async (t) => {
    t.diagnostic(`seed ${SEED}`)
    const older = await previousRelease(t)
    const kinds = Array.from({ length: CHANNELS }, (_, nth) => KINDS[nth % KINDS.length] ?? 'moved')
    const nodes: NodeProcess[] = []
    const start = async (settings: Settings) => {
      for (let nth = 0; nth < NODES; nth++) nodes.push(await startNode(t, settings, older))
    }
    const trial = await prepareTrial(t, postgres, kinds, SETTINGS, { older: { command: older, start } })
    // prepareTrial has opened the database with today's program by now: old nodes work on the new schema.
    await assert.rejects(startNode(t, trial.settings, older), /run a newer Esclusa/)
    for (let nth = 0; nth < NODES; nth++) {
      for (let round = 0; round < ROUNDS; round++) await traffic(trial, nodes)
      await replace(nodes, nth)
      nodes[nth] = await startNode(t, trial.settings)
      assert.deepEqual(trial.observer.faults, [], `after node ${nth}, seed ${SEED}`)
    }
    const [first] = nodes
    assert.ok(first)
    // Tokens for systems of the release before carry no account's id, and are made anew.
    const token = (await esclusa(trial.settings, 'token', 'create', '--user', OPERATOR)).trim()
    await settle({ ...trial, token }, first)
    await Promise.all(nodes.map((node) => node.stop()))
    await sweep(t, trial)
    await trial.observer.stop()
    assert.deepEqual([...trial.observer.faults, ...(await verdict(trial))], [], `seed ${SEED}`)
    t.diagnostic(`${trial.sources.count} files, ${Math.round(trial.sources.bytes / MIB)} MiB`)
  },
)

/** Files everywhere, and a word to each node in turn; returns while some are on their way. */
async function traffic(trial: Trial, nodes: readonly NodeProcess[]): Promise<void> {
  let putAt = 0
  const look = async () => {
    if (Date.now() - putAt > MORE_AFTER_MS) {
      await putEverywhere(trial, nodes)
      putAt = Date.now()
    }
    const held = trial.db.selectFrom('transfer').select('id').where('lease_owner', 'is not', null)
    return (await held.executeTakeFirst()) !== undefined
  }
  await waitFor('somebody to be at work', look, 60_000)
}

async function putEverywhere(trial: Trial, nodes: readonly NodeProcess[]): Promise<void> {
  for (const route of trial.routes)
    if (route.original === 'stays' || (await visible(route.source)).length < 10)
      await putFiles(route, trial, { small: 6, big: 4 * MIB })
  for (const [nth, { kind, sends }] of trial.routes.entries())
    if (kind === 'asked' && sends)
      await ask(nodes[nth % nodes.length]?.url ?? '', trial.token, 'sendTransfer', sends)
}

/** In turn as one should, and as machines do it. */
async function replace(nodes: readonly NodeProcess[], nth: number): Promise<void> {
  const node = nodes[nth]
  assert.ok(node)
  if (nth % 2 === 0) await node.stop()
  else await node.kill()
}
