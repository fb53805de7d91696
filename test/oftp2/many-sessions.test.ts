// Many files, of one channel or of many, go over several sessions, where the partner lets them: each file goes once, into
// one reception of its channel, and each receipt comes once. A partner that wants no second session is not pressed.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Command } from '../../src/engine/transports/oftp2/protocol/commands.ts'
import { closeAfter, waitFor } from '../support/harness.ts'
import { tidy } from '../support/oftp2/ends.ts'
import { SAMPLES, TrialServer } from '../support/oftp2/partner.ts'
import type { TrialPartner } from '../support/oftp2/partner.ts'
import { allStarted, greet, startPair } from './pair.ts'
import type { Pair, Relation } from './pair.ts'
import { WireTap } from './wire-tap.ts'

const FILES = 40
const NAMES = Array.from({ length: FILES }, (_, number) => `file-${String(number).padStart(2, '0')}.txt`)

let pair: Pair
let endPair: () => Promise<void>
before(async () => {
  const closers: (() => Promise<void> | void)[] = []
  // The nodes are shared by all tests of this file.
  pair = await startPair({ after: (close: () => Promise<void>) => closers.push(close) } as never)
  endPair = async () => {
    for (const close of closers.toReversed()) await close()
  }
})
after(async () => {
  await tidy()
  await endPair()
})

async function putAll(relation: Relation, names = NAMES): Promise<void> {
  for (const name of names) await pair.put(relation, 'left', 'FILES', name, `contents of ${name}`)
}

/** Of two nodes the left one calls, with receipts, over a line that is listened to. */
async function tapped(sessions: number, applications = ['FILES']) {
  const tap = await WireTap.open(pair.right.plainPort)
  const setting = (callingEnd: 'LOCAL' | 'REMOTO') => {
    const connection = {
      advancedConfigurationConnection: { callingEnd, retries: 0 },
      advancedConfigurationTransmission: { downloadConf: true },
    }
    return Object.fromEntries(applications.map((application) => [application, { connection }]))
  }
  const relation = await pair.relate(() => ({
    left: { port: tap.port, oftp2: { sessions }, channels: setting('LOCAL') },
    right: { channels: setting('REMOTO') },
  }))
  return { tap, relation }
}

async function sendAll(relation: Relation): Promise<string> {
  await putAll(relation)
  const id = await pair.send('left', relation.code('left', 'FILES'))
  const { state, error, attempts } = await pair.ended('left', id)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal(attempts, 0)
  return id
}

async function receptions(
  relation: Relation,
  application = 'FILES',
): Promise<{ state: string; files: number }[]> {
  const { db } = pair.right.store
  return db
    .selectFrom('transfer')
    .innerJoin('transfer_file', 'transfer_file.transfer_id', 'transfer.id')
    .select(({ fn }) => ['transfer.state', fn.countAll<number>().as('files')])
    .where('channel_code', '=', relation.code('right', application))
    .where('phase', '=', 'DONE')
    .groupBy(['transfer.id', 'transfer.state'])
    .execute()
}

test('files of one transfer go over several sessions, each once, into one reception, with one receipt each', async (t) => {
  const { tap, relation } = await tapped(3)
  closeAfter(t, () => tap.close())
  await sendAll(relation)
  assert.deepEqual((await pair.received(relation, 'right', 'FILES')).toSorted(), NAMES)
  const ended = await waitFor('the reception to end', async () => {
    const all = await receptions(relation)
    return all.every(({ state }) => state === 'COMPLETED') ? all : undefined
  })
  assert.deepEqual(ended, [{ state: 'COMPLETED', files: FILES }])
  // The second is called before the first file goes. Whether the third still pays depends on how fast the first two are.
  assert.ok(tap.calls.length === 2 || tap.calls.length === 3, `${tap.calls.length} calls`)
  const count = (from: 'caller' | 'called', kind: Command['kind']) =>
    tap.calls.reduce((sum, call) => sum + call.count(from, kind), 0)
  assert.equal(count('caller', 'EFID'), FILES)
  assert.equal(count('called', 'EFPA'), FILES)
  assert.equal(count('called', 'EERP'), FILES)
  // Further sessions end in order once the transfer has nothing more for them.
  const further = tap.calls.slice(1)
  await waitFor('the further sessions to end', () =>
    Promise.resolve(
      further.every((call) => call.count('called', 'ESID') + call.count('caller', 'ESID') === 1),
    ),
  )
  for (const { said } of further)
    for (const { command } of said) if (command.kind === 'ESID') assert.equal(command.reason, '00')
})

