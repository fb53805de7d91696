// Three nodes on one PostgreSQL, with many channels at work: again and again one is killed or frozen for longer than
// its leases, and a new one started. Everything must come out as if nothing had happened, and what a lost node held
// must be in other hands within two lease times.
//
// The nodes share the file roots, the partners' folders and the data folder (wire forms, half files, secrets).
// ESCLUSA_LONG=1 runs 200 channels for minutes; ESCLUSA_SEED repeats a run's files and choices.

import assert from 'node:assert/strict'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { closeAfter, postgres, waitFor } from '../harness.ts'
import type { NodeProcess } from '../crash/node-process.ts'
import { ask, listen } from '../crash/operator.ts'
import { KINDS } from '../crash/routes.ts'
import type { Kind } from '../crash/routes.ts'
import { LONG, MIB, SEED, prepareTrial, putFiles, settle, startNode } from '../crash/trial.ts'
import type { Trial } from '../crash/trial.ts'
import { verdict } from '../crash/verdict.ts'

const LEASE_MS = 2000
const CHANNELS = LONG ? 200 : 40
const STEPS = Number(process.env.ESCLUSA_ROUNDS ?? (LONG ? 60 : 6))
const SETTINGS = { ESCLUSA_LEASE_SECONDS: String(LEASE_MS / 1000) }
const skip =
  postgres.skip ??
  (process.env.ESCLUSA_LONG ? false : 'runs with ESCLUSA_LONG=1: its lease times need a quiet machine')

/** Kinds in turn until there are that many channels; a relay has two. */
function kindsFor(channels: number): Kind[] {
  const kinds: Kind[] = []
  for (let made = 0, nth = 0; made < channels; nth++) {
    const kind = KINDS[nth % KINDS.length] ?? 'moved'
    kinds.push(kind)
    made += kind.endsWith('relay') ? 2 : 1
  }
  return kinds
}

test(
  'nodes killed and frozen again and again lose nothing, and others go on within two lease times',
  { skip },
  async (t) => {
    t.diagnostic(`seed ${SEED}, ${CHANNELS} channels, ${STEPS} steps`)
    const trial = await prepareTrial(t, postgres, kindsFor(CHANNELS), SETTINGS)
    const nodes = await Promise.all([1, 2, 3].map(() => startNode(t, trial.settings)))
    const elsewhere = seenFromOutside(t, trial, nodes)
    const waits: number[] = []
    for (let step = 0; step < STEPS; step++) {
      for (const route of trial.routes)
        await putFiles(route, trial, { small: 2, big: step % 3 === 0 ? 8 * MIB : 0 })
      waits.push(...(await disturb(t, trial, nodes)))
      assert.deepEqual(trial.observer.faults, [], `after step ${step}, seed ${SEED}`)
    }
    const [first] = nodes
    assert.ok(first)
    await settle(trial, first)
    await elsewhere.check()
    await Promise.all(nodes.map((node) => node.stop()))
    // What is swept at a start is swept now.
    await (await startNode(t, trial.settings)).stop()
    await trial.observer.stop()
    assert.deepEqual([...trial.observer.faults, ...(await verdict(trial))], [], `seed ${SEED}`)
    const { count, bytes } = trial.sources
    t.diagnostic(
      `${count} files, ${Math.round(bytes / MIB)} MiB; takeovers ${waits.length}, longest ${Math.max(0, ...waits)} ms`,
    )
  },
)

/** One node is killed and another started, or one is frozen; resolves with how long its transfers were in nobody's hands. */
async function disturb(t: TestContext, trial: Trial, nodes: NodeProcess[]): Promise<number[]> {
  const { random, routes, token } = trial
  const victim = random.between(0, nodes.length - 1)
  const node = nodes[victim]
  const other = nodes[(victim + 1) % nodes.length]
  assert.ok(node && other)
  await delay(random.between(200, 1500))
  for (const { kind, sends } of routes)
    if (kind === 'asked' && sends) await ask(other.url, token, 'sendTransfer', sends)
  const kills = random.next() < 0.5
  node.signal(kills ? 'SIGKILL' : 'SIGSTOP')
  const waits = await takenOver(trial, node)
  if (kills) {
    await node.kill()
    nodes[victim] = await startNode(t, trial.settings)
  } else {
    await delay(random.between(0, LEASE_MS))
    node.signal('SIGCONT')
  }
  return waits
}

