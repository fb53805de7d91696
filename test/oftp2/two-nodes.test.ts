// Two nodes exchange files of every format, both ways, whoever calls, at every level of security: what arrives has the
// same bytes and the same records. A covering selection, not the product; each row says what it is about by itself.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { startPair } from './pair.ts'
import type { ChannelSetting, Pair, Side } from './pair.ts'

type Directory = NonNullable<PlatformChannel['directories']>[number]
type Security = NonNullable<PlatformChannel['security']>
type Transmission = NonNullable<
  NonNullable<PlatformChannel['connection']>['advancedConfigurationTransmission']
>

type Row = {
  format: NonNullable<Directory['fileFormat']>
  /** How the sending and the receiving end mark records in their own files. */
  marks: readonly [Mark, Mark]
  from: Side
  /** LOCAL and REMOTO at the two ends, or INDISTINTO at both. */
  calls: 'sender' | 'receiver' | 'either'
  ciphrate: NonNullable<Security['ciphrate']>
  signed: boolean
  ebcdic: boolean
  compression: NonNullable<Transmission['compression']>
  authentication: NonNullable<Security['authentication']>
}

type Mark = NonNullable<Directory['delimitator']>

const N: readonly [Mark, Mark] = ['NINGUNO', 'NINGUNO']
const U: readonly [Mark, Mark] = ['UNIX', 'UNIX']
const D: readonly [Mark, Mark] = ['DOS', 'DOS']
const UN: readonly [Mark, Mark] = ['UNIX', 'NINGUNO']
const ND: readonly [Mark, Mark] = ['NINGUNO', 'DOS']

/** format, marks, from, calls, ciphrate, signed, EBCDIC on the wire, compression, authentication */
const TABLE: readonly [
  Row['format'],
  Row['marks'],
  Side,
  Row['calls'],
  Row['ciphrate'],
  boolean,
  boolean,
  Row['compression'],
  Row['authentication'],
][] = [
  ['BINARIO', N, 'left', 'sender', 'NO', false, false, 'NO', 'PASSWORD'],
  ['BINARIO', N, 'right', 'receiver', 'TRANSMISION', true, false, 'SI', 'CERTIFICATE'],
  ['BINARIO', N, 'left', 'either', 'FILE', false, false, 'VARIABLE', 'CERTIFICATE'],
  ['BINARIO', N, 'right', 'sender', 'ALL', true, false, 'LZW', 'PASSWORD'],
  ['FIJO', N, 'left', 'receiver', 'FILE', true, true, 'NO', 'PASSWORD'],
  ['FIJO', UN, 'right', 'sender', 'NO', true, false, 'VARIABLE', 'CERTIFICATE'],
  ['FIJO', D, 'left', 'either', 'TRANSMISION', false, true, 'LZW', 'CERTIFICATE'],
  ['FIJO', U, 'right', 'receiver', 'ALL', false, false, 'NO', 'CERTIFICATE'],
  ['VARIABLE', N, 'right', 'sender', 'TRANSMISION', false, false, 'NO', 'CERTIFICATE'],
  ['VARIABLE', UN, 'left', 'receiver', 'NO', false, true, 'SI', 'PASSWORD'],
  ['VARIABLE', D, 'left', 'sender', 'ALL', false, true, 'VARIABLE', 'PASSWORD'],
  ['VARIABLE', U, 'right', 'either', 'FILE', true, false, 'LZW', 'PASSWORD'],
  ['VARIABLE', ND, 'right', 'receiver', 'NO', false, false, 'NO', 'CERTIFICATE'],
  ['HIBRIDO', U, 'left', 'sender', 'TRANSMISION', true, false, 'VARIABLE', 'PASSWORD'],
  ['HIBRIDO', D, 'right', 'either', 'NO', false, false, 'NO', 'PASSWORD'],
  ['HIBRIDO', U, 'right', 'receiver', 'FILE', false, true, 'SI', 'CERTIFICATE'],
  ['HIBRIDO', ND, 'left', 'sender', 'ALL', true, false, 'SI', 'CERTIFICATE'],
]

const RECORD = 40
const LENGTHS = [40, 1, 0, 17, 39, 3]

/** Printable records; FIJO ones all of the full length. */
function recordsOf({ format }: Row): Buffer[] {
  const count = 3000
  return Array.from({ length: count }, (_, index) => {
    const length = format === 'FIJO' ? RECORD : (LENGTHS[index % LENGTHS.length] ?? 0)
    const text = createHash('sha256').update(String(index)).digest('hex').repeat(2)
    return Buffer.from(text.slice(0, length), 'latin1')
  })
}

