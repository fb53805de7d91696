import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { NodeError } from '../../../../errors.ts'
import type { Command, CommandKind, Level } from './commands.ts'
import { COMMAND_KINDS, decodeCommand, encodeCommand } from './commands.ts'
import { esidOf } from './reasons.ts'

const LEVELS: readonly Level[] = [1, 2, 4, 5]

const permitted = (longest: number) =>
  fc
    .string({ unit: fc.constantFrom(...'ABCXYZ0189/-.&()'.split('')), maxLength: longest })
    .map((value) => value.slice(0, longest))
const printed = (longest: number) =>
  permitted(longest).map((value) => (value === '' ? '' : `${value.slice(1)}_`))
const digits = (width: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: width, maxLength: width }).map((all) => all.join(''))
const yn = fc.constantFrom('Y' as const, 'N' as const)
const words = fc.string({ unit: 'grapheme', maxLength: 80 }).filter((value) => value.isWellFormed())
const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
const count = (width: number) => fc.bigInt({ min: 0n, max: 10n ** BigInt(width) - 1n })
const whole = (width: number) => fc.integer({ min: 0, max: 10 ** width - 1 })
const stamp = {
  date: digits(6).map((value) => `20${value}`.replace(/^20[789]/, '200')),
  time: digits(6).map((value) => `${value}0000`),
}
const name = { dataset: printed(26), ...stamp, destination: printed(25), originator: printed(25) }
const proof = { hash: bytes(64), signature: bytes(700) }

/** Values that every level can say, then what only 2.0 can say. */
const COMMANDS: { [K in CommandKind]: fc.Arbitrary<Extract<Command, { kind: K }>> } = {
  SSRM: fc.record({ kind: fc.constant('SSRM') }),
  SSID: fc.record({
    kind: fc.constant('SSID'),
    level: whole(1),
    code: permitted(25),
    password: permitted(8),
    bufferSize: whole(5),
    ways: fc.constantFrom('S', 'R', 'B'),
    compression: yn,
    restart: yn,
    special: yn,
    credit: whole(3),
    authentication: yn,
    user: permitted(8),
  }),
  SFID: fc.record({
    kind: fc.constant('SFID'),
    ...stamp,
    dataset: permitted(26),
    destination: permitted(25),
    originator: permitted(25),
    user: permitted(8),
    format: fc.constantFrom('F', 'V', 'U', 'T'),
    recordLength: whole(5),
    blocks: whole(7),
    originalBlocks: whole(13),
    restart: count(9),
    security: digits(2),
    suite: digits(2),
    compression: digits(1),
    envelope: digits(1),
    signedReceipt: yn,
    description: words,
  }),
  SFPA: fc.record({ kind: fc.constant('SFPA'), position: count(9) }),
  SFNA: fc.record({ kind: fc.constant('SFNA'), reason: digits(2), retry: yn, text: words }),
  DATA: fc.record({ kind: fc.constant('DATA'), payload: bytes(300) }),
  CDT: fc.record({ kind: fc.constant('CDT') }),
  EFID: fc.record({ kind: fc.constant('EFID'), records: count(9), octets: count(12) }),
  EFPA: fc.record({ kind: fc.constant('EFPA'), changeDirection: yn }),
  EFNA: fc.record({ kind: fc.constant('EFNA'), reason: digits(2), text: words }),
  ESID: fc.record({ kind: fc.constant('ESID'), reason: digits(2), text: words }),
  CD: fc.record({ kind: fc.constant('CD') }),
  EERP: fc.record({ kind: fc.constant('EERP'), ...name, user: permitted(8), ...proof }),
  NERP: fc.record({
    kind: fc.constant('NERP'),
    ...name,
    creator: printed(25),
    reason: digits(2),
    text: words,
    ...proof,
  }),
  RTR: fc.record({ kind: fc.constant('RTR') }),
  SECD: fc.record({ kind: fc.constant('SECD') }),
  AUCH: fc.record({ kind: fc.constant('AUCH'), challenge: bytes(900) }),
  AURP: fc.record({ kind: fc.constant('AURP'), response: fc.uint8Array({ minLength: 20, maxLength: 20 }) }),
}

/** What a level drops from a command, as the value the reader puts in its place. */
function asSaidAt(command: Command, level: Level): Command {
  if (level === 5) return command
  if (command.kind === 'SSID') return { ...command, authentication: 'N' }
  if (command.kind === 'SFID') {
    const none = { originalBlocks: 0, security: '00', suite: '00', compression: '0', envelope: '0' } as const
    return { ...command, ...none, signedReceipt: 'N', description: '' }
  }
  if (command.kind === 'SFNA' || command.kind === 'EFNA' || command.kind === 'ESID')
    return { ...command, text: '' }
  const unproven = { hash: new Uint8Array(0), signature: new Uint8Array(0) }
  if (command.kind === 'EERP') return { ...command, ...unproven }
  if (command.kind === 'NERP') return { ...command, ...unproven, text: '' }
  return command
}

function exists(kind: CommandKind, level: Level): boolean {
  if (kind === 'SECD' || kind === 'AUCH' || kind === 'AURP') return level === 5
  return kind !== 'NERP' || level >= 4
}

function plain(command: Command): unknown {
  const bare = Object.entries(command).map(([key, value]) => [
    key,
    value instanceof Uint8Array ? [...value] : value,
  ])
  return Object.fromEntries(bare)
}

