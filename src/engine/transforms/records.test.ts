import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { translate } from './alphabet.ts'
import {
  checkRecords,
  fromCanonical,
  NEWLINES,
  toCanonical,
  translateCanonical,
  type RecordOptions,
} from './records.ts'
import { anySizes, nodeError, run } from '../../../test/support/streams.ts'

const FIXED: RecordOptions = { fileFormat: 'FIJO', delimitator: 'NINGUNO', registerLength: 5 }
const LINES: RecordOptions = { fileFormat: 'VARIABLE', delimitator: 'UNIX', registerLength: 0 }
const DESCRIBED: RecordOptions = { fileFormat: 'VARIABLE', delimitator: 'NINGUNO', registerLength: 0 }
const TEXT: RecordOptions = { fileFormat: 'HIBRIDO', delimitator: 'UNIX', registerLength: 0 }

const text = (value: string): Buffer => Buffer.from(value, 'latin1')

test('BINARIO is untouched', async () => {
  const options: RecordOptions = { fileFormat: 'BINARIO', delimitator: 'DOS', registerLength: 9 }
  for (const step of [toCanonical(options), fromCanonical(options), checkRecords(options)])
    assert.ok((await run(text('a\r\nb'), step)).equals(text('a\r\nb')))
})

test('FIJO records lose their delimiters on the way out and get them back', async () => {
  for (const [delimitator, end] of [
    ['NINGUNO', ''],
    ['UNIX', '\n'],
    ['DOS', '\r\n'],
  ] as const) {
    const options: RecordOptions = { ...FIXED, delimitator }
    const local = text(`abcde${end}\n\r\nxy${end}12345${end}`)
    for (const size of [1, 3, 100]) {
      const canonical = await run(local, toCanonical(options), size)
      assert.equal(canonical.toString('latin1'), 'abcde\n\r\nxy12345')
      assert.ok((await run(canonical, fromCanonical(options), size)).equals(local))
    }
  }
})

test('a FIJO file that does not fit is refused with the record and the reason', async () => {
  const unix: RecordOptions = { ...FIXED, delimitator: 'UNIX' }
  const dos: RecordOptions = { ...FIXED, delimitator: 'DOS' }
  const wrong: [RecordOptions, string, RegExp][] = [
    [FIXED, 'abcdeabcdeab', /^record 3: the file ends after 2 of 5 octets$/],
    [unix, 'abcde\nabc\nabcde\n', /^record 2: LF \(0a\) stands after 3 octets, not after 5$/],
    [unix, 'abcde\nabcdefgh\n', /^record 2: LF \(0a\) is missing after 5 octets$/],
    [unix, 'abcde\nabcde', /^record 2: the file ends without LF/],
    [dos, 'abcde\r\nabcde\n', /^record 2: the file ends without CR LF/],
    [dos, 'abcde\n\rabcde\r\n', /^record 1: CR LF \(0d0a\) is missing/],
  ]
  for (const [options, file, message] of wrong)
    for (const step of [toCanonical(options), checkRecords(options)])
      for (const size of [1, 64])
        await assert.rejects(run(text(file), step, size), nodeError('file_refused', message))
  await assert.rejects(run(text('abcdeab'), fromCanonical(dos)), nodeError('file_refused', /^record 2: /))
})

test('FIJO without a record length is a wrong setting', () => {
  assert.throws(() => toCanonical({ ...FIXED, registerLength: 0 }), nodeError('bad_use'))
})

test('VARIABLE lines become records behind their length', async () => {
  const canonical = await run(text('ab\n\nc\n'), toCanonical(LINES), 1)
  assert.equal(canonical.toString('hex'), '000261620000000163')
  assert.equal((await run(canonical, fromCanonical(LINES), 1)).toString(), 'ab\n\nc\n')
  const dos = { ...LINES, delimitator: 'DOS' } as const
  assert.equal((await run(canonical, fromCanonical(dos))).toString(), 'ab\r\n\r\nc\r\n')
  assert.equal((await run(text('a\nb\r\r\n'), toCanonical(dos))).toString('hex'), '0004610a620d')
})

test('a last VARIABLE line without delimiter is a record, and comes back with one', async () => {
  const canonical = await run(text('ab\nc'), toCanonical(LINES))
  assert.equal(canonical.toString('hex'), '00026162000163')
  assert.equal((await run(canonical, fromCanonical(LINES))).toString(), 'ab\nc\n')
})

test('VARIABLE with descriptor words is read and written with them', async () => {
  const local = Buffer.from('00060000616200040000000500000a', 'hex')
  const canonical = await run(local, toCanonical(DESCRIBED), 1)
  assert.equal(canonical.toString('hex'), '00026162000000010a')
  assert.ok((await run(canonical, fromCanonical(DESCRIBED), 1)).equals(local))
})

