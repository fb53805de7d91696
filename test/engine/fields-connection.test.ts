// What the fields of `connection` do. Those about addresses, calls and time-outs need a line that can be looked at.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { lzwCompress } from '../support/lzw-compress.ts'
import { collect, once } from '../../src/engine/transforms/step.ts'
import { NodeError } from '../../src/errors.ts'
import { waitFor } from '../support/harness.ts'
import { field } from './field.ts'
import { Line, refuses } from './line.ts'
import type { LineOptions } from './line.ts'
import { CODE, channelOf, runningRig, startRig, withDirectories } from './rig.ts'
import type { Rig, RigOptions } from './rig.ts'
import { callOf, callerOf, offerOf } from './wire.ts'
import { reachOfCaller } from '../../src/engine/sessions/reach.ts'
import { reachAll, shows } from '../support/reach.ts'

type Transmission = NonNullable<NonNullable<Channel['connection']>['advancedConfigurationTransmission']>
type Connection = NonNullable<NonNullable<Channel['connection']>['advancedConfigurationConnection']>

const transmission = (advancedConfigurationTransmission: Transmission): Channel => ({
  connection: { ips: ['192.0.2.1'], advancedConfigurationTransmission },
})
const connection = (advancedConfigurationConnection: Connection, ips = ['192.0.2.1']): Channel => ({
  connection: { ips, advancedConfigurationConnection },
})

/** A rig whose partner is called over a line. */
async function lineRig(t: TestContext, change: Channel, options: LineOptions = {}, more: RigOptions = {}) {
  const line = new Line(options)
  const rig = await startRig(t, { ...more, transports: [line] })
  line.leadTo(rig)
  const data = {
    id: 'acme',
    remoteCodes: [{ id: 'rc', code: 'ACME' }],
    remoteIPs: [{ id: 'ip', ipAddress: '192.0.2.2', port: 2222 }],
  }
  await rig.putContact({ id: 'acme', protocol: line.protocol as 'sftp', data })
  await rig.putChannel(CODE, channelOf(rig, change))
  await rig.put('a.txt', 'a file')
  return { rig: rig.run(), line }
}

/** The clock is set ahead to each next attempt until the transfer is over. */
async function throughAttempts(rig: Rig, id: string): Promise<string> {
  for (;;) {
    const { state, dueAt } = await rig.transfer(id)
    if (state !== 'PENDING' && state !== 'IN_PROGRESS') return state
    if (state === 'PENDING' && dueAt > rig.context.now()) rig.setAhead(dueAt - rig.context.now() + 1)
    await delay(5)
  }
}

field(
  'connection.ips',
  'the addresses to call in order, with the contact’s port or the protocol’s own',
  async (t) => {
    const ips = ['192.0.2.1', '192.0.2.2', '2001:db8::1']
    const { rig, line } = await lineRig(t, connection({ rotations: true }, ips), { onConnect: refuses })
    await rig.ended((await rig.send()).id)
    assert.deepEqual(line.addresses, ['192.0.2.1:22', '192.0.2.2:2222', '2001:db8::1:22'])
  },
)

field('connection.advancedConfigurationConnection.rotations', 'false: the first address alone', async (t) => {
  const { rig, line } = await lineRig(
    t,
    connection({ rotations: false, retries: 2 }, ['192.0.2.1', '192.0.2.2']),
    {
      onConnect: refuses,
    },
  )
  await throughAttempts(rig, (await rig.send()).id)
  assert.deepEqual(line.addresses, ['192.0.2.1:22', '192.0.2.1:22', '192.0.2.1:22'])
})

field(
  'connection.advancedConfigurationConnection.rotations',
  'true: each attempt begins with the next',
  async (t) => {
    const { rig, line } = await lineRig(
      t,
      connection({ rotations: true, retries: 1 }, ['192.0.2.1', '192.0.2.2']),
      {
        onConnect: refuses,
      },
    )
    await throughAttempts(rig, (await rig.send()).id)
    assert.deepEqual(line.addresses, ['192.0.2.1:22', '192.0.2.2:2222', '192.0.2.2:2222', '192.0.2.1:22'])
  },
)

