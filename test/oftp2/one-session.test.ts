// What waits for a partner goes over one session: the turn is given when nothing more is to be sent, and for all at once.

import assert from 'node:assert/strict'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, test } from 'node:test'
import type { TestContext } from 'node:test'
import { tidy } from '../support/oftp2/ends.ts'
import { SAMPLES, TrialServer } from '../support/oftp2/partner.ts'
import type { TrialPartner } from '../support/oftp2/partner.ts'
import { closeAfter } from '../support/harness.ts'
import { CREDIT, allStarted, greet, startPair } from './pair.ts'
import type { ChannelSetting, Pair, Relation } from './pair.ts'
import { WireTap } from './wire-tap.ts'

afterEach(tidy)

const CHANNELS = Array.from({ length: 8 }, (_, number) => `FILES${number}`)
/** One channel has a file, the next two, and so on: they are not done at the same time. */
const ALL_FILES = (CHANNELS.length * (CHANNELS.length + 1)) / 2

function channels(setting: ChannelSetting) {
  return Object.fromEntries(CHANNELS.map((application) => [application, setting]))
}

async function sendAll(pair: Pair, relation: Relation): Promise<string[]> {
  for (const [at, application] of CHANNELS.entries())
    for (let number = 0; number <= at; number += 1)
      await pair.put(
        relation,
        'left',
        application,
        `${application}-${number}.txt`,
        `${application} ${number}`,
      )
  return Promise.all(CHANNELS.map((application) => pair.send('left', relation.code('left', application))))
}

async function allCompleted(pair: Pair, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { state, error } = await pair.ended('left', id)
    assert.equal(state, 'COMPLETED', error ?? '')
  }
}

test('transfers of many channels with receipts take one session and few turns', async (t) => {
  const pair = await startPair(t)
  const tap = await WireTap.open(pair.right.plainPort)
  closeAfter(t, () => tap.close())
  // The right end never calls: all that moves goes through the tap.
  const setting = (callingEnd: 'LOCAL' | 'REMOTO') => ({
    connection: {
      advancedConfigurationConnection: { callingEnd },
      advancedConfigurationTransmission: { downloadConf: true },
    },
  })
  const relation = await pair.relate(() => ({
    left: { port: tap.port, oftp2: { sessions: 1 }, channels: channels(setting('LOCAL')) },
    right: { channels: channels(setting('REMOTO')) },
  }))
  const hold = tap.holdNext()
  const ids = await sendAll(pair, relation)
  await allStarted(pair, ids)
  hold.release()
  const began = Date.now()
  await allCompleted(pair, ids)
  const tookMs = Date.now() - began
  assert.equal(tap.calls.length, 1)
  const [call] = tap.calls
  assert.ok(call)
  assert.equal(call.count('caller', 'EFID'), ALL_FILES)
  assert.equal(call.count('called', 'EERP'), ALL_FILES)
  // One when all is sent; on a slow machine one every two seconds until then.
  const turns = call.count('caller', 'CD')
  assert.ok(turns <= 1 + tookMs / 2000, `${turns} turns in ${tookMs} ms`)
  for (const [at, application] of CHANNELS.entries())
    assert.equal((await pair.received(relation, 'right', application)).length, at + 1)
})

test('a partner that hangs up whenever it has the turn is called once for all that waits', async (t) => {
  const { pair, ids, seen } = await sendToForeigner(t)
  await allCompleted(pair, ids)
  assert.deepEqual(seen, { sessions: 1, files: ALL_FILES })
})

test('a file that is refused fails its transfer by name, and cuts off nobody on the line', async (t) => {
  const { pair, ids, seen } = await sendToForeigner(t, 'FILES6-1.txt')
  const refused = await pair.ended('left', ids[6] ?? '')
  assert.equal(refused.state, 'FAILED')
  assert.match(refused.error ?? '', /^FILES6-1\.txt: .*SFNA/)
  await allCompleted(pair, ids.toSpliced(6, 1))
  // Of the seven files of that transfer those that were in hand with it went all the same.
  assert.equal(seen.sessions, 1)
  assert.ok(seen.files >= ALL_FILES - 7 + 1, `${seen.files} files`)
  const left = await pair.left.store.db
    .selectFrom('transfer_file')
    .select(['name', 'phase'])
    .where('transfer_id', '=', ids[6] ?? '')
    .execute()
  assert.equal(left.filter(({ phase }) => phase === 'DONE').length, seen.files - (ALL_FILES - 7))
})

