// Guessing passwords at every door, and the opposite attack: wrong passwords on purpose, so that somebody else is locked
// out. The attacker sits at 127.0.0.2 and further; those attacked at 127.0.0.1.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import ssh2 from 'ssh2'
import { TrialPartner } from '../support/oftp2/partner.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { PASSWORD, startBank } from './bank.ts'
import type { Bank } from './bank.ts'
import { callBank, startCalledBank } from './partner.ts'

const HOME = '127.0.0.1'
const ATTACKER = '127.0.0.2'
const OFTP2_PASSWORD = 'R1GHT'
const SFTP_PASSWORD = 'the partner’s own password'

type Doors = Bank & { oftp2: number; sftp: number }

async function startDoors(t: TestContext): Promise<Doors> {
  const [oftp2, sftp] = [await freePort(), await freePort()]
  const settings = { ESCLUSA_OFTP2_PORT: String(oftp2), ESCLUSA_SFTP_PORT: String(sftp) }
  const bank = await startBank(t, {
    settings,
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
  return { ...bank, oftp2, sftp }
}

async function login(bank: Bank, username: string, password: string, from: string): Promise<number> {
  return post(bank, '/v2/auth/login', { username, password }, from)
}

async function post(bank: Bank, path: string, body: object, from: string): Promise<number> {
  const sent = request(`${bank.url}/connect-back/integration${path}`, {
    method: 'POST',
    localAddress: from,
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.7' },
  })
  sent.end(JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  await json(answer)
  return Number(answer.statusCode)
}

/** RFC 5024 by hand: the first word of the called end to our SSID, `X` for its own or the reason of its ESID. */
async function sayOftp2(
  { oftp2: port }: Doors,
  password: string,
  from: string,
  code = 'O0013PAGOS',
): Promise<string> {
  const fields = ['X', '5', code.padEnd(25), password.padEnd(8), '04096', 'B', 'N', 'Y', 'N', '004', 'N']
  const ssid = `${fields.join('')}${' '.repeat(4)}${' '.repeat(8)}\r`
  const socket = connect({ port, host: HOME, localAddress: from })
  let heard = ''
  try {
    for await (const piece of socket) {
      const before = heard.length
      heard += (piece as Buffer).toString('latin1')
      if (before === 0) socket.write(framed(ssid), 'latin1')
      const second = heard.slice(4 + 19 + 4)
      if (second.startsWith('X')) return 'X'
      if (second.startsWith('F') && second.length >= 3) return second.slice(1, 3)
    }
    return 'nothing'
  } catch {
    return 'broken'
  } finally {
    socket.destroy()
  }
}

function framed(command: string): string {
  const length = 4 + command.length
  return String.fromCharCode(0x10, 0, length >> 8, length & 255) + command
}

async function signInSftp({ sftp: port }: Doors, password: string, from: string): Promise<boolean> {
  const client = new ssh2.Client()
  const outcome = new Promise<boolean>((resolve) => {
    client.once('ready', () => resolve(true))
    client.on('error', () => resolve(false))
    client.once('close', () => resolve(false))
  })
  client.connect({
    host: HOME,
    port,
    localAddress: from,
    username: 'socio',
    password,
    hostVerifier: () => true,
    readyTimeout: 30_000,
  })
  const passed = await outcome
  client.end()
  return passed
}

const times = <T>(count: number, act: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => act(at)))

test('OFTP2 passwords cannot be tried without limit, and the partner is not locked out by it', async (t) => {
  const doors = await startDoors(t)
  assert.equal(await sayOftp2(doors, OFTP2_PASSWORD, HOME), 'X')
  const answers: string[] = []
  for (let round = 0; round < 15; round++)
    answers.push(...(await times(20, (at) => sayOftp2(doors, `W${round}X${at}`, ATTACKER))))
  assert.equal(answers.filter((answer) => answer === '04').length, 10, answers.join())
  assert.equal(answers.filter((answer) => answer === '08').length, 290)
  assert.equal(await sayOftp2(doors, OFTP2_PASSWORD, ATTACKER), '08')
  assert.equal(await sayOftp2(doors, OFTP2_PASSWORD, HOME), 'X')
})

test('a channel that asks for no password is no way to guess that of another', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { OPEN: {}, PAGOS: { security: { authentication: 'PASSWORD', remoteKey: 'R1GHT' } } })
  for (let nth = 0; nth < 10; nth++) {
    const partner = await callBank(t, bank.port, `WRONG${nth}`)
    assert.ok(partner instanceof TrialPartner, 'it gets in by the open channel')
    partner.close()
  }
  assert.equal(typeof (await callBank(t, bank.port, 'R1GHT')), 'string')
})

test('nobody can lock a user or a partner out by wrong passwords from elsewhere', async (t) => {
  const doors = await startDoors(t)
  await times(15, () => login(doors, 'root', 'wrong', ATTACKER))
  assert.equal(await login(doors, 'root', PASSWORD, ATTACKER), 429)
  assert.equal(await login(doors, 'root', PASSWORD, HOME), 200)
  await times(12, () => signInSftp(doors, 'wrong', ATTACKER))
  assert.equal(await signInSftp(doors, SFTP_PASSWORD, ATTACKER), false)
  assert.equal(await signInSftp(doors, SFTP_PASSWORD, HOME), true)
})

test('every door counts the failures of every other', async (t) => {
  const doors = await startDoors(t)
  for (let at = 0; at < 4; at++)
    await times(10, (nth) => sayOftp2(doors, 'WRONG', ATTACKER, `O0013NOBODY${at}${nth}`))
  await times(6, (at) => login(doors, `nobody${at}`, 'wrong', ATTACKER))
  await times(4, () => signInSftp(doors, 'wrong', ATTACKER))
  // Fifty from that address by now, whoever they were for.
  assert.equal(await login(doors, 'root', PASSWORD, ATTACKER), 429)
  assert.equal(await sayOftp2(doors, OFTP2_PASSWORD, ATTACKER), '08')
  assert.equal(await signInSftp(doors, SFTP_PASSWORD, ATTACKER), false)
  assert.equal(await login(doors, 'root', PASSWORD, HOME), 200)
})

test('the v1 login does not tell by 429 or 401 which addresses exist, however they are written', async (t) => {
  const bank = await startBank(t)
  const spellings = (email: string) =>
    Array.from({ length: 14 }, (_, at) => (at % 2 ? email.toUpperCase() : email.toLowerCase()))
  const statuses = async (email: string, from: string) => {
    const seen: number[] = []
    for (const one of spellings(email))
      seen.push(await post(bank, '/v1/auth/login', { email: one, password: 'wrong' }, from))
    // The same text as a username of the other form.
    seen.push(await login(bank, email, 'wrong', from))
    return seen
  }
  const known = await statuses('luis@banco.example', '127.0.0.3')
  assert.deepEqual(await statuses('nobody@banco.example', '127.0.0.4'), known)
  assert.deepEqual(known.slice(0, 12), [...Array.from({ length: 10 }, () => 401), 429, 429])
})
