// Memory of the node while it moves a big file, against idle. The bar: less than 200 MiB above idle.
//
//   node bench/memory.ts [MiB]        ESCLUSA_BENCH_DIR: where the files lie

import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { TrialNode } from './trial-node.ts'

const mib = Number(process.argv[2] ?? 4096)
const EVERY_MS = 50
/** Wire forms that go through the disk first, and the plain one. */
const FORMS = {
  plain: {},
  'hash compared': { validationHashFiles: true },
  'several at once': {},
} as const

for (const [name, channel] of Object.entries(FORMS)) await measure(name, channel)

async function measure(name: string, channel: object): Promise<void> {
  const trial = await TrialNode.start(1, channel)
  try {
    const files = name === 'several at once' ? 8 : 1
    for (let number = 0; number < files; number++)
      await makeFile(join(trial.out(), `${number}.bin`), mib / files)
    const idle = await idleMib(trial)
    let most = idle
    const timer = setInterval(() => (most = Math.max(most, trial.residentMib())), EVERY_MS)
    const ended = trial.ended(1)
    await trial.send()
    await ended
    clearInterval(timer)
    console.log(
      `${name}, ${mib} MiB in ${files} file${files === 1 ? '' : 's'}: idle ${idle.toFixed(0)} MiB, at most ${most.toFixed(0)} MiB, ` +
        `${(most - idle).toFixed(0)} MiB above idle (bar: under 200)`,
    )
  } finally {
    await trial.remove()
  }
}

/** Once the start is over: the least of a second. */
async function idleMib(trial: TrialNode): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let looks = 0; looks < 20; looks++) {
    least = Math.min(least, trial.residentMib())
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
  return least
}

async function makeFile(path: string, size: number): Promise<void> {
  const piece = randomBytes(8 * 2 ** 20)
  await using file = await open(path, 'w')
  for (let done = 0; done < size; done += 8) await file.write(piece, 0, Math.min(8, size - done) * 2 ** 20)
}
