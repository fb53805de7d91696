// Kills a node with SIGKILL again and again while eight routes are at work, at random moments and right after events,
// starts it anew each time, and looks at the end whether every byte, row and folder is as if nothing had happened.
//
// ESCLUSA_LONG=1 runs 200 rounds; ESCLUSA_SEED repeats a run's files and moments.

import assert from 'node:assert/strict'
import { testOnBoth } from '../harness.ts'
import { NodeProcess } from './node-process.ts'
import { ask, listen } from './operator.ts'
import { KINDS } from './routes.ts'
import { LONG, MIB, SEED, prepareTrial, putFiles, settle, startNode } from './trial.ts'
import type { Trial } from './trial.ts'
import { verdict } from './verdict.ts'

const ROUNDS = Number(process.env.ESCLUSA_ROUNDS ?? (LONG ? 200 : 12))

testOnBoth(
  'a node killed again and again loses nothing, sends nothing twice, shows nothing half',
  async (t, database) => {
    t.diagnostic(`seed ${SEED}, ${ROUNDS} rounds`)
    const trial = await prepareTrial(t, database, KINDS, { ESCLUSA_LEASE_SECONDS: '1' })
    const { sources, observer, routes } = trial
    for (let round = 0; round < ROUNDS; round++) {
      await killOnce(trial, round)
      // Nothing moves now: what is visible is what a partner would find.
      await observer.look()
      assert.deepEqual(observer.faults, [], `after round ${round}, seed ${SEED}`)
    }
    const node = await startNode(t, trial.settings)
    await settle(trial, node)
    await node.stop()
    // What is swept at a start is swept now.
    await (await startNode(t, trial.settings)).stop()
    await observer.stop()
    assert.deepEqual([...observer.faults, ...(await verdict(trial))], [], `seed ${SEED}`)
    const files = routes.map((route) => sources.of(route).size)
    t.diagnostic(
      `${sources.count} files (${files.join(', ')}), ${Math.round(sources.bytes / MIB)} MiB, ${observer.looks} looks`,
    )
  },
)

/** New files, a node, and its end: after some time, or with the next event of one kind. */
async function killOnce(trial: Trial, round: number): Promise<void> {
  const { settings, token, routes, random } = trial
  for (const route of routes) {
    const small = route.kind === 'moved' || route.kind === 'relay' ? 12 : 3
    const mayBeBig = route.kind === 'deleted' || route.kind === 'fetched' || round % 5 === 0
    await putFiles(route, trial, { small, big: mayBeBig ? (LONG ? 40 : 12) * MIB : 0 })
  }
  const deadline = random.between(100, 2500)
  const moment = random.pick(['time', 'IN_PROGRESS', 'COMPLETED', 'progress'] as const)
  const skip = random.between(0, 8)
  const node = await NodeProcess.start(settings)
  try {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadline)
      let heard = 0
      const ears = listen(node.url, token, (event) => {
        const fits = event.kind === 'progress' ? moment === 'progress' : event.status === moment
        if (!fits || ++heard <= skip) return
        clearTimeout(timer)
        resolve()
      })
      void ears.done
      for (const { kind, sends } of routes)
        if (kind === 'asked' && sends) void ask(node.url, token, 'sendTransfer', sends)
    })
  } finally {
    await node.kill()
  }
}