test('VARIABLE records that do not fit are refused with the record and the reason', async () => {
  const short = { ...LINES, registerLength: 3 }
  const cases: [Promise<Buffer>, RegExp][] = [
    [run(text('abc\nabcd\n'), checkRecords(short)), /^record 2: is longer than 3 octets$/],
    [run(text('abc\nabcd'), toCanonical(short), 1), /^record 2: is longer than 3 octets$/],
    [run(Buffer.alloc(66_000, 'x'), toCanonical(LINES)), /^record 1: is longer than 65535 octets$/],
    [run(Buffer.from('0003000061', 'hex'), checkRecords(DESCRIBED)), /^record 1: its descriptor word says 3/],
    [
      run(Buffer.from('0005010061', 'hex'), checkRecords(DESCRIBED)),
      /^record 1: its descriptor word does not end/,
    ],
    [run(Buffer.from('00040000000600', 'hex'), checkRecords(DESCRIBED)), /^record 2: the file ends 3 octets/],
    [run(Buffer.from('000261', 'hex'), fromCanonical(LINES)), /^record 1: the file ends/],
    [run(Buffer.from('00000003610a62', 'hex'), fromCanonical(LINES)), /^record 2: holds LF/],
    [run(Buffer.from('000461626364', 'hex'), fromCanonical(short)), /^record 1: has 4 octets, more than 3$/],
    [
      run(Buffer.concat([Buffer.from('ffff', 'hex'), Buffer.alloc(65535)]), fromCanonical(DESCRIBED)),
      /^record 1: has 65535 octets, more than 65531$/,
    ],
  ]
  for (const [running, message] of cases) await assert.rejects(running, nodeError('file_refused', message))
})

test('HIBRIDO text has CR LF lines on the wire and its own at home', async () => {
  const local = text('uno\ndos\r\n\n\rtres')
  for (const size of [1, 2, 100]) {
    const canonical = await run(local, toCanonical(TEXT), size)
    assert.equal(canonical.toString(), 'uno\r\ndos\r\r\n\r\n\rtres')
    assert.ok((await run(canonical, fromCanonical(TEXT), size)).equals(local))
  }
  for (const delimitator of ['DOS', 'NINGUNO'] as const)
    for (const step of [toCanonical({ ...TEXT, delimitator }), fromCanonical({ ...TEXT, delimitator })])
      assert.ok((await run(local, step)).equals(local))
  assert.equal((await run(text('a\nb\r\n\r'), fromCanonical(TEXT), 1)).toString(), 'a\nb\n\r')
})

test('an EBCDIC file is cut at its own newline, and its lengths are never translated', async () => {
  const options: RecordOptions = { ...LINES, newline: NEWLINES.EBCDIC }
  const ascii = text('Hola\nñandú 12\n' + 'z'.repeat(0x0a15) + '\n')
  const local = await run(ascii, translate({ from: 'ASCII', to: 'EBCDIC', codePage: '1047' }))
  const there = [
    toCanonical(options),
    translateCanonical({ kind: 'V', from: 'EBCDIC', to: 'ASCII', codePage: '1047' }),
  ]
  const back = [
    translateCanonical({ kind: 'V', from: 'ASCII', to: 'EBCDIC', codePage: '1047' }),
    fromCanonical(options),
  ]
  const expected = await run(ascii, toCanonical(LINES))
  for (const size of [1, 7, 65536]) {
    const wire = await run(local, there, size)
    assert.ok(wire.equals(expected))
    assert.ok((await run(wire, back, size)).equals(local))
  }
  const cut = run(
    expected.subarray(0, -1),
    translateCanonical({ kind: 'V', from: 'ASCII', to: 'EBCDIC', codePage: '1047' }),
  )
  await assert.rejects(cut, nodeError('file_refused', /^record 3: the file ends inside it$/))
})

test('EBCDIC text with UNIX lines is CR LF text in ASCII on the wire', async () => {
  const options: RecordOptions = { ...TEXT, newline: NEWLINES.EBCDIC }
  const local = await run(text('uno\ndos\n'), translate({ from: 'ASCII', to: 'EBCDIC', codePage: '1047' }))
  const wire = await run(local, [
    toCanonical(options),
    translateCanonical({ kind: 'T', from: 'EBCDIC', to: 'ASCII', codePage: '1047' }),
  ])
  assert.equal(wire.toString(), 'uno\r\ndos\r\n')
})

test('a file that fits its format passes untouched, whatever the chunks', async () => {
  const fitting: [RecordOptions, string][] = [
    [FIXED, 'abcdeabcde'],
    [LINES, 'a\n\nb'],
    [TEXT, 'a\n\nb'],
    [{ ...FIXED, fileFormat: 'BINARIO' }, 'abc'],
  ]
  for (const [options, file] of fitting) {
    const check = checkRecords(options)
    // A step may be run over many files.
    for (const size of [1, 2, 100]) assert.equal((await run(text(file), check, size)).toString(), file)
  }
})

const anyLine = fc.string({ unit: fc.constantFrom('a', 'b', '\r', ' '), maxLength: 300 })

test('what fits a local form comes back exactly, whatever the chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyLine, { maxLength: 400 }),
      fc.constantFrom('UNIX', 'DOS'),
      fc.constantFrom('VARIABLE', 'HIBRIDO'),
      anySizes,
      async (lines, delimitator, fileFormat, sizes) => {
        const end = delimitator === 'DOS' ? '\r\n' : '\n'
        const local = text(lines.map((line) => line + end).join(''))
        const options: RecordOptions = { fileFormat, delimitator, registerLength: 0 }
        const canonical = await run(local, [checkRecords(options), toCanonical(options)], sizes)
        assert.ok((await run(canonical, fromCanonical(options), sizes)).equals(local))
      },
    ),
    { numRuns: 60 },
  )
})

test('any bytes are either refused or come back exactly from descriptor words and fixed records', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(FIXED, DESCRIBED),
      anySizes,
      async (bytes, options, sizes) => {
        const canonical = await run(bytes, toCanonical(options), sizes).catch((thrown: unknown) => {
          assert.ok(nodeError('file_refused', /^record \d+: /)(thrown))
        })
        if (canonical !== undefined)
          assert.ok((await run(canonical, fromCanonical(options), sizes)).equals(bytes))
      },
    ),
    { numRuns: 300 },
  )
})
