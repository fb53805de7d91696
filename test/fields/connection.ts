// How the two ends meet, and what they ask of each other on the line.

import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { waitFor } from '../support/harness.ts'
import { parked } from './lanes.ts'
import type { Lane, LaneOptions, Setting } from './lanes.ts'
import { completed, LONG } from './proof.ts'
import type { Proof, Stage } from './proof.ts'

type Connection = NonNullable<PlatformChannel['connection']>
type Calls = NonNullable<Connection['advancedConfigurationConnection']>
type Transmission = NonNullable<Connection['advancedConfigurationTransmission']>

const calls = (advancedConfigurationConnection: Calls, more: Connection = {}): Setting => ({
  connection: { ...more, advancedConfigurationConnection },
})
const transmission = (advancedConfigurationTransmission: Transmission): Setting => ({
  connection: { advancedConfigurationTransmission },
})

const TEXT = 'the same words again and again. '.repeat(2000)

async function sendOne(lane: Lane, bytes: string | Buffer = 'AB'): Promise<string> {
  await lane.put('a.txt', bytes)
  const { status, text, body } = await lane.send()
  assert.equal(status, 200, text)
  return String(body.transferId)
}

/** Two lanes that differ in one setting: what becomes of the same transfer on each. */
async function both(stage: Stage, setting: Setting, options: Omit<LaneOptions, 'ours'> = {}) {
  const [set, unset] = await Promise.all([
    stage.lane({ ...options, ours: () => setting }),
    stage.lane(options),
  ])
  return { set, unset }
}

const addresses: Proof = {
  cells: ['connection.ips', `${LONG.calls}.rotations`],
  columns: ['oftp2 local', 'sftp local'],
  run: async ({ lane: make }) => {
    // Nobody is at 127.0.0.77.
    const two = { ips: ['127.0.0.77', '127.0.0.1'] }
    const [second, first] = await Promise.all([
      make({ ours: () => calls({ rotations: true }, two) }),
      make({ ours: () => calls({ rotations: false }, two) }),
    ])
    completed(await second.ended(await sendOne(second)))
    const { state, error } = await first.ended(await sendOne(first))
    assert.match(`${state} ${error}`, /^FAILED connect_failed .*127\.0\.0\.77/)
  },
}

const attempts: Proof = {
  cells: [`${LONG.calls}.retries`],
  run: async (stage) => {
    const { set, unset } = await both(stage, calls({ retries: 1 }), { dead: stage.column !== 'oftp2 remote' })
    for (const lane of [set, unset]) {
      const id = await sendOne(lane)
      if (stage.column === 'oftp2 remote') {
        await parked(lane.node, id)
        lane.tap.breakNext({ from: 'called', kind: 'SFID', nth: 1, inside: true })
        await lane.partnerCalls()
      }
      const failed = lane === unset
      const row = await waitFor('the first attempt to fail', async () => {
        const now = await lane.row(id)
        return now.state === 'FAILED' || now.attempts > 0 ? now : undefined
      })
      assert.deepEqual([row?.state === 'FAILED', row?.attempts], [failed, failed ? 0 : 1], row?.error)
      await lane.reset()
    }
  },
}

