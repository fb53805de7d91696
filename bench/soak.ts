// A long run: a bank and two partners, whole nodes in processes of their own, exchange files over folders, OFTP2 (plain
// and TLS) and SFTP in both directions while lines are cut, nodes killed and frozen, disks filled and clocks set. A row a
// minute; at the end each file must have come exactly once, and what the bank holds must have stopped growing.
//
//   node bench/soak.ts [minutes]     ESCLUSA_BENCH_DIR: where files lie; ESCLUSA_SEED repeats a run's choices
//
// As root the bank and a partner get small disks of their own, to be filled; otherwise no disk is filled, and it says so.

import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { stringify } from 'yaml'
import { generateSelfSigned } from '../src/engine/transforms/cms/self-signed.ts'
import { esclusa } from '../test/crash/node-process.ts'
import { ask } from '../test/crash/operator.ts'
import { seededRandom } from '../test/crash/random.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { freePort, makeKey } from '../test/support/sftp/openssh.ts'
import { COUNTS, misfortunes } from './soak/faults.ts'
import { startLine } from './soak/line.ts'
import type { Line } from './soak/line.ts'
import { hasFakeClock, PartyNode } from './soak/party-node.ts'
import type { NodeFigures } from './soak/party-node.ts'
import { BANK, KINDS, OPERATOR, foldersOf, platformOf, routesOf } from './soak/platforms.ts'
import type { Link, Party, Route } from './soak/platforms.ts'
import { Traffic } from './soak/traffic.ts'

const MINUTES = Number(process.argv[2] ?? 60)
const SEED = Number(process.env.ESCLUSA_SEED ?? Date.now() % 1_000_000)
const PARTNERS = ['ACME', 'ROMA']
const SLOW = 256 * 1024
const SMALL_DISK_MIB = 256
const SETTLE_MS = 6 * 60_000
/** What may be there more in the last third of the minutes than in the second. */
const MAY_GROW = { mib: 24, handles: 12, files: 40 }

const random = seededRandom(SEED)
const root = await mkdtemp(join(process.env.ESCLUSA_BENCH_DIR ?? tmpdir(), 'esclusa-soak-'))
const mounted: string[] = []
const lines: Line[] = []
const nodes: PartyNode[] = []
const postgres = await startPostgres()
// PostgreSQL's own hook ends this process as soon as the server is down: what is left behind goes at once.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const node of nodes) node.end()
    removeAll()
  })
let passed = false
try {
  passed = await soak()
} finally {
  for (const node of nodes) {
    await node.kill()
    await node.close()
  }
  for (const line of lines) await line.close()
  await postgres.stop()
  removeAll()
}
process.exit(passed ? 0 : 1)

function removeAll(): void {
  for (const place of mounted.splice(0)) execFileSync('umount', ['--lazy', place])
  rmSync(root, { recursive: true, force: true })
}

type Settled = { party: Party; ports: { T: number; P: number; S: number } }

