// A file that the partner has refused at its end is not there, whatever is said of it later (RFC 5024, 5.3.10); one whose
// answer was lost may be, and then "duplicate file" (5.3.5) is the answer. And this node says "duplicate" of nothing but
// a file that is here.

import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { dataOf, n, text, x } from '../support/oftp2/foreign.ts'
import type { ForeignLine } from '../support/oftp2/foreign.ts'
import { CREDIT, NODE_ID, startForeignNode } from './foreign-node.ts'
import type { Foreign, ForeignNode } from './foreign-node.ts'

const SFPA = `2${n(0, 17)}`
const DUPLICATE = '313N000'
const ESID = 'F00000\r'
/** What is lost for good where a file counts as sent and is not there. */
const DELETES = { integrations: { postEmisionAction: 'EMISION_DELETE' } } as const

/** The node offers the file once more, under the same name, date and time. */
async function offered(foreign: Foreign): Promise<{ line: ForeignLine; key: string; restart: string }> {
  const { line } = await foreign.called('5')
  const sfid = text(await line.expect('H'))
  return { line, key: sfid.slice(1, 48), restart: sfid.slice(138, 155) }
}

async function says(line: ForeignLine, answer: string): Promise<void> {
  line.say(answer)
  await line.expect('R')
  line.say(ESID)
}

async function takeAll(line: ForeignLine): Promise<void> {
  line.say(SFPA)
  await line.expectFile(CREDIT)
}

async function retried(node: ForeignNode, foreign: Foreign): Promise<string> {
  const { body, text: said, status } = await node.call('retryTransfer', { code: foreign.code, as: 'admin' })
  assert.ok(status < 300, said)
  return String(body.transferId)
}

async function failsAsDuplicate(foreign: Foreign, id: string): Promise<void> {
  const { state, error_code } = await foreign.ended(id)
  assert.deepEqual([state, error_code], ['FAILED', 'duplicate_file'])
  assert.deepEqual(await readdir(foreign.folder('out')), ['a.txt'], 'the only copy there is')
}

const SMALL = 'what the file holds'
const BIG = SMALL.repeat(20_000)

async function refused(t: TestContext, node: ForeignNode, reason: string, content: string): Promise<void> {
  const foreign = await node.relate(t, DELETES)
  const id = await foreign.send('a.txt', content)
  const first = await offered(foreign)
  await takeAll(first.line)
  await says(first.line, `5${reason}000`)
  assert.equal((await foreign.ended(id)).state, 'FAILED')
  const { phase, position, maybe_visible, wire_hash, receipt } = await foreign.file(id)
  assert.deepEqual([phase, position, maybe_visible, wire_hash, receipt], ['STAGED', 0, 0, null, 'NONE'])
  const again = await retried(node, foreign)
  const second = await offered(foreign)
  assert.deepEqual([second.key, second.restart], [first.key, n(0, 17)], 'the same file, from its beginning')
  await says(second.line, DUPLICATE)
  await failsAsDuplicate(foreign, again)
}

/** The line goes when the file is there and before that is said. */
async function unanswered(foreign: Foreign): Promise<string> {
  const id = await foreign.send('a.txt', SMALL)
  const { line } = await offered(foreign)
  await takeAll(line)
  line.hangUp()
  assert.equal((await foreign.ended(id)).state, 'FAILED')
  return id
}

async function lostAnswer(t: TestContext, node: ForeignNode): Promise<void> {
  const foreign = await node.relate(t, DELETES)
  await unanswered(foreign)
  const again = await retried(node, foreign)
  await says((await offered(foreign)).line, DUPLICATE)
  const { state, error } = await foreign.ended(again)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.deepEqual(await readdir(foreign.folder('out')), [])
}

async function lostThenRefused(t: TestContext, node: ForeignNode): Promise<void> {
  const foreign = await node.relate(t, DELETES)
  await unanswered(foreign)
  const second = await retried(node, foreign)
  const { line } = await offered(foreign)
  await takeAll(line)
  await says(line, '599000')
  assert.equal((await foreign.ended(second)).state, 'FAILED')
  const third = await retried(node, foreign)
  await says((await offered(foreign)).line, DUPLICATE)
  await failsAsDuplicate(foreign, third)
}

test('what the partner says of a file at its end decides what "duplicate" means when it is offered again', async (t) => {
  const node = await startForeignNode(t)
  for (const reason of ['13', '99'])
    for (const content of [SMALL, BIG])
      await t.test(`refused with ${reason}, ${content.length} octets: it is not there`, (inner) =>
        refused(inner, node, reason, content),
      )
  await t.test('not answered: it is there', (inner) => lostAnswer(inner, node))
  await t.test('not answered, then refused: it is not there', (inner) => lostThenRefused(inner, node))
  await t.test('never offered before: it is not ours that is there', async (inner) => {
    const foreign = await node.relate(inner, DELETES)
    const id = await foreign.send('a.txt', SMALL)
    await says((await offered(foreign)).line, DUPLICATE)
    await failsAsDuplicate(foreign, id)
  })
})

/** The partner hands over FROM-THERE: gives the answer to its offer, and to its end where it was taken. */
async function bring(line: ForeignLine, from: string): Promise<string[]> {
  line.say(
    `H${x('FROM-THERE', 26)}   202611161213140007${x('FILES', 8)}${x(NODE_ID, 25)}${x(from, 25)}U00000`,
    `${n(1, 13)}${n(1, 13)}${n(0, 17)}000000N000`,
  )
  const answer = text((await line.hear()) ?? Buffer.alloc(0))
  if (answer !== SFPA) return [answer]
  line.say(dataOf(Buffer.from(SMALL)))
  line.say(`T${n(0, 17)}${n(SMALL.length, 17)}`)
  return [answer, text((await line.hear()) ?? Buffer.alloc(0))]
}

test('a file whose name is taken here is refused for that, at once again for the time being, and never as a duplicate', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t)
  await writeFile(join(foreign.folder('in'), 'FROM-THERE'), 'the one before')
  await foreign.send('a.txt', SMALL)
  // The node has called for its own file: what it has refused in such a session it does not take a moment later.
  const { line } = await offered(foreign)
  await takeAll(line)
  line.say('4N')
  await line.expect('R')
  const taken = 'a file of that name is here already'
  assert.deepEqual(await bring(line, foreign.id), [SFPA, `501${n(taken.length, 3)}${taken}`])
  const later = 'FROM-THERE was refused a moment ago; it is looked at again later'
  assert.deepEqual(await bring(line, foreign.id), [`399Y${n(later.length, 3)}${later}`])
  line.say(ESID)
})
