// Compression with partners as the standard has them: an envelope where they take one (RFC 5024, 5.3.3 SFIDCOMP; level 2.0),
// else the sub-records of 7.2 where SSIDCMPR was agreed, and for each channel as it says itself.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { closeAfter } from '../support/harness.ts'
import { n, text, x } from '../support/oftp2/foreign.ts'
import type { ForeignLine } from '../support/oftp2/foreign.ts'
import { TrialPartner } from '../support/oftp2/partner.ts'
import { codeOf, SSID, startCalledBank } from '../attacks/partner.ts'
import { CREDIT, startForeignNode } from './foreign-node.ts'
import type { Foreign } from './foreign-node.ts'

const CONTENT = 'a'.repeat(400)
const wants = (compression: 'SI' | 'VARIABLE' | 'NO') => ({
  connection: { ips: ['127.0.0.1'], advancedConfigurationTransmission: { compression } },
})

/** The partner is called and introduces itself, with SSIDCMPR Y. Gives what the node said in that place. */
async function called(foreign: Foreign, level: '2' | '5'): Promise<{ line: ForeignLine; cmpr: string }> {
  const line = await foreign.server.next()
  line.say('IODETTE FTP READY \r')
  const theirs = text(await line.expect('X'))
  const rest = level === '5' ? 'N    ' : '     '
  line.say(`X${level}${x(foreign.id, 25)}${x('', 8)}02048BYYN00${CREDIT}${rest}${x('', 8)}\r`)
  return { line, cmpr: theirs.slice(41, 42) }
}

/** SFIDSEC, SFIDCIPH, SFIDCOMP, SFIDENV. */
const shape = (sfid: Buffer) => text(sfid).slice(155, 161)

test('a partner that refuses compressed envelopes (SFNA 18) gets the file without at once, and the next ones from the start', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t, wants('SI'))
  const first = await foreign.send('first.txt', CONTENT)
  const { line, cmpr } = await called(foreign, '5')
  assert.equal(cmpr, 'Y')
  assert.equal(shape(await line.expect('H')), '000011', 'a compressed envelope')
  line.say('318N000')
  assert.equal(shape(await line.expect('H')), '000000', 'the same file without')
  line.say(`2${n(0, 17)}`)
  const { content, efid } = await line.expectFile(CREDIT)
  assert.equal(content.toString(), CONTENT)
  assert.equal(efid, `T${n(0, 17)}${n(400, 17)}`)
  line.say('4N')
  assert.equal((await foreign.ended(first)).state, 'COMPLETED')

  line.hangUp()
  await line.whenClosed()
  const next = await foreign.send('next.txt', CONTENT)
  const { line: other } = await called(foreign, '5')
  const heard = await other.expect('H')
  assert.equal(shape(heard), '000000', 'remembered')
  other.say(`2${n(0, 17)}`)
  await other.expectFile(CREDIT)
  other.say('4N')
  assert.equal((await foreign.ended(next)).state, 'COMPLETED')
})

test('below level 2.0 SI and VARIABLE mean the compressed sub-records of the line', async (t) => {
  const node = await startForeignNode(t)
  for (const compression of ['SI', 'VARIABLE'] as const) {
    const foreign = await node.relate(t, wants(compression))
    const id = await foreign.send('old.txt', CONTENT)
    const { line, cmpr } = await called(foreign, '2')
    assert.equal(cmpr, 'Y')
    assert.equal((await line.expect('H')).length, 128, 'an SFID of level 1.3: no envelope to speak of')
    line.say(`2${n(0, 9)}`)
    const data = await line.expect('D')
    // 400 times the same: six sub-records of 63 and one of 22, two octets each, the last with the end of record.
    assert.deepEqual(data, Buffer.from(`D${'\u007fa'.repeat(6)}\u00d6a`, 'latin1'))
    assert.equal(text(await line.expect('T')), `T${n(0, 9)}${n(400, 12)}`)
    line.say('4N')
    assert.equal((await foreign.ended(id)).state, 'COMPLETED')
  }
})

test('a partner that calls gets each channel’s files as that channel says', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const channel = (compression: 'SI' | 'NO') => ({
    connection: {
      advancedConfigurationConnection: { callingEnd: 'REMOTO' as const },
      advancedConfigurationTransmission: { compression },
    },
  })
  await bank.apply({}, { PLAIN: channel('NO'), PACKED: channel('SI') })
  for (const application of ['PLAIN', 'PACKED']) {
    await writeFile(join(bank.files, application, 'out', 'z.txt'), CONTENT)
    const { status } = await bank.call('sendTransfer', { code: codeOf(application), as: 'admin' })
    assert.equal(status, 200)
  }
  const partner = await TrialPartner.call(bank.port)
  closeAfter(t, async () => partner.close())
  await partner.expect('SSRM')
  partner.level = 2
  partner.say({ ...SSID, level: 2, compression: 'Y' })
  assert.equal((await partner.expect('SSID')).compression, 'Y', 'one of them wants it')
  partner.say({ kind: 'CD' })
  const packed: Record<string, boolean> = {}
  for (let user = ''; Object.keys(packed).length < 2;) {
    const command = await partner.hear()
    if (command?.kind === 'SFID') {
      user = command.user
      partner.say({ kind: 'SFPA', position: 0n })
    } else if (command?.kind === 'DATA') packed[user] = ((command.payload[0] ?? 0) & 0x40) !== 0
    else if (command?.kind === 'EFID') partner.say({ kind: 'EFPA', changeDirection: 'N' })
    else assert.fail(`${command?.kind} came`)
  }
  assert.deepEqual(packed, { PLAIN: false, PACKED: true })
})
