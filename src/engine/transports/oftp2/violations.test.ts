import assert from 'node:assert/strict'
import test, { afterEach } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NodeError } from '../../../errors.ts'
import type { Session } from '../transport.ts'
import { EMPTY_STREAM_BUFFER } from './data/buffers.ts'
import type { Command } from './protocol/commands.ts'
import {
  CALLED,
  CALLER,
  noise,
  nothingOpen,
  Progress,
  push,
  TrialEnds,
  wireFile,
  tidy,
} from '../../../../test/support/oftp2/ends.ts'
import { SAMPLES, TrialPartner, TrialServer } from '../../../../test/support/oftp2/partner.ts'
import { Gate, OWED, Scene, WAYS } from '../../../../test/support/oftp2/states.ts'

afterEach(tidy)

const U = { kind: 'U', recordLength: 0 } as const
type Called = (ends: TrialEnds, partner: TrialPartner) => Promise<void>

async function named(_: TrialEnds, partner: TrialPartner): Promise<void> {
  await partner.expect('SSRM')
  await partner.say(SAMPLES.SSID).expect('SSID')
}

type CallerScene = { session: Promise<Session>; partner: TrialPartner; ends: TrialEnds }
const answerSsid: Command = { ...SAMPLES.SSID, code: CALLED, credit: 2, bufferSize: 128 }

async function met({ partner, session }: CallerScene): Promise<Session> {
  await partner.say(SAMPLES.SSRM).expect('SSID')
  partner.say(answerSsid)
  return session
}

for (const role of ['calling', 'called'] as const) {
  test(`${role}: a wrong answer to the challenge ends the session with ESID 11`, async () => {
    const scene = await Scene.begin(role, true)
    await WAYS.WF_AURP(scene)
    assert.equal(await scene.partner.say(SAMPLES.AURP).expectEnd(), '11')
    await scene.end()
    assert.equal(scene.host.sessions.length, 0)
    assert.equal(scene.host.refusals.length, role === 'called' ? 1 : 0)
  })

  test(`${role}: a challenge that opens to something else than 20 octets ends the session with ESID 11`, async () => {
    const scene = await Scene.begin(role, true)
    await WAYS.WF_AUCH(scene)
    const challenge = new Uint8Array(19)
    assert.equal(await scene.partner.say({ kind: 'AUCH', challenge }).expectEnd(), '11')
    await scene.end()
    assert.equal(scene.host.sessions.length, 0)
  })
}

type Broken = [title: string, reason: string, act: (partner: TrialPartner, ends: TrialEnds) => Promise<void>]

const octets = (...bytes: number[]) => Uint8Array.from(bytes)
const opening = async (partner: TrialPartner, ends: TrialEnds, sfid: Command = SAMPLES.SFID) => {
  await named(ends, partner)
  await partner.say(sfid).expect('SFPA')
}

