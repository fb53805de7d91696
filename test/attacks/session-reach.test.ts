// A partner's weakest channel opens itself and no other: what a session has proven is what it reaches, whoever opened it.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { closeAfter, waitFor } from '../support/harness.ts'
import { TrialPartner, TrialServer } from '../support/oftp2/partner.ts'
import { SAMPLES } from '../support/oftp2/partner.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { callBank, deliver, SSID, startCalledBank, take } from './partner.ts'

/** SFNA for a channel that there is not. */
const NO_SUCH = '02'
/** SFNA for one that asks for more than the session is. */
const NOT_SECURE = '17'
const waits = { connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' as const } } }
const withPassword = (remoteKey: string): Partial<PlatformChannel> => ({
  ...waits,
  security: { authentication: 'PASSWORD', remoteKey },
})

async function called(...args: Parameters<typeof callBank>): Promise<TrialPartner> {
  const partner = await callBank(...args)
  if (typeof partner === 'string') throw new Error(`turned away with ESID ${partner}`)
  return partner
}

test('a stranger who comes in by an open channel is not handed another channel’s payroll', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { OPEN: waits, PAGOS: withPassword('SECRET') })
  const transfer = await bank.send('PAGOS', 'payroll.txt')
  assert.deepEqual(await take(await called(t, bank.port)), [])
  assert.equal(await bank.stateOf(transfer), 'PENDING')
  assert.deepEqual(await take(await called(t, bank.port, 'SECRET')), ['PAGOS payroll.txt'])
})

test('what is put on an open session for another channel is refused', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { OPEN: waits, PAGOS: withPassword('SECRET') })
  const stranger = await called(t, bank.port)
  assert.equal(await deliver(stranger, 'PAGOS'), NO_SUCH)
  assert.equal(await deliver(stranger, 'NOSUCH'), NO_SUCH)
  assert.equal(await deliver(stranger, 'OPEN', 'harmless.txt'), 'EFPA')
  assert.deepEqual([await bank.received('PAGOS'), await bank.received('OPEN')], [[], ['harmless.txt']])
})

test('a password opens neither way of a channel that asks for a certificate', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: 'acme', days: 2 })
  const rsa = { rsaLocalKey: privateKeyPem + certificatePem, rsaRemoteKey: certificatePem }
  const secure = { ...waits, security: { authentication: 'CERTIFICATE' as const, ...rsa } }
  await bank.apply({}, { PLAIN: withPassword('SECRET'), SECURE: secure })
  const transfer = await bank.send('SECURE', 'payroll.txt')
  const partner = await called(t, bank.port, 'SECRET')
  assert.equal(await deliver(partner, 'SECURE'), NO_SUCH)
  assert.deepEqual(await take(partner), [])
  assert.equal(await bank.stateOf(transfer), 'PENDING')
})

test('each channel’s password opens that channel alone', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { ONE: withPassword('FIRST'), TWO: withPassword('SECOND') })
  const answers: Record<string, string[]> = {}
  for (const password of ['FIRST', 'SECOND']) {
    const partner = await called(t, bank.port, password)
    answers[password] = [await deliver(partner, 'ONE', password), await deliver(partner, 'TWO', password)]
  }
  assert.deepEqual(answers, { FIRST: ['EFPA', NO_SUCH], SECOND: [NO_SUCH, 'EFPA'] })
  assert.equal(await callBank(t, bank.port, 'OTHER'), '04')
  assert.equal(await callBank(t, bank.port), '04')
})

test('an empty password, which older databases may hold, lets nobody in', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  for (const empty of ['', '  ']) {
    await bank.apply({}, { PAGOS: withPassword(empty) })
    for (const given of ['', 'SECRET']) assert.equal(await callBank(t, bank.port, given), '04')
  }
})

test('a change of the channel acts on a session that is open', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { OPEN: waits, PAGOS: waits })
  const partner = await called(t, bank.port)
  assert.equal(await deliver(partner, 'PAGOS', 'first.txt'), 'EFPA')
  const connection = {
    ips: ['192.0.2.1'],
    advancedConfigurationConnection: { callingEnd: 'REMOTO' as const, validateIp: true },
  }
  await bank.apply({}, { OPEN: waits, PAGOS: { connection } })
  assert.equal(await deliver(partner, 'PAGOS', 'second.txt'), NO_SUCH)
  assert.deepEqual(await bank.received('PAGOS'), ['first.txt'])
})

