// Every level of the protocol, against a partner that speaks it as the standard says: files and receipts, positive and
// negative, whoever calls. The octets are those of RFC 5024 (5.3) for 2.0, of RFC 2204 for 1.2 and 1.3, and of the
// former with shorter counters for 1.4.

import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { waitFor } from '../support/harness.ts'
import { dataOf, n, octets, text, u2, x } from '../support/oftp2/foreign.ts'
import type { ForeignLine } from '../support/oftp2/foreign.ts'
import { awaiting, CREDIT, LEVELS, NODE_ID, startForeignNode } from './foreign-node.ts'
import type { Foreign, ForeignNode, Level } from './foreign-node.ts'

const CONTENT = 'what the file holds'
const isShort = (level: Level) => level === '1' || level === '2'

/** Reserved, date and time: CCYYMMDD and HHMMSScccc, or YYMMDD and HHMMSS without a counter. */
const stampOf = (level: Level, date: string, time: string) =>
  isShort(level) ? x('', 9) + date.slice(2) + time.slice(0, 6) : x('', 3) + date + time

/** EERP: name, stamp, user, destination (who made the file), originator (who received it); then hash and signature. */
const eerp = (level: Level, dataset: string, stamp: string, maker: string, receiver: string) =>
  octets(`E${x(dataset, 26)}${stamp}${x('', 8)}${x(maker, 25)}${x(receiver, 25)}`, ...noProof(level))

/** NERP: as EERP, with more reserved and without user; who made it, the reason, and at 2.0 its text. */
const nerp = (level: Level, about: { dataset: string; stamp: string; from: string; words: string }) =>
  octets(
    `N${x(about.dataset, 26)}${x('', 3)}${about.stamp}${x(NODE_ID, 25)}${x(about.from, 25)}${x(about.from, 25)}34`,
    ...(level === '5' ? [n(Buffer.byteLength(about.words), 3), about.words] : []),
    ...noProof(level),
  )

/** EERPHSHL and EERPSIGL are 0 where the receipt is not signed (5.3.13); older levels have neither. */
const noProof = (level: Level) => (level === '5' ? [u2(0), u2(0)] : [])

/** SFNA, EFNA and ESID have a text at 2.0 alone. */
const sfna = (level: Level, words: string) => `304N${level === '5' ? n(words.length, 3) + words : ''}`
const efna = (level: Level, words: string) => `512${level === '5' ? n(words.length, 3) + words : ''}`
const esid = (level: Level) => (level === '5' ? 'F00000\r' : 'F00\r')
const sfpa = (level: Level) => `2${n(0, level === '5' ? 17 : 9)}`

/** SFID of an unstructured file: after the two ends format, record length, size, restart; at 2.0 security and name. */
const sfid = (level: Level, dataset: string, stamp: string, from: string) =>
  octets(
    `H${x(dataset, 26)}${stamp}${x('FILES', 8)}${x(NODE_ID, 25)}${x(from, 25)}U00000`,
    level === '5' ? `${n(1, 13)}${n(1, 13)}${n(0, 17)}000000N000` : `${n(1, 7)}${n(0, 9)}`,
  )

type Offered = { dataset: string; stamp: string; whole: string }

/** Takes the node's SFID apart by the positions of the level, and checks what the standard fixes of it. */
function readSfid(level: Level, heard: Buffer, foreign: Foreign): Offered {
  const whole = text(heard)
  assert.equal(whole.slice(48, 56), x('FILES', 8), 'SFIDUSER')
  assert.equal(whole.slice(56, 81), x(foreign.id, 25), 'SFIDDEST')
  assert.equal(whole.slice(81, 106), x(NODE_ID, 25), 'SFIDORIG')
  assert.equal(whole.slice(106, 112), 'U00000', 'SFIDFMT, SFIDLRECL')
  if (level === '5') assert.equal(whole.slice(155, 165), '000000N005', 'no protection, no signed receipt')
  else assert.equal(whole.length, 128, 'an SFID of the older levels ends with the restart position')
  if (isShort(level)) assert.match(whole.slice(27, 48), /^ {9}\d{12}$/)
  else assert.match(whole.slice(27, 48), /^ {3}\d{18}$/)
  return { dataset: whole.slice(1, 27).trimEnd(), stamp: whole.slice(27, 48), whole }
}