const BROKEN: Broken[] = [
  [
    'an unknown command',
    '01',
    async (partner, ends) =>
      void (await named(ends, partner), partner.sayOctets(octets(0x10, 0, 0, 5, 0x5a))),
  ],
  [
    'no stream header',
    '01',
    async (partner) => void partner.sayOctets(Buffer.from('GET / HTTP/1.1\r\n\r\n')),
  ],
  ['a stream header of no length', '07', async (partner) => void partner.sayOctets(octets(0x10, 0, 0, 3))],
  ['a stranger’s long command', '07', async (partner) => void partner.sayOctets(octets(0x10, 1, 0, 0))],
  [
    'a command that is too short',
    '07',
    async (partner, ends) =>
      void (await named(ends, partner), partner.sayOctets(octets(0x10, 0, 0, 9, 0x48, 1, 1, 1, 1))),
  ],
  [
    'a field with a wrong value',
    '06',
    async (partner, ends) =>
      void (await opening(partner, ends),
      partner.sayOctets(Buffer.from('\u0010\0\0\u0027T0000000000000000A00000000000000000', 'latin1'))),
  ],
  ['level 0', '06', async (partner) => void partner.say({ ...SAMPLES.SSID, level: 0 })],
  [
    'a buffer size under 128',
    '10',
    async (partner) => void partner.say({ ...SAMPLES.SSID, bufferSize: 127 }),
  ],
  ['credit 0', '10', async (partner) => void partner.say({ ...SAMPLES.SSID, credit: 0 })],
  [
    'secure authentication that is not agreed',
    '12',
    async (partner) => void partner.say({ ...SAMPLES.SSID, authentication: 'Y' }),
  ],
  ['an unknown caller', '03', async (partner) => void partner.say({ ...SAMPLES.SSID, code: 'NOBODY' })],
  [
    'more data than the credit',
    '02',
    async (partner, ends) => {
      await opening(partner, ends)
      partner.say(SAMPLES.DATA, SAMPLES.DATA, SAMPLES.DATA, SAMPLES.DATA, SAMPLES.DATA)
    },
  ],
  [
    'an exchange buffer longer than agreed',
    '07',
    async (partner, ends) => {
      await opening(partner, ends)
      partner.say({ kind: 'DATA', payload: new Uint8Array(4096) })
    },
  ],
  [
    'a sub-record past its buffer',
    '06',
    async (partner, ends) => {
      await opening(partner, ends)
      partner.say({ kind: 'DATA', payload: octets(0x3f, 1) })
    },
  ],
  [
    'a file though this end only sends',
    '02',
    async (partner, ends) => {
      await partner.expect('SSRM')
      await partner.say({ ...SAMPLES.SSID, ways: 'R' }).expect('SSID')
      partner.say(SAMPLES.SFID)
      assert.equal(ends.called.files.size, 0)
    },
  ],
  [
    'a restart that was not agreed',
    '02',
    async (partner) => {
      await partner.expect('SSRM')
      await partner.say({ ...SAMPLES.SSID, restart: 'N' }).expect('SSID')
      partner.say({ ...SAMPLES.SFID, restart: 5n })
    },
  ],
]

for (const [title, reason, act] of BROKEN) {
  test(`${title} ends the session with ESID ${reason}`, async () => {
    const ends = new TrialEnds()
    const partner = await TrialPartner.call(await ends.listen())
    await act(partner, ends)
    assert.equal(await partner.expectEnd(), reason)
    await ends.close()
    assert.equal(ends.called.complete.length, 0)
  })
}

const REFUSED: [string, string, Partial<typeof SAMPLES.SFID>][] = [
  ['fixed records of no length', '05', { format: 'F' }],
  ['records longer than their length can say', '05', { format: 'V', recordLength: 65_536 }],
  ['no dataset name', '01', { dataset: '' }],
  ['a protected file without a cipher suite', '15', { security: '01' }],
  ['a protected file without envelope', '99', { security: '01', suite: '02' }],
  ['a security level that does not exist', '99', { security: '07', envelope: '1' }],
]

for (const [title, reason, fields] of REFUSED) {
  test(`a file with ${title} gets SFNA ${reason}, and the next one is taken`, async () => {
    const ends = new TrialEnds()
    const partner = await TrialPartner.call(await ends.listen())
    await named(ends, partner)
    const answer = await partner.say({ ...SAMPLES.SFID, ...fields }).expect('SFNA')
    assert.equal(answer.reason, reason)
    await partner.say(SAMPLES.SFID).expect('SFPA')
    await partner.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
    partner.say(SAMPLES.CD)
    assert.equal(await partner.expectEnd(), '00')
    await ends.close()
    assert.equal(ends.called.complete.length, 1)
  })
}

