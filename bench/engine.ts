// The engine over the folder transport against the system's own tools, in the same run on the same files: one big file
// and ten thousand small ones against `cp` followed by `sha256sum`; then a thousand channels with work at once. What
// the node does and the tools do not: every step durable, a database row for each file, the hash compared.
//
//   node bench/engine.ts [MiB of the big file] [rounds]      ESCLUSA_BENCH_DIR: where the files lie

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TrialNode } from './trial-node.ts'

const bigMib = Number(process.argv[2] ?? 2048)
const rounds = Number(process.argv[3] ?? 3)
const SMALL_FILES = 10_000
const SMALL_BYTES = 10 * 1024
const CHANNELS = 1000

await compare(`one file of ${bigMib} MiB`, bigMib, (folder) => makeBig(join(folder, 'big.bin'), bigMib))
await compare(`${SMALL_FILES} files of 10 KiB`, (SMALL_FILES * SMALL_BYTES) / 2 ** 20, makeSmall)
await manyChannels()

async function makeBig(path: string, mib: number): Promise<void> {
  const piece = randomBytes(8 * 2 ** 20)
  await using file = await open(path, 'w')
  for (let done = 0; done < mib; done += 8) {
    piece.writeUInt32LE(done, 0)
    await file.write(piece)
  }
  await file.sync()
}

async function makeSmall(folder: string): Promise<void> {
  const bytes = randomBytes(SMALL_BYTES)
  for (let number = 0; number < SMALL_FILES; number++) {
    bytes.writeUInt32LE(number, 0)
    await writeFile(join(folder, `${String(number).padStart(5, '0')}.bin`), bytes)
  }
}

/** Alternates the two, each round on the same source, so that what else the machine does hits both alike. */
async function compare(what: string, mib: number, make: (folder: string) => Promise<void>): Promise<void> {
  const trial = await TrialNode.start(1)
  try {
    await make(trial.out())
    await shell(`sync; cat ${trial.out()}/* > /dev/null`)
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const tools = await timed(() => withTools(trial))
      const synced = await timed(() => withTools(trial, true))
      await empty(trial.inbox())
      const node = await timed(() => withNode(trial))
      await empty(trial.inbox())
      ratios.push(tools / node)
      console.log(
        `  round ${round + 1}: cp + sha256sum ${tools.toFixed(2)} s, the same and sync ${synced.toFixed(2)} s, node ${node.toFixed(2)} s ` +
          `(${(mib / node).toFixed(0)} MiB/s)   ratio ${(tools / node).toFixed(2)}, with sync ${(synced / node).toFixed(2)}`,
      )
    }
    console.log(`${what}: best ratio to cp + sha256sum ${Math.max(...ratios).toFixed(2)}`)
  } finally {
    await trial.remove()
  }
}

async function withTools(trial: TrialNode, sync = false): Promise<void> {
  const copy = join(trial.folder, 'copy')
  await rm(copy, { recursive: true, force: true })
  await mkdir(copy)
  await shell(
    `cp -r ${trial.out()}/. ${copy}/ ${sync ? `&& sync -f ${copy}` : ''} && cd ${copy} && ls | xargs sha256sum > /dev/null`,
  )
}

async function withNode(trial: TrialNode): Promise<void> {
  const ended = trial.ended(1)
  await trial.send()
  await ended
}

async function shell(command: string): Promise<void> {
  await promisify(execFile)('sh', ['-c', command])
}

async function empty(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name))
  await shell('sync')
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return (performance.now() - startedAt) / 1000
}

async function manyChannels(): Promise<void> {
  const trial = await TrialNode.start(CHANNELS)
  try {
    const bytes = randomBytes(SMALL_BYTES)
    for (let number = 0; number < CHANNELS; number++)
      for (const name of ['a', 'b']) await writeFile(join(trial.out(number), name), bytes)
    // One of them has far more than the others: it must not hold them up.
    for (let number = 0; number < 2000; number++) await writeFile(join(trial.out(0), `many-${number}`), bytes)
    const startedAt = performance.now()
    const ended = trial.ended(CHANNELS)
    for (let number = 0; number < CHANNELS; number += 50)
      await Promise.all(Array.from({ length: 50 }, (_, index) => trial.send(number + index)))
    const asked = performance.now() - startedAt
    const times = (await ended).map((at) => at - startedAt)
    const at = (part: number) => ((times[Math.ceil(times.length * part) - 1] ?? 0) / 1000).toFixed(2)
    console.log(
      `${CHANNELS} channels with work at once (asked for in ${(asked / 1000).toFixed(2)} s): ` +
        `first done ${at(0.001)} s, half ${at(0.5)} s, last ${at(1)} s`,
    )
  } finally {
    await trial.remove()
  }
}