/** The partner takes the file that the node offers, and confirms its end. */
async function takeFile(level: Level, foreign: Foreign, line: ForeignLine): Promise<Offered> {
  const offered = readSfid(level, await line.expect('H'), foreign)
  line.say(sfpa(level))
  const { content, efid } = await line.expectFile(CREDIT)
  assert.equal(content.toString(), CONTENT)
  const counts = level === '5' ? n(0, 17) + n(CONTENT.length, 17) : n(0, 9) + n(CONTENT.length, 12)
  assert.equal(efid, `T${counts}`)
  line.say('4N')
  return offered
}

/** The node hands the turn over; the partner says its receipt, which is confirmed, and hands it back. */
async function giveReceipt(line: ForeignLine, receipt: Buffer): Promise<void> {
  await line.expect('R')
  line.say(receipt)
  assert.equal(text(await line.expect('P')), 'P')
  line.say('R')
}

async function sendsAndHearsReceipt(t: TestContext, node: ForeignNode, level: Level): Promise<void> {
  const foreign = await node.relate(t, awaiting())
  const id = await foreign.send('a.bin', CONTENT)
  const { line, ssid } = await foreign.called(level)
  assert.equal(ssid.slice(1, 27), `5${x(NODE_ID, 25)}`)
  const { dataset, stamp } = await takeFile(level, foreign, line)
  await giveReceipt(line, eerp(level, dataset, stamp, NODE_ID, foreign.id))
  const { state, error } = await foreign.ended(id)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal((await foreign.file(id)).receipt, 'POSITIVE')
}