test('a reason that the standard knows at a file’s end alone is not given when it is offered', async () => {
  for (const code of ['bad_signature', 'bad_envelope'] as const) {
    const ends = new TrialEnds()
    const partner = await TrialPartner.call(await ends.listen())
    await named(ends, partner)
    ends.called.before.offer = () => Promise.reject(new NodeError(code, 'not like this'))
    const { reason, text } = await partner.say(SAMPLES.SFID).expect('SFNA')
    assert.deepEqual([reason, text], ['99', 'not like this'])
    partner.say(SAMPLES.CD)
    assert.equal(await partner.expectEnd(), '00')
    await ends.close()
  }
})

const REJECTED: [string, string, Partial<typeof SAMPLES.SFID>, number[], Partial<typeof SAMPLES.EFID>][] = [
  ['fewer octets than announced', '11', {}, [0x82, 1, 2], {}],
  [
    'another number of records',
    '10',
    { format: 'F', recordLength: 1 },
    [0x81, 1, 0x81, 2, 0x81, 3],
    { records: 2n },
  ],
  [
    'a fixed record that is too short',
    '05',
    { format: 'F', recordLength: 5 },
    [0x83, 1, 2, 3],
    { records: 1n },
  ],
  [
    'a variable record that is too long',
    '05',
    { format: 'V', recordLength: 2 },
    [0x83, 1, 2, 3],
    { records: 1n },
  ],
  ['a last record without end', '05', { format: 'V', recordLength: 9 }, [0x03, 1, 2, 3], { records: 1n }],
]

for (const [title, reason, sfid, payload, efid] of REJECTED) {
  test(`${title}: EFNA ${reason}, nothing kept, and the next file is taken`, async () => {
    const ends = new TrialEnds()
    const partner = await TrialPartner.call(await ends.listen())
    await opening(partner, ends, { ...SAMPLES.SFID, ...sfid })
    const answer = await partner
      .say({ kind: 'DATA', payload: octets(...payload) }, { ...SAMPLES.EFID, ...efid })
      .expect('EFNA')
    assert.equal(answer.reason, reason)
    assert.deepEqual(
      ends.called.abandoned.map((one) => one.keep),
      [false],
    )
    await partner.say({ ...SAMPLES.SFID, time: '1200000002' }).expect('SFPA')
    await partner.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
    partner.say(SAMPLES.CD)
    assert.equal(await partner.expectEnd(), '00')
    await ends.close()
    assert.equal(ends.called.complete.length, 1)
  })
}

test('a restart offered beyond what any file has begins with what is here', async () => {
  for (const format of ['U', 'V'] as const) {
    const ends = new TrialEnds()
    const partner = await TrialPartner.call(await ends.listen())
    await opening(partner, ends, { ...SAMPLES.SFID, format, restart: 10n ** 17n - 1n })
    partner.say({ kind: 'DATA', payload: octets(0x83, 1, 2, 3) })
    await partner.say({ ...SAMPLES.EFID, records: format === 'V' ? 1n : 0n }).expect('EFPA')
    await ends.close()
    assert.equal(ends.called.complete.length, 1)
  }
})

test('a partner that answers beyond the restart offered breaks the protocol', async () => {
  const server = new TrialServer()
  const port = await server.listen()
  const ends = new TrialEnds()
  const arriving = server.next()
  const calling = ends.call(port)
  const partner = await arriving
  const session = await met({ session: calling, partner, ends })
  const pushing = assert.rejects(push(session, wireFile(noise(9000), U, { restartFrom: 2500 })), {
    code: 'protocol_violation',
  })
  assert.equal((await partner.expect('SFID')).restart, 2n)
  assert.equal(await partner.say({ kind: 'SFPA', position: 3n }).expectEnd(), '02')
  await pushing
  await session.close()
  await server.close()
  await nothingOpen()
})

