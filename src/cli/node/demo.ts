// `esclusa demo`: a bank node and a partner node on loopback, with channels, contacts, files and a day of history.
// Everything is in one folder. The two nodes are ordinary `esclusa serve` processes, which end with the demo.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '../../../sdk/index.ts'
import { readConfig } from '../../config.ts'
import { keepAlive, makeFolders, writeSamples } from '../../demo/life.ts'
import { folderOf, LATE } from '../../demo/partners.ts'
import { writePast } from '../../demo/past.ts'
import { bankPlatform, partnerPlatform } from '../../demo/platforms.ts'
import type { DemoNode, DemoParts } from '../../demo/demo-parts.ts'
import { freePorts } from '../../demo/ports.ts'
import { startReceiver } from '../../demo/receiver.ts'
import { generateSelfSigned } from '../../engine/transforms/cms/self-signed.ts'
import { NodeError } from '../../errors.ts'
import { readSecrets } from '../../files/secrets.ts'
import { takeEvents } from '../../notify/take-events.ts'
import { applyPlatform } from '../../platform/apply.ts'
import { readPlatform } from '../../platform/read.ts'
import type { Platform } from '../../contract/administration/platform-file.ts'
import { fromRoot } from '../../root.ts'
import { openStore } from '../../store/database/open.ts'
import { makeSeal } from '../../store/seal.ts'
import { remark, say } from '../print.ts'
import { DAY_MS, zoneOf } from '../../domain/time.ts'
import { stopSignal } from './stop-signal.ts'

const MARK = 'made-by-esclusa-demo'
const READY_MS = 60_000
const LIFE_MS = 60_000

export type DemoOptions = { folder: string; port: number }

export async function demo(options: DemoOptions): Promise<void> {
  const folder = freshFolder(resolve(options.folder))
  remark('making two nodes, their keys, channels and files …')
  const parts = await makeParts(folder, options.port)
  const [banks, partners] = [bankPlatform(parts), partnerPlatform(parts)]
  for (const platform of [banks, partners]) makeFolders(platform)
  writeSamples(parts)
  await prepare(parts.bank, banks, true)
  await prepare(parts.partner, partners, false)
  const receiver = await startReceiver(parts.receiver.port, parts.receiver.secret, say)
  const nodes = [start(parts.bank), start(parts.partner)]
  const life = setInterval(() => keepAlive(parts), LIFE_MS)
  try {
    await Promise.all([ready(parts.bank, nodes[0]), ready(parts.partner, nodes[1])])
    await firstSends(parts)
    welcome(parts, folder)
    await ended(nodes)
  } finally {
    clearInterval(life)
    receiver.close()
    receiver.closeAllConnections()
    for (const node of nodes) node.kill('SIGTERM')
    await Promise.all(
      nodes.map(
        (node) => new Promise((done) => (node.exitCode === null ? node.once('exit', done) : done(0))),
      ),
    )
  }
}

/** Removes and makes the folder again only if an earlier demo made it, or nothing is in it. */
function freshFolder(folder: string): string {
  if (existsSync(folder) && !existsSync(join(folder, MARK)) && !isEmptyFolder(folder))
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

function isEmptyFolder(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).length === 0
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}

async function makeParts(folder: string, port: number): Promise<DemoParts> {
  const ports = await freePorts(port, 8)
  const node = async (name: string, at: number): Promise<DemoNode> => {
    const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: name, days: 365 })
    const identity = `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`
    return {
      folder: join(folder, name),
      httpPort: ports[at] ?? 0,
      oftp2Port: ports[at + 2] ?? 0,
      oftp2TlsPort: ports[at + 4] ?? 0,
      identity,
      certificate: certificatePem,
    }
  }
  const [bank, partner] = await Promise.all([node('bank', 0), node('partner', 1)])
  return {
    bank,
    partner,
    closedPort: ports[6] ?? 1,
    receiver: { port: ports[7] ?? 0, secret: `whsec_${randomBytes(24).toString('base64')}` },
    password: randomBytes(9).toString('base64url'),
    now: new Date(),
  }
}

function settingsOf(node: DemoNode): Record<string, string> {
  return {
    ESCLUSA_DATA_DIR: node.folder,
    ESCLUSA_PORT: String(node.httpPort),
    ESCLUSA_OFTP2_PORT: String(node.oftp2Port),
    ESCLUSA_OFTP2_TLS_PORT: String(node.oftp2TlsPort),
    // The receiver that prints what it hears is the demo itself.
    ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.1',
  }
}

/** Writes the platform file, for people to read, and applies it like any other. */
async function prepare(node: DemoNode, platform: Platform, withPast: boolean): Promise<void> {
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
    const now = Date.now()
    const seal = makeSeal(readSecrets(config).masterKey)
    const { subscriptions, ...told } = read.platform
    await applyPlatform(store, seal, told, { now: now - DAY_MS })
    if (withPast) await writePast(store, join(node.folder, 'files'), now)
    // Whoever subscribes hears of what happens from now on.
    await takeEvents(store, zoneOf(config.timezone), now)
    if (subscriptions) await applyPlatform(store, seal, read.platform, { now })
  } finally {
    await store.close()
  }
}

function start(node: DemoNode): ChildProcess {
  const entry = fileURLToPath(fromRoot('bin/esclusa.js'))
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

/**
 * What ana has just asked for: a large file that moves, one that waits for the partner's call, one that is refused, and
 * one that fails because the partner's folder is missing. Then the folder is made, and a retry succeeds.
 */
async function firstSends({ bank, password }: DemoParts): Promise<void> {
  const client = createClient({
    url: `http://127.0.0.1:${bank.httpPort}`,
    credentials: { username: 'ana', password },
  })
  const send = (channelCode: string) => client.sendTransfer({ channelCode })
  await Promise.all(['CUSTODIA-DEPOSITO-ARCHIVO', 'BANCO-TIRRENO-CONFIRM', 'BANCO-NORTE-TARIFAS'].map(send))
  const channelCode = 'BANCO-LEVANTE-RECIBOS'
  const { transferId = '' } = await send(channelCode)
  const deadline = Date.now() + READY_MS
  while (Date.now() < deadline) {
    const { status } = await client.transferDetail({ channelCode, transferId })
    if (status === 'FAILED') break
    await new Promise((done) => setTimeout(done, 100))
  }
  for (const name of ['in', 'out']) mkdirSync(join(folderOf({ bank }, LATE), name), { recursive: true })
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
      'In the console: retry BANCO-LEVANTE-RECIBOS, whose partner is back; send CUSTODIA-DEPOSITO-ARCHIVO and watch it.',
      'A webhook tells this terminal of failures and of files that are due; the overview shows what is expected today.',
      'Ctrl-C ends both nodes.',
    ].join('\n'),
  )
}

/** Until somebody ends it, or a node ends by itself. */
function ended(nodes: ChildProcess[]): Promise<void> {
  const byItself = new Promise<void>((done, reject) => {
    for (const node of nodes)
      node.once('exit', (code) =>
        code === 0 ? done() : reject(new NodeError('unavailable', `a node ended with ${code}`)),
      )
  })
  return Promise.race([stopSignal(), byItself])
}