test('a file that changes while it is sent fails its own transfer, and no other on the line', async (t) => {
  const pair = await startPair(t)
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  // Without retries a transfer that had failed by it would stay so.
  const connection = { advancedConfigurationConnection: { retries: 0 } }
  const applications = ['CHANGES', 'WAITS0', 'WAITS1']
  const relation = await pair.relate(() => ({
    left: {
      port,
      oftp2: { sessions: 1 },
      channels: Object.fromEntries(applications.map((application) => [application, { connection }])),
    },
    right: { channels: Object.fromEntries(applications.map((application) => [application, {}])) },
  }))
  const seen: Seen = { sessions: 0, files: 0 }
  await pair.put(relation, 'left', 'CHANGES', 'big.bin', Buffer.alloc(4_000_000))
  const changes = await pair.send('left', relation.code('left', 'CHANGES'))
  const first = await server.next()
  await greet(first, relation)
  await first.expect('SFID')
  const waiting: string[] = []
  for (const application of applications.slice(1)) {
    await pair.put(relation, 'left', application, `${application}.txt`, application)
    waiting.push(await pair.send('left', relation.code('left', application)))
  }
  await allStarted(pair, waiting)
  await truncate(join(relation.folder('left', 'out', 'CHANGES'), 'big.bin'), 100_000)
  first.say(SAMPLES.SFPA)
  for (
    let buffers = 0, command = await first.hear();
    command && command.kind !== 'ESID';
    command = await first.hear()
  )
    if (command.kind === 'DATA' && ++buffers % CREDIT === 0) first.say(SAMPLES.CDT)
  first.close()
  const { state, error } = await pair.ended('left', changes)
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /big\.bin changed while/)
  const second = await server.next()
  await greet(second, relation)
  void takeFiles(second, seen)
  await allCompleted(pair, waiting)
  assert.equal(seen.files, 2)
})

/** Every channel's files, on their way to a foreign partner that answers once all transfers have started. */
async function sendToForeigner(t: TestContext, unwanted?: string) {
  const pair = await startPair(t)
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  const relation = await pair.relate(() => ({
    left: { port, channels: channels({}) },
    right: { channels: channels({}) },
  }))
  const seen: Seen = { sessions: 0, files: 0 }
  const stop = answerCalls(server, relation, seen, unwanted)
  const ids = await sendAll(pair, relation)
  await allStarted(pair, ids)
  stop.open()
  return { pair, ids, seen }
}

type Seen = { sessions: number; files: number }

/** A foreign partner: takes every file but one, has nothing to say, and ends the session when it is given the turn. */
function answerCalls(
  server: TrialServer,
  relation: Relation,
  seen: Seen,
  unwanted: string | undefined,
): { open(): void } {
  const ready = Promise.withResolvers<void>()
  const answer = async (): Promise<never> => {
    for (;;) {
      const partner = await server.next()
      seen.sessions += 1
      await ready.promise
      await greet(partner, relation)
      await takeFiles(partner, seen, unwanted)
    }
  }
  void answer()
  return { open: ready.resolve }
}

async function takeFiles(partner: TrialPartner, seen: Seen, unwanted?: string): Promise<void> {
  for (let command = await partner.hear(); command !== undefined; command = await partner.hear()) {
    if (command.kind === 'SFID') partner.say(command.description === unwanted ? SAMPLES.SFNA : SAMPLES.SFPA)
    if (command.kind === 'EFID') {
      seen.files += 1
      partner.say(SAMPLES.EFPA)
    }
    if (command.kind === 'CD') partner.say(SAMPLES.ESID)
  }
}
