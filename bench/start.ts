// Start to ready of `esclusa serve` beside a bare Fastify app that opens the same database: processes of their own,
// alternating, with the compile cache warm for both. Bar: at most 1.5 times.
//
//   node bench/start.ts [runs]

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { openStore } from '../src/store/database/open.ts'
import { cpuMicros } from './cpu-time.ts'
import { fillPlatform, fillTransfers } from './fill.ts'

type Run = { bare: Start; node: Start }

const runs = Number(process.argv[2] ?? 9)
const root = new URL('..', import.meta.url).pathname
const folder = await mkdtemp(join(tmpdir(), 'esclusa-bench-'))

try {
  const store = await openStore({ dataDir: folder })
  await fillPlatform(store)
  await fillTransfers(store, 0, 1000)
  await store.close()
  const bare = join(folder, 'bare.mjs')
  await writeFile(bare, bareApp())
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(folder, 'cache') }
  const node = () =>
    startOf([join(root, 'bin/esclusa.js'), 'serve'], {
      ...env,
      ESCLUSA_DATA_DIR: folder,
      ESCLUSA_PORT: '0',
      ESCLUSA_LOG_LEVEL: 'warn',
    })
  const fastify = () => startOf([bare], env)
  for (let warm = 0; warm < 2; warm++) await node().then(fastify)
  const times: Run[] = []
  for (let run = 0; run < runs; run++) times.push({ bare: await fastify(), node: await node() })
  const of = (pick: (one: Run) => number) =>
    times.map(pick).toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? 0
  console.log(`start to the first answer, median of ${runs} alternating runs`)
  for (const which of ['bare', 'node'] as const)
    console.log(
      `  ${which}   ${of((one) => one[which].ms).toFixed(0)} ms   CPU ${of((one) => one[which].cpuMs).toFixed(0)} ms`,
    )
  console.log(`  ratio of CPU time ${of((one) => one.node.cpuMs / one.bare.cpuMs).toFixed(2)}`)
  console.log(`  ratio of time     ${of((one) => one.node.ms / one.bare.ms).toFixed(2)} (bar: at most 1.50)`)
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** The least that serves HTTP over the same database file: Fastify, one route, SQLite opened and read. */
function bareApp(): string {
  const fastify = import.meta.resolve('fastify')
  const sqlite = import.meta.resolve('better-sqlite3')
  return `import Fastify from '${fastify}'
import Database from '${sqlite}'
const database = new Database('${join(folder, 'esclusa.db')}')
database.pragma('journal_mode = WAL')
database.prepare('select count(*) from channel').get()
const app = Fastify()
app.get('/readyz', () => ({ status: 'ready' }))
const address = await app.listen({ host: '127.0.0.1', port: 0 })
console.error('bare is ready at ' + address)
process.on('SIGTERM', () => process.exit(0))
`
}

type Start = { ms: number; cpuMs: number }

/** From the spawn until /readyz answers 200. */
async function startOf(args: string[], env: NodeJS.ProcessEnv): Promise<Start> {
  const from = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  try {
    for await (const line of createInterface({ input: child.stderr })) {
      const url = /ready at (http\S+)/.exec(line)?.[1]
      if (!url) continue
      const answer = await fetch(`${url}/readyz`)
      if (answer.status === 200)
        return { ms: performance.now() - from, cpuMs: cpuMicros(child.pid ?? 0) / 1000 }
    }
    throw new Error(`${args.join(' ')} ended before it was ready`)
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}