/** A server whose queue of calls is full: its system answers nobody any more. */
async function fullServer(): Promise<{ port: number; stop: () => Promise<void> }> {
  const program = `const s=require('node:net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},()=>{
    require('node:fs').writeSync(1,String(s.address().port)+'\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0) })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await new Promise<number>((resolve) =>
    child.stdout.once('data', (text) => resolve(Number(text))),
  )
  const waiting = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await Promise.race(waiting.map((socket) => once(socket, 'connect')))
  return {
    port,
    stop: async () => {
      for (const socket of waiting) socket.destroy()
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The one with a time-out of a second has failed by it, the other still waits. */
async function waitsLess(
  set: Lane,
  unset: Lane,
  ids: readonly [string, string],
  code: RegExp,
): Promise<void> {
  await unset.until(ids[1], 'IN_PROGRESS')
  const { state, error } = await set.ended(ids[0])
  assert.match(`${state} ${error}`, code)
  assert.equal((await unset.row(ids[1])).state, 'IN_PROGRESS')
  await unset.reset()
}

const connecting: Proof = {
  cells: [`${LONG.calls}.timeout`],
  columns: ['oftp2 local', 'sftp local'],
  run: async (stage) => {
    const server = await fullServer()
    try {
      const { set, unset } = await both(stage, calls({ timeout: 1 }), { port: server.port })
      await waitsLess(
        set,
        unset,
        [await sendOne(set), await sendOne(unset)],
        /^FAILED (connect_failed|timed_out)/,
      )
    } finally {
      await server.stop()
    }
  },
}

const greeting: Proof = {
  cells: [`${LONG.transmission}.timeoutSync`],
  columns: ['oftp2 local', 'sftp local'],
  run: async (stage) => {
    const { set, unset } = await both(stage, transmission({ timeoutSync: 1 }))
    const lanes = [set, unset]
    const held = set.isOftp2 ? lanes.map(({ tap }) => tap.holdNext()) : []
    if (!set.isOftp2) for (const { line } of lanes) line.quietAfter(0)
    try {
      await waitsLess(set, unset, [await sendOne(set), await sendOne(unset)], /^FAILED timed_out/)
    } finally {
      for (const { release } of held) release()
    }
  },
}

const answers: Proof = {
  cells: [`${LONG.transmission}.timeoutAck`],
  run: async (stage) => {
    const receipt = stage.column === 'sftp remote' // there it is the time until the partner takes the file
    const ask = (timeoutAck: number) => transmission({ timeoutAck, ...(receipt && { downloadConf: true }) })
    const [set, unset] = await Promise.all([
      stage.lane({ ours: () => ask(1) }),
      stage.lane({ ours: () => ask(0) }),
    ])
    for (const lane of [set, unset])
      if (lane.isOftp2) lane.tap.silentAfter('SFID')
      else if (stage.column === 'sftp local') lane.line.quietAfter(100_000)
    const bytes = randomBytes(400_000)
    const ids = [await sendOne(set, bytes), await sendOne(unset, bytes)] as const
    if (stage.column === 'oftp2 remote')
      for (const [index, lane] of [set, unset].entries()) {
        await parked(lane.node, ids[index] ?? '')
        // Nobody waits for the end of the call.
        await lane.partnerBeginsCall()
      }
    await waitsLess(set, unset, ids, receipt ? /^FAILED receipt_late/ : /^FAILED timed_out/)
  },
}

const lineCompression: Proof = {
  cells: [`${LONG.transmission}.compression SI`],
  run: async (stage) => {
    const { set, unset } = await both(stage, transmission({ compression: 'SI' }))
    const carried = async (lane: Lane) => {
      const count = () =>
        lane.isOftp2 ? lane.tap.calls.reduce((all, one) => all + one.carried, 0) : lane.line.octets
      const before = count()
      await lane.put('a.txt', TEXT)
      completed(await lane.emit())
      assert.equal(String(await lane.got('a.txt')), TEXT)
      return count() - before
    }
    const [packed, plain] = [await carried(set), await carried(unset)]
    assert.ok(packed < TEXT.length / 2 && plain >= TEXT.length, `${packed} and ${plain} octets passed`)
  },
}

const fileCompression: Proof = {
  cells: [`${LONG.transmission}.compression LZW`, `${LONG.transmission}.compression VARIABLE`],
  run: async ({ lane: make }) => {
    const noise = randomBytes(3000)
    for (const compression of ['LZW', 'VARIABLE'] as const) {
      const lane = await make({ ours: () => transmission({ compression }) })
      await lane.put('text.txt', TEXT)
      await lane.put('noise.bin', noise)
      const before = lane.isOftp2 ? lane.tap.calls.length : 0
      completed(await lane.emit())
      const packed = compression === 'LZW' ? ['noise.bin', 'text.txt'] : ['text.txt']
      if (lane.isOftp2) {
        const files = lane.tap.calls.slice(before).flatMap(({ said }) => said.map(({ command }) => command))
        const announced = files.flatMap((one) =>
          one.kind === 'SFID' && one.compression === '1' ? [one.description] : [],
        )
        assert.deepEqual(announced.sort(), packed)
        assert.equal(String(await lane.got('text.txt')), TEXT)
        assert.ok(noise.equals(await lane.got('noise.bin')))
      } else {
        assert.deepEqual(
          await lane.partnerHas(),
          ['noise.bin', 'text.txt'].map((name) => (packed.includes(name) ? `${name}.gz` : name)),
        )
        assert.equal(String(gunzipSync(await lane.got('text.txt.gz'))), TEXT)
      }
    }
  },
}

const receipts: Proof = {
  cells: [`${LONG.transmission}.downloadConf`],
  run: async (stage) => {
    const { set, unset } = await both(stage, transmission({ downloadConf: true }))
    const receiptOf = async (lane: Lane) => {
      const id = await sendOne(lane)
      if (stage.column === 'sftp remote') {
        // Without it the file counts as handed over before anybody has come for it.
        if (lane === unset) completed(await lane.ended(id))
        else {
          const waits = async () => (await receiptRow(lane, id)).receipts_until
          await waitFor('it to wait for the partner', waits)
          assert.equal((await lane.row(id)).state, 'IN_PROGRESS')
        }
      }
      await lane.partnerTakes(id)
      completed(await lane.ended(id))
      return (await receiptRow(lane, id)).receipt
    }
    assert.deepEqual([await receiptOf(set), await receiptOf(unset)], ['POSITIVE', 'NONE'])
  },
}

function receiptRow({ node }: Lane, id: string) {
  return node.store.db
    .selectFrom('transfer')
    .innerJoin('transfer_file', 'transfer_file.transfer_id', 'transfer.id')
    .select(['transfer.receipts_until', 'transfer_file.receipt'])
    .where('transfer.id', '=', id)
    .executeTakeFirstOrThrow()
}

/** What this process has read so far. */
async function octetsRead(): Promise<number> {
  return Number(/rchar: (\d+)/.exec(await readFile('/proc/self/io', 'utf8'))?.[1])
}

const SIZE = 3_000_000

const hashes: Proof = {
  alone: 'folder',
  cells: ['validationHashFiles', `${LONG.transmission}.crc`],
  run: async (stage) => {
    const wishes: Setting[] = [{ validationHashFiles: true }, transmission({ crc: true })]
    for (const wish of wishes) {
      // The other node has no key to sign a receipt with.
      if (stage.column.startsWith('oftp2')) {
        const keys = { rsaRemoteKey: (await stage.plain()).partner.certificate }
        const [set, unset] = await Promise.all([
          stage.lane({ ours: () => ({ ...wish, security: keys }) }),
          stage.lane({ ours: () => ({ security: keys }) }),
        ])
        for (const lane of [set, unset]) await lane.put('a.txt', 'AB')
        assert.equal((await set.emit()).state, 'FAILED')
        completed(await unset.emit())
        continue
      }
      // What lies there is read back.
      const { set, unset } = await both(stage, wish)
      const used = async (lane: Lane) => {
        const count = () => (stage.column === 'sftp local' ? lane.line.octets : octetsRead())
        await lane.put('a.bin', randomBytes(SIZE))
        const before = await count()
        completed(await lane.emit())
        return (await count()) - before
      }
      const [more, less] = [await used(set), await used(unset)]
      assert.ok(more - less > SIZE / 2, `${more} and ${less} octets`)
    }
  },
}

const restartPoints: Proof = {
  cells: [`${LONG.transmission}.registersBlock`],
  run: async (stage) => {
    const { set, unset } = await both(stage, transmission({ registersBlock: 16 }))
    const kept = async (lane: Lane) => {
      const seen = await watchRestartPoints(lane)
      completed(await lane.receive('b.bin', randomBytes(1_500_000)))
      return seen()
    }
    const [points, none] = [await kept(set), await kept(unset)]
    assert.ok(points.length > 0 && points.every((one) => one % (16 * 1024) === 0), String(points))
    assert.deepEqual(none, [])
  },
}

/** Restart points above 0 that are written down for this lane from now on. */
async function watchRestartPoints({ node, code, name }: Lane): Promise<() => Promise<number[]>> {
  const table = sql.ref(`seen_${name}`)
  await node.store.write(async (tx) => {
    await sql`create table ${table} (position integer)`.execute(tx)
    for (const when of ['insert', 'update'] as const)
      await sql`create trigger ${sql.ref(`seen_${name}_${when}`)} after ${sql.raw(when)} on partial_file
        when new.channel_code = ${sql.lit(code)} and new.position > 0
        begin insert into ${table} values (new.position); end`.execute(tx)
  })
  return async () => {
    const { rows } = await sql<{ position: number }>`select position from ${table}`.execute(node.store.db)
    return rows.map(({ position }) => position)
  }
}

const ends: Proof = {
  cells: [
    `${LONG.calls}.callingEnd LOCAL`,
    `${LONG.calls}.callingEnd REMOTO`,
    `${LONG.calls}.callingEnd INDISTINTO`,
  ],
  run: async (stage) => {
    for (const callingEnd of ['LOCAL', 'REMOTO', 'INDISTINTO'] as const) {
      const lane = await stage.lane({ ours: () => calls({ callingEnd }) })
      const weCall = stage.column === 'folder' || lane.calls === 'local'
      if (stage.column === 'sftp local' && callingEnd === 'REMOTO') continue // warned
      if (stage.column === 'sftp remote' && callingEnd === 'LOCAL') {
        assert.equal((await lane.sftp('ls /\n', lane.there('got'))).code, 1, 'it must not call')
        continue
      }
      if (weCall) {
        const id = await sendOne(lane)
        // This node calls unless it must not; a folder has nobody to wait for.
        if (callingEnd !== 'REMOTO' || stage.column === 'folder') completed(await lane.ended(id))
        else {
          await parked(lane.node, id)
          await lane.reset()
        }
        continue
      }
      const came = await lane.receive('b.txt', 'B')
      assert.equal(came.state === 'COMPLETED', callingEnd !== 'LOCAL', `${callingEnd}: ${came.error}`)
    }
  },
}

const hangingUp: Proof = {
  cells: [`${LONG.calls}.desconnection`],
  columns: ['oftp2 local', 'sftp local'],
  run: async (stage) => {
    const { set, unset } = await both(stage, calls({ desconnection: true }))
    const made = async (lane: Lane) => {
      const line = lane.isOftp2 ? lane.tap : lane.line
      const count = () => (lane.isOftp2 ? lane.tap.calls.length : lane.line.calls)
      const before = count()
      for (const name of ['a.txt', 'b.txt']) {
        await lane.put(name, name)
        completed(await lane.emit())
        // A transfer that is asked for before the last one has hung up goes over the same call.
        if (lane === set) await waitFor('the end of the call', () => line.openSockets === 0)
      }
      assert.equal(line.openSockets > 0, lane === unset)
      return count() - before
    }
    assert.deepEqual([await made(set), await made(unset)], [2, 1])
  },
}

const callers: Proof = {
  cells: [`${LONG.calls}.validateIp`, 'connection.proxyIps'],
  columns: ['oftp2 remote', 'sftp remote'],
  run: async ({ lane: make }) => {
    for (const [validateIp, proxyIps, taken] of [
      [true, [], false],
      [true, ['127.0.0.1'], true],
      [false, [], true],
    ] as const) {
      const setting = calls({ validateIp }, { ips: ['192.0.2.7'], proxyIps: [...proxyIps] })
      const lane = await make({ ours: () => setting })
      const { state } = await lane.receive('b.txt', 'B')
      assert.equal(state === 'COMPLETED', taken, JSON.stringify(setting))
      if (!taken) {
        const noted = async () => (await lane.history()).includes('CONNECTION_REFUSED')
        await waitFor('the refusal in the history', noted)
      }
    }
  },
}

const secrets: Proof = {
  cells: ['security.authentication', 'security.localKey', 'security.remoteKey'],
  columns: ['oftp2 local', 'oftp2 remote'],
  run: async (stage) => {
    const theirs = { localKey: 'THEIRS', remoteKey: 'OURS' }
    const rows: [NonNullable<Setting['security']>, boolean][] = [
      [{ localKey: 'OURS', remoteKey: 'THEIRS' }, true],
      [{ localKey: 'WRONG', remoteKey: 'THEIRS' }, false],
      [{ localKey: 'OURS', remoteKey: 'WRONG' }, false],
    ]
    for (const [security, passes] of rows) {
      const lane = await stage.lane({ ours: () => ({ security }), theirs: () => ({ security: theirs }) })
      assert.equal((await exchanged(lane)) === 'COMPLETED', passes, JSON.stringify(security))
    }
    for (const [ours, passes] of [
      ['CERTIFICATE', true],
      ['PASSWORD', false],
    ] as const) {
      const lane = await stage.lane({
        ours: ({ node, other }) => ({
          security: { authentication: ours, rsaLocalKey: node.identity, rsaRemoteKey: other.certificate },
        }),
        theirs: ({ node, other }) => ({
          security: {
            authentication: 'CERTIFICATE',
            rsaLocalKey: other.identity,
            rsaRemoteKey: node.certificate,
          },
        }),
      })
      assert.equal((await exchanged(lane)) === 'COMPLETED', passes, ours)
    }
  },
}

/** The partner signs in with a key: good for a channel that asks for one, not for one that asks for a password. */
const secretsOfCallers: Proof = {
  cells: ['security.authentication', 'security.remoteKey'],
  columns: ['sftp remote'],
  run: async (stage) => {
    for (const [security, passes] of [
      [{}, true],
      [{ remoteKey: 'secret' }, false],
      [{ authentication: 'CERTIFICATE', remoteKey: 'secret' }, true],
    ] as const) {
      const lane = await stage.lane({ ours: () => ({ security }) })
      assert.equal((await exchanged(lane)) === 'COMPLETED', passes, JSON.stringify(security))
    }
  },
}

/** A file in whichever direction needs the caller to be believed. */
async function exchanged(lane: Lane): Promise<string> {
  if (lane.calls === 'remote') return (await lane.receive('b.txt', 'B')).state
  await lane.put('a.txt', 'AB')
  return (await lane.emit()).state
}

const lineSecurity: Proof = {
  cells: ['security.ciphrate TRANSMISION, ALL'],
  run: async (stage) => {
    const security = { cryptography: true, ciphrate: 'TRANSMISION' } as const
    if (stage.column.startsWith('sftp')) {
      const lane = await stage.lane({ ours: () => ({ security }) })
      await lane.put('a.txt', 'AB')
      const sent = await lane.emit()
      completed(sent)
      assert.equal(sent.encryption, true) // SSH always is
      return
    }
    const { node, other } = await stage.plain()
    const { plainPort, tlsPort } = stage.column === 'oftp2 local' ? other : node
    const { set, unset } = await both(stage, { security }, { port: plainPort })
    assert.notEqual(await exchanged(set), 'COMPLETED')
    assert.equal(await exchanged(unset), 'COMPLETED')
    const secure = await stage.lane({
      port: tlsPort,
      ours: () => ({
        security: { ...security, rsaLocalKey: node.identity, rsaRemoteKey: other.certificate },
      }),
      theirs: () => ({
        security: { ...security, rsaRemoteKey: node.certificate, rsaLocalKey: other.identity },
      }),
    })
    assert.equal(await exchanged(secure), 'COMPLETED')
  },
}

const textLines: Proof = {
  cells: ['directories.delimitator with HIBRIDO'],
  columns: ['oftp2 local', 'oftp2 remote'],
  run: async ({ lane: make }) => {
    for (const [delimitator, arrives] of [
      ['UNIX', 'one\r\ntwo\r\n'],
      ['NINGUNO', 'one\ntwo\n'],
    ] as const) {
      const lane = await make({
        ours: (lane) => ({
          directories: [
            { direction: 'EMISION', filePath: lane.here('out'), fileFormat: 'HIBRIDO', delimitator },
          ],
        }),
        theirs: (lane) => ({
          directories: [{ direction: 'RECEPCION', filePath: lane.there('got'), fileFormat: 'HIBRIDO' }],
        }),
      })
      await lane.put('a.txt', 'one\ntwo\n')
      completed(await lane.emit())
      assert.equal(String(await lane.got('a.txt')), arrives, delimitator)
    }
  },
}

export const CONNECTION: readonly Proof[] = [
  addresses,
  attempts,
  connecting,
  greeting,
  answers,
  lineCompression,
  fileCompression,
  receipts,
  hashes,
  restartPoints,
  ends,
  hangingUp,
  callers,
  secrets,
  secretsOfCallers,
  lineSecurity,
  textLines,
]
