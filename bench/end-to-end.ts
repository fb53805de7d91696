// What users get: whole nodes in processes of their own, from `send` to COMPLETED, beside scp, sftp, rclone and cp moving
// the same files on the same disk in the same run. Ratios: 1.0 is as fast as the tool, more is faster. Best of the
// rounds, taken in turns. What arrived is moved away between them, and removed when the whole run is over: ext4 walks past
// every inode that was freed within the last minutes, which cost each of 2,000 new files up to 0.75 ms of the processor.
// So whatever removes many files on that disk before or beside the run falsifies it.
//
//   node bench/end-to-end.ts [group ...] [--mib 1024] [--files 2000] [--many 10000] [--rows 1000000] [--rounds 3] [--over OFTP2/TLS] [--trip 100]
//
// ESCLUSA_BENCH_DIR: where files lie. --over: that transport alone; --trip: that round trip alone.
//
// Groups: big (one file), small (many files), far (the same over a line of 50 and 100 ms round trip), channels (1, 8 and
// 64 channels at once, and 300 with a file each), nodes (three nodes on PostgreSQL against one), memory (10,000 files in one transfer: memory and
// p99 of GET status, plain and compressed), again (transfers one right after the other), beside (a file to one partner
// beside many channels to a slow one), growth (time per file from 100 to 10,000 files, --many sets the most; and with 1,000,000 transfers in both databases, --rows). Without any: all of them.

import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../src/store/database/open.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { startOpenSsh } from '../test/support/sftp/openssh.ts'
import type { OpenSsh } from '../test/support/sftp/openssh.ts'
import { startDelayLine } from './end-to-end/delay-line.ts'
import { folderScene, oftp2Scene, sftpScene } from './end-to-end/nodes.ts'
import type { Scene, SceneOptions } from './end-to-end/nodes.ts'
import { hasRclone, shell, toolsFor } from './end-to-end/tools.ts'
import { fillTransfers } from './fill.ts'
import { bestOf } from './plain.ts'

const SMALL_BYTES = 10 * 1024
const MANY_CHANNELS = 300
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mib: { type: 'string', default: '1024' },
    files: { type: 'string', default: '2000' },
    many: { type: 'string', default: '10000' },
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    over: { type: 'string' },
    trip: { type: 'string' },
  },
})
const [mib, files, rounds] = [values.mib, values.files, values.rounds].map(Number) as [number, number, number]
const [many, rows] = [Number(values.many), Number(values.rows)]

type Make = (folder: string) => Promise<void>
type Runs = Record<string, () => Promise<void>>
type Tools = ReturnType<typeof toolsFor>
/** What a node is compared with, by name: made of the tools. */
type Peers = (tools: Tools) => Runs

async function makeBig(folder: string, size: number): Promise<void> {
  const piece = randomBytes(8 * 2 ** 20)
  await using file = await open(join(folder, 'big.bin'), 'w')
  for (let done = 0; done < size; done += 8) {
    piece.writeUInt32LE(done, 0)
    await file.write(piece.subarray(0, Math.min(8, size - done) * 2 ** 20))
  }
}

async function makeSmall(folder: string, count: number): Promise<void> {
  const bytes = randomBytes(SMALL_BYTES)
  for (let number = 0; number < count; number++) {
    bytes.writeUInt32LE(number, 0)
    await writeFile(join(folder, `${String(number).padStart(5, '0')}.bin`), bytes)
  }
}

const roots: string[] = []

/** Small files stay until the end of the whole run; the head of this file says why. */
async function withRoot<T>(run: (root: string) => Promise<T>): Promise<T> {
  const root = await mkdtemp(join(process.env.ESCLUSA_BENCH_DIR ?? tmpdir(), 'esclusa-bench-'))
  roots.push(root)
  try {
    return await run(root)
  } finally {
    await shell(`find ${root} -type f -size +1M -delete`)
  }
}

async function withScene<T>(
  start: (options: SceneOptions) => Promise<Scene>,
  options: Omit<SceneOptions, 'root'>,
  run: (scene: Scene) => Promise<T>,
): Promise<T> {
  return withRoot(async (root) => {
    const scene = await start({ ...options, root })
    try {
      return await run(scene)
    } finally {
      await scene.stop()
    }
  })
}

const then =
  (...steps: (() => Promise<void>)[]) =>
  async () => {
    for (const step of steps) await step()
  }

