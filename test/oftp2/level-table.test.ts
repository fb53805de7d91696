// docs/oftp2-levels.md: what each level of the protocol can do, and how each channel field acts at it. Every cell is what
// a node did when a partner of that level answered it. `WRITE_DOCS=1 node --test test/oftp2/level-table.test.ts` writes
// the page.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeTestKey } from '../support/cms-keys.ts'
import { n, octets, text, u2, x } from '../support/oftp2/foreign.ts'
import type { ForeignLine } from '../support/oftp2/foreign.ts'
import { awaiting, CREDIT, LEVELS, NODE_ID, startForeignNode } from './foreign-node.ts'
import type { Foreign, ForeignChannel, ForeignNode, Level } from './foreign-node.ts'

const PAGE = new URL('../../docs/oftp2-levels.md', import.meta.url)
const CONTENT = 'what the file holds'
const NOT_SENT = 'the file is not sent'

type Bench = { t: TestContext; node: ForeignNode; level: Level; keys: ForeignChannel['security'] }
type Row = { title: string; cell: (bench: Bench) => Promise<string> }

const isNew = (level: Level) => level === '5'
const esid = (level: Level) => (isNew(level) ? 'F00000\r' : 'F00\r')
const sfpa = (level: Level) => `2${n(0, isNew(level) ? 17 : 9)}`

/** The partner takes the file whose SFID this was. */
async function take(line: ForeignLine, level: Level): Promise<string> {
  line.say(sfpa(level))
  const { efid } = await line.expectFile(CREDIT)
  line.say('4N')
  return efid
}

const receiptFor = (level: Level, sfid: string, { id }: Foreign) =>
  octets(
    `E${sfid.slice(1, 48)}${x('', 8)}${x(NODE_ID, 25)}${x(id, 25)}`,
    ...(isNew(level) ? [u2(0), u2(0)] : []),
  )

type Seen = { ssid: string; sfid: string; efid: string; state: string }

/** A file that is sent to a partner of that level and answered with a plain receipt. */
async function sendAndConfirm({ t, node, level }: Bench, channel: ForeignChannel): Promise<Seen> {
  const foreign = await node.relate(t, channel)
  const id = await foreign.send('a.bin', CONTENT)
  const { line, ssid } = await foreign.called(level)
  const sfid = text(await line.expect('H'))
  const efid = await take(line, level)
  await line.expect('R')
  line.say(receiptFor(level, sfid, foreign))
  await line.expect('P')
  line.say('R')
  return { ssid, sfid, efid, state: (await foreign.ended(id)).state }
}

/** What the SFID says of a file, whose partner then refuses it; or that there is none. */
async function offered({ t, node, level }: Bench, channel: ForeignChannel): Promise<string> {
  const foreign = await node.relate(t, channel)
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called(level)
  const first = text((await line.hear()) ?? Buffer.alloc(0))
  if (first.startsWith('H')) {
    line.say(`399N${isNew(level) ? '000' : ''}`)
    await line.expect('R')
  }
  line.say(esid(level))
  const { state } = await foreign.ended(id)
  assert.equal(state, 'FAILED')
  return first.startsWith('H') ? first : NOT_SENT
}

async function ofSfid(
  bench: Bench,
  channel: ForeignChannel,
  read: (sfid: string) => string,
): Promise<string> {
  const sfid = await offered(bench, channel)
  return sfid === NOT_SENT ? NOT_SENT : read(sfid)
}

const CONFIRMED: ForeignChannel = {
  ...awaiting(),
  validationHashFiles: true,
  security: { localKey: 'OURS' },
}
const confirmations = new Map<Level, Promise<Seen>>()

/** The same session shows several things. */
function confirmed(bench: Bench): Promise<Seen> {
  const seen = confirmations.get(bench.level) ?? sendAndConfirm(bench, CONFIRMED)
  confirmations.set(bench.level, seen)
  return seen
}