async function handsOverAndHearsReceipt(t: TestContext, node: ForeignNode, level: Level): Promise<void> {
  const remote = awaiting()
  const foreign = await node.relate(t, {
    connection: { ...remote.connection, advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
  })
  const id = await foreign.send('a.bin', CONTENT)
  const isDue = async () => (await foreign.transfer(id)).due_at <= Date.now()
  await waitFor('it to wait for the partner', async () => !(await isDue()))
  const { line, ssid } = await foreign.calls(t, level)
  assert.equal(ssid.slice(1, 27), `${level}${x(NODE_ID, 25)}`, 'the lower level holds')
  assert.equal(
    ssid.slice(47, 52),
    level === '5' ? 'N    ' : '     ',
    'SSIDAUTH, which older levels do not have',
  )
  line.say('R')
  await waitFor('it to begin', async () => (await foreign.transfer(id)).state === 'IN_PROGRESS')
  assert.ok(await isDue(), 'if the node dies here, the next one does not find it')
  const { dataset, stamp } = await takeFile(level, foreign, line)
  await giveReceipt(line, eerp(level, dataset, stamp, NODE_ID, foreign.id))
  const { state, error } = await foreign.ended(id)
  assert.equal(state, 'COMPLETED', error ?? '')
}

async function hearsNegativeReceipt(t: TestContext, node: ForeignNode, level: Level): Promise<void> {
  const foreign = await node.relate(t, awaiting())
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called(level)
  const { dataset, stamp } = await takeFile(level, foreign, line)
  const words = 'the ledger\nis closed'
  await giveReceipt(line, nerp(level, { dataset, stamp, from: foreign.id, words }))
  const { state, error, error_code } = await foreign.ended(id)
  assert.deepEqual([state, error_code], ['FAILED', 'receipt_negative'])
  const said =
    level === '5' ? 'processing failed (NERP 34): the ledger is closed' : 'processing failed (NERP 34)'
  assert.equal(error, `a.bin: the partner’s receipt is negative: ${said}`)
  const told = (await foreign.history()).find(({ event }) => event === 'TRANSFER_FAILED')
  assert.ok(told?.detail?.endsWith(said), told?.detail ?? 'nothing in the history')
}

async function isRefused(t: TestContext, node: ForeignNode, level: Level): Promise<void> {
  for (const when of ['SFNA', 'EFNA'] as const) {
    const foreign = await node.relate(t, awaiting())
    const id = await foreign.send('a.bin', CONTENT)
    const { line } = await foreign.called(level)
    await line.expect('H')
    if (when === 'SFNA') line.say(sfna(level, 'not that form'))
    else {
      line.say(sfpa(level))
      await line.expectFile(CREDIT)
      line.say(efna(level, 'the disk says no'))
    }
    // The node hands the turn over; a partner with nothing to say ends the session.
    await line.expect('R')
    line.say(esid(level))
    const { state, error } = await foreign.ended(id)
    assert.equal(state, 'FAILED')
    const words = level === '5' ? (when === 'SFNA' ? ': not that form' : ': the disk says no') : ''
    const means =
      when === 'SFNA' ? 'record format not supported (SFNA 04)' : 'access method failure (EFNA 12)'
    assert.ok(error?.endsWith(means + words), error ?? '')
  }
}

/** The partner sends a file; what the node says when it has the turn. */
async function bring(line: ForeignLine, level: Level, stamp: string, from: string): Promise<void> {
  line.say(sfid(level, 'FROM-THERE', stamp, from))
  assert.equal(text(await line.expect('2')), sfpa(level))
  line.say(dataOf(Buffer.from(CONTENT)))
  line.say(level === '5' ? `T${n(0, 17)}${n(CONTENT.length, 17)}` : `T${n(0, 9)}${n(CONTENT.length, 12)}`)
  assert.match(text(await line.expect('4')), /^4[YN]$/)
  line.say('R')
}

async function takesAndGivesReceipt(t: TestContext, node: ForeignNode, level: Level): Promise<void> {
  const foreign = await node.relate(t)
  const { line } = await foreign.calls(t, level)
  const stamp = stampOf(level, '20261116', '1213140007')
  await bring(line, level, stamp, foreign.id)
  assert.deepEqual(await line.expect('E'), eerp(level, 'FROM-THERE', stamp, foreign.id, NODE_ID))
  line.say('P')
  await line.expect('R')
  line.say(esid(level))
  assert.equal((await foreign.arrived('FROM-THERE')).toString(), CONTENT)
  assert.deepEqual(await foreign.owed(), [])
}

async function givesNegativeReceipt(t: TestContext, node: ForeignNode, level: Level): Promise<void> {
  const script = join(node.scripts, `fails-${level}.sh`)
  await writeFile(script, '#!/bin/sh\necho the secret of /srv/ledger\nexit 3\n')
  await chmod(script, 0o755)
  const foreign = await node.relate(t, {
    integrations: { postReceptionAction: 'RECEPTION_EXECUTE', postReceptionFile: script },
  })
  const { line } = await foreign.calls(t, level)
  const stamp = stampOf(level, '20261116', '1213140007')
  await bring(line, level, stamp, foreign.id)
  if (isShort(level)) {
    // RFC 2204 has no negative receipt. Nothing is left to be delivered, so nobody calls again and again for it.
    assert.equal(text(await line.expect('F')).slice(0, 3), 'F00')
    return assert.deepEqual(await foreign.owed(), [])
  }
  const words = 'a program of the recipient refused it'
  const said = octets(
    `N${x('FROM-THERE', 26)}${x('', 3)}${stamp}${x(foreign.id, 25)}${x(NODE_ID, 25)}${x(NODE_ID, 25)}34`,
    ...(level === '5' ? [n(words.length, 3), words] : []),
    ...noProof(level),
  )
  assert.equal(text(await line.expect('N')), text(said))
  line.say('P')
  await waitFor('the receipt to be settled', async () => (await foreign.owed()).length === 0, 60_000)
}

const CASES: readonly [string, (t: TestContext, node: ForeignNode, level: Level) => Promise<void>, Level?][] =
  [
    ['a file that is sent completes with its receipt', sendsAndHearsReceipt],
    ['a file that waits for the partner’s call completes with its receipt', handsOverAndHearsReceipt],
    ['a file that the partner refuses fails with the partner’s reason', isRefused],
    ['a file that comes in is answered with a receipt', takesAndGivesReceipt],
    ['a file that cannot be processed is answered as the level allows', givesNegativeReceipt],
    ['a negative receipt stands in the transfer’s error and in the history', hearsNegativeReceipt, '4'],
  ]

test('receipts and answers at every level, against a partner that speaks it', async (t) => {
  const node = await startForeignNode(t)
  for (const [name, level] of Object.entries(LEVELS))
    for (const [title, run, from = '1'] of CASES)
      if (level >= from) await t.test(`${name}: ${title}`, (inner) => run(inner, node, level))
})
