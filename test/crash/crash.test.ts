// Kills a node with SIGKILL again and again while all routes are at work, at random moments and right after events,
// starts it anew each time, and looks at the end whether every byte, row and folder is as if nothing had happened.
//
// ESCLUSA_LONG=1 runs 200 rounds; ESCLUSA_SEED repeats a run's files and moments.

import assert from 'node:assert/strict'
import { testOnBoth } from '../support/harness.ts'
import { NodeProcess } from './node-process.ts'
import { visible } from './observer.ts'
import { NETWORK_KINDS } from './network-routes.ts'
import { ask, listen } from './operator.ts'
import { KINDS } from './routes.ts'
import { LONG, MIB, SEED, prepareTrial, putFiles, settle, startNode, sweep } from './trial.ts'
import type { Trial } from './trial.ts'
import { verdict } from './verdict.ts'

/** A round in which nothing happens is over after this. */
const IDLE_MS = 10_000
/** Beyond this a route gets no more files until some have gone. */
const MOST_WAITING = 40
const MOMENTS = ['start', 'time', 'IN_PROGRESS', 'COMPLETED', 'progress', 'time', 'progress'] as const
/** Every kind of moment comes at least once. */
const ROUNDS = Number(process.env.ESCLUSA_ROUNDS ?? (LONG ? 200 : MOMENTS.length))

testOnBoth(
  'a node killed again and again loses nothing, sends nothing twice, shows nothing half',
  async (t, database) => {
    t.diagnostic(`seed ${SEED}, ${ROUNDS} rounds`)
    const trial = await prepareTrial(
      t,
      database,
      KINDS,
      { ESCLUSA_LEASE_SECONDS: '1' },
      { overNetwork: NETWORK_KINDS },
    )
    const { sources, observer, routes } = trial
    for (let round = 0; round < ROUNDS; round++) {
      await killOnce(trial, round)
      // Nothing moves now: what is visible is what a partner would find.
      await observer.look()
      assert.deepEqual(observer.faults, [], `after round ${round}, seed ${SEED}`)
    }
    // Nobody dies any more. With leases of a second a busy machine would take the work out of its own hands, again and again.
    const node = await startNode(t, { ...trial.settings, ESCLUSA_LEASE_SECONDS: '15' })
    await settle(trial, node)
    await node.stop()
    await sweep(t, trial)
    await observer.stop()
    assert.deepEqual([...observer.faults, ...(await verdict(trial))], [], `seed ${SEED}`)
    const files = routes.map((route) => sources.of(route).size)
    const transfers = await trial.db.selectFrom('transfer').select('id').execute()
    t.diagnostic(
      `${transfers.length} transfers, ${sources.count} files (${files.join(', ')}), ${Math.round(sources.bytes / MIB)} MiB, ${observer.looks} looks`,
    )
  },
)

/** New files, a node, and its end: some time after it got to work, or with one of its events, or as it starts. */
async function killOnce(trial: Trial, round: number): Promise<void> {
  const { settings, routes, random } = trial
  for (const route of routes) {
    if ((await visible(route.source)).length > MOST_WAITING && route.original !== 'stays') continue
    const small = route.kind === 'moved' || route.kind === 'relay' ? 12 : 3
    // What is signed or packed first starts anew after each crash: it must be done within the life of a node.
    const big =
      route.kind === 'deleted' || route.kind === 'fetched' ? (LONG ? 40 : 12) : round % 5 === 0 ? 5 : 0
    await putFiles(route, trial, { small, big: big * MIB })
  }
  const moment: Moment = {
    kind: MOMENTS[(round + SEED) % MOMENTS.length] ?? 'time',
    afterMs: random.between(0, 1500),
    skip: random.between(0, 8),
  }
  const node = await NodeProcess.start(settings)
  try {
    await comes(moment, node, trial)
  } finally {
    await node.kill()
  }
}

type Moment = {
  kind: (typeof MOMENTS)[number]
  afterMs: number
  skip: number
}

/** Counted from the first event: on a busy machine a node takes its time to get to work. */
async function comes(
  { kind, afterMs, skip }: Moment,
  node: NodeProcess,
  { routes, token }: Trial,
): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timers = [setTimeout(over.resolve, kind === 'start' ? afterMs / 2 : IDLE_MS)]
  let fitting = 0
  let events = 0
  const ears = listen(node.url, token, (event) => {
    if (++events === 1) timers.push(setTimeout(over.resolve, afterMs))
    const fits = event.kind === 'progress' ? kind === 'progress' : event.status === kind
    if (fits && ++fitting > skip) over.resolve()
  })
  const asks = routes.map(({ kind, sends }) =>
    kind === 'asked' && sends ? ask(node.url, token, 'sendTransfer', sends) : undefined,
  )
  await over.promise
  for (const timer of timers) clearTimeout(timer)
  node.signal('SIGKILL')
  ears.close()
  await Promise.all([ears.done, ...asks])
}
