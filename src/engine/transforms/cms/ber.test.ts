import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError } from '../../../errors.ts'
import { collect } from '../step.ts'
import { inChunks, nodeError } from '../../../../test/support/streams.ts'
import { BerReader, type Fail } from './ber.ts'
import * as der from './der.ts'

const fail: Fail = (what) => new NodeError('bad_envelope', what)

function reading(bytes: Uint8Array, sizes: number = 3): BerReader {
  return new BerReader(inChunks(bytes, sizes), fail)
}

function segmentsNested(depth: number): Buffer {
  const open = Array.from({ length: depth }, () => der.openEnded(0x24))
  return Buffer.concat([...open, der.octetString(Buffer.from('x')), der.closeEnded(depth)])
}

test('octets come out of one piece, of segments, and of segments in segments', async () => {
  const pieces = [
    der.octetString(Buffer.from('ab')),
    der.octetString(Buffer.alloc(0)),
    der.octetString(Buffer.from('c')),
  ]
  const open = Buffer.concat([der.openEnded(0x24), ...pieces, der.closeEnded(1)])
  const forms = [der.octetString(Buffer.from('abc')), open, der.tlv(0x24, ...pieces), der.tlv(0x24, open)]
  for (const form of forms)
    for (const sizes of [1, 2, 100]) {
      const reader = reading(form, sizes)
      assert.equal((await collect(reader.octets(0x04, 'it'))).toString(), 'abc')
      await reader.finish()
    }
})

test('segments nest to a limit and no further', async () => {
  assert.equal((await collect(reading(segmentsNested(32)).octets(0x04, 'it'))).toString(), 'x')
  await assert.rejects(
    collect(reading(segmentsNested(33)).octets(0x04, 'it')),
    nodeError('bad_envelope', /too deeply/),
  )
  const nested = Buffer.concat([...Array.from({ length: 33 }, () => der.openEnded(0x30)), der.closeEnded(33)])
  await assert.rejects(reading(nested).skip('it'), nodeError('bad_envelope', /too deeply/))
})

test('a value over its limit is refused before it is read', async () => {
  for (const bytes of [der.header(0x30, 2 ** 40), der.sequence(Buffer.alloc(200))]) {
    let taken = 0
    const counting = async function* counting(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 8)
      taken++
      yield Buffer.alloc(1000)
    }
    const reader = new BerReader(counting(), fail)
    await assert.rejects(reader.element(0x30, 'it', 100), nodeError('bad_envelope', /it is too long/))
    assert.equal(taken, 0)
  }
})

test('an open-ended value is as limited as the sum of what it holds', async () => {
  const parts = Array.from({ length: 50 }, () => der.octetString(Buffer.alloc(10)))
  const open = Buffer.concat([der.openEnded(0x30), ...parts, der.closeEnded(1)])
  assert.ok((await reading(open).element(0x30, 'it', 700)).equals(open))
  await assert.rejects(reading(open).element(0x30, 'it', 500), nodeError('bad_envelope', /it is too long/))
})

test('a child never reaches beyond its parent', async () => {
  const beyond = [
    Buffer.from('3004040400000000', 'hex'),
    // the end marks of an open-ended child lie outside of its parent
    Buffer.from('300230800000', 'hex'),
    Buffer.from('300104', 'hex'),
  ]
  for (const bytes of beyond) {
    const reader = reading(bytes)
    await reader.enter(0x30, 'it')
    await assert.rejects(reader.skip('its child'), nodeError('bad_envelope', /longer than what holds it/))
  }
})

test('impossible tags and lengths are refused', async () => {
  for (const hex of ['1f81010100', '0000', '0480', '30870000000000000100', '30ff'])
    await assert.rejects(reading(Buffer.from(hex, 'hex')).skip('it'), nodeError('bad_envelope', /impossible/))
})

test('leaving before the end, or finishing before it, is refused', async () => {
  const reader = reading(der.sequence(der.integer(1)))
  await reader.enter(0x30, 'it')
  await assert.rejects(reader.finish(), nodeError('bad_envelope'))
  await assert.rejects(reader.leave(), nodeError('bad_envelope', /more in it/))
})

test('object identifiers are read as they are written', async () => {
  for (const dotted of [
    '1.2.840.113549.1.7.1',
    '2.16.840.1.101.3.4.2.1',
    '0.9',
    '2.5.4.3',
    '1.3.6.1.4.1.4294967295',
  ])
    assert.equal(await reading(der.oid(dotted)).oid('it'), dotted)
  for (const hex of ['0600', '060180'])
    await assert.rejects(
      reading(Buffer.from(hex, 'hex')).oid('it'),
      nodeError('bad_envelope', /no object identifier/),
    )
})

test('closing lets the source go', async () => {
  let closed = false
  const watched = async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield der.integer(1)
    } finally {
      closed = true
    }
  }
  const reader = new BerReader(watched(), fail)
  await reader.skip('it')
  await reader.close()
  assert.ok(closed)
})

test('lengths are written in as few octets as they need', () => {
  for (const [length, hex] of [
    [0, '3000'],
    [127, '307f'],
    [128, '308180'],
    [256, '30820100'],
    [2 ** 32, '30850100000000'],
  ] as const)
    assert.equal(der.header(0x30, length).toString('hex'), hex)
})

test('open-ended and wasteful lengths become definite, and what is definite stays', () => {
  assert.equal(der.definite(Buffer.from('3080020101308000000000', 'hex')).toString('hex'), '30050201013000')
  assert.equal(der.definite(Buffer.from('3081030201ff', 'hex')).toString('hex'), '30030201ff')
  const whole = der.sequence(der.oid('1.2.3'), der.octetString(Buffer.alloc(300, 0x80)))
  assert.ok(der.definite(whole).equals(whole))
  for (const hex of ['3080', '30800201', '3003020200', '30030201', '0500ff'])
    assert.throws(() => der.definite(Buffer.from(hex, 'hex')), RangeError)
})

test('times are UTCTime until 2049 and GeneralizedTime after', () => {
  assert.equal(der.time(new Date('2049-12-31T23:59:59.999Z')).toString('latin1', 2), '491231235959Z')
  assert.equal(der.time(new Date('2050-01-01T00:00:00Z')).toString('latin1', 2), '20500101000000Z')
})
