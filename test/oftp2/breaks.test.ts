// Lines that break and nodes that die in the middle of a file over OFTP2: the transfer goes on from its restart point,
// and the file is there once, byte for byte. Where it breaks is said in octets, by a proxy between the two nodes.

import assert from 'node:assert/strict'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { sampleBytes } from '../support/transport-ends.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { readSecrets } from '../../src/files/secrets.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import type { PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { openStore } from '../../src/store/database/open.ts'
import { makeSeal } from '../../src/store/seal.ts'
import { NodeProcess } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import { startTcpLine } from '../support/tcp-line.ts'
import { startPair } from './pair.ts'
import type { ChannelSetting, Pair, Relation, Side } from './pair.ts'
import { WireTap } from './wire-tap.ts'
import type { Break } from './wire-tap.ts'

const SIZE = 3 * 1024 * 1024 + 17
const PATIENCE_MS = 180_000

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

type Line = { relation: Relation; tap: WireTap }

/** A relation of its own whose calls from the left go through a tapped line. */
async function tapped(
  pair: Pair,
  t: TestContext,
  setting: ChannelSetting,
  form: object = {},
  oftp2: PlatformContact['oftp2'] = {},
): Promise<Line> {
  const tap = await WireTap.open(pair.right.plainPort)
  closeAfter(t, () => tap.close())
  const end = (made: Relation, side: Side) => ({
    oftp2,
    channels: { FILES: { ...setting, directories: pair.directories(made, side, 'FILES', form) } },
  })
  const relation = await pair.relate((made) => ({
    left: { ...end(made, 'left'), port: tap.port },
    right: end(made, 'right'),
  }))
  return { relation, tap }
}

/** Sends the file over a line that breaks once; it arrives all the same, once, byte for byte. */
async function breakOnce(pair: Pair, { relation, tap }: Line, bytes: Buffer, where: Break): Promise<void> {
  await pair.put(relation, 'left', 'FILES', 'a.bin', bytes)
  tap.breakNext(where)
  const id = await pair.send('left', relation.code('left', 'FILES'))
  const { state, error } = await pair.ended('left', id, PATIENCE_MS)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.ok((await pair.arrived(relation, 'right', 'FILES', 'a.bin')).equals(bytes), 'other bytes arrived')
  assert.deepEqual(await pair.received(relation, 'right', 'FILES'), ['a.bin'])
  await waitFor('the line to break', () => Promise.resolve(tap.calls[0]?.broken === true), PATIENCE_MS)
}

// Buffers of 16 KiB, four at a time: a file of many commands that is small all the same.
const FINE = { bufferSize: 16_384, credit: 4 }
const FINE_SIZE = 80_017

test('a line that breaks at any command, or inside one: the transfer goes on and the bytes are identical', async (t) => {
  const pair = await startPair(t)
  const setting = channel('BINARIO')
  const sound = await tapped(pair, t, setting, {}, FINE)
  await pair.put(sound.relation, 'left', 'FILES', 'a.bin', sampleBytes(FINE_SIZE, 1))
  const id = await pair.send('left', sound.relation.code('left', 'FILES'))
  assert.equal((await pair.ended('left', id, PATIENCE_MS)).state, 'COMPLETED')
  const [call] = sound.tap.calls
  assert.ok(call)
  // The receipt completes the transfer; its confirmation is said a moment later.
  await waitFor('the receipt to be confirmed', () =>
    Promise.resolve(call.said.some(({ from, command }) => from === 'caller' && command.kind === 'RTR')),
  )
  const seen = new Map<string, number>()
  const points = call.said.flatMap(({ from, command: { kind } }) => {
    const nth = (seen.get(`${from} ${kind}`) ?? 0) + 1
    seen.set(`${from} ${kind}`, nth)
    return [true, false].map((inside): Break => ({ from, kind, nth, inside }))
  })
  for (const kind of ['SSID', 'SFID', 'DATA', 'EFID', 'CD', 'RTR'])
    assert.ok(seen.has(`caller ${kind}`), `${kind} was not said: ${[...seen.keys()].join(', ')}`)
  for (const kind of ['SSRM', 'SSID', 'SFPA', 'CDT', 'EFPA', 'EERP'])
    assert.ok(seen.has(`called ${kind}`), `${kind} was not said: ${[...seen.keys()].join(', ')}`)
  const lines = []
  for (const where of points) lines.push({ where, line: await tapped(pair, t, setting, {}, FINE) })
  await Promise.all(
    lines.map(({ where, line }, number) =>
      t.test(`${where.inside ? 'inside' : 'after'} ${where.from} ${where.kind} ${where.nth}`, () =>
        breakOnce(pair, line, sampleBytes(FINE_SIZE, number), where),
      ),
    ),
  )
})

/** What the second call did not carry again, in octets of the file. */
function savedBy({ tap }: Line, unit: number, size: number): number {
  const [first, second] = tap.calls
  const [restart] = second?.restarts ?? []
  assert.ok(first && second && restart, 'there was no second call with the file')
  assert.equal(first.restarts[0]?.answered, 0)
  assert.ok(restart.answered <= restart.offered)
  // Not only said: what lies before the restart point does not travel again.
  assert.equal(second.carried, size - restart.answered * unit)
  assert.ok(first.carried >= restart.answered * unit, 'it goes on beyond what was sent')
  return restart.answered * unit
}

test('a file that breaks off goes on at the last restart point, and only the rest travels again', async (t) => {
  const pair = await startPair(t)
  const MIB = 1024 * 1024
  const half = (octets: number): Break => ({
    from: 'caller',
    kind: 'DATA',
    nth: Math.ceil(octets / 98_000),
    inside: true,
  })
  await t.test('where the channel says how often: registersBlock in blocks', async (inner) => {
    const line = await tapped(pair, inner, channel('BINARIO'))
    await breakOnce(pair, line, sampleBytes(SIZE, 7), half(2 * MIB))
    const saved = savedBy(line, 1024, SIZE)
    assert.ok(saved >= 2 * MIB - 64 * 1024 - 100_000, `went on at ${saved}`)
  })
  await t.test('in records', async (inner) => {
    const size = SIZE - (SIZE % 100)
    const form = { fileFormat: 'FIJO', registerLength: 100 }
    const line = await tapped(pair, inner, channel('FIJO'), form)
    await breakOnce(pair, line, sampleBytes(size, 8), half(2 * MIB))
    const saved = savedBy(line, 100, size)
    assert.ok(saved >= 2 * MIB - 70_000 - 100_000, `went on at ${saved}`)
  })
  await t.test('by default: every 4 MiB', async (inner) => {
    const setting = { connection: { advancedConfigurationConnection: { retries: 5 } } }
    const line = await tapped(pair, inner, setting)
    const size = 24 * MIB + 17
    await breakOnce(pair, line, sampleBytes(size, 9), half(13 * MIB))
    const saved = savedBy(line, 1024, size)
    assert.ok(saved >= 12 * MIB, `went on at ${saved}`)
  })
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
  let left = octets
  const line = await startTcpLine(target, (near, far) => {
    const budget = left
    left = Number.POSITIVE_INFINITY
    let passed = 0
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const)
      from.on('data', (chunk: Buffer) => {
        if (passed + chunk.length > budget) return stalled.resolve()
        passed += chunk.length
        to.write(chunk)
      })
  })
  closeAfter(t, () => line.stop())
  return { port: line.port, stalled: stalled.promise }
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