test('a change acts on what waits behind another channel’s file that is going out', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { FIRST: waits, SECOND: waits })
  const transfers = { FIRST: await bank.send('FIRST', 'a.txt'), SECOND: await bank.send('SECOND', 'b.txt') }
  const partner = await called(t, bank.port)
  partner.say({ kind: 'CD' })
  const { user } = await partner.expect('SFID')
  const other = user === 'FIRST' ? 'SECOND' : 'FIRST'
  await bank.apply({}, { FIRST: waits, SECOND: waits, [other]: withPassword('SECRET') })
  partner.say({ kind: 'SFPA', position: 0n })
  await partner.expect('DATA')
  await partner.expect('EFID')
  partner.say({ kind: 'EFPA', changeDirection: 'N' })
  await partner.expect('CD')
  assert.equal(await bank.stateOf(transfers[other]), 'PENDING')
})

test('a receipt is taken from a session that reaches its channel, and from no other', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const { security } = withPassword('SECRET')
  const connection = {
    ...waits.connection,
    advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 600 },
  }
  await bank.apply({}, { OPEN: waits, PAGOS: { security, connection } })
  const transfer = await bank.send('PAGOS', 'payroll.txt')
  assert.equal((await take(await called(t, bank.port, 'SECRET'))).length, 1)
  const sent = await bank.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
  const eerp = {
    ...SAMPLES.EERP,
    dataset: 'PAYROLL.TXT',
    date: sent.key_date,
    time: sent.key_time,
    destination: 'BANCO',
    originator: 'ACME',
  }
  const receiptOf = async () =>
    (await bank.store.db.selectFrom('transfer_file').select('receipt').executeTakeFirstOrThrow()).receipt
  const confirm = async (password?: string) => {
    const partner = await called(t, bank.port, password)
    partner.say(eerp)
    await partner.expect('RTR')
  }
  await confirm()
  assert.equal(await receiptOf(), 'AWAITED')
  await confirm('SECRET')
  await waitFor('the transfer to complete', async () => (await bank.stateOf(transfer)) === 'COMPLETED')
})

test('a receipt that is owed on one channel is not handed to a session that has proven another', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { OPEN: waits, PAGOS: withPassword('SECRET') })
  const partner = await called(t, bank.port, 'SECRET')
  assert.equal(await deliver(partner, 'PAGOS'), 'EFPA')
  partner.close()
  const owed = () =>
    bank.store.db.selectFrom('owed_receipt').select(['body', 'delivered_at']).executeTakeFirst()
  const { body } = (await waitFor('the receipt to be owed', owed)) ?? { body: '{}' }
  assert.deepEqual(await take(await called(t, bank.port)), [])
  assert.equal((await owed())?.delivered_at, null)
  const { key } = JSON.parse(body) as { key: { name: string } }
  assert.deepEqual(await take(await called(t, bank.port, 'SECRET')), [`EERP ${key.name}`])
})

test('receipts of a channel that a session does not reach do not hide those of the one it does', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { OPEN: waits, PAGOS: withPassword('SECRET') })
  const partner = await called(t, bank.port, 'SECRET')
  assert.equal(await deliver(partner, 'PAGOS'), 'EFPA')
  partner.close()
  const owed = () => bank.store.db.selectFrom('owed_receipt').selectAll().executeTakeFirst()
  const first = (await waitFor('a receipt to be owed', owed)) ?? assert.fail('none is owed')
  const many = Array.from({ length: 1500 }, (_, at) => ({ ...first, id: `${first.id}-${at}` }))
  await bank.store.write(async (tx) => {
    for (const row of many) await tx.insertInto('owed_receipt').values(row).execute()
  })
  const other = await called(t, bank.port)
  assert.equal(await deliver(other, 'OPEN', 'order.txt'), 'EFPA')
  assert.deepEqual(
    (await take(other)).map((one) => one.split(' ')[0]),
    ['EERP'],
  )
})

