// How long a status request takes while the engine is saturated, against idle: rounds alternate. The bar: p99 at most
// three times that of idle. Saturated: every place of the engine taken, by big files, by small ones, or by files that
// are compressed and signed on their way.
//
//   node bench/saturation.ts [rounds] [seconds of a round]

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { BASE_PATH } from '../src/contract/operations.ts'
import type { Channel } from '../src/contract/channel.ts'
import type { Load, LoadResult } from './load.ts'
import { TrialNode, codeOf } from './trial-node.ts'

const rounds = Number(process.argv[2] ?? 5)
const seconds = Number(process.argv[3] ?? 3)
const CHANNELS = 8
const LOAD = fileURLToPath(new URL('./load.ts', import.meta.url))

type Work = { files: number; bytes: number; channel?: Channel }
const WORK: Record<string, Work> = {
  'big files': { files: 1, bytes: 256 * 2 ** 20 },
  'small files': { files: 300, bytes: 10 * 1024 },
  'compressed files': { files: 2, bytes: 16 * 2 ** 20, channel: { directories: [{ compression: true }] } },
}

for (const [name, work] of Object.entries(WORK)) await compare(name, work)

async function compare(name: string, work: Work): Promise<void> {
  const trial = await TrialNode.start(CHANNELS + 1)
  try {
    for (let number = 0; number < CHANNELS; number++) await fill(trial, number, work)
    await measure(trial, 1)
    const results: { idle: LoadResult; busy: LoadResult }[] = []
    for (let round = 0; round < rounds; round++) {
      const idle = await measure(trial, seconds)
      const busy = await whileBusy(trial, () => measure(trial, seconds))
      results.push({ idle, busy })
      console.log(
        `  ${name}, round ${round + 1}: p99 idle ${idle.p99Ms.toFixed(2)} ms (${idle.perSecond.toFixed(0)}/s), ` +
          `saturated ${busy.p99Ms.toFixed(2)} ms (${busy.perSecond.toFixed(0)}/s)   ratio ${(busy.p99Ms / idle.p99Ms).toFixed(2)}`,
      )
    }
    const ratios = results.map(({ idle, busy }) => busy.p99Ms / idle.p99Ms).sort((a, b) => a - b)
    console.log(
      `${name}: median ratio of p99 ${ratios[Math.floor(ratios.length / 2)]?.toFixed(2)} (bar: at most 3)`,
    )
  } finally {
    await trial.remove()
  }
}

async function fill(trial: TrialNode, number: number, { files, bytes, channel }: Work): Promise<void> {
  const content = randomBytes(bytes)
  for (let file = 0; file < files; file++) {
    content.writeUInt32LE(file, 0)
    await writeFile(join(trial.out(number), `${file}.bin`), content)
  }
  if (!channel) return
  const directories = [{ direction: 'EMISION', filePath: trial.out(number), ...channel.directories?.[0] }]
  const answer = await fetch(
    `${trial.node.url}${BASE_PATH}/integration/v2/channels/${codeOf(number)}/update/directories`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${trial.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(directories),
    },
  )
  if (answer.status !== 200) throw new Error(`update: ${answer.status} ${await answer.text()}`)
}

/** Each channel is asked to send again as soon as it is done; what it delivered is taken away first. */
async function whileBusy<T>(trial: TrialNode, run: () => Promise<T>): Promise<T> {
  const state = { over: false }
  const keep = async (number: number) => {
    while (!state.over) {
      for (const name of await readdir(trial.inbox(number))) await rm(join(trial.inbox(number), name))
      const answer = await trial.call('POST', `${codeOf(number)}/transfers/send`)
      await answer.body?.cancel()
      while (!state.over && (await isBusy(trial, number)))
        await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const keeping = Array.from({ length: CHANNELS }, (_, number) => keep(number))
  try {
    await new Promise((resolve) => setTimeout(resolve, 300))
    return await run()
  } finally {
    state.over = true
    await Promise.all(keeping)
    for (let number = 0; number < CHANNELS; number++)
      while (await isBusy(trial, number)) await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function isBusy(trial: TrialNode, number: number): Promise<boolean> {
  const answer = await trial.call('GET', `${codeOf(number)}/status`)
  const body = (await answer.json()) as { 'channel-status'?: string }[] // the contract's own
  const [status] = Array.isArray(body) ? body : [body]
  return status?.['channel-status'] === 'IN_PROGRESS' || status?.['channel-status'] === 'PENDING'
}

async function measure(trial: TrialNode, forSeconds: number): Promise<LoadResult> {
  const { hostname, port } = new URL(trial.node.url)
  const path = `${BASE_PATH}/integration/v2/channels/${codeOf(CHANNELS)}/status`
  const load: Load = {
    host: hostname,
    port: Number(port),
    path,
    token: trial.token,
    connections: 8,
    seconds: forSeconds,
  }
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD, JSON.stringify(load)])
  const result = JSON.parse(stdout) as LoadResult // written by load.ts
  if (result.errors > 0) throw new Error(`${result.errors} answers were not 200`)
  return result
}
