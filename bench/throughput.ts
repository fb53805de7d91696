// Requests per second of the two hottest reads of a node process on SQLite, beside a bare Fastify route that answers
// with a constant of the same size: same machine, same load, alternating rounds. Bar: at least half, with p99 beside.
// The server's CPU time per request is printed too: it says the same on a machine that has other work to do.
//
//   node bench/throughput.ts [seconds per round] [rounds]

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { makeTokens } from '../src/accounts/token.ts'
import { readSecrets } from '../src/files/secrets.ts'
import { findAccount } from '../src/store/accounts.ts'
import { openStore } from '../src/store/database/open.ts'
import { makeSeal } from '../src/store/seal.ts'
import { cpuMicros } from './cpu-time.ts'
import { CHANNEL, fillPlatform, fillTransfers } from './fill.ts'
import type { Load, LoadResult } from './load.ts'

const seconds = Number(process.argv[2] ?? 3)
const rounds = Number(process.argv[3] ?? 5)
const CONNECTIONS = 32
const here = (file: string) => new URL(file, import.meta.url).pathname
const V2 = `/connect-back/integration/v2/channels/${CHANNEL}`

const folder = await mkdtemp(join(tmpdir(), 'esclusa-bench-'))
const children: ChildProcess[] = []
try {
  const token = await fill()
  const node = await startNode()
  for (const [name, path] of [
    ['GET configuration', `${V2}/configuration`],
    ['GET transfers (20 rows)', `${V2}/transfers?page=1&size=20`],
  ] as const)
    await compare(name, { ...node, path, token })
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map((child) => new Promise((resolve) => child.once('exit', resolve))))
  await rm(folder, { recursive: true, force: true })
}

async function fill(): Promise<string> {
  const secrets = readSecrets({ dataDir: folder, jwtSecret: undefined, masterKey: undefined })
  const store = await openStore({ dataDir: folder })
  await fillPlatform(store, makeSeal(secrets.masterKey))
  await fillTransfers(store, 0, 1000)
  const account = await findAccount(store.db, 'globaladmin')
  await store.close()
  if (!account) throw new Error('no user globaladmin')
  return makeTokens(secrets.jwtSecret).make(account, Date.now()).token
}

type Server = { url: string; pid: number }

async function startNode(): Promise<Server> {
  const env = { ...process.env, ESCLUSA_DATA_DIR: folder, ESCLUSA_PORT: '0', ESCLUSA_LOG_LEVEL: 'warn' }
  const child = spawn(process.execPath, [here('../bin/esclusa.js'), 'serve'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return saidBy(child, child.stderr, /ready at (\S+)/)
}

async function startBare(body: string): Promise<Server> {
  const file = join(folder, 'constant.json')
  await writeFile(file, body)
  const child = spawn(process.execPath, [here('./bare-server.ts'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return saidBy(child, child.stdout, /^(http\S+)/)
}

async function saidBy(child: ChildProcess, stream: NodeJS.ReadableStream, pattern: RegExp): Promise<Server> {
  children.push(child)
  const lines: string[] = []
  for await (const line of createInterface({ input: stream })) {
    lines.push(line)
    const url = pattern.exec(line)?.[1]
    if (url) {
      stream.resume()
      return { url, pid: child.pid ?? 0 }
    }
  }
  throw new Error(`a server ended before it was ready: ${lines.join('\n')}`)
}

type Target = Server & { path: string; token?: string }
type Measured = LoadResult & { cpuMicros: number }
type Round = { bare: Measured; node: Measured }

async function compare(name: string, target: Target): Promise<void> {
  const answer = await fetch(target.url + target.path, {
    headers: { authorization: `Bearer ${target.token}` },
  })
  const body = await answer.text()
  const bare = { ...(await startBare(body)), path: '/' }
  // Warm both, then alternate.
  await measure(bare, 1)
  await measure(target, 1)
  const results: Round[] = []
  for (let round = 0; round < rounds; round++)
    results.push({ bare: await measure(bare, seconds), node: await measure(target, seconds) })
  children.pop()?.kill('SIGTERM')
  print(name, body.length, results)
}

async function measure(target: Target, forSeconds: number): Promise<Measured> {
  const { hostname, port } = new URL(target.url)
  const load: Load = {
    host: hostname,
    port: Number(port),
    path: target.path,
    connections: CONNECTIONS,
    seconds: forSeconds,
  }
  if (target.token) load.token = target.token
  const before = cpuMicros(target.pid)
  const { stdout } = await promisify(execFile)(process.execPath, [here('./load.ts'), JSON.stringify(load)])
  const result = JSON.parse(stdout) as LoadResult // written by load.ts
  if (result.errors > 0) throw new Error(`${result.errors} answers of ${target.path} were not 200`)
  return { ...result, cpuMicros: (cpuMicros(target.pid) - before) / result.requests }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function print(name: string, size: number, results: Round[]): void {
  const of = (pick: (one: Round) => number) => median(results.map(pick))
  const ratio = of((one) => one.node.perSecond / one.bare.perSecond)
  console.log(
    `${name}, ${size} bytes, ${CONNECTIONS} connections, median of ${results.length} rounds of ${seconds} s`,
  )
  for (const which of ['bare', 'node'] as const) {
    const [perSecond, p99, cpu] = [
      of((one) => one[which].perSecond),
      of((one) => one[which].p99Ms),
      of((one) => one[which].cpuMicros),
    ]
    console.log(
      `  ${which}   ${perSecond.toFixed(0)} req/s   p99 ${p99.toFixed(2)} ms   CPU ${cpu.toFixed(0)} us a request`,
    )
  }
  console.log(`  ratio of CPU a request ${of((one) => one.bare.cpuMicros / one.node.cpuMicros).toFixed(2)}`)
  console.log(`  ratio of requests per second ${ratio.toFixed(2)} (bar: at least 0.50)`)
}
