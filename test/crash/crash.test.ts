// Kills a node with SIGKILL again and again while eight routes are at work, at random moments and right after events,
// starts it anew each time, and looks at the end whether every byte, row and folder is as if nothing had happened.
//
// ESCLUSA_LONG=1 runs 200 rounds; ESCLUSA_SEED repeats a run's files and moments.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { openStore } from '../../src/store/open.ts'
import { closeAfter, tempFolder, testOnBoth, waitFor } from '../harness.ts'
import type { TestDatabase } from '../harness.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { NodeProcess, esclusa } from './node-process.ts'
import type { Settings } from './node-process.ts'
import { Observer } from './observer.ts'
import { ask, listen } from './operator.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { KINDS, OPERATOR, makeFolders, makeRoute, platformOf } from './routes.ts'
import type { Route } from './routes.ts'
import { Sources } from './sources.ts'
import { unsettled, verdict } from './verdict.ts'
import type { Scene } from './verdict.ts'

const LONG = process.env.ESCLUSA_LONG === '1'
const ROUNDS = Number(process.env.ESCLUSA_ROUNDS ?? (LONG ? 200 : 12))
const SEED = Number(process.env.ESCLUSA_SEED ?? Date.now() % 1_000_000)
const SETTLE_MS = LONG ? 300_000 : 60_000
const MIB = 1024 * 1024

type Trial = Scene & { settings: Settings; token: string; random: Random; observer: Observer }

testOnBoth(
  'a node killed again and again loses nothing, sends nothing twice, shows nothing half',
  async (t, database) => {
    t.diagnostic(`seed ${SEED}, ${ROUNDS} rounds`)
    const trial = await prepare(t, database)
    const { sources, observer, routes } = trial
    for (let round = 0; round < ROUNDS; round++) {
      await killOnce(t, trial, round)
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

async function prepare(t: TestContext, database: TestDatabase): Promise<Trial> {
  const folder = await tempFolder(t)
  const databaseUrl = await database.create(t)
  const dataDir = join(folder, 'data')
  const files = join(folder, 'files')
  const settings: Settings = {
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_FILE_ROOTS: files,
    ESCLUSA_PORT: '0',
    ESCLUSA_LEASE_SECONDS: '1',
    ESCLUSA_DRAIN_SECONDS: '10',
    ESCLUSA_WORKERS: '4',
    ESCLUSA_LOG_LEVEL: 'warn',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
  }
  const keys = await generateSelfSigned({ commonName: 'trial', bits: 2048, days: 30 })
  const routes = KINDS.map((kind, index) => makeRoute(kind, index, files, keys))
  await makeFolders(routes)
  await writeFile(join(folder, 'platform.yaml'), stringify(platformOf(routes)))
  await esclusa(settings, 'apply', join(folder, 'platform.yaml'))
  const token = (await esclusa(settings, 'token', 'create', '--user', OPERATOR)).trim()
  const store = await openStore({ dataDir, databaseUrl })
  closeAfter(t, () => store.close())
  const random = seededRandom(SEED)
  const sources = new Sources(random)
  const observer = new Observer(routes, sources)
  closeAfter(t, () => observer.stop())
  return { settings, token, routes, sources, random, observer, db: store.db, dataDirs: [dataDir] }
}

async function startNode(t: TestContext, settings: Settings): Promise<NodeProcess> {
  const node = await NodeProcess.start(settings)
  closeAfter(t, () => node.kill())
  return node
}

/** New files, a node, and its end: after some time, or with the next event of one kind. */
async function killOnce(
  t: TestContext,
  { settings, token, routes, sources, random }: Trial,
  round: number,
): Promise<void> {
  for (const route of routes) await putFiles(route, sources, random, round)
  const node = await NodeProcess.start(settings)
  closeAfter(t, () => node.kill())
  const deadline = random.between(100, LONG ? 2500 : 3000)
  const moment = random.pick(['time', 'IN_PROGRESS', 'COMPLETED', 'progress'] as const)
  const skip = random.between(0, 8)
  const ears: { close(): void }[] = []
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, deadline)
    let heard = 0
    ears.push(
      listen(node.url, token, (event) => {
        const fits = event.kind === 'progress' ? moment === 'progress' : event.status === moment
        if (!fits || ++heard <= skip) return
        clearTimeout(timer)
        resolve()
      }),
    )
    for (const { kind, sends } of routes)
      if (kind === 'asked' && sends) void ask(node.url, token, 'sendTransfer', sends)
  })
  await node.kill()
  for (const one of ears) one.close()
}

async function putFiles(route: Route, sources: Sources, random: Random, round: number): Promise<void> {
  const many = random.between(0, route.kind === 'moved' || route.kind === 'relay' ? 12 : 3)
  for (let nth = 0; nth < many; nth++)
    await sources.put(route, random.pick([0, 1, 100, 4096, 65_536, random.between(0, MIB)]))
  const big = route.kind === 'deleted' || route.kind === 'fetched' || round % 5 === 0
  if (big && random.next() < 0.4) await sources.put(route, random.between(MIB, LONG ? 40 * MIB : 12 * MIB))
}

/** Left alone, everything comes to its end; the files that nobody sends by themselves are asked for. */
async function settle(trial: Trial, node: NodeProcess): Promise<void> {
  const asked = trial.routes.filter((route) => route.kind === 'asked')
  let left: string[] = []
  await waitFor(
    'everything to settle',
    async () => {
      for (const { sends } of asked) if (sends) await ask(node.url, trial.token, 'sendTransfer', sends)
      left = await unsettled(trial)
      return left.length === 0
    },
    SETTLE_MS,
  ).catch((thrown: unknown) => {
    throw new Error(
      `${String(thrown)} (seed ${SEED}):\n${left.join('\n')}\n${node.lines.slice(-20).join('\n')}`,
    )
  })
}
