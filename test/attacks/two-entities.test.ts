// Two local entities with the same partner, and a partner with two codes: in one session, what is for one of them never comes
// to the other, whatever the session was opened for, and what one of them sends says that it is its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import type { Command } from '../../src/engine/transports/oftp2/protocol/commands.ts'
import type { TrialPartner } from '../support/oftp2/partner.ts'
import { callBank, deliver, startCalledBank } from './partner.ts'

const connection = { advancedConfigurationConnection: { callingEnd: 'REMOTO' as const } }
const waits = { connection }
const ofCaja = (application: string): Partial<PlatformChannel> => ({
  ...waits,
  code: `CAJA-ACME-${application}`,
  alias: 'NOMINA',
})
const withPassword: Partial<PlatformChannel> = {
  security: { authentication: 'PASSWORD', remoteKey: 'SECRET' },
}

async function called(...args: Parameters<typeof callBank>): Promise<TrialPartner> {
  const partner = await callBank(...args)
  if (typeof partner === 'string') throw new Error(`turned away with ESID ${partner}`)
  return partner
}

type Said = Command & { kind: 'SFID' | 'EERP' }

/** What the node says when it is given the turn: files that it hands over, and receipts. */
async function heardFrom(partner: TrialPartner): Promise<Said[]> {
  partner.say({ kind: 'CD' })
  const heard: Said[] = []
  for (;;) {
    const command = await partner.hear()
    if (command?.kind === 'SFID') {
      heard.push(command)
      partner.say({ kind: 'SFPA', position: 0n })
    } else if (command?.kind === 'EFID') partner.say({ kind: 'EFPA', changeDirection: 'N' })
    else if (command?.kind === 'EERP') {
      heard.push(command)
      partner.say({ kind: 'RTR' })
    } else if (command?.kind !== 'DATA') return heard
  }
}

async function bankOfTwo(t: TestContext, ofCajaToo: Partial<PlatformChannel> = {}) {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { NOMINA: waits, CAJAS: { ...ofCaja('CAJAS'), ...ofCajaToo } })
  return bank
}

test('a file comes to the entity that it is for, and its receipt says who has it', async (t) => {
  const bank = await bankOfTwo(t)
  const partner = await called(t, bank.port)
  assert.equal(await deliver(partner, 'NOMINA', 'for-caja.txt', { destination: 'CAJA' }), 'EFPA')
  assert.equal(await deliver(partner, 'NOMINA', 'for-banco.txt', { destination: 'BANCO' }), 'EFPA')
  assert.deepEqual(await bank.received('CAJAS'), ['for-caja.txt'])
  assert.deepEqual(await bank.received('NOMINA'), ['for-banco.txt'])
  const receipts = await heardFrom(partner)
  assert.deepEqual(
    receipts.map(({ kind, originator, destination }) => `${kind} ${originator} to ${destination}`).sort(),
    ['EERP BANCO to ACME', 'EERP CAJA to ACME'],
  )
})

test('a file that goes out names the entity that sends it', async (t) => {
  const bank = await bankOfTwo(t)
  await bank.send('NOMINA', 'of-banco.txt')
  await bank.send('CAJAS', 'of-caja.txt')
  const files = (await heardFrom(await called(t, bank.port))).filter((one) => one.kind === 'SFID')
  assert.deepEqual(files.map(({ originator, description }) => `${description} ${originator}`).sort(), [
    'of-banco.txt BANCO',
    'of-caja.txt CAJA',
  ])
})

test('an entity whose channels the session does not reach is not there', async (t) => {
  const bank = await bankOfTwo(t, withPassword)
  const partner = await called(t, bank.port)
  assert.equal(await deliver(partner, 'NOMINA', 'a.txt', { destination: 'CAJA' }), '02')
  assert.equal(await deliver(partner, '', 'b.txt', { destination: 'CAJA' }), '02')
  const proven = await called(t, bank.port, 'SECRET')
  assert.equal(await deliver(proven, 'NOMINA', 'c.txt', { destination: 'CAJA' }), 'EFPA')
  assert.deepEqual([await bank.received('NOMINA'), await bank.received('CAJAS')], [[], ['c.txt']])
})

test('a file for nobody here is refused with 02, and one of somebody else with 03', async (t) => {
  const bank = await bankOfTwo(t)
  const partner = await called(t, bank.port)
  assert.equal(await deliver(partner, 'NOMINA', 'a.txt', { destination: 'SOMEBODY' }), '02')
  assert.equal(await deliver(partner, 'NOMINA', 'b.txt', { originator: 'SOMEBODY' }), '03')
  assert.equal(await deliver(partner, '', 'c.txt', { originator: 'SOMEBODY' }), '03')
  assert.equal(await deliver(partner, 'NOMINA', 'd.txt'), 'EFPA')
})

test('a partner with two codes is answered as the one that calls, and each has its own channels', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const second = { ...waits, code: 'BANCO-ACME2-NOMINA', alias: 'SECOND' }
  await bank.apply({ remoteCodes: [{ code: 'ACME' }, { code: 'ACME2' }] }, { NOMINA: waits, SECOND: second })
  for (const code of ['ACME', 'ACME2']) {
    const partner = await called(t, bank.port, '', code)
    assert.equal(await deliver(partner, 'SECOND', `by-${code}.txt`, { originator: 'ACME2' }), 'EFPA')
    assert.equal(await deliver(partner, 'SECOND', 'x.txt', { originator: 'ACME' }), '02')
  }
  assert.deepEqual(await bank.received('SECOND'), ['by-ACME.txt', 'by-ACME2.txt'])
})

test('a file for a channel that only sends is refused with 14: its direction is the other one', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { NOMINA: waits, SALIDAS: { ...waits, direction: 'EMISION' } })
  assert.equal(await deliver(await called(t, bank.port), 'SALIDAS'), '14')
})
