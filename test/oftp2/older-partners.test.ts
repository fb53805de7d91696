// What partners of the older levels cannot say: names in lower case (SFIDDSN alone, RFC 2204 5.3.3), and receipts soon.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { dataOf, n, octets, x } from '../support/oftp2/foreign.ts'
import { CREDIT, NODE_ID, startForeignNode } from './foreign-node.ts'

test('a name that can only come in upper case belongs to the groups of names in any case', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t)
  const filePath = join(node.files, foreign.code, 'in')
  const groups = async (fileGroupsName: string) => {
    const body = [{ direction: 'RECEPCION', filePath, fileGroupsName }]
    const { status, text } = await node.call('updateDirectories', { code: foreign.code, as: 'admin', body })
    assert.equal(status, 200, text)
  }
  await groups('nomina*.txt')
  const { line } = await foreign.calls(t, '2')
  /** SFID of level 1.3: nothing behind the restart position, so no other name than SFIDDSN. */
  const offer = (dataset: string, second: string) =>
    octets(
      `H${x(dataset, 26)}${x('', 9)}2611161200${second}${x('FILES', 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}U00000`,
      `${n(1, 7)}${n(0, 9)}`,
    )
  line.say(offer('NOMINA-1.TXT', '01'))
  await line.expect('2')
  line.say(dataOf(Buffer.from('paid'))).say(`T${n(0, 9)}${n(4, 12)}`)
  await line.expect('4')
  assert.equal((await foreign.arrived('NOMINA-1.TXT')).toString(), 'paid')
  line.say(offer('OTHER.TXT', '02'))
  assert.equal((await line.expect('3')).toString('latin1', 0, 3), '301')
})

test('how long a receipt may take is the contact’s own time where it has one', async (t) => {
  const node = await startForeignNode(t)
  const transmission = { downloadConf: true, timeoutAck: 600 }
  const foreign = await node.relate(
    t,
    { connection: { ips: ['127.0.0.1'], advancedConfigurationTransmission: transmission } },
    { receiptSeconds: 1 },
  )
  const id = await foreign.send('slow.txt', 'slow')
  const { line } = await foreign.called('5')
  await line.expect('H')
  line.say(`2${n(0, 17)}`)
  await line.expectFile(CREDIT)
  line.say('4N')
  const { state, error_code, error } = await foreign.ended(id)
  assert.deepEqual([state, error_code], ['FAILED', 'receipt_late'])
  assert.match(error ?? '', /no receipt came within 1 seconds/)
})
