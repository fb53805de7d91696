// The 18 commands of RFC 5024 as tables of fields: one table encodes and decodes. A command has the shape of level
// 2.0 in memory whatever the level on the wire; what an older level cannot say is left out when sent and takes its
// neutral value when read.
import { NodeError } from '../../../../errors.ts'
import { writeStreamHeader } from '../data/buffers.ts'
import type { Field, Layout, ValuesOf } from './fields.ts'
import * as f from './fields.ts'
import { fault } from './reasons.ts'

/** SSIDLEV: 1 = 1.2, 2 = 1.3, 4 = 1.4, 5 = 2.0. Peers of RFC 2204 say 1 and speak 1.3, whose layouts are the same. */
export type Level = 1 | 2 | 4 | 5

const YN = ['Y', 'N'] as const

const SSID_HEAD = [
  f.number('level', 1),
  f.text('code', 25),
  f.text('password', 8),
  f.number('bufferSize', 5),
  f.choice('ways', ['S', 'R', 'B'], 'B'),
  f.choice('compression', YN, 'N'),
  f.choice('restart', YN, 'N'),
  f.choice('special', YN, 'N'),
  f.number('credit', 3),
] as const
const SSID_TAIL = [f.text('user', 8), f.carriageReturn()] as const
const SSID = [...SSID_HEAD, f.choice('authentication', YN, 'N'), f.reserved(4), ...SSID_TAIL] as const

const FULL_STAMP = [f.reserved(3), f.digits('date', 8), f.digits('time', 10)] as const
const SHORT_STAMP = [f.reserved(9), f.shortDate('date'), f.shortTime('time')] as const
const ENDS = [
  f.text('user', 8, { free: true }),
  f.text('destination', 25, { free: true }),
  f.text('originator', 25, { free: true }),
] as const
const SFID_ENDS = [f.text('user', 8), f.text('destination', 25), f.text('originator', 25)] as const
const RECORDS = [f.choice('format', ['F', 'V', 'U', 'T'], 'U'), f.number('recordLength', 5)] as const

const SFID = [
  f.text('dataset', 26),
  ...FULL_STAMP,
  ...SFID_ENDS,
  ...RECORDS,
  f.estimate('blocks', 13),
  f.estimate('originalBlocks', 13),
  f.counter('restart', 17),
  f.digits('security', 2),
  f.digits('suite', 2),
  f.digits('compression', 1),
  f.digits('envelope', 1),
  f.choice('signedReceipt', YN, 'N'),
  f.utf8('description'),
] as const

const SFID_OLD_TAIL = [...RECORDS, f.estimate('blocks', 7), f.counter('restart', 9)] as const
const ANSWERED = [f.digits('reason', 2)] as const

// A receipt names its file exactly as the file named itself, even outside the standard's characters.
const RECEIPT_NAME = f.text('dataset', 26, { free: true })
const PROOF = [f.binary('hash', { optional: true }), f.binary('signature', { optional: true })] as const
const NERP_HEAD = [
  RECEIPT_NAME,
  f.reserved(6),
  f.digits('date', 8),
  f.digits('time', 10),
  f.text('destination', 25, { free: true }),
  f.text('originator', 25, { free: true }),
  f.text('creator', 25, { free: true }),
  f.digits('reason', 2),
] as const

const LEVEL_5 = {
  SSRM: [f.fixed('ODETTE FTP READY '), f.carriageReturn()],
  SSID,
  SFID,
  SFPA: [f.counter('position', 17)],
  SFNA: [...ANSWERED, f.choice('retry', YN, 'N'), f.utf8('text')],
  DATA: [f.rest('payload')],
  CDT: [f.reserved(2)],
  EFID: [f.counter('records', 17), f.counter('octets', 17)],
  EFPA: [f.choice('changeDirection', YN, 'N')],
  EFNA: [...ANSWERED, f.utf8('text')],
  ESID: [...ANSWERED, f.utf8('text'), f.carriageReturn()],
  CD: [],
  EERP: [RECEIPT_NAME, ...FULL_STAMP, ...ENDS, ...PROOF],
  NERP: [...NERP_HEAD, f.utf8('text'), ...PROOF],
  RTR: [],
  SECD: [],
  AUCH: [f.binary('challenge')],
  AURP: [f.octets('response', 20)],
} as const satisfies Record<string, Layout>

export type CommandKind = keyof typeof LEVEL_5
export type CommandOf<K extends CommandKind> = { kind: K } & ValuesOf<(typeof LEVEL_5)[K]>
export type Command = { [K in CommandKind]: CommandOf<K> }[CommandKind]