const ABILITIES: readonly Row[] = [
  {
    title: 'date and time of a file',
    cell: async (bench) => {
      const { sfid } = await confirmed(bench)
      return /^ {9}\d{12}$/.test(sfid.slice(27, 48)) ? 'YYMMDD, HHMMSS' : 'CCYYMMDD, HHMMSScccc'
    },
  },
  {
    title: 'name of a file',
    cell: async (bench) =>
      (await confirmed(bench)).sfid.endsWith('a.bin')
        ? 'dataset name, and the real name in SFIDDESC'
        : 'dataset name alone: 26 characters, upper case',
  },
  {
    title: 'octets of a file, and restart position',
    cell: async (bench) => {
      const { efid, sfid } = await confirmed(bench)
      const octetDigits = isNew(bench.level) ? efid.slice(18) : efid.slice(10)
      const restartDigits = isNew(bench.level) ? sfid.slice(138, 155) : sfid.slice(119)
      assert.equal(Number(octetDigits), CONTENT.length)
      return `${octetDigits.length} and ${restartDigits.length} digits`
    },
  },
  { title: 'refusal of a file (SFNA, EFNA)', cell: refusal },
  { title: 'negative receipt (NERP)', cell: negativeReceipt },
]

async function refusal({ t, node, level }: Bench): Promise<string> {
  const foreign = await node.relate(t)
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called(level)
  await line.expect('H')
  line.say(`304N${isNew(level) ? '003why' : ''}`)
  await line.expect('R')
  line.say(esid(level))
  const { error } = await foreign.ended(id)
  assert.match(error ?? '', /SFNA 04/)
  return error?.endsWith(': why') ? 'reason and text' : 'reason'
}

async function negativeReceipt({ t, node, level }: Bench): Promise<string> {
  const foreign = await node.relate(t, awaiting())
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called(level)
  const sfid = text(await line.expect('H'))
  await take(line, level)
  await line.expect('R')
  const ends = `${x(NODE_ID, 25)}${x(foreign.id, 25)}${x(foreign.id, 25)}`
  line.say(`N${sfid.slice(1, 27)}${x('', 3)}${sfid.slice(27, 48)}${ends}34${isNew(level) ? '003why' : ''}`)
  const answer = text((await line.hear()) ?? Buffer.alloc(0))
  if (answer.startsWith('F01')) return 'none: the command is not known (ESID 01)'
  assert.equal(answer, 'P')
  line.say('R')
  const { error } = await foreign.ended(id)
  assert.match(error ?? '', /NERP 34/)
  return error?.endsWith(': why') ? 'reason and text' : 'reason'
}

const FIELDS: readonly Row[] = [
  {
    title: '`downloadConf`',
    cell: async (bench) => {
      assert.equal((await confirmed(bench)).state, 'COMPLETED')
      return 'completes with the EERP'
    },
  },
  {
    title: '`validationHashFiles`, `crc`, with `rsaRemoteKey`',
    cell: (bench) =>
      ofSfid(bench, { validationHashFiles: true, security: bench.keys }, (sfid) => {
        assert.equal(sfid.slice(161, 162), 'Y')
        return 'completes with a signed EERP whose hash fits (SFIDSIGN Y)'
      }),
  },
  {
    title: '`validationHashFiles`, `crc`, without `rsaRemoteKey`',
    cell: async (bench) => {
      const { sfid, state } = await confirmed(bench)
      assert.equal(state, 'COMPLETED')
      if (isNew(bench.level)) assert.equal(sfid.slice(161, 162), 'N', 'SFIDSIGN')
      return 'completes with any EERP (warned about)'
    },
  },
  {
    title: '`ciphrate` FILE, ALL; `svcff` with `emissionff`',
    cell: (bench) => {
      const security = { ...bench.keys, cryptography: true, ciphrate: 'FILE' } as const
      return ofSfid(bench, { svcff: true, emissionff: true, security }, (sfid) => {
        assert.equal(sfid.slice(155, 157), '03', 'SFIDSEC')
        return 'files are encrypted; signed (SFIDSEC 01, 02, both 03)'
      })
    },
  },
  {
    title: '`authentication` PASSWORD',
    cell: async (bench) => {
      assert.equal((await confirmed(bench)).ssid.slice(27, 35), x('OURS', 8))
      return 'SSIDPSWD'
    },
  },
  { title: '`authentication` CERTIFICATE', cell: certificate },
  { title: '`fileFormat` BINARIO, FIJO, VARIABLE, HIBRIDO', cell: formats },
]