test('a partner confirms nothing that another partner was sent', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const connection = {
    ...waits.connection,
    advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 600 },
  }
  await bank.apply({}, { PAGOS: { connection } })
  const filePath = join(bank.files, 'PAGOS', 'out')
  const evil = {
    contacts: [{ id: 'evil', remoteCodes: [{ code: 'EVIL' }], protocol: 'oftp2' as const }],
    channels: [
      {
        code: 'BANCO-EVIL-PAGOS',
        contact: 'evil',
        direction: 'EMISION' as const,
        directories: [{ direction: 'EMISION' as const, filePath }],
        ...waits,
      },
    ],
  }
  await applyPlatform(bank.store, bank.context.seal, evil, { now: Date.now() })
  await bank.send('PAGOS', 'payroll.txt')
  assert.equal((await take(await called(t, bank.port))).length, 1)
  const sent = await bank.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
  const about = { dataset: 'PAYROLL.TXT', date: sent.key_date, time: sent.key_time, destination: 'BANCO' }
  const receiptAfter = async (code: string) => {
    const partner = await called(t, bank.port, '', code)
    partner.say({ ...SAMPLES.EERP, ...about, originator: code })
    await partner.expect('RTR')
    const { receipt } = await bank.store.db
      .selectFrom('transfer_file')
      .select('receipt')
      .executeTakeFirstOrThrow()
    return receipt
  }
  assert.equal(await receiptAfter('EVIL'), 'AWAITED')
  assert.equal(await receiptAfter('ACME'), 'POSITIVE')
})

test('a machine that this node was pointed to by one channel delivers into no other', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  const calls = (ip: string) => ({
    connection: { ips: [ip], advancedConfigurationConnection: { callingEnd: 'LOCAL' as const } },
  })
  await bank.apply(
    { remoteIPs: [{ ipAddress: '127.0.0.1', port }] },
    { OPEN: calls('127.0.0.1'), PAGOS: calls('192.0.2.1') },
  )
  const arrival = server.next()
  await bank.send('OPEN', 'bait.txt')
  const attacker = await arrival
  closeAfter(t, async () => attacker.close())
  await takeFile(attacker, SSID)
  assert.equal(await deliver(attacker, 'PAGOS'), NO_SUCH)
  assert.equal(await deliver(attacker, 'OPEN', 'mine.txt'), 'EFPA')
  assert.deepEqual([await bank.received('PAGOS'), await bank.received('OPEN')], [[], ['mine.txt']])
})

test('a session that this node opened for one channel reaches none that would not have opened it', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  const once = { callingEnd: 'LOCAL' as const, desconnection: true }
  const calls = { connection: { advancedConfigurationConnection: once } }
  const others: Record<string, Partial<PlatformChannel>> = {
    CLOSED: { ...calls, deactivateChannel: true },
    CALLED: waits,
    NAMED: { ...calls, code: 'CAJA-ACME-NAMED' },
    PROVEN: { ...calls, security: { authentication: 'PASSWORD', localKey: 'OURS', remoteKey: 'THEIRS' } },
    SECURE: { ...calls, security: { cryptography: true, ciphrate: 'TRANSMISION' } },
  }
  const apply = (more: typeof others) =>
    bank.apply({ remoteIPs: [{ ipAddress: '127.0.0.1', port }] }, { OPEN: calls, ...others, ...more })
  await apply({ LIKE: calls })
  const arrival = server.next()
  await bank.send('OPEN', 'bait.txt')
  const partner = await arrival
  closeAfter(t, async () => partner.close())
  await takeFile(partner, SSID)
  for (const application of Object.keys(others)) {
    const reason = application === 'SECURE' ? NOT_SECURE : NO_SUCH
    assert.equal(await deliver(partner, application), reason, application)
    assert.deepEqual(await bank.received(application), [])
  }
  assert.equal(await deliver(partner, 'LIKE'), 'EFPA')
  const owed = () => bank.store.db.selectFrom('owed_receipt').select('delivered_at').executeTakeFirst()
  await waitFor('the receipt to be owed', owed)
  await apply({ LIKE: { ...others.SECURE } })
  assert.deepEqual(await take(partner), [], 'its receipt is for an encrypted session')
  assert.equal((await owed())?.delivered_at, null)
})