for (const kind of COMMAND_KINDS) {
  test(`${kind} comes back as it was sent, at every level that has it`, () => {
    for (const level of LEVELS) {
      const one: fc.Arbitrary<Command> = COMMANDS[kind]
      fc.assert(
        fc.property(one, (command) => {
          if (!exists(kind, level)) {
            assert.throws(() => encodeCommand(command, level), { code: 'bad_use' })
            return
          }
          const wire = encodeCommand(command, level)
          assert.equal(wire.readUInt32BE(), 0x10000000 + wire.length)
          assert.deepEqual(plain(decodeCommand(wire.subarray(4), level)), plain(asSaidAt(command, level)))
        }),
        { numRuns: 60 },
      )
    }
  })
}

test('fields stand where the standard puts them', () => {
  const wire = encodeCommand(
    {
      kind: 'SFID',
      dataset: 'INVOICES',
      date: '20261115',
      time: '1030590001',
      user: 'PAY',
      destination: 'O0013000002B',
      originator: 'O0013000001A',
      format: 'F',
      recordLength: 80,
      blocks: 12,
      originalBlocks: 13,
      restart: 99999999999999999n,
      security: '03',
      suite: '02',
      compression: '1',
      envelope: '1',
      signedReceipt: 'Y',
      description: 'año.txt',
    },
    5,
  ).subarray(4)
  const at = (from: number, to: number) => wire.toString('latin1', from, to)
  assert.equal(wire.length, 165 + 8)
  assert.equal(at(0, 30), 'HINVOICES'.padEnd(30))
  assert.equal(at(30, 56), '202611151030590001PAY     ')
  assert.equal(at(56, 106), 'O0013000002B'.padEnd(25) + 'O0013000001A'.padEnd(25))
  assert.equal(at(106, 165), 'F000800000000000012000000000001399999999999999999030211Y008')
})

test('17-digit counters lose no digit', () => {
  const wire = encodeCommand({ kind: 'EFID', records: 9007199254740993n, octets: 99999999999999999n }, 5)
  const back = decodeCommand(wire.subarray(4), 5)
  assert.deepEqual(back, { kind: 'EFID', records: 9007199254740993n, octets: 99999999999999999n })
})

test('a receipt without its tail lengths reads as unsigned', () => {
  const blank = {
    destination: 'A',
    originator: 'B',
    creator: 'C',
    reason: '34',
    text: 'no',
    hash: new Uint8Array(0),
    signature: new Uint8Array(0),
  }
  const wire = encodeCommand(
    { kind: 'NERP', dataset: 'X', date: '20260101', time: '0000000001', ...blank },
    5,
  )
  const back = decodeCommand(wire.subarray(4, wire.length - 4), 5)
  assert.equal(back.kind === 'NERP' && back.signature.length, 0)
})

test('an end of session is understood in its short form before a level is agreed', () => {
  assert.deepEqual(decodeCommand(Buffer.from('F03\r'), 5), { kind: 'ESID', reason: '03', text: '' })
})

test('lower case and foreign characters are never sent in a text field', () => {
  const ssid = {
    kind: 'SSID',
    level: 5,
    password: '',
    bufferSize: 128,
    ways: 'B',
    compression: 'N',
    restart: 'N',
    special: 'N',
    credit: 1,
    authentication: 'N',
    user: '',
  } as const
  assert.throws(() => encodeCommand({ ...ssid, code: 'o001' }, 5), { code: 'bad_use' })
  assert.throws(() => encodeCommand({ ...ssid, code: 'O'.repeat(26) }, 5), { code: 'bad_use' })
})

test('each kind of broken command names its reason for the end of session', () => {
  const cases: [string, string][] = [
    ['Z', '01'],
    ['', '01'],
    ['2000000000000000', '07'],
    ['2000000000000000000', '07'],
    ['20000000000000000A', '06'],
    ['4Q', '06'],
    ['X5\u0001' + ' '.repeat(58), '06'],
  ]
  for (const [bytes, reason] of cases)
    assert.throws(
      () => decodeCommand(Buffer.from(bytes, 'latin1'), 5),
      (error) => esidOf(error) === reason,
      bytes,
    )
})

function onlyFaults(bytes: Uint8Array, level: Level): void {
  try {
    decodeCommand(bytes, level)
  } catch (error) {
    assert.ok(error instanceof NodeError, String(error))
    assert.equal(error.code, 'protocol_violation')
    assert.ok(['01', '06', '07'].includes(esidOf(error)), esidOf(error))
  }
}

test('random bytes raise nothing but protocol faults', () => {
  const octets = fc.constantFrom(...'IXH23DCT45FRENPJAS'.split('')).map((one) => one.charCodeAt(0))
  const bytes = fc.tuple(
    fc.oneof(octets, fc.integer({ min: 0, max: 255 })),
    fc.uint8Array({ maxLength: 250 }),
  )
  fc.assert(
    fc.property(bytes, fc.constantFrom(...LEVELS), ([first, more], level) => {
      onlyFaults(Uint8Array.of(first, ...more), level)
    }),
    { numRuns: 5000 },
  )
})

test('valid commands with a few octets changed, cut or added raise nothing but protocol faults', () => {
  const edits = fc.array(fc.tuple(fc.nat(300), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 4,
  })
  const all: fc.Arbitrary<Command>[] = COMMAND_KINDS.map((kind) => COMMANDS[kind])
  fc.assert(
    fc.property(fc.oneof(...all), edits, fc.nat(20), fc.nat(5), (command, changes, cut, added) => {
      const wire = encodeCommand(command, 5).subarray(4)
      const mutated = Buffer.concat([
        wire.subarray(0, Math.max(0, wire.length - cut)),
        Buffer.alloc(added, 0x31),
      ])
      for (const [at, octet] of changes) if (at < mutated.length) mutated[at] = octet
      onlyFaults(mutated, 5)
    }),
    { numRuns: 5000 },
  )
})