/** The records as a local file has them. */
function fileOf(row: Row, mark: Mark, records: Buffer[]): Buffer {
  const end = Buffer.from(mark === 'DOS' ? '\r\n' : mark === 'UNIX' ? '\n' : '', 'latin1')
  return Buffer.concat(
    records.flatMap((record) => {
      if (mark !== 'NINGUNO' || row.format === 'FIJO') return [record, end]
      const word = Buffer.alloc(4)
      word.writeUInt16BE(record.length + 4, 0)
      return [word, record]
    }),
  )
}

function contentsOf(row: Row): { sent: Buffer; expected: Buffer } {
  if (row.format === 'BINARIO') {
    const bytes = Buffer.from(Array.from({ length: 150_001 }, (_, at) => (at * at) % 251))
    return { sent: bytes, expected: bytes }
  }
  const records = recordsOf(row)
  const [here, there] = row.marks
  if (row.format !== 'HIBRIDO')
    return { sent: fileOf(row, here, records), expected: fileOf(row, there, records) }
  // Without a mark of its own a text is carried as it stands, and a text on the wire has CR LF.
  const asText = (mark: Mark) => fileOf(row, mark === 'NINGUNO' ? 'DOS' : mark, records)
  return { sent: asText(here), expected: asText(there) }
}

function channelFor(pair: Pair, row: Row, side: Side, directories: Directory[]): ChannelSetting {
  const { ciphrate, signed, calls, compression, authentication, from } = row
  const sends = side === from
  const calling = calls === 'either' ? 'INDISTINTO' : sends === (calls === 'sender') ? 'LOCAL' : 'REMOTO'
  return {
    direction: sends ? 'EMISION' : 'RECEPCION',
    directories,
    svcff: signed,
    emissionff: signed,
    receptionff: signed,
    security: pair.keys(side, { cryptography: true, ciphrate, authentication }),
    connection: {
      ips: ['127.0.0.1'],
      advancedConfigurationConnection: { callingEnd: calling, retries: 2 },
      advancedConfigurationTransmission: { compression, downloadConf: true },
    },
    // Whoever waits for files and is the one to call, calls now and then.
    ...(!sends && calls === 'receiver' && { automation: { watch: true } }),
  }
}

function titleOf(row: Row): string {
  const words = [
    `${row.format} ${row.marks.join('>')} from the ${row.from}`,
    `${row.calls} calls`,
    `ciphrate ${row.ciphrate}`,
    row.signed ? 'signed' : 'unsigned',
    row.ebcdic ? 'EBCDIC on the wire' : 'not translated',
    `compression ${row.compression}`,
    row.authentication,
  ]
  return words.join(', ')
}

async function exchange(pair: Pair, row: Row): Promise<void> {
  const to: Side = row.from === 'left' ? 'right' : 'left'
  const form = (mark: Mark): Partial<Directory> => ({
    fileFormat: row.format,
    delimitator: mark,
    registerLength: row.format === 'BINARIO' || row.format === 'HIBRIDO' ? 0 : RECORD,
    ...(row.ebcdic && { alphabet: 'ASCII', traduction: 'EBCDIC', translateStatus: true }),
  })
  const relation = await pair.relate((name) => {
    const end = (side: Side) => {
      const mark = row.marks[side === row.from ? 0 : 1]
      const directories = pair.directories(name, side, 'FILES', form(mark))
      return { channels: { FILES: channelFor(pair, row, side, directories) } }
    }
    return { left: end('left'), right: end('right') }
  })
  const { sent, expected } = contentsOf(row)
  await pair.put(relation, row.from, 'FILES', 'Nómina de mayo.txt', sent)
  const id = await pair.send(row.from, relation.code(row.from, 'FILES'))
  const { state, error, encryption } = await pair.ended(row.from, id)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal(encryption, row.ciphrate === 'NO' ? 0 : 1)
  const arrived = await pair.arrived(relation, to, 'FILES', 'Nómina de mayo.txt')
  assert.ok(arrived.equals(expected), `${arrived.length} octets arrived, ${expected.length} were expected`)
  assert.equal((await pair.received(relation, to, 'FILES')).length, 1)
  const { content } = (
    await pair[to].call('listTransfers', { code: relation.code(to, 'FILES'), as: 'admin' })
  ).body
  assert.equal(content[0].encryption, row.ciphrate !== 'NO')
}

test('two nodes exchange files, and bytes and records are identical', async (t) => {
  const pair = await startPair(t)
  for (const [format, marks, from, calls, ciphrate, signed, ebcdic, compression, authentication] of TABLE) {
    const row = { format, marks, from, calls, ciphrate, signed, ebcdic, compression, authentication }
    await t.test(titleOf(row), () => exchange(pair, row))
  }
})