test('a machine that a channel no longer calls confirms what it was sent, and delivers nothing', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  const apply = (ip: string) =>
    bank.apply(
      { remoteIPs: [{ ipAddress: '127.0.0.1', port }] },
      {
        PAGOS: {
          connection: {
            ips: [ip],
            advancedConfigurationConnection: { callingEnd: 'LOCAL' as const },
            advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 600 },
          },
        },
      },
    )
  await apply('127.0.0.1')
  const arrival = server.next()
  const transfer = await bank.send('PAGOS', 'payroll.txt')
  const old = await arrival
  closeAfter(t, async () => old.close())
  await takeFile(old, SSID)
  await apply('192.0.2.1')
  assert.equal(await deliver(old, 'PAGOS'), NO_SUCH)
  const sent = await bank.store.db.selectFrom('transfer_file').selectAll().executeTakeFirstOrThrow()
  const ends = { destination: 'BANCO', originator: 'ACME' }
  const { key_date: date, key_time: time } = sent
  old.say({ ...SAMPLES.EERP, ...ends, dataset: 'PAYROLL.TXT', date, time })
  await old.expect('RTR')
  await waitFor('the transfer to complete', async () => (await bank.stateOf(transfer)) === 'COMPLETED')
  assert.deepEqual(await bank.received('PAGOS'), [])
})

/** The partner that was called takes one file, and is given the turn. */
async function takeFile(partner: TrialPartner, ssid: typeof SSID): Promise<void> {
  partner.say({ kind: 'SSRM' })
  await partner.expect('SSID')
  partner.say(ssid)
  await partner.expect('SFID')
  partner.say({ kind: 'SFPA', position: 0n })
  await partner.expect('DATA')
  await partner.expect('EFID')
  partner.say({ kind: 'EFPA', changeDirection: 'N' })
  await partner.expect('CD')
}

type Spelling = { security?: object; ips?: string[]; rotations?: boolean }

/** Two channels for which this node calls: the first one's session brings the receipt for the second one's file. */
async function receiptOverAnother(t: TestContext, first: Spelling, second: Spelling): Promise<string> {
  const bank = await startCalledBank(t, 'oftp2')
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  const calls = ({ security = {}, ips, rotations = false }: Spelling) => ({
    security,
    connection: {
      ...(ips && { ips }),
      advancedConfigurationConnection: { callingEnd: 'LOCAL' as const, desconnection: true, rotations },
      advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 600 },
    },
  })
  await bank.apply(
    { remoteIPs: [{ ipAddress: '127.0.0.1', port }] },
    { FIRST: calls(first), SECOND: calls(second) },
  )
  const sendOver = async (application: string) => {
    const arrival = server.next()
    const transfer = await bank.send(application, `${application}.txt`)
    const partner = await arrival
    closeAfter(t, async () => partner.close())
    await takeFile(partner, { ...SSID, password: 'PWB' })
    return { partner, transfer }
  }
  const { partner: before, transfer } = await sendOver('SECOND')
  before.close()
  const { partner } = await sendOver('FIRST')
  const file = () =>
    bank.store.db
      .selectFrom('transfer_file')
      .selectAll()
      .where('transfer_id', '=', transfer)
      .executeTakeFirstOrThrow()
  const { key_date: date, key_time: time } = await file()
  const ends = { destination: 'BANCO', originator: 'ACME' }
  partner.say({ ...SAMPLES.EERP, ...ends, dataset: 'SECOND.TXT', date, time })
  await partner.expect('RTR')
  return (await file()).receipt ?? ''
}

test('a receipt is taken from a session that a channel would have opened, however that is spelled', async (t) => {
  const password = { authentication: 'PASSWORD', localKey: 'PWA', remoteKey: 'PWB' }
  const pairs: Record<string, [Spelling, Spelling]> = {
    'the contact’s own address': [{}, { ips: ['127.0.0.1'] }],
    'its addresses in turn': [{}, { rotations: true }],
    'a password in lower case': [
      { security: password },
      { security: { ...password, localKey: 'pwa', remoteKey: 'pwb' } },
    ],
  }
  for (const [what, [first, second]] of Object.entries(pairs))
    await t.test(what, async (t) => {
      assert.equal(await receiptOverAnother(t, first, second), 'POSITIVE')
    })
  await t.test('but not with another password', async (t) => {
    const other = { security: { ...password, localKey: 'OTHER' } }
    assert.equal(await receiptOverAnother(t, { security: password }, other), 'AWAITED')
  })
  await t.test('and not with one address more', async (t) => {
    assert.equal(await receiptOverAnother(t, {}, { ips: ['127.0.0.1', '192.0.2.1'] }), 'AWAITED')
  })
})