test('channels with few files each share the further sessions that all of them are worth', async (t) => {
  const applications = Array.from({ length: 12 }, (_, nth) => `FEW${nth}`)
  const { tap, relation } = await tapped(3, applications)
  closeAfter(t, () => tap.close())
  // All of them wait before the first file goes.
  const hold = tap.holdNext()
  for (const application of applications)
    for (const name of NAMES.slice(0, 4)) await pair.put(relation, 'left', application, name, application)
  const ids = await Promise.all(
    applications.map((application) => pair.send('left', relation.code('left', application))),
  )
  await allStarted(pair, ids)
  hold.release()
  for (const id of ids) {
    const { state, error, attempts } = await pair.ended('left', id)
    assert.deepEqual([state, attempts], ['COMPLETED', 0], error ?? '')
  }
  for (const application of applications) {
    assert.deepEqual((await pair.received(relation, 'right', application)).toSorted(), NAMES.slice(0, 4))
    assert.deepEqual(
      (await receptions(relation, application)).map(({ files }) => files),
      [4],
    )
  }
  assert.equal(tap.calls.length, 3)
  const offers = tap.calls.map((call) => call.count('caller', 'SFID'))
  assert.equal(
    offers.reduce((sum, count) => sum + count, 0),
    4 * applications.length,
  )
  assert.ok(Math.min(...offers) > 0, `files over each session: ${offers.join()}`)
})

test('a further session that breaks after a file has come costs no attempt, and the file is not taken twice', async (t) => {
  const { tap, relation } = await tapped(2)
  closeAfter(t, () => tap.close())
  tap.breakNext({ from: 'caller', kind: 'EFID', nth: 1, inside: false }, 1)
  await sendAll(relation)
  assert.deepEqual((await pair.received(relation, 'right', 'FILES')).toSorted(), NAMES)
  const files = (await receptions(relation)).reduce((sum, one) => sum + one.files, 0)
  assert.equal(files, FILES)
})

test('a reset ends every session of the transfer, and nothing of it is left', async (t) => {
  const { server, relation } = await foreign(t, 2)
  // Each takes a file's offer and answers nothing.
  const silent = async (calling: Promise<TrialPartner>) => {
    const partner = await calling
    await greet(partner, relation)
    await partner.expect('SFID')
    return partner
  }
  const both = Promise.all([silent(server.next()), silent(server.next())])
  await putAll(relation)
  const code = relation.code('left', 'FILES')
  const id = await pair.send('left', code)
  const partners = await both
  await pair.left.call('resetChannel', { code, as: 'admin' })
  assert.equal((await pair.ended('left', id)).state, 'CANCELLED')
  await Promise.all(partners.map((partner) => partner.lastWord()))
})

/** The left node calls a partner that is made of what the standard says. */
async function foreign(t: Parameters<typeof closeAfter>[0], sessions?: number, applications = ['FILES']) {
  const server = new TrialServer()
  const port = await server.listen()
  closeAfter(t, () => server.close())
  const connection = { advancedConfigurationConnection: { retries: 0 } }
  const channels = Object.fromEntries(
    applications.map((application) => [application, { connection, allowSendDuplicateFiles: true }]),
  )
  const relation = await pair.relate(() => ({
    left: { port, ...(sessions !== undefined && { oftp2: { sessions } }), channels },
    right: { channels: Object.fromEntries(applications.map((application) => [application, {}])) },
  }))
  return { server, relation }
}

