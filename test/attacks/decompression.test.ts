// Small files that become large when they are opened. Each layer may be honest; what they make together counts.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { compress } from '../../src/engine/transforms/cms/compressed-data.ts'
import { collect, once } from '../../src/engine/transforms/step.ts'
import { SAMPLES, TrialPartner } from '../support/oftp2/partner.ts'
import { closeAfter } from '../support/harness.ts'
import { codeOf, SSID, startCalledBank } from './partner.ts'
import type { CalledBank } from './partner.ts'

const MEGABYTE = 1024 * 1024

/** Octets as DATA commands of subrecords (RFC 5024, 7.2). */
function* dataOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 63 * 60) {
    const part = bytes.subarray(at, at + 63 * 60)
    const pieces: Buffer[] = []
    for (let from = 0; from < part.length; from += 63) {
      const piece = part.subarray(from, from + 63)
      const last = at + from + piece.length === bytes.length
      pieces.push(Buffer.from([piece.length | (last ? 0x80 : 0)]), piece)
    }
    yield { ...SAMPLES.DATA, payload: Buffer.concat(pieces) }
  }
}

/** Hands a file over; how the node answers its end. */
async function send(
  partner: TrialPartner,
  application: string,
  name: string,
  bytes: Buffer,
  compressed: boolean,
) {
  partner.say({
    ...SAMPLES.SFID,
    originator: 'ACME',
    destination: 'BANCO',
    dataset: name.toUpperCase(),
    user: application,
    description: name,
    compression: compressed ? '1' : '0',
    envelope: compressed ? '1' : '0',
    blocks: Math.ceil(bytes.length / 1024),
    originalBlocks: Math.ceil(bytes.length / 1024),
  })
  await partner.expect('SFPA')
  partner.say(...dataOf(bytes), { kind: 'EFID', records: 0n, octets: BigInt(bytes.length) })
  return partner.hear()
}

async function quarantined(bank: CalledBank, application: string) {
  const rows = await bank.store.db
    .selectFrom('quarantined_file')
    .select(['name', 'code', 'reason'])
    .where('channel_code', '=', codeOf(application))
    .execute()
  return rows.map(({ name, code, reason }) => `${name} ${code} ${reason}`)
}

test('a file that becomes more than it may goes into quarantine, however many layers it wears', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const gzipped = (application: string) => ({
    directories: [
      {
        direction: 'RECEPCION' as const,
        filePath: `${bank.files}/${application}/in`,
        compression: true,
      },
    ],
  })
  await bank.apply({}, { BOMB: gzipped('BOMB'), SMALL: { maxOpenedMegabytes: 1, ...gzipped('SMALL') } })
  const partner = await TrialPartner.call(bank.port)
  closeAfter(t, async () => partner.close())
  await partner.expect('SSRM')
  await partner.say({ ...SSID, credit: 64 }).expect('SSID')

  // zlib around gzip around zeros: some hundred octets, each layer within what zlib alone can reach.
  const inner = gzipSync(Buffer.alloc(64 * MEGABYTE))
  const bomb = await collect(compress()(once(inner)))
  assert.ok(bomb.length < 4096, `${bomb.length} octets`)
  assert.equal((await send(partner, 'BOMB', 'bomb.gz', bomb, true))?.kind, 'EFNA')
  assert.deepEqual(await bank.received('BOMB'), [])
  assert.deepEqual(await quarantined(bank, 'BOMB'), [
    'bomb.gz bad_envelope the content opens to more than 1100 times its size',
  ])

  // Nothing unusual but its size: the channel's own limit.
  const block = randomBytes(20 * 1024)
  const large = gzipSync(Buffer.concat(Array.from({ length: 150 }, () => block)))
  assert.ok(large.length > 20 * 1024 && large.length < 200 * 1024)
  assert.equal((await send(partner, 'SMALL', 'large.gz', large, false))?.kind, 'EFNA')
  assert.deepEqual(await bank.received('SMALL'), [])
  assert.deepEqual(await quarantined(bank, 'SMALL'), [
    `large.gz bad_envelope the content opens to more than ${MEGABYTE} octets`,
  ])

  // An honest one comes in.
  const honest = gzipSync(randomBytes(1000))
  assert.equal((await send(partner, 'SMALL', 'honest.gz', honest, false))?.kind, 'EFPA')
  assert.deepEqual(await bank.received('SMALL'), ['honest.gz'])
})
