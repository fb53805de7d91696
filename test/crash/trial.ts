// A platform with routes on a fresh database, the files put into it and the look at the end: what the crash suite and
// the suite of several nodes have in common.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { openStore } from '../../src/store/database/open.ts'
import { livingOwners } from '../../src/store/transfers/signs-of-life.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { startOpenSsh } from '../support/sftp/openssh.ts'
import { NodeProcess, run } from './node-process.ts'
import type { Settings } from './node-process.ts'
import { makeNetwork, makeNetworkRoute } from './network-routes.ts'
import type { Between, NetworkKind } from './network-routes.ts'
import { Observer } from './observer.ts'
import { ask } from './operator.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { OPERATOR, makeFolders, makeRoute, platformOf } from './routes.ts'
import type { Kind, Route } from './routes.ts'
import { Sources } from './sources.ts'
import { unsettled } from './verdict.ts'
import type { Scene } from './verdict.ts'

export const LONG = process.env.ESCLUSA_LONG === '1'
export const SEED = Number(process.env.ESCLUSA_SEED ?? Date.now() % 1_000_000)
export const MIB = 1024 * 1024
const SETTLE_MS = 300_000

export type Trial = Scene & {
  /** Those of the first node. */
  settings: Settings
  settingsOf: (nth: number) => Settings
  token: string
  random: Random
  observer: Observer
}

/** Another version makes the platform, and has it to itself until `start` resolves. */
export type OlderProgram = { command: string; start: (settings: Settings) => Promise<void> }

export type TrialOptions = {
  older?: OlderProgram
  overNetwork?: readonly NetworkKind[]
  /** How many listen. */
  nodes?: number
  between?: Between
}

export async function prepareTrial(
  t: TestContext,
  database: TestDatabase,
  kinds: readonly Kind[],
  given: Settings,
  { older, overNetwork = [], nodes = 1, between }: TrialOptions = {},
): Promise<Trial> {
  const folder = await tempFolder(t)
  const dataDir = join(folder, 'data')
  const keys = await generateSelfSigned({ commonName: 'trial', bits: 2048, days: 30 })
  const sshd = overNetwork.includes('to sshd') ? await startOpenSsh() : undefined
  if (sshd) closeAfter(t, () => sshd.stop())
  const network = overNetwork.length > 0 ? await makeNetwork(dataDir, nodes, keys, sshd, between) : undefined
  const databaseUrl = await (older ? database.createEmpty(t) : database.create(t, dataDir))
  const files = join(folder, 'files')
  const settings: Settings = {
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_FILE_ROOTS: files,
    ESCLUSA_PORT: '0',
    ESCLUSA_DRAIN_SECONDS: '10',
    ESCLUSA_WORKERS: '4',
    ESCLUSA_LOG_LEVEL: 'warn',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
    ...network?.settings[0],
    ...given,
  }
  const routes = kinds.map((kind, index) => makeRoute(kind, index, files, keys))
  if (network)
    for (const kind of overNetwork) routes.push(makeNetworkRoute(kind, routes.length, files, network))
  await makeFolders(routes)
  await writeFile(join(folder, 'platform.yaml'), stringify(platformOf(routes)))
  await run(settings, ['apply', join(folder, 'platform.yaml')], older?.command)
  const token = (await run(settings, ['token', 'create', '--user', OPERATOR], older?.command)).trim()
  await older?.start(settings)
  const store = await openStore({ dataDir, databaseUrl })
  closeAfter(t, () => store.close())
  const random = seededRandom(SEED)
  const sources = new Sources(random)
  const observer = new Observer(routes, sources)
  closeAfter(t, () => observer.stop())
  const settingsOf = (nth: number) => ({ ...settings, ...network?.settings[nth] })
  const scene = { routes, sources, db: store.db, dataDirs: [dataDir] }
  return { ...scene, settings, settingsOf, token, random, observer }
}

export async function startNode(t: TestContext, settings: Settings, command?: string): Promise<NodeProcess> {
  const node = await NodeProcess.start(settings, command)
  closeAfter(t, () => node.kill())
  return node
}

/** Empty, tiny and middling files, and now and then a big one. */
export async function putFiles(
  route: Route,
  { sources, random }: Trial,
  most: { small: number; big: number },
) {
  const many = random.between(0, most.small)
  for (let nth = 0; nth < many; nth++)
    await sources.put(route, random.pick([0, 1, 100, 4096, 65_536, random.between(0, MIB)]))
  if (most.big > MIB && random.next() < 0.4) await sources.put(route, random.between(MIB, most.big))
}

/** What a start sweeps up is swept up now: it does so only when nobody else is, or may still be, alive. */
export async function sweep(t: TestContext, { db, settings }: Trial): Promise<void> {
  await waitFor(
    'every sign of life to be over',
    async () => (await livingOwners(db, Date.now())).size === 0,
    SETTLE_MS,
  )
  await (await startNode(t, settings)).stop()
}

/** Left alone, everything comes to its end; the files that nobody sends by themselves are asked for. */
export async function settle(trial: Trial, node: NodeProcess): Promise<void> {
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