/** Takes every file, from the `slowFrom`th on not before it `may`, and ends the session when it is given the turn. */
async function takeFiles(partner: TrialPartner, names: string[], slowFrom = Infinity, may?: Promise<void>) {
  let offered = 0
  for (let command = await partner.hear(); command !== undefined; command = await partner.hear()) {
    if (command.kind === 'SFID') {
      if (++offered >= slowFrom) await may
      names.push(command.description)
      partner.say(SAMPLES.SFPA)
    }
    if (command.kind === 'EFID') partner.say(SAMPLES.EFPA)
    if (command.kind === 'CD') partner.say(SAMPLES.ESID)
  }
}

test('files that wait for a slow session go over the other one', async (t) => {
  const { server, relation } = await foreign(t, 2)
  const [first, second]: [string[], string[]] = [[], []]
  const answering = async () => {
    const slow = await server.next()
    await greet(slow, relation)
    const enough = Promise.withResolvers<void>()
    void takeFiles(slow, first, 3, enough.promise)
    const fast = await server.next()
    await greet(fast, relation)
    void takeFiles(fast, second)
    await waitFor('the second session to take most', () => Promise.resolve(second.length >= FILES / 2))
    enough.resolve()
  }
  const answered = answering()
  await sendAll(relation)
  await answered
  assert.deepEqual([...first, ...second].toSorted(), NAMES)
})

test('a channel with a small file does not wait for the big one of another', async (t) => {
  const { server, relation } = await foreign(t, undefined, ['BIG', 'SMALL'])
  const taken: string[] = []
  const answering = async () => {
    const first = await server.next()
    await greet(first, relation)
    await first.expect('SFID')
    // It gives no credit after that: the file takes for ever.
    first.say(SAMPLES.SFPA)
    return first
  }
  const answered = answering()
  await pair.put(relation, 'left', 'BIG', 'big.bin', randomBytes(4_000_000))
  const big = await pair.send('left', relation.code('left', 'BIG'))
  const first = await answered
  await pair.put(relation, 'left', 'SMALL', 'small.txt', 'a')
  const small = await pair.send('left', relation.code('left', 'SMALL'))
  const second = await server.next()
  await greet(second, relation)
  void takeFiles(second, taken)
  const { state, error } = await pair.ended('left', small)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.deepEqual(taken, ['small.txt'])
  first.close()
  assert.equal((await pair.ended('left', big)).state, 'FAILED')
})

const REFUSALS: Record<string, (partner: TrialPartner, relation: Relation) => Promise<unknown>> = {
  'closes the line': async (partner) => partner.close(),
  'says that it has no resources': async (partner) => {
    await partner.say(SAMPLES.SSRM).expect('SSID')
    return partner.say({ ...SAMPLES.ESID, reason: '08' }).whenClosed()
  },
  'lets it in and ends it at the first file': async (partner, relation) => {
    await greet(partner, relation)
    await partner.expect('SFID')
    return partner.say({ ...SAMPLES.ESID, reason: '99' }).whenClosed()
  },
}

for (const [what, refuse] of Object.entries(REFUSALS))
  test(`a partner that ${what} gets everything over the first session, and is not asked again`, async (t) => {
    const { server, relation } = await foreign(t, 2)
    const taken: string[] = []
    const refused = Promise.withResolvers<void>()
    let further = 0
    // The last files wait until the second session is refused.
    const sending = async (may: Promise<void>) => {
      const first = await server.next()
      await greet(first, relation)
      void takeFiles(first, taken, 3, may)
    }
    const refusing = async () => {
      const second = await server.next()
      further++
      await refuse(second, relation)
      refused.resolve()
    }
    const answering = sending(refused.promise).then(refusing)
    await sendAll(relation)
    await answering
    assert.deepEqual(taken.splice(0).toSorted(), NAMES)
    const again = sending(Promise.resolve()).then(refusing)
    void again.catch(() => {})
    await sendAll(relation)
    assert.deepEqual(taken.toSorted(), NAMES)
    assert.equal(further, 1)
  })
