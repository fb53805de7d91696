// What a node costs, for docs/operate/sizing.md: processor time (user and system, all threads) for a transfer of one
// small file, for each file of a big transfer and for a GiB; memory and idle work by the number of channels; growth of
// the database. Processor time is what other work on the machine disturbs least; `bench/throughput.ts` has that of requests.
//
//   node bench/sizing.ts [transfers] [files] [MiB] [channels] [transport]        ESCLUSA_BENCH_DIR: where the files lie

import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { Channel } from '../src/contract/channel.ts'
import { startOpenSsh } from '../test/support/sftp/openssh.ts'
import { cpuMicros } from './cpu-time.ts'
import { folderScene, oftp2Scene, sftpScene } from './end-to-end/nodes.ts'
import type { Scene, SceneOptions } from './end-to-end/nodes.ts'
import { TrialNode } from './trial-node.ts'

const [transfers = 100, files = 1000, mib = 256, channels = 2000] = process.argv.slice(2, 6).map(Number)
const only = process.argv[6]
const SMALL_BYTES = 10 * 1024
const WARM_UP = 10
const IDLE_MS = 30_000
/** Asking for the status costs a tenth of a millisecond; a transfer of one file some tens. */
const POLL_MS = 100

console.log(`${availableParallelism()} cores, ${process.arch}, load average ${loadavg()[0]?.toFixed(0)}`)
const sshd = await startOpenSsh()
try {
  await movingFiles('folder', folderScene)
  await movingFiles('OFTP2/TLS', oftp2Scene)
  await movingFiles('SFTP', (options) => sftpScene({ ...options, sshd }))
} finally {
  await sshd.stop()
}
for (const count of new Set([1, channels / 2, channels].filter((one) => one >= 1))) await idling(count)

async function movingFiles(name: string, start: (options: SceneOptions) => Promise<Scene>): Promise<void> {
  if (only !== undefined && only !== name) return
  const root = await mkdtemp(join(process.env.ESCLUSA_BENCH_DIR ?? tmpdir(), 'esclusa-bench-'))
  const scene = await start({ root, pollMs: POLL_MS })
  const grown = growthOf(join(root, 'banco', 'data', 'esclusa.db'))
  try {
    await small(scene, 1)
    await cost(scene, WARM_UP)
    grown()
    const idle = await idleShares(scene)
    say(name, 'one file', await cost(scene, transfers, idle), transfers, 'transfer')
    console.log(`${name}: database ${(grown() / transfers).toFixed(0)} octets more a transfer`)
    await emptied(scene)
    await small(scene, files)
    say(name, `${files} files`, await cost(scene, 1, idle), files, 'file')
    console.log(`${name}: database ${(grown() / files).toFixed(0)} octets more a file`)
    await emptied(scene)
    await big(scene)
    say(name, `${mib} MiB`, await cost(scene, 1, idle), mib / 1024, 'GiB')
    console.log(`${name}: resident ${scene.residentMib().toFixed(0)} MiB in ${scene.pids.length} nodes`)
  } finally {
    await scene.stop()
    await rm(root, { recursive: true, force: true })
  }
}

/** By how many octets the database has grown since it was asked last. */
function growthOf(path: string): () => number {
  let last = octetsOf(path)
  return () => {
    const before = last
    last = octetsOf(path)
    return last - before
  }
}

function octetsOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  const { octets } = database
    .prepare('select page_count * page_size as octets from pragma_page_count, pragma_page_size')
    .get() as { octets: number }
  database.close()
  return octets
}

/** What each node uses of a core while nothing happens. */
async function idleShares({ pids }: Scene): Promise<number[]> {
  const before = pids.map(cpuMicros)
  await setTimeout(IDLE_MS / 2)
  return pids.map((pid, nth) => (cpuMicros(pid) - (before[nth] ?? 0)) / 1000 / (IDLE_MS / 2))
}

/** Processor time of each node, the sending one first, in milliseconds; without what they use while nothing happens. */
async function cost(scene: Scene, times: number, idle: readonly number[] = []): Promise<number[]> {
  const before = scene.pids.map(cpuMicros)
  const began = performance.now()
  for (let time = 0; time < times; time++) {
    await scene.empty()
    await scene.send()
  }
  const took = performance.now() - began
  return scene.pids.map((pid, nth) => (cpuMicros(pid) - (before[nth] ?? 0)) / 1000 - took * (idle[nth] ?? 0))
}

function say(name: string, what: string, spent: readonly number[], count: number, unit: string): void {
  const [sending = 0, receiving] = spent.map((ms) => ms / count)
  const there = receiving === undefined ? '' : `, receiving ${receiving.toFixed(2)} ms`
  console.log(
    `${name}, ${what}: sending ${sending.toFixed(2)} ms of CPU a ${unit}${there}; load ${loadavg()[0]?.toFixed(0)}`,
  )
}

async function small(scene: Scene, count: number): Promise<void> {
  const bytes = randomBytes(SMALL_BYTES)
  for (let number = 0; number < count; number++) {
    bytes.writeUInt32LE(number, 0)
    await writeFile(join(scene.out(), `${number}.bin`), bytes)
  }
}

async function big(scene: Scene): Promise<void> {
  await using file = await open(join(scene.out(), 'big.bin'), 'w')
  for (let done = 0; done < mib; done += 8) await file.write(randomBytes(8 * 2 ** 20))
}

async function emptied(scene: Scene): Promise<void> {
  await scene.empty()
  await rm(scene.out(), { recursive: true })
  await mkdir(scene.out())
}

/** A node that watches folders in which nothing happens. */
async function idling(count: number): Promise<void> {
  const watched = { automation: { watch: true } } as Channel
  const trial = await TrialNode.start(count, watched)
  try {
    await setTimeout(10_000)
    const before = cpuMicros(trial.node.pid)
    await setTimeout(IDLE_MS)
    const share = (cpuMicros(trial.node.pid) - before) / 1000 / IDLE_MS
    console.log(
      `${count} watched channels and partners, idle: ${(share * 100).toFixed(1)} % of a core, resident ` +
        `${trial.residentMib().toFixed(0)} MiB; load ${loadavg()[0]?.toFixed(0)}`,
    )
  } finally {
    await trial.remove()
  }
}
