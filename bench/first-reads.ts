// What the first read of a page costs just after a node's start, with 100 channels and with 10,000, each with a key and two
// certificates of its own. Nodes are processes of their own, started anew for every read, small and large in turns.
//
//   node bench/first-reads.ts [channels] [rounds] [sqlite | postgres]

import { Client } from 'pg'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { BASE_PATH } from '../src/contract/operations.ts'
import { generateSelfSigned } from '../src/engine/transforms/cms/self-signed.ts'
import { channelAccessChanged } from '../src/store/channel-access.ts'
import { insertChannels, sealChannel } from '../src/store/channels.ts'
import { openStore } from '../src/store/database/open.ts'
import type { Store } from '../src/store/database/store.ts'
import { makeSeal } from '../src/store/seal.ts'
import { NodeProcess, esclusa } from '../test/crash/node-process.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { fullChannel } from '../test/support/seed.ts'
import { cpuMicros } from './cpu-time.ts'
import { fillPlatform, MASTER_KEY, nodeSettings } from './fill.ts'

const SIZES = [100, Number(process.argv[2] ?? 10_000)] as const
const ROUNDS = Number(process.argv[3] ?? 5)
const ONLY = process.argv[4]
const PAGES = {
  keys: '/platform/v1/keys?size=25',
  channels: '/platform/v1/channels?size=25',
  overview: '/platform/v1/overview',
}

type Place = { settings: Record<string, string>; token: string }
type Cost = { ms: number; cpuMs: number }

if (ONLY !== 'postgres') await onSqlite()
if (ONLY !== 'sqlite') await onPostgres()

async function onSqlite(): Promise<void> {
  await withFolders((dataDirs) =>
    compare(
      'SQLite',
      dataDirs.map((dataDir) => ({ dataDir })),
    ),
  )
}

async function onPostgres(): Promise<void> {
  const server = await startPostgres().catch(() => undefined)
  if (!server) return console.log('PostgreSQL: SKIPPED, no server could be started')
  const client = new Client({ connectionString: server.url })
  await client.connect()
  try {
    const urls = ['small', 'large'].map((name) =>
      Object.assign(new URL(server.url), { pathname: `/first_reads_${name}` }),
    )
    for (const { pathname } of urls) await client.query(`create database ${pathname.slice(1)}`)
    await withFolders((dataDirs) =>
      compare(
        'PostgreSQL',
        dataDirs.map((dataDir, index) => ({ dataDir, databaseUrl: urls[index]?.href })),
      ),
    )
  } finally {
    await client.end()
    await server.stop()
  }
}

async function withFolders(run: (dataDirs: string[]) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(process.env.ESCLUSA_BENCH_DIR ?? tmpdir(), 'esclusa-bench-'))
  try {
    await run(['small', 'large'].map((name) => join(folder, name)))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function compare(
  database: string,
  options: readonly { dataDir: string; databaseUrl?: string | undefined }[],
): Promise<void> {
  const places: Place[] = []
  for (const [index, { dataDir, databaseUrl }] of options.entries()) {
    const settings = nodeSettings(dataDir, databaseUrl)
    await mkdir(dataDir)
    const store = await openStore({ dataDir, databaseUrl })
    await fill(store, SIZES[index] ?? 0)
    await store.close()
    places.push({
      settings,
      token: (await esclusa(settings, 'token', 'create', '--user', 'globaladmin')).trim(),
    })
  }
  console.log(
    `${database}: first read after a start with ${SIZES[0]} channels, with ${SIZES[1]}, ratio: least of ${ROUNDS}, median; processor time`,
  )
  for (const place of places)
    console.log(`  the very first start: ${shown(await firstRead(place, PAGES.keys))}`)
  for (const [name, path] of Object.entries(PAGES)) {
    const costs = places.map((): Cost[] => [])
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, place] of places.entries()) costs[index]?.push(await firstRead(place, path))
    const figures = [
      costs.map((some) => part(some, 'ms', 0)),
      costs.map((some) => part(some, 'ms', 0.5)),
      costs.map((some) => part(some, 'cpuMs', 0)),
    ].map(([few = 0, many = 0]) => `${few.toFixed(1)}  ${many.toFixed(1)}  ${(many / few).toFixed(2)}`)
    console.log(`${name.padEnd(12)} ${figures.join('    ')}    load ${loadavg()[0]?.toFixed(1)}`)
  }
}

function part(costs: readonly Cost[], what: keyof Cost, share: number): number {
  return costs.map((cost) => cost[what]).toSorted((a, b) => a - b)[Math.floor(costs.length * share)] ?? 0
}

function shown({ ms, cpuMs }: Cost): string {
  return `${ms.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of the processor`
}

async function firstRead({ settings, token }: Place, path: string): Promise<Cost> {
  const node = await NodeProcess.start(settings)
  try {
    const [began, cpu] = [performance.now(), cpuMicros(node.pid)]
    const answer = await fetch(`${node.url}${BASE_PATH}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const body = await answer.text()
    const cost = { ms: performance.now() - began, cpuMs: (cpuMicros(node.pid) - cpu) / 1000 }
    if (!answer.ok) throw new Error(`${path}: ${body}`)
    return cost
  } finally {
    await node.stop()
  }
}

async function fill(store: Store, channels: number): Promise<void> {
  const seal = makeSeal(MASTER_KEY)
  await fillPlatform(store, seal)
  const certificates = await makeCertificates()
  const records = Array.from({ length: channels }, (_, nth) => {
    const application = `A${String(nth).padStart(6, '0')}`
    const code = `BANCO-ACME-${application}`
    const { security, ...channel } = fullChannel('/srv/files')
    const keys = {
      rsaLocalKey: certificates.privateKeyPem + certificates.numbered(2 * nth),
      rsaRemoteKey: certificates.numbered(2 * nth + 1),
    }
    return {
      code,
      id: `00000000-0000-7000-8000-${String(nth + 1).padStart(12, '0')}`,
      contactId: 'acme',
      localCode: 'BANCO',
      alias: null,
      automation: null,
      revision: 1,
      ...sealChannel(seal, code, { ...channel, application, security: { ...security, ...keys } }),
    }
  })
  await store.write(async (tx) => {
    await insertChannels(tx, records)
    await channelAccessChanged(tx)
  })
}

/** Many certificates of one key, which differ by their serial numbers: nobody checks the signature here. */
async function makeCertificates() {
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: 'Banco', bits: 3072 })
  const der = Buffer.from(certificatePem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const at = der.indexOf(Buffer.from([0x02, 0x10])) + 2
  const numbered = (number: number) => {
    der.writeUInt32BE(number, at + 12)
    const lines = der.toString('base64').match(/.{1,64}/g) ?? []
    return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
  }
  return { privateKeyPem, numbered }
}
