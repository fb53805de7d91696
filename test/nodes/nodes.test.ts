// Three nodes on one PostgreSQL, with many channels at work: in turn one is killed and replaced, and one is frozen until
// others have taken its place, and woken again. Everything must come out as if nothing had happened, and what a lost
// node held must come into other hands; test/engine/nodes.test.ts says how soon.
//
// The nodes share the file roots, the partners' folders and the data folder (wire forms, half files, secrets).
// ESCLUSA_LONG=1 runs 200 channels for a quarter of an hour; ESCLUSA_SEED repeats a run's files and choices.

import assert from 'node:assert/strict'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { closeAfter, postgres, waitFor } from '../support/harness.ts'
import type { NodeProcess } from '../crash/node-process.ts'
import { ask, listen } from '../crash/operator.ts'
import { visible } from '../crash/observer.ts'
import { NETWORK_KINDS } from '../crash/network-routes.ts'
import { KINDS } from '../crash/routes.ts'
import type { Kind } from '../crash/routes.ts'
import { LONG, MIB, SEED, prepareTrial, putFiles, settle, startNode, sweep } from '../crash/trial.ts'
import type { Trial } from '../crash/trial.ts'
import { unsettled, verdict } from '../crash/verdict.ts'

/** Long enough that a busy machine does not make a living node look dead. */
const LEASE_MS = 4000
const CHANNELS = LONG ? 200 : 24
const STEPS = Number(process.env.ESCLUSA_ROUNDS ?? (LONG ? 40 : 2))
const SETTINGS = { ESCLUSA_LEASE_SECONDS: String(LEASE_MS / 1000) }
/** Beyond this a route gets no more files until some have gone. */
const MOST_WAITING = 6
/** When nobody has anything to do: what was put in is done already. */
const MORE_AFTER_MS = 1000
const skip = postgres.skip ?? false

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

test('nodes killed and frozen again and again lose nothing, and others go on', { skip }, async (t) => {
  t.diagnostic(`seed ${SEED}, ${CHANNELS} channels, ${STEPS} steps`)
  const trial = await prepareTrial(t, postgres, kindsFor(CHANNELS), SETTINGS, {
    overNetwork: NETWORK_KINDS,
    nodes: 3,
  })
  const nodes = await Promise.all([0, 1, 2].map((nth) => startNode(t, trial.settingsOf(nth))))
  const elsewhere = seenFromOutside(t, trial, nodes)
  const waits: TakeOver[] = []
  for (let step = 0; step < STEPS; step++) {
    const putting = putSome(trial)
    waits.push(await disturb(t, trial, nodes, { how: step % 2 === 0 ? 'kill' : 'freeze', putting }))
    await putting
    assert.deepEqual(trial.observer.faults, [], `after step ${step}, seed ${SEED}`)
  }
  const [first] = nodes
  assert.ok(first)
  await settle(trial, first)
  await elsewhere.check()
  await Promise.all(nodes.map((node) => node.stop()))
  await sweep(t, trial)
  await trial.observer.stop()
  assert.deepEqual([...trial.observer.faults, ...(await verdict(trial))], [], `seed ${SEED}`)
  const { count, bytes } = trial.sources
  const transfers = await trial.db.selectFrom('transfer').select('id').execute()
  t.diagnostic(
    `${count} files, ${Math.round(bytes / MIB)} MiB, ${transfers.length} transfers; ${waits.map(({ held }) => held).join(', ')} transfers taken over, the last after ${waits.map(({ ms }) => ms).join(', ')} ms`,
  )
})

async function putSome(trial: Trial): Promise<void> {
  for (const route of trial.routes) {
    if (route.original !== 'stays' && (await visible(route.source)).length > MOST_WAITING) continue
    await putFiles(route, trial, { small: 3, big: 8 * MIB })
  }
}

type TakeOver = { held: number; ms: number }

/** One node is killed and another started, or one is frozen and woken; meanwhile the others take over what it held. */
async function disturb(
  t: TestContext,
  trial: Trial,
  nodes: NodeProcess[],
  { how, putting }: { how: 'kill' | 'freeze'; putting: Promise<void> },
): Promise<TakeOver> {
  const { random, routes, token } = trial
  const first = random.between(0, nodes.length - 1)
  const asked = nodes[first]
  assert.ok(asked)
  for (const { kind, sends } of routes)
    if (kind === 'asked' && sends) await ask(asked.url, token, 'sendTransfer', sends)
  const victim = await atWork(trial, nodes, first, putting)
  const node = nodes[victim]
  assert.ok(node)
  node.signal(how === 'kill' ? 'SIGKILL' : 'SIGSTOP')
  const taken = await takenOver(trial, node)
  if (how === 'kill') {
    await node.kill()
    nodes[victim] = await startNode(t, trial.settingsOf(victim))
  } else {
    // At any moment of what the others do.
    await delay(random.between(0, LEASE_MS))
    node.signal('SIGCONT')
  }
  return taken
}

/** Which node holds something now; `first` is asked first. Where all is done before anybody looked, there is more. */
async function atWork(
  trial: Trial,
  nodes: readonly NodeProcess[],
  first: number,
  putting: Promise<void>,
): Promise<number> {
  const inTurn = nodes.map((_, nth) => (first + nth) % nodes.length)
  let found: number | undefined
  let putAt = Date.now()
  const look = async () => {
    const rows = await heldRows(trial)
    found = inTurn.find((index) => rows.some((row) => isHeldBy(row.lease_owner, nodes[index])))
    if (found !== undefined) return true
    await putting
    if (Date.now() - putAt > MORE_AFTER_MS) {
      await putSome(trial)
      putAt = Date.now()
    }
    return false
  }
  await waitFor('a node to be at work', look).catch(async (thrown: unknown) => {
    throw new Error(`${String(thrown)} (seed ${SEED}):\n${(await unsettled(trial)).slice(0, 20).join('\n')}`)
  })
  return found ?? first
}

function heldRows({ db }: Trial) {
  return db
    .selectFrom('transfer')
    .select(['id', 'fence', 'lease_owner'])
    .where('state', 'in', ['PENDING', 'IN_PROGRESS'])
    .where('lease_owner', 'is not', null)
    .execute()
}

/** Owners are named after host and process. */
function isHeldBy(owner: string | null, node: NodeProcess | undefined): boolean {
  return node !== undefined && owner !== null && owner.includes(`-${node.pid}-`)
}

/** Each of them was claimed by another node; one whose last write was still on its way may be over. */
async function takenOver(trial: Trial, lost: NodeProcess): Promise<TakeOver> {
  const lostAt = Date.now()
  const held = (await heldRows(trial)).filter((row) => isHeldBy(row.lease_owner, lost))
  await waitFor('all that it held to be in other hands', async () =>
    (await heldRows(trial)).every((row) => !isHeldBy(row.lease_owner, lost)),
  )
  return { held: held.length, ms: Date.now() - lostAt }
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
    await waitFor('the partial file to be gone', async () => (await readdir(route.end)).length === 0)
    const rows = await trial.db.selectFrom('transfer').select(['state', 'error_code']).execute()
    assert.deepEqual(rows, [{ state: 'CANCELLED', error_code: 'cancelled' }])
    // The same node, or the other: whichever is asked next can go on at once.
    await file.truncate(1000)
    assert.equal((await ask(away.url, trial.token, 'sendTransfer', code))?.status, 200)
    await waitFor('the next one to arrive', async () => (await readdir(route.end)).includes('long.bin'))
  },
)