const bigPeers: Record<string, Peers> = {
  'OFTP2/TLS': (t) => ({ scp: t.scp, 'scp + sha256sum at both ends': then(t.scp, t.hashBoth) }),
  SFTP: (t) => ({ sftp: t.sftp, scp: t.scp, 'sftp + sha256sum at both ends': then(t.sftp, t.hashBoth) }),
  folder: (t) => ({
    'cp + sync': then(t.cp, t.sync),
    'cp + sha256sum + sync': then(t.cp, t.hashOne, t.sync),
  }),
}
const smallPeers: Record<string, Peers> = {
  'OFTP2/TLS': (t) => ({
    'scp -r + sync': then(t.scp, t.sync),
    sftp: t.sftp,
    ...(hasRclone && { rclone: t.rclone }),
  }),
  SFTP: (t) => ({ sftp: t.sftp, 'scp -r': t.scp, ...(hasRclone && { rclone: t.rclone }) }),
  folder: (t) => ({ 'cp + sha256sum + sync': then(t.cp, t.hashOne, t.sync), cp: t.cp }),
}
const farPeers: Record<string, Peers> = {
  'OFTP2/TLS': (t) => ({ scp: t.scp, sftp: t.sftp, ...(hasRclone && { rclone: t.rclone }) }),
  SFTP: (t) => ({ scp: t.scp, sftp: t.sftp, ...(hasRclone && { rclone: t.rclone }) }),
}

const scenes = (sshd: OpenSsh): Record<string, (options: SceneOptions) => Promise<Scene>> => ({
  'OFTP2/TLS': oftp2Scene,
  SFTP: (options) => sftpScene({ ...options, sshd }),
  folder: folderScene,
})

type Comparison = {
  sshd: OpenSsh
  what: string
  make: Make
  peers: Record<string, Peers>
  roundTripMs?: number
}

/** `between` gives the port of a line that is so long, to the port that it is given. */
async function withLine(
  roundTripMs: number,
  run: (between: (port: number) => Promise<number>) => Promise<void>,
): Promise<void> {
  const lines: { stop(): void }[] = []
  try {
    await run(async (port) => {
      const line = await startDelayLine(roundTripMs, port)
      lines.push(line)
      return line.port
    })
  } finally {
    for (const line of lines) line.stop()
  }
}

/** One row per transport. */
async function compare({ sshd, what, make, peers, roundTripMs }: Comparison): Promise<void> {
  for (const [transport, peersOf] of Object.entries(peers)) {
    if (values.over && values.over !== transport) continue
    const start = scenes(sshd)[transport]
    if (!start) throw new Error(`no scene for ${transport}`)
    await withLine(roundTripMs ?? 0, (between) =>
      withScene(start, roundTripMs === undefined ? {} : { between }, async (scene) => {
        await make(scene.out())
        const copy = join(scene.inbox(), '..', 'copy')
        await mkdir(copy)
        let copies = 0
        const port = roundTripMs === undefined ? sshd.port : await between(sshd.port)
        let cpu = { sending: Infinity, receiving: Infinity }
        const send = async () => {
          const before = scene.cpuMicros()
          await scene.send()
          const after = scene.cpuMicros()
          cpu = {
            sending: Math.min(cpu.sending, after.sending - before.sending),
            receiving: Math.min(cpu.receiving, after.receiving - before.receiving),
          }
        }
        const runs: Runs = { node: send, ...peersOf(toolsFor(sshd, port, scene.out(), copy)) }
        const best = await bestOf(rounds, runs, async () => {
          await rename(copy, `${copy}-${copies++}`)
          await mkdir(copy)
          await scene.empty()
          await shell(`sync -f ${process.env.ESCLUSA_BENCH_DIR ?? tmpdir()}`)
        })
        say(`${what}, ${transport}`, best)
        const { sending, receiving } = cpu
        console.log(
          'processor time of the nodes'.padEnd(52),
          `sending ${(sending / 1e6).toFixed(2)} s   receiving ${(receiving / 1e6).toFixed(2)} s`,
        )
      }),
    )
  }
}

function say(what: string, best: Record<string, number>): void {
  const node = best.node ?? Number.NaN
  const others = Object.entries(best)
    .filter(([name]) => name !== 'node')
    .map(([name, seconds]) => `${(seconds / node).toFixed(2)} of ${name} (${seconds.toFixed(2)} s)`)
  console.log(`${what.padEnd(52)} ${node.toFixed(2)} s   ${others.join('   ')}`)
}

