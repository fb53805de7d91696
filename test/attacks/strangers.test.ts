// Strangers at the listeners: connections that say nothing, or one octet now and then, so that partners find no place. The
// strangers sit at 127.0.0.2 and further, partners at 127.0.0.1.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import ssh2 from 'ssh2'
import { closeAfter, waitFor } from '../support/harness.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { startBank } from './bank.ts'
import type { Bank } from './bank.ts'

const PATIENCE_MS = 180_000
const SFTP_PASSWORD = 'the partner’s own password'
const OFTP2_PASSWORD = 'R1GHT'

type Doors = Bank & { oftp2: number; tls: number; sftp: number }

async function startDoors(t: TestContext, settings: Record<string, string> = {}): Promise<Doors> {
  const [oftp2, tls, sftp] = [await freePort(), await freePort(), await freePort()]
  const bank = await startBank(t, {
    settings: {
      ESCLUSA_OFTP2_PORT: String(oftp2),
      ESCLUSA_OFTP2_TLS_PORT: String(tls),
      ESCLUSA_SFTP_PORT: String(sftp),
      ...settings,
    },
    pagos: { security: { authentication: 'PASSWORD', remoteKey: OFTP2_PASSWORD, localKey: 'OURS' } },
    propio: { contact: 'socio' },
    platform: {
      contacts: [
        { id: 'pagos', remoteCodes: [{ code: 'PAGOS' }], protocol: 'oftp2', oftp2: { id: 'O0013PAGOS' } },
        {
          id: 'socio',
          remoteCodes: [{ code: 'SOCIO' }],
          protocol: 'sftp',
          access: { username: 'socio', password: SFTP_PASSWORD },
        },
      ],
    },
  })
  return { ...bank, oftp2, tls, sftp }
}

/** Silent connections; resolves when all of them are open, or were turned away. */
async function crowd(t: TestContext, port: number, from: readonly string[]): Promise<Socket[]> {
  const sockets = from.map((localAddress) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress })
    socket.on('error', () => undefined).resume()
    return socket
  })
  closeAfter(t, async () => sockets.forEach((socket) => socket.destroy()))
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
  return sockets
}

const times = (count: number, address: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => address(at))
/** Two connections of each, so that no single one is conspicuous. */
const everywhere = (at: number) => `127.0.1.${1 + Math.floor(at / 2)}`

/** RFC 5024 by hand: whether the node answers our SSID by its own. */
async function callOftp2(socket: Socket): Promise<boolean> {
  const fields = ['X', '5', 'O0013PAGOS'.padEnd(25), OFTP2_PASSWORD.padEnd(8), '04096', 'BNYN', '004', 'N']
  const ssid = `${fields.join('')}${' '.repeat(12)}\r`
  const framed = String.fromCharCode(0x10, 0, 0, 4 + ssid.length) + ssid
  let heard = ''
  try {
    for await (const piece of socket) {
      if (heard === '') socket.write(framed, 'latin1')
      heard += (piece as Buffer).toString('latin1')
      if (heard.length > 4 + 19 + 4) return heard.slice(4 + 19 + 4).startsWith('X')
    }
  } catch {
    // Cut off.
  } finally {
    socket.destroy()
  }
  return false
}

async function signInSftp(port: number, localAddress: string): Promise<boolean> {
  const client = new ssh2.Client()
  const outcome = new Promise<boolean>((resolve) => {
    client.once('ready', () => resolve(true))
    client.on('error', () => resolve(false))
    client.once('close', () => resolve(false))
  })
  const who = { username: 'socio', password: SFTP_PASSWORD, hostVerifier: () => true }
  client.connect({ host: '127.0.0.1', port, localAddress, readyTimeout: PATIENCE_MS, ...who })
  const passed = await outcome
  client.end()
  return passed
}

type Door = { name: 'oftp2' | 'tls' | 'sftp'; enter: (doors: Doors, from: string) => Promise<boolean> }

const DOORS: readonly Door[] = [
  {
    name: 'oftp2',
    enter: ({ oftp2: port }, localAddress) => callOftp2(connect({ host: '127.0.0.1', port, localAddress })),
  },
  {
    name: 'tls',
    enter: ({ tls: port }, localAddress) => {
      const socket = connect({ host: '127.0.0.1', port, localAddress })
      socket.on('error', () => undefined)
      return callOftp2(connectTls({ socket, rejectUnauthorized: false }))
    },
  },
  { name: 'sftp', enter: ({ sftp: port }, from) => signInSftp(port, from) },
]

