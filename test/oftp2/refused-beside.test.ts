// A partner refuses one of two files (SFNA, RFC 5024, 5.3.5), takes the other and gives its receipt (EERP, 5.3.13): the
// transfer fails by the first, and the second is not offered again.

import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { n, octets, text, u2, x } from '../support/oftp2/foreign.ts'
import type { ForeignLine } from '../support/oftp2/foreign.ts'
import { awaiting, CREDIT, NODE_ID, startForeignNode } from './foreign-node.ts'

const REFUSED = '301N000'

/** Answers the next offer; gives what names the file: SFIDDSN, and SFIDDATE with SFIDTIME. */
async function offered(line: ForeignLine, takes: (dataset: string) => boolean) {
  const sfid = text(await line.expect('H'))
  const [dataset, stamp] = [sfid.slice(1, 27), sfid.slice(30, 48)]
  if (takes(dataset)) {
    line.say(`2${n(0, 17)}`)
    await line.expectFile(CREDIT)
    line.say('4N')
  } else line.say(REFUSED)
  return { dataset, stamp }
}

test('a file whose receipt has come is not offered again because another was refused', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t, {
    ...awaiting(),
    integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: join(node.files, 'sent') },
  })
  await writeFile(join(foreign.folder('out'), 'GOOD'), 'taken')
  const id = await foreign.send('WRONG', 'refused')
  const { line } = await foreign.called('5')
  const isGood = (dataset: string) => dataset.startsWith('GOOD')
  const offers = [await offered(line, isGood), await offered(line, isGood)]
  const good = offers.find(({ dataset }) => isGood(dataset))
  assert.ok(good)
  await line.expect('R')
  const ends = `${x('', 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}`
  line.say(octets(`E${good.dataset}${x('', 3)}${good.stamp}${ends}`, u2(0), u2(0)))
  await line.expect('P')
  line.say('F00000\r')
  const { state, error_code, error } = await foreign.ended(id)
  assert.deepEqual([state, error_code], ['FAILED', 'remote_refused'], error ?? '')
  assert.match(error ?? '', /^WRONG: /)
  assert.deepEqual(await readdir(join(node.files, 'sent')), ['GOOD'], 'its action has run')
  await writeFile(join(foreign.folder('out'), 'GOOD'), 'taken')
  await foreign.send('WRONG', 'refused')
  const second = (await foreign.called('5')).line
  assert.match((await offered(second, isGood)).dataset, /^WRONG/)
  await second.expect('R')
  second.say('F00000\r')
})