field(
  'connection.advancedConfigurationConnection.rotations',
  'false: nothing goes over an open session with another address',
  async (t) => {
    const ips = ['192.0.2.1', '192.0.2.2']
    let firstIsAway = true
    const { rig, line } = await lineRig(t, connection({ rotations: true }, ips), {
      onConnect: (call) => {
        if (firstIsAway && call.host === ips[0]) refuses()
      },
    })
    await rig.sendAndEnd()
    firstIsAway = false
    await rig.putChannel('BANCO-ACME-OTRA', channelOf(rig, connection({ rotations: false }, ips)))
    await rig.put('b.txt', 'b')
    await rig.sendAndEnd('BANCO-ACME-OTRA')
    assert.deepEqual(line.addresses, ['192.0.2.1:22', '192.0.2.2:2222', '192.0.2.1:22'])
  },
)

field('connection.advancedConfigurationConnection.retries', 'so many attempts after the first', async (t) => {
  for (const retries of [0, 2]) {
    const { rig, line } = await lineRig(t, connection({ retries }), { onConnect: refuses })
    const { id } = await rig.send()
    assert.equal(await throughAttempts(rig, id), 'FAILED')
    assert.equal(line.calls.length, retries + 1)
    assert.equal(await rig.errorCode(id), 'connect_failed')
  }
})

field(
  'connection.advancedConfigurationConnection.retries',
  'never for a fault that cannot pass',
  async (t) => {
    const { rig, line } = await lineRig(t, connection({ retries: 5 }), {
      onConnect: () => {
        throw new NodeError('login_refused', 'wrong password')
      },
    })
    const done = await rig.sendAndEnd()
    assert.equal(done.state, 'FAILED')
    assert.equal(line.calls.length, 1)
  },
)

field('connection.advancedConfigurationConnection.timeout', 'seconds to wait for a connection', async (t) => {
  for (const [timeout, connectMs] of [
    [7, 7000],
    [0, 30_000],
    // The longest that a timer of Node counts; a longer one would be due at once.
    [2_147_483_647, 2_147_483_647],
  ] as const) {
    const { rig, line } = await lineRig(t, connection({ timeout }))
    await rig.sendAndEnd()
    assert.equal(line.calls[0]?.timeouts.connectMs, connectMs)
  }
})

field(
  'connection.advancedConfigurationTransmission.timeoutSync',
  'seconds to set the session up',
  async (t) => {
    const { rig, line } = await lineRig(t, transmission({ timeoutSync: 9 }))
    await rig.sendAndEnd()
    assert.equal(line.calls[0]?.timeouts.syncMs, 9000)
  },
)

const RECEIPTS = { protocol: 'oftp2', capabilities: { receipts: true, remoteHash: false } }

field(
  'connection.advancedConfigurationTransmission.timeoutAck',
  'seconds to wait for an answer, and a receipt',
  async (t) => {
    const { rig, line } = await lineRig(t, transmission({ timeoutAck: 900, downloadConf: true }), {
      ...RECEIPTS,
      onPush: async (push) => ({ ...(await push()), receipt: 'awaited' }),
    })
    const begun = rig.context.now()
    const { id } = await rig.send()
    const until = await waitFor(
      'it waits for the receipt',
      async () => (await rig.transfer(id)).receiptsUntil,
    )
    assert.ok(until && until >= begun + 900_000 && until <= rig.context.now() + 900_000, String(until))
    assert.equal(line.calls[0]?.timeouts.ackMs, 900_000)
    rig.setAhead(900_000)
    assert.equal((await rig.ended(id)).state, 'FAILED')
    assert.equal(await rig.errorCode(id), 'receipt_late')
  },
)

field(
  'connection.advancedConfigurationTransmission.downloadConf',
  'complete only with the receipt',
  async (t) => {
    for (const downloadConf of [true, false]) {
      const { rig } = await lineRig(t, transmission({ downloadConf }), {
        ...RECEIPTS,
        onPush: async (push) => ({ ...(await push()), receipt: 'awaited' }),
      })
      const { id, files } = await rig.send()
      const [file] = files
      assert.ok(file)
      if (downloadConf) {
        await waitFor('it waits for the receipt', async () => (await rig.transfer(id)).receiptsUntil !== null)
        assert.equal((await rig.transfer(id)).state, 'IN_PROGRESS')
        await rig.host('oftp2').receipt(reachAll('acme'), receiptFor(file, true))
      }
      assert.equal((await rig.ended(id)).state, 'COMPLETED')
    }
  },
)

