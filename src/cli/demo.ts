// `esclusa demo`: a bank node and a partner node on loopback, with channels, contacts, files and a day of history.
// Everything it makes lies in one folder; the two nodes are ordinary `esclusa serve` processes and end with it.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../config.ts'
import { fixedLines, makeFolders, payrollFile, paymentsFile, put, statementFile } from '../demo/files.ts'
import { writePast } from '../demo/past.ts'
import { bankPlatform, partnerPlatform } from '../demo/platforms.ts'
import type { DemoNode, DemoParts } from '../demo/platforms.ts'
import { generateSelfSigned } from '../engine/transforms/cms/self-signed.ts'
import { NodeError } from '../errors.ts'
import { readSecrets } from '../files/secrets.ts'
import { applyPlatform } from '../platform/apply.ts'
import { readPlatform } from '../platform/read.ts'
import { openStore } from '../store/open.ts'
import { makeSeal } from '../store/seal.ts'
import { remark, say } from './print.ts'

const MARK = 'made-by-esclusa-demo'
const READY_MS = 30_000
const LIFE_MS = 15_000

export type DemoOptions = { folder: string; port: number }

export async function demo(options: DemoOptions): Promise<void> {
  const folder = freshFolder(resolve(options.folder))
  remark('making two nodes, their keys, channels and files …')
  const parts = await makeParts(folder, options.port)
  await prepare(parts.bank, bankPlatform(parts), true)
  await prepare(parts.partner, partnerPlatform(parts), false)
  writeSamples(parts)
  const nodes = [start(parts.bank), start(parts.partner)]
  const life = setInterval(() => keepAlive(parts), LIFE_MS)
  try {
    await Promise.all([ready(parts.bank, nodes[0]), ready(parts.partner, nodes[1])])
    welcome(parts, folder)
    await ended(nodes)
  } finally {
    clearInterval(life)
    for (const node of nodes) node.kill('SIGTERM')
    await Promise.all(
      nodes.map(
        (node) => new Promise((done) => (node.exitCode === null ? node.once('exit', done) : done(0))),
      ),
    )
  }
}

/** Only a folder that an earlier demo made is made anew. */
function freshFolder(folder: string): string {
  if (existsSync(folder) && !existsSync(join(folder, MARK)))
    throw new NodeError(
      'bad_use',
      `${folder} exists and was not made by a demo: choose another with --folder`,
    )
  const other = existsSync(join(folder, MARK)) ? Number(readFileSync(join(folder, MARK), 'utf8')) : 0
  if (isRunning(other))
    throw new NodeError('bad_use', `a demo is running in ${folder} (process ${other}): end it first`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, MARK), String(process.pid))
  return folder
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}

async function makeParts(folder: string, port: number): Promise<DemoParts> {
  const ports = await freePorts(5)
  const node = async (name: string, httpPort: number, at: number): Promise<DemoNode> => {
    const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: name, days: 365 })
    const identity = `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`
    return {
      folder: join(folder, name),
      httpPort,
      oftp2Port: ports[at] ?? 0,
      oftp2TlsPort: ports[at + 1] ?? 0,
      identity,
      certificate: certificatePem,
    }
  }
  const [bank, partner] = await Promise.all([
    node('bank', await portOr(port), 0),
    node('partner', await portOr(port + 1), 2),
  ])
  return {
    bank,
    partner,
    closedPort: ports[4] ?? 1,
    password: randomBytes(9).toString('base64url'),
    now: new Date(),
  }
}

async function portOr(wanted: number): Promise<number> {
  return (await isFree(wanted)) ? wanted : ((await freePorts(1))[0] ?? 0)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)))
  })
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((done) => {
          const server = createServer()
          server.listen(0, '127.0.0.1', () => done(server))
        }),
    ),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
  return ports
}

function settingsOf(node: DemoNode): Record<string, string> {
  return {
    ESCLUSA_DATA_DIR: node.folder,
    ESCLUSA_PORT: String(node.httpPort),
    ESCLUSA_OFTP2_PORT: String(node.oftp2Port),
    ESCLUSA_OFTP2_TLS_PORT: String(node.oftp2TlsPort),
  }
}