async function far(sshd: OpenSsh): Promise<void> {
  const [size, count] = [Math.min(mib, 256), Math.min(files, 500)]
  for (const roundTripMs of values.trip ? [Number(values.trip)] : [50, 100]) {
    const line = `${roundTripMs} ms round trip`
    await compare({
      sshd,
      what: `${size} MiB, ${line}`,
      make: (at) => makeBig(at, size),
      peers: farPeers,
      roundTripMs,
    })
    await compare({
      sshd,
      what: `${count} files, ${line}`,
      make: (at) => makeSmall(at, count),
      peers: farPeers,
      roundTripMs,
    })
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await run()
  return (performance.now() - began) / 1000
}

async function sendAll(scene: Scene, channels: number, perChannel: number): Promise<number> {
  for (let number = 0; number < channels; number++) await makeSmall(scene.out(number), perChannel)
  await shell(`sync -f ${process.env.ESCLUSA_BENCH_DIR ?? tmpdir()}`)
  return timed(() => scene.send())
}

/** The same number of files in all, over more and more channels. */
async function manyChannels(): Promise<void> {
  const times = new Map<number, number>()
  for (const channels of [1, 8, 64])
    times.set(
      channels,
      await withScene(oftp2Scene, { channels }, (scene) =>
        sendAll(scene, channels, Math.ceil(files / channels)),
      ),
    )
  const one = times.get(1) ?? Number.NaN
  for (const [channels, seconds] of times)
    console.log(
      `${files} files over ${channels} channel(s), OFTP2/TLS`.padEnd(52),
      `${seconds.toFixed(2)} s   ${(one / seconds).toFixed(2)} of one channel`,
    )
  const seconds = await withScene(oftp2Scene, { channels: MANY_CHANNELS }, async (scene) => {
    await sendAll(scene, MANY_CHANNELS, 1)
    await scene.empty()
    return sendAll(scene, MANY_CHANNELS, 1)
  })
  console.log(
    `${MANY_CHANNELS} channels with a file each, warm, OFTP2/TLS`.padEnd(52),
    `${seconds.toFixed(2)} s   ${((seconds / MANY_CHANNELS) * 1000).toFixed(1)} ms a file`,
  )
}

async function manyNodes(): Promise<void> {
  const channels = 24
  const postgres = await startPostgres()
  try {
    const seconds: number[] = []
    for (const senders of [1, 3]) {
      const databaseUrl = await freshDatabase(postgres.url, `bench${senders}`)
      seconds.push(
        await withScene(oftp2Scene, { channels, senders, databaseUrl }, (scene) =>
          sendAll(scene, channels, Math.ceil(files / channels)),
        ),
      )
    }
    const [one = Number.NaN, three = Number.NaN] = seconds
    console.log(
      `${files} files over ${channels} channels, PostgreSQL`.padEnd(52),
      `one node ${one.toFixed(2)} s   three nodes ${three.toFixed(2)} s   ${(one / three).toFixed(2)} of one`,
    )
  } finally {
    await postgres.stop()
  }
}

async function freshDatabase(url: string, name: string): Promise<string> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

/** 99th percentile of `GET status`, in ms, asked for one after the other until `until` resolves. */
async function p99(scene: Scene, until: Promise<unknown>): Promise<number> {
  const times: number[] = []
  const over = new AbortController()
  void until.catch(() => {}).finally(() => over.abort())
  while (!over.signal.aborted) times.push((await timed(() => scene.status())) * 1000)
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

async function memory(): Promise<void> {
  for (const compression of ['NO', 'SI'] as const) {
    const channel = { connection: { advancedConfigurationTransmission: { compression } } }
    await withScene(oftp2Scene, { channel }, async (scene) => {
      await makeSmall(scene.out(), 10)
      await scene.send()
      await scene.empty()
      const idle = await p99(scene, new Promise((resolve) => setTimeout(resolve, 3000)))
      const before = scene.residentMib()
      let most = before
      const watch = setInterval(() => (most = Math.max(most, scene.residentMib())), 100)
      await makeSmall(scene.out(), many)
      const busy = await p99(scene, scene.send()).finally(() => clearInterval(watch))
      console.log(
        `${many} files in one transfer, compression ${compression}`.padEnd(52),
        `both nodes ${before.toFixed(0)} MiB idle, ${most.toFixed(0)} at most (+${(most - before).toFixed(0)})`,
        `  p99 of GET status ${(busy / idle).toFixed(2)} of idle (${idle.toFixed(1)} ms)`,
      )
    })
  }
}

/** Milliseconds a file, after a transfer that warms both nodes up. */
async function perFile(scene: Scene, count: number): Promise<string> {
  await makeSmall(scene.out(), 100)
  await scene.send()
  await scene.empty()
  await makeSmall(scene.out(), count)
  await shell('sync')
  return (((await timed(() => scene.send())) / count) * 1000).toFixed(2)
}

/** Each transfer begins when the one before is over: its sessions are still closing then, and its receipts come. */
async function again(): Promise<void> {
  for (const [roundTripMs, count] of [
    [0, files],
    [100, Math.min(files, 500)],
  ] as const)
    await withLine(roundTripMs, (between) =>
      withScene(oftp2Scene, roundTripMs === 0 ? {} : { between }, async (scene) => {
        await makeSmall(scene.out(), count)
        const times: number[] = []
        for (let nth = 0; nth <= rounds; nth++) {
          times.push(await timed(() => scene.send()))
          await scene.empty()
        }
        const [first, ...rest] = times.map((time) => `${time.toFixed(2)} s`)
        console.log(
          `${count} files again and again, ${roundTripMs} ms, OFTP2/TLS`.padEnd(52),
          `${first}, right after it ${rest.join(', ')}`,
        )
      }),
    )
}

/** One file to a folder, alone and while the files of a hundred channels go to a partner 100 ms away. */
async function beside(): Promise<void> {
  const channels = 100
  await withLine(100, (between) =>
    withScene(oftp2Scene, { channels, between }, async (scene) => {
      const one = async (): Promise<number> => {
        await scene.near.put(randomBytes(SMALL_BYTES))
        return timed(() => scene.near.send())
      }
      await one()
      const alone = await one()
      for (let number = 0; number < channels; number++)
        await makeSmall(scene.out(number), Math.ceil(files / channels))
      const all = timed(() => scene.send())
      const over = new AbortController()
      void all.catch(() => {}).finally(() => over.abort())
      const times: number[] = []
      while (!over.signal.aborted) {
        times.push(await one())
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
      const seconds = await all
      const sorted = times.toSorted((a, b) => a - b)
      console.log(
        `one file beside ${files} of ${channels} channels, 100 ms`.padEnd(52),
        `alone ${alone.toFixed(2)} s   beside ${(sorted[sorted.length >> 1] ?? Number.NaN).toFixed(2)} s, ` +
          `${(sorted.at(-1) ?? Number.NaN).toFixed(2)} at most (${times.length} times)   the others ${seconds.toFixed(2)} s`,
      )
    }),
  )
}

async function growth(): Promise<void> {
  const times: string[] = []
  for (const count of [many / 100, many / 10, many])
    times.push(`${count}: ${await withScene(oftp2Scene, {}, (scene) => perFile(scene, count))} ms`)
  console.log('time per file in one transfer, OFTP2/TLS'.padEnd(52), times.join('   '))
  const [few, filled] = [
    await withScene(oftp2Scene, {}, (scene) => perFile(scene, files)),
    await withScene(oftp2Scene, {}, async (scene) => {
      for (const { dataDir, channel } of scene.databases) {
        const store = await openStore({ dataDir })
        await fillTransfers(store, 0, rows, 1, channel)
        await store.close()
      }
      return perFile(scene, files)
    }),
  ]
  console.log(
    `time per file with ${rows} transfers in both databases`.padEnd(52),
    `none: ${few} ms   ${rows}: ${filled} ms   (${files} files, OFTP2/TLS)`,
  )
}

const sshd = await startOpenSsh()
const groups: Record<string, () => Promise<void>> = {
  big: () =>
    compare({ sshd, what: `${mib} MiB in one file`, make: (at) => makeBig(at, mib), peers: bigPeers }),
  small: () =>
    compare({
      sshd,
      what: `${files} files of 10 KiB`,
      make: (at) => makeSmall(at, files),
      peers: smallPeers,
    }),
  far: () => far(sshd),
  channels: manyChannels,
  nodes: manyNodes,
  memory,
  again,
  beside,
  growth,
}
const load = () =>
  console.log(
    `load average: ${loadavg()
      .map((one) => one.toFixed(1))
      .join(' ')}`,
  )
try {
  load()
  for (const name of positionals.length > 0 ? positionals : Object.keys(groups)) {
    const group = groups[name]
    if (!group) throw new Error(`no group ${name}: ${Object.keys(groups).join(', ')}`)
    await group()
  }
  load()
} finally {
  await sshd.stop()
  for (const root of roots) await rm(root, { recursive: true, force: true })
}
