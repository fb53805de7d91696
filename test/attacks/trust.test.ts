// An advanced operator who wants a channel to trust him: its address his own machine, its key his own key, its users
// himself. He may edit channels, and none of this.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { closeAfter } from '../support/harness.ts'
import { PROPIO, sendAndWait, startBank } from './bank.ts'
import type { Bank } from './bank.ts'

const as = 'luis'

function keyPair(modulusLength: number) {
  return generateKeyPairSync('rsa', {
    modulusLength,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
}
const theirs = keyPair(2048)
const ours = keyPair(2048)

async function startTrusting(t: TestContext, port = 3305): Promise<Bank> {
  return startBank(t, {
    platform: {
      contacts: [
        {
          id: 'socio',
          remoteCodes: [{ code: 'SOCIO' }],
          remoteIPs: [{ ipAddress: '127.0.0.1', port }],
          protocol: 'oftp2',
        },
        { id: 'pagos', remoteCodes: [{ code: 'PAGOS' }] },
      ],
    },
    propio: {
      connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { validateIp: true } },
      security: {
        authentication: 'PASSWORD',
        localKey: 'OURWORD',
        remoteKey: 'THEIRS',
        rsaLocalKey: ours.privateKey,
        rsaRemoteKey: theirs.publicKey,
      },
      users: ['luis', 'jefa', 'fina'],
      svcff: true,
      receptionff: true,
    },
  })
}

async function configuration(bank: Bank): Promise<unknown> {
  return (await bank.call('channelConfiguration', { code: PROPIO, as: 'root' })).body
}

test('an operator cannot point a channel at his own machine and be told its password', async (t) => {
  const heard: string[] = []
  const trap = createServer((socket) => {
    socket.on('data', (piece) => heard.push(String(piece)))
    socket.write('\x10\x00\x00\x17IODETTE FTP READY \r', 'latin1')
  })
  trap.listen(0, '127.0.0.2')
  await once(trap, 'listening')
  closeAfter(t, async () => {
    trap.close()
    await Promise.resolve()
  })
  const bank = await startTrusting(t, (trap.address() as AddressInfo).port)
  await bank.put('propio-out/order.txt', 'x')
  const before = await configuration(bank)
  for (const [name, body] of [
    ['updateIps', ['127.0.0.2']],
    ['updateIps', ['127.0.0.1', '127.0.0.2']],
    ['updateChannel', { connection: { ips: ['127.0.0.2'] } }],
    ['updateChannel', { connection: { proxyIps: ['127.0.0.2'] } }],
  ] as const) {
    const answer = await bank.call(name, { code: PROPIO, as, body })
    assert.equal(answer.status, 403, answer.text)
    assert.match(
      answer.body.message,
      /^\/connection\/(ips|proxyIps) needs the permission administration.*127\.0\.0\.2 is not one of/,
    )
  }
  assert.deepEqual(await configuration(bank), before)
  await sendAndWait(bank, PROPIO, as)
  assert.deepEqual(heard, [])
  // An address that the contact is known to have is his to choose.
  assert.equal((await bank.call('updateIps', { code: PROPIO, as, body: ['127.0.0.1'] })).status, 200)
})

test('an operator changes no key, no demand and no user of a channel, and finds out no secret', async (t) => {
  const bank = await startTrusting(t)
  const before = await configuration(bank)
  const weak = keyPair(512).publicKey
  for (const [body, field] of [
    [{ security: { rsaRemoteKey: ours.publicKey } }, '/security/rsaRemoteKey'],
    [{ security: { remoteKey: 'MINE' } }, '/security/remoteKey'],
    // The right value, too: else it could be guessed.
    [{ security: { remoteKey: 'THEIRS' } }, '/security/remoteKey'],
    [{ security: { authentication: 'CERTIFICATE' } }, '/security/authentication'],
    [{ security: { authentication: null } }, '/security/authentication'],
    [{ security: { ciphrate: 'NO' } }, '/security/ciphrate'],
    [{ users: ['luis'] }, '/users'],
    [{ users: null }, '/users'],
    [{ keyExchangeChannel: true }, '/keyExchangeChannel'],
    [{ receptionff: false }, '/receptionff'],
    [
      { connection: { advancedConfigurationConnection: { validateIp: false } } },
      '/connection/advancedConfigurationConnection/validateIp',
    ],
    [{ connection: null }, '/connection/advancedConfigurationConnection/validateIp'],
    [{ name: 'harmless', security: { version: '2' } }, '/security/version'],
  ] as const) {
    const answer = await bank.call('updateChannel', { code: PROPIO, as, body })
    assert.equal(answer.status, 403, `${JSON.stringify(body)}: ${answer.text}`)
    assert.ok(answer.body.message.startsWith(`${field} needs the permission administration`), answer.text)
    assert.deepEqual(await configuration(bank), before)
  }
  const refused = await bank.call('updateChannel', {
    code: PROPIO,
    as: 'root',
    body: { security: { rsaRemoteKey: weak } },
  })
  assert.equal(refused.status, 400)
  assert.match(refused.body.message, /^\/security\/rsaRemoteKey is an RSA key of 512 bits/)
  // What he read he may send back.
  const [read] = (await bank.call('channelConfiguration', { code: PROPIO, as })).body
  const sent = await bank.call('updateChannel', { code: PROPIO, as, body: { ...read, name: 'PROPIO' } })
  assert.equal(sent.status, 200, sent.text)
})

test('whoever administers signatures changes those of a channel and nothing else', async (t) => {
  const bank = await startTrusting(t)
  const update = async (body: unknown) =>
    (await bank.call('updateChannel', { code: PROPIO, as: 'fina', body })).status
  assert.equal(await update({ svcff: false, emissionff: true, receptionff: false }), 200)
  assert.equal(
    await update({ security: { rsaRemoteKeyName: 'theirs', rsaRemoteKey: theirs.publicKey } }),
    200,
  )
  for (const body of [
    { name: 'x' },
    { security: { remoteKey: 'MINE' } },
    { users: ['fina'] },
    { svcff: true, deactivateChannel: true },
    { connection: { ips: ['127.0.0.1', '::1'] } },
  ])
    assert.equal(await update(body), 403, JSON.stringify(body))
  for (const name of ['updateIps', 'updateDirectories', 'setOutboundPath', 'setInboundPath'] as const)
    assert.equal((await bank.call(name, { code: PROPIO, as: 'fina', body: [] })).status, 403, name)
  const [read] = (await bank.call('channelConfiguration', { code: PROPIO, as: 'root' })).body
  assert.deepEqual(
    [read.svcff, read.users, read.security.remoteKey],
    [false, ['luis', 'jefa', 'fina'], 'THEIRS'],
  )
})