test('a partner that asks for the turn half a million times is heard once', { timeout: 20_000 }, async () => {
  const server = new TrialServer()
  const port = await server.listen()
  const ends = new TrialEnds()
  const arriving = server.next()
  const calling = ends.call(port)
  const partner = await arriving
  await partner.say(SAMPLES.SSRM).expect('SSID')
  partner.say({ ...answerSsid, user: 'TURNWISH' })
  const session = await calling
  const pushing = push(session, wireFile(noise(10), U))
  await partner.expect('SFID')
  const wish = octets(0x10, 0, 0, 4)
  partner.sayOctets(Buffer.concat(Array.from({ length: 500_000 }, () => wish)))
  await partner.say({ kind: 'SFPA', position: 0n }).expect('DATA')
  await partner.expect('EFID')
  partner.say({ kind: 'EFPA', changeDirection: 'N' })
  await pushing
  await partner.expect('CD')
  partner.say({ kind: 'CD' })
  const closing = session.close()
  assert.equal(await partner.expectEnd(), '00')
  await closing
  await server.close()
  await nothingOpen()
})

test('a line that broke since the last file is no failure of the next, once, and one that breaks at the first is', async () => {
  const server = new TrialServer()
  const port = await server.listen()
  const next = wireFile(noise(10), U)
  for (const [before, code] of [
    [0, 'connection_lost'],
    [1, 'unavailable'],
    // In sessions that carry others' files, it is its own that ends them.
    [1, 'connection_lost'],
  ] as const) {
    const ends = new TrialEnds()
    const arriving = server.next()
    const calling = ends.call(port)
    const partner = await arriving
    const session = await met({ session: calling, partner, ends })
    for (let nth = 0; nth < before; nth++) {
      const pushing = push(session, wireFile(noise(10), U))
      await partner.expect('SFID')
      await partner.say(SAMPLES.SFPA).expect('DATA')
      await partner.expect('EFID')
      partner.say(SAMPLES.EFPA)
      await pushing
    }
    const lost = assert.rejects(push(session, next), { code })
    await partner.expect('SFID')
    partner.close()
    await lost
  }
  await server.close()
  await nothingOpen()
})

test('more credit in the answer than was offered, or another name, ends the call', async () => {
  const server = new TrialServer()
  const port = await server.listen()
  for (const [answer, reason, code] of [
    [{ ...SAMPLES.SSID, code: CALLED, credit: 999 }, '10', 'remote_refused'],
    [{ ...SAMPLES.SSID, code: CALLER }, '03', 'login_refused'],
  ] as const) {
    const ends = new TrialEnds({ caller: { settings: { credit: 128 } } })
    const arriving = server.next()
    const calling = assert.rejects(ends.call(port), { code })
    const partner = await arriving
    await partner.say(SAMPLES.SSRM).expect('SSID')
    assert.equal(await partner.say(answer).expectEnd(), reason)
    await calling
  }
  await server.close()
  await nothingOpen()
})

test('a partner that falls silent is told so and left, in each phase', async () => {
  let repeating: NodeJS.Timeout | undefined
  const silent: Called[] = [
    async (_, partner) => void (await partner.expect('SSRM')),
    named,
    (one, partner) => opening(partner, one),
    // Headers with nothing behind them say nothing.
    async (one, partner) => {
      await opening(partner, one)
      repeating = setInterval(() => partner.sayOctets(EMPTY_STREAM_BUFFER), 10)
    },
  ]
  const leaves = async (reach: Called, ms: number) => {
    const timeouts = { syncMs: ms, ackMs: ms, idleMs: ms }
    const ends = new TrialEnds({ called: { timeouts }, limits: { handshakeMs: ms } })
    const partner = await TrialPartner.call(await ends.listen())
    try {
      await reach(ends, partner)
      assert.equal(await partner.expectEnd(), '09')
    } finally {
      clearInterval(repeating)
      await ends.close()
    }
  }
  // On a slow machine a partner may not get as far as it is to get before it counts as silent.
  for (const reach of silent)
    await leaves(reach, 100)
      .catch(() => leaves(reach, 1000))
      .catch(() => leaves(reach, 10_000))
})