async function settleParty(name: string): Promise<Settled> {
  const home = join(root, name.toLowerCase())
  await mkdir(home)
  if (name !== 'ROMA' && process.getuid?.() === 0) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK_MIB}m`, 'tmpfs', home])
    mounted.push(home)
  }
  await mkdir(join(home, 'data'), { mode: 0o700 })
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: name, days: 30 })
  await writeFile(join(home, 'data', 'oftp2-tls.pem'), `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`)
  const hostKey = await makeKey(root, `${name}-host`, ['-t', 'rsa', '-b', '2048', '-m', 'PEM'])
  await writeFile(join(home, 'data', 'sftp-host-key.pem'), hostKey.private, { mode: 0o600 })
  const ports = { T: await freePort(), P: await freePort(), S: await freePort() }
  const [T, P, S] = [await startLine(ports.T), await startLine(ports.P, SLOW), await startLine(ports.S)]
  lines.push(T, P, S)
  const reached = { T: T.port, P: P.port, S: S.port }
  return { ports, party: { name, home, reached, certificate: certificatePem, hostKey } }
}

async function startParty({ party, ports }: Settled, links: readonly Link[], databaseUrl?: string) {
  const { name, home } = party
  const settings = {
    ESCLUSA_DATA_DIR: join(home, 'data'),
    ESCLUSA_FILE_ROOTS: join(home, 'files'),
    ESCLUSA_PORT: '0',
    ESCLUSA_LOG_LEVEL: 'error',
    ESCLUSA_WORKERS: '4',
    ESCLUSA_LEASE_SECONDS: '5',
    ESCLUSA_DRAIN_SECONDS: '5',
    ESCLUSA_OFTP2_TLS_PORT: String(ports.T),
    ESCLUSA_OFTP2_PORT: String(ports.P),
    ESCLUSA_SFTP_PORT: String(ports.S),
    // The bank meets a disk that is truly full; the partner stops taking files before.
    ESCLUSA_DISK_RESERVE_MEGABYTES: name === BANK ? '0' : '16',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
  }
  const file = join(root, `${name}.yaml`)
  await writeFile(file, stringify(platformOf(party, links)), { mode: 0o600 })
  await esclusa(settings, 'apply', file)
  const token = (await esclusa(settings, 'token', 'create', '--user', OPERATOR)).trim()
  const node = await PartyNode.open(name, home, token, settings)
  nodes.push(node)
  return node
}

async function soak(): Promise<boolean> {
  const settled = new Map<string, Settled>()
  for (const name of [BANK, ...PARTNERS]) settled.set(name, await settleParty(name))
  const of = (name: string) => settled.get(name) as Settled
  const shared = join(root, 'shared')
  const links: Link[] = []
  for (const name of PARTNERS)
    for (const kind of KINDS)
      links.push({
        kind,
        bank: of(BANK).party,
        partner: of(name).party,
        shared,
        callerKey: await makeKey(root, `${name}-${kind}-caller`),
      })
  for (const link of links) for (const folder of foldersOf(link)) await mkdir(folder, { recursive: true })
  const routes = links.flatMap(routesOf)
  const bank = await startParty(of(BANK), links)
  const partners = [
    await startParty(of('ACME'), links, postgres.url),
    await startParty(of('ROMA'), links),
  ] as const
  const onSmallDisks = nodes.filter(({ home }) => mounted.includes(home))
  console.log(
    `seed ${SEED}, ${MINUTES} minutes, ${routes.length} routes; ${BANK} and ROMA on SQLite, ACME on PostgreSQL; ` +
      `${onSmallDisks.length ? '' : 'no disk is filled (not root); '}${hasFakeClock ? '' : 'no clock is set (no libfaketime); '}` +
      `load average ${loadavg()[0]?.toFixed(1)}`,
  )
  const traffic = new Traffic(routes, random)
  const over = new AbortController()
  const trouble = misfortunes({ bank, partners, lines, onSmallDisks, random }, over.signal)
  // What it throws is thrown where it is awaited, at the end.
  trouble.catch(() => undefined)
  const rows = await minutes(traffic, bank)
  over.abort()
  await trouble
  console.log(
    `over: ${Object.entries(COUNTS)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ')}`,
  )
  const settledIn = await settle(traffic)
  return say([
    ...traffic.faults,
    ...(await lost(traffic)),
    ...(settledIn === undefined ? [`not settled: ${(await active()).join(', ')}`] : []),
    ...fallen(),
    ...(await leftovers()),
    ...growth(rows),
  ])
}

/** What both ends know of the first few. */
async function lost(traffic: Traffic): Promise<string[]> {
  const lines: string[] = []
  for (const { route, names } of traffic.missing()) {
    lines.push(`lost on ${route.name}: ${names.length}`)
    for (const name of names.slice(0, 3)) lines.push(...(await known(route, name)))
  }
  for (const { route, name } of traffic.again)
    lines.push(`twice on ${route.name}:`, ...(await known(route, name)))
  return lines
}

async function known(route: Route, name: string): Promise<string[]> {
  const lines: string[] = []
  for (const node of nodes.filter((one) => one.name === route.from || one.name === route.to)) {
    const rows = await node.db
      .selectFrom('transfer_file')
      .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
      .select(['transfer.id', 'state', 'phase', 'size', 'error', 'requested_at', 'ended_at', 'attempts'])
      .select(['key_date', 'key_time', 'maybe_visible'])
      .where('channel_code', '=', node.name === route.from ? route.sends : route.receives)
      .where('name', '=', name)
      .orderBy('requested_at')
      .execute()
    lines.push(`  ${name} at ${node.name}:`, ...rows.map((row) => `    ${JSON.stringify(row)}`))
  }
  return lines
}

type Row = { minute: number; bank: NodeFigures }

/** Feeds, takes and prints until the time is over. */
async function minutes(traffic: Traffic, bank: PartyNode): Promise<Row[]> {
  console.log(
    'minute  BANCO: MiB fds rows files | ACME: MiB fds rows files | ROMA: MiB fds rows files | put arrived failed twice MiB load',
  )
  const rows: Row[] = []
  const began = performance.now()
  const minuteOf = () => Math.floor((performance.now() - began) / 60_000)
  let tended = 0
  while (minuteOf() < MINUTES) {
    await traffic.feed()
    await traffic.take()
    if (performance.now() - tended > 5000) {
      await tend()
      tended = performance.now()
    }
    if (minuteOf() > rows.length)
      rows.push({ minute: minuteOf(), bank: await print(minuteOf(), traffic, bank) })
    const [first] = fallen()
    if (first) throw new Error(first)
    await delay(700)
  }
  rows.push({ minute: MINUTES, bank: await print(MINUTES, traffic, bank) })
  return rows
}

