// Lines that break and nodes that die in the middle of a file over OFTP2: the transfer goes on from its restart point,
// and the file is there once, byte for byte. Where it breaks is said in octets, by a proxy between the two nodes.

import assert from 'node:assert/strict'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { sampleBytes } from '../../src/engine/transports/conformance-ends.ts'
import { freePort, startCuttingProxy } from '../../src/engine/transports/ssh/openssh-fixture.ts'
import { readSecrets } from '../../src/files/secrets.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import { openStore } from '../../src/store/open.ts'
import { makeSeal } from '../../src/store/seal.ts'
import { NodeProcess } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../harness.ts'
import { startPair } from './pair.ts'
import type { Pair } from './pair.ts'

const SIZE = 3 * 1024 * 1024 + 17
const PATIENCE_MS = 90_000

function channel(format: 'BINARIO' | 'FIJO') {
  return {
    connection: {
      ips: ['127.0.0.1'],
      advancedConfigurationConnection: { retries: 5 },
      // Close together, so that there is one before each break.
      advancedConfigurationTransmission: { registersBlock: format === 'FIJO' ? 700 : 64, downloadConf: true },
    },
  }
}

/** One file through a line that breaks after so many octets, and then holds. */
async function cutAt(pair: Pair, t: TestContext, format: 'BINARIO' | 'FIJO', octets: number): Promise<void> {
  const proxy = await startCuttingProxy(pair.right.plainPort)
  closeAfter(t, () => proxy.stop())
  const form = format === 'FIJO' ? { fileFormat: 'FIJO', registerLength: 100 } : {}
  const relation = await pair.relate((made) => ({
    left: {
      port: proxy.port,
      channels: { FILES: { ...channel(format), directories: pair.directories(made, 'left', 'FILES', form) } },
    },
    right: {
      channels: {
        FILES: { ...channel(format), directories: pair.directories(made, 'right', 'FILES', form) },
      },
    },
  }))
  const bytes = sampleBytes(format === 'FIJO' ? SIZE - (SIZE % 100) : SIZE, octets)
  await pair.put(relation, 'left', 'FILES', 'a.bin', bytes)
  proxy.cutAfter(octets)
  const id = await pair.send('left', relation.code('left', 'FILES'))
  const attempts = async () => {
    const { db } = pair.left.store
    const row = await db
      .selectFrom('transfer')
      .select(['attempts', 'state'])
      .where('id', '=', id)
      .executeTakeFirst()
    return (row?.attempts ?? 0) > 0 || row?.state === 'FAILED'
  }
  await waitFor('the line to break', attempts, PATIENCE_MS)
  proxy.cutAfter(Number.POSITIVE_INFINITY)
  const { state, error } = await pair.ended('left', id, PATIENCE_MS)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.ok((await pair.arrived(relation, 'right', 'FILES', 'a.bin')).equals(bytes), 'other bytes arrived')
  assert.deepEqual(await pair.received(relation, 'right', 'FILES'), ['a.bin'])
}

test('a line that breaks anywhere: the transfer goes on and the bytes are identical', async (t) => {
  const pair = await startPair(t)
  const random = () => 300 + Math.floor(Math.random() * (SIZE - 400))
  const points = [
    ['BINARIO', 150],
    ['BINARIO', random()],
    ['FIJO', random()],
    ['BINARIO', SIZE + 250],
  ] as const
  for (const [format, octets] of points)
    await t.test(`${format}, cut after ${octets} octets`, (inner) => cutAt(pair, inner, format, octets))
})

// Nodes that die

type Node = { dataDir: string; settings: Record<string, string>; port: number }

async function makeNode(t: TestContext): Promise<Node> {
  const dataDir = await tempFolder(t)
  const port = await freePort()
  for (const folder of ['files/out', 'files/in']) await mkdir(join(dataDir, folder), { recursive: true })
  const settings = {
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_OFTP2_PORT: String(port),
    ESCLUSA_LEASE_SECONDS: '3',
    ESCLUSA_LOG_LEVEL: 'warn',
  }
  return { dataDir, settings, port }
}