test('strangers’ silent connections keep no partner out', async (t) => {
  const doors = await startDoors(t)
  const first = ['127.0.0.3', '127.0.0.4', '127.0.0.5']
  for (const [at, { name, enter }] of DOORS.entries()) {
    const from = first[at] ?? ''
    const count = name === 'sftp' ? 230 : 120
    const crowded = `${name}: one address opens ${count}`
    const silent = await crowd(
      t,
      doors[name],
      times(count, () => '127.0.0.2'),
    )
    assert.equal(await enter(doors, from), true, `${crowded}, a partner calls for the first time`)
    silent.forEach((socket) => socket.destroy())
    await crowd(t, doors[name], times(count, everywhere))
    assert.equal(await enter(doors, from), true, `${name}: many addresses, a partner that was here before`)
  }
})

test('an octet now and then does not keep a place', async (t) => {
  const doors = await startDoors(t, { ESCLUSA_SIGN_IN_SECONDS: '1' })
  const sockets: Socket[] = []
  for (const { name } of DOORS)
    sockets.push(
      ...(await crowd(
        t,
        doors[name],
        times(4, (at) => `127.0.0.${10 + at}`),
      )),
    )
  const drip = setInterval(() => sockets.forEach((socket) => socket.writable && socket.write('\x10')), 200)
  closeAfter(t, async () => clearInterval(drip))
  await waitFor('all to be cut off', () => sockets.every((socket) => socket.closed), PATIENCE_MS)
})

/** What the SSH listener announces as key exchange methods (RFC 4253, 7.1), heard by hand. */
async function announced(port: number, localAddress = '127.0.0.1'): Promise<string[]> {
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => undefined)
  socket.write('SSH-2.0-Stranger\r\n')
  let heard = Buffer.alloc(0)
  try {
    for await (const piece of socket) {
      heard = Buffer.concat([heard, piece as Buffer])
      const packet = heard.subarray(heard.indexOf('\n') + 1)
      if (packet.length < 4 + 1 + 17 + 4 || packet.length < 4 + packet.readUInt32BE(0)) continue
      const length = packet.readUInt32BE(22)
      return packet.toString('latin1', 26, 26 + length).split(',')
    }
  } catch {
    // Cut off.
  } finally {
    socket.destroy()
  }
  return []
}

/** Whether keys are agreed by that method; how the sign-in goes does not matter. */
async function agrees(port: number, method: string): Promise<boolean> {
  const client = new ssh2.Client()
  const outcome = new Promise<boolean>((resolve) => {
    client.once('handshake', () => resolve(true))
    client.on('error', () => resolve(false))
    client.once('close', () => resolve(false))
  })
  const algorithms = { kex: [method] } as never // a list that comes from the node
  const who = { username: 'nobody', password: 'none', hostVerifier: () => true }
  client.connect({ host: '127.0.0.1', port, algorithms, readyTimeout: PATIENCE_MS, ...who })
  const agreed = await outcome
  client.end()
  return agreed
}

test('key exchanges of SSH are bounded', async (t) => {
  const { sftp } = await startDoors(t)
  await t.test(
    'none is announced that cannot be done, nor one that costs a stranger little and the node much',
    () => triesAllMethods(sftp),
  )
  await t.test('a stranger cannot have keys exchanged again and again', () => exchangesForEver(t, sftp))
})

async function triesAllMethods(sftp: number): Promise<void> {
  const methods = (await announced(sftp)).filter((method) => !method.startsWith('kex-strict'))
  assert.ok(methods.length >= 5, methods.join())
  for (const method of methods) assert.equal(await agrees(sftp, method), true, method)
  assert.equal(methods.includes('diffie-hellman-group18-sha512'), false)
}

async function exchangesForEver(t: TestContext, port: number): Promise<void> {
  const client = new ssh2.Client()
  closeAfter(t, async () => void client.destroy())
  let exchanges = 0
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  client.on('error', () => undefined)
  // It agrees on keys and then asks for new ones for ever instead of signing in.
  client.on('handshake', () => {
    exchanges++
    ;(client as unknown as { _protocol: { rekey(): void } })._protocol.rekey()
  })
  const who = { username: 'nobody', authHandler: () => undefined as never, hostVerifier: () => true }
  client.connect({ host: '127.0.0.1', port, readyTimeout: PATIENCE_MS, ...who })
  await closed
  assert.ok(exchanges <= 2, `${exchanges} key exchanges on one line`)

  // Nor by calling again and again, ten lines at a time: sooner or later it is not even greeted. A partner is.
  let greeted = 0
  for (let round = 0, refused = false; !refused; round++) {
    assert.ok(round < 200, `${greeted} lines greeted`)
    const heard = await Promise.all(times(10, () => '127.0.0.9').map((from) => announced(port, from)))
    greeted += heard.filter((methods) => methods.length > 0).length
    refused = heard.some((methods) => methods.length === 0)
  }
  assert.equal(await signInSftp(port, '127.0.0.1'), true)
}