/** Where an older level differs; 'none' where it does not have the command. */
type Older = Partial<Record<CommandKind, Layout | 'none'>>

const LEVEL_4: Older = {
  SSID: [...SSID_HEAD, f.reserved(5), ...SSID_TAIL],
  SFID: [f.text('dataset', 26), ...FULL_STAMP, ...SFID_ENDS, ...SFID_OLD_TAIL],
  SFPA: [f.counter('position', 9)],
  SFNA: [...ANSWERED, f.choice('retry', YN, 'N')],
  EFID: [f.counter('records', 9), f.counter('octets', 12)],
  EFNA: ANSWERED,
  ESID: [...ANSWERED, f.carriageReturn()],
  EERP: [RECEIPT_NAME, ...FULL_STAMP, ...ENDS],
  NERP: NERP_HEAD,
  SECD: 'none',
  AUCH: 'none',
  AURP: 'none',
}

const LEVEL_2: Older = {
  ...LEVEL_4,
  SFID: [f.text('dataset', 26), ...SHORT_STAMP, ...SFID_ENDS, ...SFID_OLD_TAIL],
  EERP: [RECEIPT_NAME, ...SHORT_STAMP, ...ENDS],
  NERP: 'none',
}

const OLDER: Record<Level, Older> = { 1: LEVEL_2, 2: LEVEL_2, 4: LEVEL_4, 5: {} }

const OCTETS: Record<CommandKind, string> = {
  SSRM: 'I',
  SSID: 'X',
  SFID: 'H',
  SFPA: '2',
  SFNA: '3',
  DATA: 'D',
  CDT: 'C',
  EFID: 'T',
  EFPA: '4',
  EFNA: '5',
  ESID: 'F',
  CD: 'R',
  EERP: 'E',
  NERP: 'N',
  RTR: 'P',
  SECD: 'J',
  AUCH: 'A',
  AURP: 'S',
}

export const COMMAND_KINDS = Object.keys(OCTETS) as readonly CommandKind[]
const KIND_OF_OCTET = new Map(COMMAND_KINDS.map((kind) => [OCTETS[kind].charCodeAt(0), kind]))

/** The command that an exchange buffer begins with. */
export function kindOf(exchange: Uint8Array): CommandKind {
  const octet = exchange[0]
  const kind = octet === undefined ? undefined : KIND_OF_OCTET.get(octet)
  if (kind === undefined) throw fault('01', `no command begins with octet ${octet ?? 'none'}`)
  return kind
}

function layoutOf(kind: CommandKind, level: Level): Layout {
  const older = OLDER[level][kind]
  if (older === 'none') throw fault('01', `${kind} does not exist at level ${level}`)
  return older ?? LEVEL_5[kind]
}

/** Room for the stream header. */
const HEADER = '\0'.repeat(4)

/** The command as a whole stream transmission buffer, header included. */
export function encodeCommand(command: Command, level: Level): Buffer {
  if (OLDER[level][command.kind] === 'none')
    throw new NodeError('bad_use', `the partner’s OFTP level ${level} has no ${command.kind}`)
  const values: Readonly<Record<string, unknown>> = command
  let octets = HEADER + OCTETS[command.kind]
  for (const field of layoutOf(command.kind, level)) octets += field.write(values[field.name])
  const whole = Buffer.from(octets, 'latin1')
  writeStreamHeader(whole, 0, whole.length)
  return whole
}

/** Reads one exchange buffer (without stream header). Throws nothing but protocol faults. */
export function decodeCommand(exchange: Uint8Array, level: Level): Command {
  const kind = kindOf(exchange)
  const layout = layoutFor(kind, level, exchange.length)
  const values: Record<string, unknown> = { kind }
  if (layout !== LEVEL_5[kind]) for (const field of LEVEL_5[kind]) keep(values, field, field.absent)
  const reader = new f.FieldReader(exchange, 1)
  for (const field of layout) keep(values, field, field.read(reader))
  if (reader.left > 0) throw fault('07', `${kind} is ${reader.left} octets longer than its fields`)
  // The layout of level 2.0 has just filled every field that the type of this kind declares.
  return values as Command
}

function keep(values: Record<string, unknown>, field: Field<string, unknown>, value: unknown): void {
  if (field.name !== '') values[field.name] = value
}

/** An end of session may come before the levels are agreed, so its two forms are told apart by their length. */
function layoutFor(kind: CommandKind, level: Level, length: number): Layout {
  if (kind !== 'ESID') return layoutOf(kind, level)
  return layoutOf(kind, length <= 4 ? 4 : 5)
}