async function configure(
  { dataDir, settings }: Node,
  local: string,
  remote: string,
  port: number,
): Promise<void> {
  const file = join(dataDir, 'platform.yaml')
  const directories = [
    { direction: 'EMISION', filePath: join(dataDir, 'files/out') },
    { direction: 'RECEPCION', filePath: join(dataDir, 'files/in') },
  ]
  const platform = {
    localEntities: [{ code: local, name: local }],
    contacts: [
      {
        id: 'partner',
        name: remote,
        remoteCodes: [{ id: 'rc', code: remote }],
        remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port }],
        protocol: 'oftp2',
      },
    ],
    channels: [
      {
        code: `${local}-${remote}-FILES`,
        contact: 'partner',
        direction: local === 'SENDER' ? 'EMISION' : 'RECEPCION',
        directories,
        integrations: { postEmisionAction: 'EMISION_DELETE' },
        ...(local === 'SENDER' && { automation: { watch: true } }),
        ...channel('BINARIO'),
        connection: {
          ...channel('BINARIO').connection,
          advancedConfigurationConnection: {
            retries: 20,
            callingEnd: local === 'SENDER' ? 'LOCAL' : 'REMOTO',
          },
        },
      },
    ],
  }
  await writeFile(file, JSON.stringify(platform))
  const config = readConfig(settings)
  const store = await openStore(config)
  const read = readPlatform(file, { env: {}, roots: config })
  await applyPlatform(store, makeSeal(readSecrets(config).masterKey), read.platform, { now: Date.now() })
  await store.close()
}

/** Lets the first connection pass `octets` and then stand still; later ones pass. `stalled` resolves when it stands. */
async function startStallingProxy(t: TestContext, target: () => number, octets: number) {
  const stalled = Promise.withResolvers<void>()
  const open = new Set<Socket>()
  let left = octets
  const server = createServer((near) => {
    const budget = left
    left = Number.POSITIVE_INFINITY
    let passed = 0
    const far = connect(target(), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => (open.delete(from), to.destroy()))
      from.on('data', (chunk: Buffer) => {
        if (passed + chunk.length > budget) return stalled.resolve()
        passed += chunk.length
        to.write(chunk)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  closeAfter(t, async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, stalled: stalled.promise }
}

async function dies(t: TestContext, victim: 'sender' | 'receiver'): Promise<void> {
  const [sender, receiver] = [await makeNode(t), await makeNode(t)]
  const proxy = await startStallingProxy(t, () => receiver.port, 2 * 1024 * 1024)
  await configure(sender, 'SENDER', 'RECEIVER', proxy.port)
  await configure(receiver, 'RECEIVER', 'SENDER', sender.port)
  const bytes = sampleBytes(SIZE, victim.length)
  const source = join(sender.dataDir, 'files/out/a.bin')
  await writeFile(source, bytes)
  const running = new Map<string, NodeProcess>()
  closeAfter(t, async () => void (await Promise.all([...running.values()].map((node) => node.kill()))))
  const run = async (name: 'sender' | 'receiver') =>
    running.set(name, await NodeProcess.start((name === 'sender' ? sender : receiver).settings))
  await run('receiver')
  await run('sender')
  await proxy.stalled
  await running.get(victim)?.kill()
  await run(victim)
  const path = join(receiver.dataDir, 'files/in/a.bin')
  const arrived = await waitFor('the file', () => readFile(path).catch(() => undefined), PATIENCE_MS)
  assert.ok(arrived?.equals(bytes), 'other bytes arrived')
  // The source is deleted only when the receipt has come: nothing is sent again after that.
  await waitFor(
    'the end of the transfer',
    async () => (await readdir(join(sender.dataDir, 'files/out'))).length === 0,
    PATIENCE_MS,
  )
  assert.deepEqual(await readdir(join(receiver.dataDir, 'files/in')), ['a.bin'])
  assert.deepEqual(await states(sender), ['EMISION COMPLETED'])
  const received = await states(receiver)
  assert.equal(received.filter((state) => state === 'RECEPCION COMPLETED').length, 1, received.join())
}

async function states({ settings }: Node): Promise<string[]> {
  const store = await openStore(readConfig(settings))
  try {
    return (await waitFor(
      'every transfer to be over',
      async () => {
        const rows = await store.db.selectFrom('transfer').select(['direction', 'state']).execute()
        return rows.some(({ state }) => state === 'IN_PROGRESS')
          ? undefined
          : rows.map((row) => `${row.direction} ${row.state}`)
      },
      PATIENCE_MS,
    )) as string[]
  } finally {
    await store.close()
  }
}

test('the receiving node is killed in the middle of a file: it arrives once', (t) => dies(t, 'receiver'))

test('the sending node is killed in the middle of a file: it arrives once', (t) => dies(t, 'sender'))