/** Owners are named after host and process. */
function isHeldBy(owner: string | null, node: NodeProcess): boolean {
  return owner !== null && owner.includes(`-${node.pid}-`)
}

async function takenOver({ db }: Trial, lost: NodeProcess): Promise<number[]> {
  const lostAt = Date.now()
  const held = async () =>
    (
      await db
        .selectFrom('transfer')
        .select(['id', 'lease_owner'])
        .where('lease_owner', 'is not', null)
        .execute()
    ).filter((row) => isHeldBy(row.lease_owner, lost))
  const before = await held()
  if (before.length === 0) return []
  await waitFor('its transfers to be in other hands', async () => (await held()).length === 0, 2 * LEASE_MS)
  return [Date.now() - lostAt]
}

/** Listens at each node, and looks who runs what: somebody must hear of a transfer that another node runs. */
function seenFromOutside(t: TestContext, { db, token }: Trial, nodes: readonly NodeProcess[]) {
  const heard = nodes.map(() => new Set<string>())
  const ears = nodes.map((node, index) =>
    listen(node.url, token, (event) => void (event.kind === 'state' && heard[index]?.add(event.transferId))),
  )
  const ranBy = new Map<string, number>()
  const pids = nodes.map((node) => node.pid)
  const look = async () => {
    for (const row of await db
      .selectFrom('transfer')
      .select(['id', 'lease_owner'])
      .where('lease_owner', 'is not', null)
      .execute()) {
      const index = pids.findIndex((pid) => row.lease_owner?.includes(`-${pid}-`))
      if (index >= 0) ranBy.set(row.id, index)
    }
  }
  const timer = setInterval(() => void look().catch(() => {}), 50)
  const end = async () => {
    clearInterval(timer)
    for (const one of ears) one.close()
    await Promise.all(ears.map((one) => one.done))
  }
  closeAfter(t, end)
  return {
    check: async () => {
      await end()
      const far = [...ranBy].filter(([id, by]) => heard.some((ids, index) => index !== by && ids.has(id)))
      assert.ok(far.length > 0, 'no event of a transfer was heard at a node other than the one that ran it')
    },
  }
}

test(
  'a reset at one node stops a transfer that another runs, and leaves nothing behind',
  { skip },
  async (t) => {
    const trial = await prepareTrial(t, postgres, ['asked'], { ...SETTINGS, ESCLUSA_WORKERS: '1' })
    const [route] = trial.routes
    assert.ok(route?.sends)
    const code = route.sends
    // As long as it takes to be caught at it; the holes cost no disk at this end.
    await using file = await open(join(route.source, 'long.bin'), 'w')
    await file.truncate(8 * 1024 * MIB)
    const nodes = await Promise.all([1, 2].map(() => startNode(t, trial.settings)))
    const [first] = nodes
    assert.ok(first)
    assert.equal((await ask(first.url, trial.token, 'sendTransfer', code))?.status, 200)
    const owner = await waitFor('the transfer to run', async () => {
      const row = await trial.db.selectFrom('transfer').select(['lease_owner', 'state']).executeTakeFirst()
      const moving = (await readdir(route.end)).length > 0
      return row?.state === 'IN_PROGRESS' && moving ? row.lease_owner : undefined
    })
    const away = nodes.find((node) => !isHeldBy(owner ?? null, node))
    assert.ok(away)
    const answer = await ask(away.url, trial.token, 'resetChannel', code)
    assert.equal(answer?.status, 200)
    await waitFor(
      'the partial file to be gone',
      async () => (await readdir(route.end)).length === 0,
      LEASE_MS,
    )
    const rows = await trial.db.selectFrom('transfer').select(['state', 'error_code']).execute()
    assert.deepEqual(rows, [{ state: 'CANCELLED', error_code: 'cancelled' }])
    // The same node, or the other: whichever is asked next can go on at once.
    await file.truncate(1000)
    assert.equal((await ask(away.url, trial.token, 'sendTransfer', code))?.status, 200)
    await waitFor(
      'the next one to arrive',
      async () => (await readdir(route.end)).includes('long.bin'),
      20_000,
    )
  },
)