function receiptFor(file: { keyName: string; keyDate: string; keyTime: string }, positive: boolean) {
  return {
    key: { name: file.keyName, date: file.keyDate, time: file.keyTime },
    positive,
    reason: '',
    reasonCode: '',
    hash: undefined,
    signed: false,
    originator: 'BANCO',
    destination: 'ACME',
  }
}

field(
  'connection.advancedConfigurationTransmission.crc',
  'a checksum that differs fails the attempt',
  async (t) => {
    for (const crc of [true, false]) {
      const { rig } = await lineRig(t, transmission({ crc }), {
        onPush: async (push) => ({ ...(await push()), remoteSha256: 'f'.repeat(64) }),
      })
      const done = await rig.sendAndEnd()
      assert.equal(done.state, crc ? 'FAILED' : 'COMPLETED')
      assert.equal(await rig.errorCode(done.id), crc ? 'hash_mismatch' : null)
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.registersBlock',
  'how often a restart point is kept',
  async (t) => {
    for (const [registersBlock, kept] of [
      [64, 192 * 1024],
      [0, 0],
    ] as const) {
      const { rig } = await lineRig(t, transmission({ registersBlock }), {
        onPush: async (_push, _file, progress) => {
          for (let position = 0; position <= 200 * 1024; position += 1024) {
            progress.safe(position)
            await delay(0)
          }
          throw new NodeError('protocol_violation', 'broken off')
        },
      })
      await rig.put('a.txt', Buffer.alloc(1024 * 1024, 7))
      const { files } = await rig.sendAndEnd()
      assert.equal(files[0]?.position, kept)
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.registersBlock',
  'counts records where there are any, also on the way in',
  async (t) => {
    const rig = await runningRig(t, (rig) => ({
      ...withDirectories(rig, { fileFormat: 'FIJO', registerLength: 100 }),
      ...transmission({ registersBlock: 50 }),
    }))
    const incoming = await rig.host().offer(offerOf('r.dat'))
    await incoming.write(Buffer.alloc(12_345), 0)
    const position = () => rig.store.db.selectFrom('partial_file').select('position').executeTakeFirst()
    await waitFor('a restart point', async () => (await position())?.position === 10_000)
    await incoming.abandon(new NodeError('connection_lost', 'broken off'), false)
  },
)

field(
  'connection.advancedConfigurationTransmission.stampLength',
  'a stamp before the extension of received files',
  async (t) => {
    for (const [stampLength, form] of [
      [0, /^report\.txt$/],
      [8, /^report\.\d{8}\.txt$/],
      [14, /^report\.\d{14}\.txt$/],
      [17, /^report\.\d{17}\.txt$/],
    ] as const) {
      const rig = await runningRig(t, (rig) => channelOf(rig, transmission({ stampLength })))
      await rig.offer('report.txt', 'x')
      assert.equal(await rig.fetch(), undefined)
      const [name = ''] = await rig.list('in')
      assert.match(name, form)
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.characters',
  'the wire’s alphabet where no traduction is named',
  async (t) => {
    for (const characters of ['EBCDIC', 'ASCII'] as const) {
      const rig = await runningRig(t, (rig) => ({
        ...withDirectories(rig, { alphabet: 'ASCII', translateStatus: true }),
        ...transmission({ characters }),
      }))
      await rig.put('a.txt', 'AB1')
      await rig.sendAndEnd()
      const wire = await rig.delivered('a.txt')
      assert.equal(wire.toString('hex'), characters === 'EBCDIC' ? 'c1c2f1' : '414231')
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.compression',
  'NO and SI are the session’s; LZW and VARIABLE send gzip files, whose names say so',
  async (t) => {
    const text = 'the same words again and again. '.repeat(500)
    const noise = randomBytes(2000)
    for (const [compression, session, names] of [
      ['NO', false, ['noise.bin', 'text.txt']],
      ['SI', true, ['noise.bin', 'text.txt']],
      ['LZW', false, ['noise.bin.gz', 'text.txt.gz']],
      ['VARIABLE', false, ['noise.bin', 'text.txt.gz']],
    ] as const) {
      const { rig, line } = await lineRig(t, transmission({ compression }))
      await rig.put('text.txt', text)
      await rig.put('noise.bin', noise)
      const { files } = await rig.sendAndEnd()
      assert.equal(line.calls[0]?.compression, session, compression)
      assert.deepEqual((await rig.inbox()).filter((name) => !name.startsWith('a.txt')).sort(), names)
      assert.deepEqual(
        files.map(({ name }) => name).sort(),
        ['a.txt', 'noise.bin', 'text.txt'],
        'as they are called here',
      )
      for (const name of names) {
        const came = await rig.delivered(name)
        const opened = name.endsWith('.gz') ? gunzipSync(came) : came
        assert.ok(
          opened.equals(name.startsWith('text') ? Buffer.from(text) : noise),
          `${compression} ${name}`,
        )
      }
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.compression',
  'a gzip file comes in under the name of what is in it, anything else as it is, LZW of the version before too',
  async (t) => {
    const rig = await runningRig(t, (rig) =>
      channelOf(rig, {
        ...transmission({ compression: 'VARIABLE' }),
        directories: [
          { direction: 'RECEPCION', filePath: join(rig.place.files, 'in'), fileGroupsName: '*.txt,no.gz' },
        ],
      }),
    )
    const lzw = await collect(lzwCompress()(once(Buffer.from('old'))))
    await rig.offer('a.txt.gz', gzipSync('packed'))
    await rig.offer('b.txt', 'plain')
    await rig.offer('c.txt', lzw)
    await rig.offer('no.gz', 'not gzip at all')
    assert.equal(await rig.fetch(), undefined)
    const inside = Object.fromEntries(
      await Promise.all(
        (await rig.list('in')).map(async (name) => [name, (await rig.read('in', name)).toString()] as const),
      ),
    )
    assert.deepEqual(inside, {
      'a.txt': 'packed',
      'b.txt': 'plain',
      'c.txt': 'old',
      'no.gz': 'not gzip at all',
    })
  },
)

field(
  'connection.advancedConfigurationTransmission.compression',
  'VARIABLE: a name without room for .gz goes unpacked',
  async (t) => {
    const rig = await runningRig(t, (rig) => channelOf(rig, transmission({ compression: 'VARIABLE' })))
    const name = 'n'.repeat(253)
    await rig.put(name, 'text '.repeat(1000))
    const { state, error } = await rig.sendAndEnd()
    assert.equal(state, 'COMPLETED', error ?? '')
    assert.deepEqual(await rig.inbox(), [name])
  },
)

field(
  'connection.advancedConfigurationTransmission.compression',
  'a file that looks packed already comes back as it was',
  async (t) => {
    const rig = await runningRig(t, (rig) => channelOf(rig, transmission({ compression: 'VARIABLE' })))
    const looks = {
      'tricky.bin': Buffer.from('ELZW\x01 but it is not'),
      'own.gz': gzipSync(randomBytes(500)),
    }
    for (const [name, bytes] of Object.entries(looks)) {
      await rig.put(name, bytes)
      assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
      await rig.offer(`${name}.gz`, await rig.delivered(`${name}.gz`))
      assert.equal(await rig.fetch(), undefined)
      assert.ok((await rig.read('in', name)).equals(bytes), name)
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.compression',
  'zeros that the directory has compressed, too, come back as they were',
  async (t) => {
    const rig = await runningRig(t, (rig) => ({
      ...withDirectories(rig, { compression: true }),
      ...transmission({ compression: 'LZW' }),
    }))
    const zeros = Buffer.alloc(4 * 1024 * 1024)
    await rig.put('zeros.bin', zeros)
    assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
    await rig.offer('zeros.bin.gz', await rig.delivered('zeros.bin.gz'))
    assert.equal(await rig.fetch(), undefined)
    assert.ok((await rig.read('in', 'zeros.bin')).equals(zeros))
  },
)

field(
  'connection.advancedConfigurationConnection.callingEnd',
  'LOCAL: calls for the channel are refused',
  async (t) => {
    for (const callingEnd of ['LOCAL', 'INDISTINTO', 'REMOTO'] as const) {
      const { rig } = await lineRig(t, connection({ callingEnd }), { protocol: 'oftp2' })
      const admitted = rig.host('oftp2').admit(callerOf())
      if (callingEnd === 'LOCAL') await assert.rejects(admitted, { code: 'login_refused' })
      else assert.equal((await admitted).contactId, 'acme')
    }
  },
)

field(
  'connection.advancedConfigurationConnection.callingEnd',
  'REMOTO: files wait and are handed over when the partner calls',
  async (t) => {
    let dueAt = Infinity
    const onPush: LineOptions['onPush'] = async (push) => {
      dueAt = (await rig.transfer(id)).dueAt
      return push()
    }
    const { rig, line } = await lineRig(t, connection({ callingEnd: 'REMOTO' }), { onPush })
    const { id } = await rig.send()
    await waitFor('it is parked', async () => (await rig.transfer(id)).dueAt > Date.now() + 1e12)
    assert.equal((await rig.transfer(id)).state, 'PENDING')
    const reach = reachOfCaller(rig.context.seal, 'acme', shows())
    const session = await line.open(callOf({ reach }), rig.host('sftp'))
    await rig.host('sftp').turn(session)
    assert.equal((await rig.transfer(id)).state, 'COMPLETED')
    assert.deepEqual(await rig.inbox(), ['a.txt'])
    assert.equal(line.calls.length, 0, 'this node called')
    assert.ok(dueAt <= Date.now(), 'if this node had died in the push, no other one would have found it')
  },
)

field(
  'connection.advancedConfigurationConnection.callingEnd',
  'LOCAL: nothing is handed over when the partner calls for another channel',
  async (t) => {
    const line = new Line()
    const rig = await startRig(t, { transports: [line] })
    line.leadTo(rig)
    await rig.putContact({ id: 'acme', protocol: 'sftp' })
    await rig.putChannel(CODE, channelOf(rig, connection({ callingEnd: 'LOCAL' })))
    await rig.put('a.txt', 'a file')
    const { id, dueAt } = await rig.send()
    const reach = reachOfCaller(rig.context.seal, 'acme', shows())
    const session = await line.open(callOf({ reach }), rig.host('sftp'))
    await rig.host('sftp').turn(session)
    const after = await rig.transfer(id)
    assert.deepEqual([after.state, after.dueAt], ['PENDING', dueAt])
    assert.deepEqual(await rig.inbox(), [])
  },
)

field(
  'connection.advancedConfigurationConnection.callingEnd',
  'REMOTO makes nobody wait with a folder: files are put and taken at once',
  async (t) => {
    const rig = await runningRig(t, (rig) =>
      channelOf(rig, { connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } } }),
    )
    await rig.put('a.txt', 'a file')
    assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
    await rig.putChannel('BANCO-ACME-ENTRADA', channelOf(rig, connection({ callingEnd: 'REMOTO' })), {
      automation: { every: '1s' },
    })
    await rig.offer('b.txt', 'another')
    rig.automate(t)
    await waitFor('it was fetched', async () => (await rig.list('in')).includes('b.txt'), 60_000)
  },
)

field(
  'connection.advancedConfigurationTransmission.timeoutAck',
  'channels of one partner with other time-outs do not share a session that was opened with these',
  async (t) => {
    for (const other of [30, 90]) {
      const { rig, line } = await lineRig(t, transmission({ timeoutAck: 30 }))
      await rig.putChannel('BANCO-ACME-OTRA', channelOf(rig, transmission({ timeoutAck: other })))
      await rig.sendAndEnd()
      await rig.put('b.txt', 'b')
      await rig.sendAndEnd('BANCO-ACME-OTRA')
      assert.deepEqual(
        line.calls.map(({ timeouts }) => timeouts.ackMs),
        other === 30 ? [30_000] : [30_000, 90_000],
      )
    }
  },
)

field(
  'connection.advancedConfigurationTransmission.timeoutAck',
  'a caller is waited for as long as the most patient of its channels asks for',
  async (t) => {
    const { rig } = await lineRig(t, transmission({ timeoutAck: 30 }), { protocol: 'oftp2' })
    await rig.putChannel('BANCO-ACME-OTRA', channelOf(rig, transmission({ timeoutAck: 90 })))
    assert.equal((await rig.host('oftp2').admit(callerOf())).timeouts.ackMs, 90_000)
  },
)

field(
  'connection.advancedConfigurationConnection.desconnection',
  'true hangs up after each transfer, false keeps the session',
  async (t) => {
    for (const desconnection of [true, false]) {
      const { rig, line } = await lineRig(t, connection({ desconnection }))
      await rig.sendAndEnd()
      await rig.put('b.txt', 'b')
      await rig.sendAndEnd()
      assert.equal(line.calls.length, desconnection ? 2 : 1)
      assert.equal(line.sessions[0]?.ended.aborted, desconnection)
    }
  },
)

field(
  'connection.advancedConfigurationConnection.validateIp',
  'a caller from elsewhere is refused and noted',
  async (t) => {
    const { rig } = await lineRig(t, connection({ validateIp: true }), { protocol: 'oftp2' })
    const host = rig.host('oftp2')
    assert.equal((await host.admit(callerOf({ address: '::ffff:192.0.2.1' }))).contactId, 'acme')
    const stranger = callerOf({ address: '198.51.100.7' })
    await assert.rejects(host.admit(stranger), { code: 'login_refused' })
    await host.refused(stranger, 'as a transport says it')
    assert.ok((await rig.history()).includes('CONNECTION_REFUSED'))
    const open = await lineRig(t, connection({ validateIp: false }), { protocol: 'oftp2' })
    assert.ok(await open.rig.host('oftp2').admit(callerOf({ address: '198.51.100.7' })))
  },
)

field('connection.proxyIps', 'accepted as a caller’s address too', async (t) => {
  const { rig } = await lineRig(
    t,
    {
      connection: {
        ips: ['192.0.2.1'],
        proxyIps: ['198.51.100.7'],
        advancedConfigurationConnection: { validateIp: true },
      },
    },
    { protocol: 'oftp2' },
  )
  const host = rig.host('oftp2')
  assert.equal((await host.admit(callerOf({ address: '198.51.100.7' }))).contactId, 'acme')
  await assert.rejects(host.admit(callerOf({ address: '198.51.100.8' })), { code: 'login_refused' })
})

field(
  'connection.advancedConfigurationConnection.initialHour',
  'before it a transfer waits PENDING, calls and files are refused',
  async (t) => {
    const { rig } = await lineRig(t, connection({ initialHour: '12:00', finishHour: '18:00' }), {
      protocol: 'oftp2',
    })
    rig.setClock('09:00')
    const { id } = await rig.send()
    await waitFor('it waits for the hour', async () => (await rig.transfer(id)).dueAt > rig.context.now())
    assert.equal((await rig.transfer(id)).state, 'PENDING')
    assert.equal(new Date((await rig.transfer(id)).dueAt).toISOString().slice(11, 16), '12:00')
    await assert.rejects(rig.host('oftp2').admit(callerOf()), { code: 'remote_busy' })
    await assert.rejects(rig.host('oftp2').offer(offerOf('x')), { code: 'remote_busy' })
    rig.setClock('12:00')
    assert.equal((await rig.ended(id)).state, 'COMPLETED')
    assert.ok(await rig.host('oftp2').admit(callerOf()))
  },
)

field(
  'connection.advancedConfigurationConnection.finishHour',
  'after it likewise, past midnight too',
  async (t) => {
    const { rig } = await lineRig(t, connection({ initialHour: '22:00', finishHour: '06:00' }), {
      protocol: 'oftp2',
    })
    rig.setClock('06:00')
    const { id } = await rig.send()
    await waitFor('it waits for the hour', async () => (await rig.transfer(id)).dueAt > rig.context.now())
    assert.equal(new Date((await rig.transfer(id)).dueAt).toISOString().slice(11, 16), '22:00')
    rig.setClock('02:00')
    assert.equal((await rig.ended(id)).state, 'COMPLETED')
  },
)

field(
  'connection.advancedConfigurationConnection.finishHour',
  'a transfer that runs at the end finishes',
  async (t) => {
    let rigAt: Rig | undefined
    const hours = connection({ initialHour: '08:00', finishHour: '18:00' })
    const onPush: LineOptions['onPush'] = (push) => {
      rigAt?.setAhead(3 * 3_600_000)
      return push()
    }
    const { rig } = await lineRig(t, hours, { onPush }, { leaseMs: 86_400_000 })
    rigAt = rig
    rig.setClock('16:00')
    assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
    assert.ok(new Date(rig.context.now()).toISOString().slice(11, 16) >= '18:00')
  },
)