async function print(minute: number, traffic: Traffic, bank: PartyNode): Promise<NodeFigures> {
  const figures = new Map<PartyNode, NodeFigures>()
  let failures = 0
  for (const node of nodes) {
    figures.set(node, await node.figures())
    failures += (await states(node, ['FAILED'])).length
  }
  const cells = [...figures.values()].map((one) => `${one.mib} ${one.handles} ${one.rows} ${one.files}`)
  const { put, arrived, twice, bytes } = traffic
  const load = loadavg()[0]?.toFixed(1)
  console.log(
    `${String(minute).padStart(6)}  ${cells.join(' | ')} | ${put} ${arrived} ${failures} ${twice} ${Math.round(bytes / 2 ** 20)} ${load}`,
  )
  return figures.get(bank) as NodeFigures
}

async function states(node: PartyNode, wanted: ('FAILED' | 'PENDING' | 'IN_PROGRESS')[]): Promise<string[]> {
  const rows = await node.db
    .selectFrom('transfer')
    .select(['channel_code', 'state', 'error'])
    .where('state', 'in', wanted)
    .execute()
    .catch(() => [])
  return rows.map((row) => `${row.channel_code} ${row.state} ${row.error ?? ''}`)
}

/** An operator who retries what failed. */
async function tend(): Promise<void> {
  for (const node of nodes) {
    const stuck = await node.db
      .selectFrom('channel_state')
      .select('code')
      .where((where) =>
        where.or([where('emission_error_id', 'is not', null), where('reception_error_id', 'is not', null)]),
      )
      .execute()
      .catch(() => [])
    for (const { code } of stuck) if (node.url) await ask(node.url, node.token, 'retryTransfer', code)
  }
}

async function active(): Promise<string[]> {
  const all: string[] = []
  for (const node of nodes) all.push(...(await states(node, ['PENDING', 'IN_PROGRESS'])))
  return all
}

/** Left alone everything comes to its end; how long that took, in seconds. */
async function settle(traffic: Traffic): Promise<number | undefined> {
  for (const node of nodes) node.setClock(0)
  const began = performance.now()
  while (performance.now() - began < SETTLE_MS) {
    await traffic.take()
    if (traffic.missing().length === 0 && (await active()).length === 0) {
      const seconds = Math.round((performance.now() - began) / 1000)
      console.log(`settled after ${seconds} s: put ${traffic.put}, arrived ${traffic.arrived}`)
      return seconds
    }
    await tend()
    await delay(1000)
  }
  return undefined
}

function fallen(): string[] {
  return nodes
    .filter((node) => node.hasFallen)
    .map((node) => `${node.name} ended though nobody ended it:\n${node.lastWords()}`)
}

/** Nothing stays under way when nothing is; what a crash left goes at the next start. */
async function leftovers(): Promise<string[]> {
  const faults: string[] = []
  for (const node of nodes) {
    await node.stop()
    await delay(6000)
    await node.start()
    await node.stop()
    const half = (await node.db.selectFrom('partial_file').select('path').execute()).map((row) => row.path)
    for (const folder of ['outgoing', 'partial', 'quarantine'])
      for (const name of await readdir(join(node.home, 'data', folder)).catch(() => []))
        if (!half.includes(join(node.home, 'data', folder, name)))
          faults.push(`left over at ${node.name}: ${folder}/${name}`)
  }
  return faults
}

/** Medians of the last third against the second one. */
function growth(rows: readonly Row[]): string[] {
  if (rows.length < 9) {
    console.log('too short to say whether anything grows: that takes 9 minutes at least')
    return []
  }
  const third = Math.floor(rows.length / 3)
  const median = (part: readonly Row[], what: keyof typeof MAY_GROW) =>
    part.map(({ bank }) => bank[what]).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0
  return (Object.keys(MAY_GROW) as (keyof typeof MAY_GROW)[]).flatMap((what) => {
    const [before, after] = [median(rows.slice(third, 2 * third), what), median(rows.slice(2 * third), what)]
    console.log(
      `${BANK} ${what}: ${before} in the second third, ${after} in the last (may grow by ${MAY_GROW[what]})`,
    )
    return after > before + MAY_GROW[what] ? [`${what} of ${BANK} grows: ${before} to ${after}`] : []
  })
}

function say(faults: readonly string[]): boolean {
  for (const fault of faults) console.log(`FAULT ${fault}`)
  console.log(faults.length === 0 ? 'PASSED: nothing lost, nothing twice, nothing grows' : 'FAILED')
  return faults.length === 0
}