test('a partner that neither closes nor reads is cut off after a while', async () => {
  const ends = new TrialEnds({ called: { timeouts: { ackMs: 30 } } })
  const partner = await TrialPartner.call(await ends.listen())
  await named(ends, partner)
  partner.say(SAMPLES.RTR)
  assert.equal((await partner.expect('ESID')).reason, '02')
  await partner.whenClosed()
  await ends.close()
})

test('what the partner says after the end is not heard', async () => {
  const ends = new TrialEnds()
  const partner = await TrialPartner.call(await ends.listen())
  await named(ends, partner)
  partner.say(SAMPLES.RTR, SAMPLES.SFID, SAMPLES.SFID)
  assert.equal(await partner.expectEnd(), '02')
  await ends.close()
  assert.equal(ends.called.files.size, 0)
})

test('partners of levels 1.2 to 1.4 are spoken to in their own layouts', async () => {
  for (const level of [1, 2, 4] as const) {
    const ends = new TrialEnds()
    ends.called.owed.push(OWED, { ...OWED, id: '2', positive: false, reasonCode: '34' })
    ends.called.onTurn = async (session) => {
      await push(session, wireFile(noise(10), U), new Progress())
    }
    const partner = await TrialPartner.call(await ends.listen())
    await partner.expect('SSRM')
    assert.equal((await partner.say({ ...SAMPLES.SSID, level }).expect('SSID')).level, level)
    partner.level = level
    await partner.say(SAMPLES.SFID).expect('SFPA')
    await partner.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
    await partner.say(SAMPLES.CD).expect('EERP')
    partner.say(SAMPLES.RTR)
    if (level === 4) {
      assert.equal((await partner.expect('NERP')).reason, '34')
      partner.say(SAMPLES.RTR)
    }
    await partner.expect('SFID')
    await partner.say(SAMPLES.SFPA).expect('DATA')
    await partner.expect('EFID')
    await partner.say(SAMPLES.EFPA).expect('CD')
    partner.say(SAMPLES.ESID)
    await partner.whenClosed()
    await ends.close()
    assert.equal(ends.called.complete.length, 1)
  }
})

test('a file is confirmed only after the engine has put it in place, a receipt only after it is recorded', async () => {
  const ends = new TrialEnds()
  const partner = await TrialPartner.call(await ends.listen())
  const doors = [new Gate(), new Gate()] as const
  ends.called.before = { complete: doors[0].wait, receipt: doors[1].wait }
  await opening(partner, ends)
  partner.say(SAMPLES.DATA, SAMPLES.EFID)
  await doors[0].entered
  await turns(50)
  assert.equal(partner.unheard, 0)
  doors[0].open()
  await partner.expect('EFPA')
  partner.say(SAMPLES.EERP)
  await doors[1].entered
  await turns(50)
  assert.equal(partner.unheard, 0)
  doors[1].open()
  await partner.expect('RTR')
  partner.say(SAMPLES.CD)
  assert.equal(await partner.expectEnd(), '00')
  await ends.close()
})

/** Lets the event loop turn, so that whatever was about to be sent has been. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn()
}

test('a sender with its last credit spent waits for more before it ends the file', async () => {
  const server = new TrialServer()
  const port = await server.listen()
  const ends = new TrialEnds()
  const arriving = server.next()
  const calling = ends.call(port)
  const partner = await arriving
  const session = await met({ session: calling, partner, ends })
  const progress = new Progress()
  // Buffers of 128 carry 125 octets: the second is the last, and spends the credit of two.
  const pushing = push(session, wireFile(noise(250), U), progress)
  await partner.expect('SFID')
  await partner.say(SAMPLES.SFPA).expect('DATA')
  await partner.expect('DATA')
  await turns(50)
  assert.equal(partner.unheard, 0)
  await partner.say(SAMPLES.CDT).expect('EFID')
  assert.equal(progress.placed, true)
  partner.say(SAMPLES.EFPA)
  await pushing
  const closing = session.close()
  await partner.expect('CD')
  partner.say(SAMPLES.ESID)
  await closing
  await server.close()
  await nothingOpen()
})