async function certificate({ t, node, level, keys }: Bench): Promise<string> {
  const foreign = await node.relate(t, { security: { ...keys, authentication: 'CERTIFICATE' } })
  await foreign.send('a.bin', CONTENT)
  const line = await foreign.server.next()
  line.say('IODETTE FTP READY \r')
  assert.equal(text(await line.expect('X')).slice(47, 48), 'Y', 'SSIDAUTH')
  line.say(
    `X${level}${x(foreign.id, 25)}${x('', 8)}02048BNYN004${isNew(level) ? 'Y    ' : '     '}${x('', 8)}\r`,
  )
  const next = text((await line.hear()) ?? Buffer.alloc(0))
  if (next.startsWith('F12')) return 'the session is refused (ESID 12)'
  assert.equal(next, 'J', 'SECD')
  return 'SECD, AUCH, AURP'
}

/** One transfer with a file of each format. */
async function formats({ t, node, level }: Bench): Promise<string> {
  const foreign = await node.relate(t, (partner) => {
    const from = { direction: 'EMISION', filePath: partner.folder('out') } as const
    const [fixed, variable] = [{ registerLength: 4 }, { registerLength: 9, delimitator: 'UNIX' }] as const
    return {
      directories: [
        { ...from, fileGroupsName: '*.bin', fileFormat: 'BINARIO' },
        { ...from, fileGroupsName: '*.fix', fileFormat: 'FIJO', ...fixed },
        { ...from, fileGroupsName: '*.var', fileFormat: 'VARIABLE', ...variable },
        { ...from, fileGroupsName: '*.txt', fileFormat: 'HIBRIDO', delimitator: 'UNIX', alphabet: 'ASCII' },
      ],
    }
  })
  const out = foreign.folder('out')
  const then = Date.now() / 1000 - 60
  for (const [name, content] of Object.entries({
    'b.fix': 'aaaabbbb',
    'c.var': 'one\ntwo\n',
    'd.txt': 'line\n',
  })) {
    await writeFile(join(out, name), content)
    await utimes(join(out, name), then, then)
  }
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called(level)
  const seen = new Map<string, string>()
  while (seen.size < 4) {
    const sfid = text(await line.expect('H'))
    seen.set(sfid.slice(1, 27).trimEnd(), sfid.slice(106, 107))
    await take(line, level)
  }
  await line.expect('R')
  line.say(esid(level))
  assert.equal((await foreign.ended(id)).state, 'COMPLETED')
  return ['A.BIN', 'B.FIX', 'C.VAR', 'D.TXT'].map((name) => seen.get(name) ?? '?').join(', ')
}

function tableOf(title: string, rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const head = [title, ...Object.keys(LEVELS)]
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

test(
  'docs/oftp2-levels.md says what a node does at each level (WRITE_DOCS=1 writes it)',
  { concurrency: 4 },
  async (t) => {
    const node = await startForeignNode(t)
    const [ours, theirs] = [await makeTestKey('node'), await makeTestKey('foreign')]
    const keys = {
      rsaLocalKey: `${ours.privateKeyPem.trim()}\n${ours.certificatePem}`,
      rsaRemoteKey: theirs.certificatePem,
    }
    const cells = async (rows: readonly Row[]) => {
      const made: string[][] = []
      for (const { title, cell } of rows) {
        const row = [title]
        for (const [name, level] of Object.entries(LEVELS))
          await t.test(`${title} at ${name}`, async (inner) => {
            row.push(await cell({ t: inner, node, level, keys }))
          })
        made.push(row)
      }
      return made
    }
    const page = `# OFTP2 by level

Made from a test that runs every cell against a partner of that level. The lower level of the two ends holds in a session
(SSIDLEV 1, 2, 4 and 5 are 1.2, 1.3, 1.4 and 2.0). Channel fields that are not named here act alike at every level,
except two: \`compression\` is a CMS envelope at 2.0 and the compressed sub-records of the line below it, and \`fileGroupsName\`
matches in any case where a partner sends no description, so that names come in upper case.

${tableOf('what the level has', await cells(ABILITIES))}

${tableOf('channel field', await cells(FIELDS))}
`
    if (process.env.WRITE_DOCS) writeFileSync(PAGE, page)
    assert.equal(readFileSync(PAGE, 'utf8'), page)
  },
)