/** The platform file is written out, for people to read, and applied like any other. */
async function prepare(node: DemoNode, platform: object, withPast: boolean): Promise<void> {
  mkdirSync(node.folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(node.folder, 'oftp2-tls.pem'), node.identity, { mode: 0o600 })
  const { stringify } = await import('yaml')
  const file = join(node.folder, 'platform.yaml')
  writeFileSync(file, stringify(platform), { mode: 0o600 })
  const config = readConfig(settingsOf(node))
  for (const root of config.fileRoots) mkdirSync(root, { recursive: true })
  const store = await openStore(config)
  try {
    const read = readPlatform(file, { env: {}, roots: config })
    await applyPlatform(store, makeSeal(readSecrets(config).masterKey), read.platform, { now: Date.now() })
    if (withPast) await writePast(store, Date.now())
  } finally {
    await store.close()
  }
}

function writeSamples({ bank, partner, now }: DemoParts): void {
  makeFolders(bank.folder, [
    'norte/in',
    'norte/out',
    'files/cobros/out',
    'files/avisos/out',
    'files/cierre/out',
    'files/listas/out',
  ])
  put(join(bank.folder, 'files/nomina/out/nomina-noviembre.txt'), payrollFile(50_000))
  put(join(bank.folder, 'files/nomina/out/atrasos.txt'), payrollFile(120))
  put(join(bank.folder, 'files/pagos/out/pagos-1.xml'), paymentsFile('P1', 5000))
  put(join(bank.folder, 'files/extracto/out/extracto-inicial.txt'), statementFile(now))
  put(join(bank.folder, 'files/cobros/out/cobros.txt'), payrollFile(200))
  put(join(bank.folder, 'files/cierre/out/cierre.txt'), payrollFile(10))
  put(join(bank.folder, 'norte/out/lista-1.txt'), fixedLines(500, 80))
  // 79 characters where 80 are agreed: what a refused file looks like.
  put(join(bank.folder, 'files/listas/out/lista-mala.txt'), fixedLines(10, 79))
  put(join(partner.folder, 'files/nomina/out/altas.txt'), payrollFile(80))
  put(join(partner.folder, 'files/extracto/out/extracto-acme.txt'), statementFile(now))
}

/** Something moves every now and then, so that the console has life in it. */
function keepAlive({ bank, partner }: DemoParts): void {
  const at = new Date()
  const stamp = at.toISOString().slice(11, 19).replaceAll(':', '')
  put(join(bank.folder, `files/extracto/out/extracto-${stamp}.txt`), statementFile(at))
  if (at.getSeconds() % 2 === 0)
    put(join(partner.folder, `files/extracto/out/acme-${stamp}.txt`), statementFile(at))
}

function start(node: DemoNode): ChildProcess {
  const entry = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))
  const env: Record<string, string | undefined> = { ...settingsOf(node) }
  for (const name of ['PATH', 'HOME', 'LANG', 'NODE_COMPILE_CACHE']) env[name] = process.env[name]
  const child = spawn(process.execPath, [entry, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(node.folder, 'node.log'))
  child.stdout?.pipe(log)
  child.stderr?.pipe(log, { end: false })
  return child
}

async function ready(node: DemoNode, child: ChildProcess | undefined): Promise<void> {
  const deadline = Date.now() + READY_MS
  while (Date.now() < deadline) {
    if (child?.exitCode !== null) break
    const answer = await fetch(`http://127.0.0.1:${node.httpPort}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    await new Promise((done) => setTimeout(done, 100))
  }
  throw new NodeError('unavailable', `a node did not start: see ${join(node.folder, 'node.log')}`)
}

function welcome({ bank, partner, password }: DemoParts, folder: string): void {
  const url = `http://127.0.0.1:${bank.httpPort}`
  say(
    [
      '',
      'Two nodes are running: Banco Azul and its partner Acme SA, exchanging files over OFTP2.',
      '',
      `  console    ${url}/console   (partner: http://127.0.0.1:${partner.httpPort}/console, user eva)`,
      `  login      ana / ${password}   (luis: an operator, in Spanish; same password)`,
      `  reference  ${url}/connect-back/docs`,
      `  files      ${folder}`,
      '',
      'In another terminal, paste these three:',
      '',
      `  export ESCLUSA_URL=${url}; export ESCLUSA_TOKEN=$(ESCLUSA_PASSWORD=${password} npx esclusa login --username ana)`,
      '  npx esclusa send BANCO-ACME-NOMINA --watch',
      '  npx esclusa transfers BANCO-ACME-NOMINA',
      '',
      'Ctrl-C ends both nodes.',
    ].join('\n'),
  )
}

/** Until somebody ends it, or a node ends by itself. */
function ended(nodes: ChildProcess[]): Promise<void> {
  return new Promise((done, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => done())
    for (const node of nodes)
      node.once('exit', (code) =>
        code === 0 ? done() : reject(new NodeError('unavailable', `a node ended with ${code}`)),
      )
  })
}
