import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { translate, translationTable } from './alphabet.ts'
import type { CodePage } from '../../config.ts'
import { CODE_PAGES } from './code-pages.ts'
import { anySizes, run } from '../../../test/support/streams.ts'

const PAGES = Object.keys(CODE_PAGES) as CodePage[]
const EVERY_OCTET = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet))
const noIconv = spawnSync('iconv', ['--version']).error ? 'iconv is not installed' : false

for (const codePage of PAGES) {
  test(`code page ${codePage} maps all 256 values one to one, both ways`, () => {
    const there = translationTable({ from: 'EBCDIC', to: 'ASCII', codePage })
    const back = translationTable({ from: 'ASCII', to: 'EBCDIC', codePage })
    assert.equal(new Set(there).size, 256)
    for (let octet = 0; octet < 256; octet++) assert.equal(back[there[octet]!], octet)
  })

  test(`code page ${codePage} agrees with iconv but for the line end and the euro`, { skip: noIconv }, () => {
    const { stdout, status } = spawnSync('iconv', ['-f', `IBM${codePage}`, '-t', 'UTF-16BE'], {
      input: EVERY_OCTET,
    })
    assert.equal(status, 0)
    const theirs = Array.from({ length: 256 }, (_, octet) => stdout.readUInt16BE(octet * 2))
    theirs[0x15] = 0x0a
    theirs[0x25] = 0x85
    const euro = theirs.indexOf(0x20ac)
    assert.equal(euro, codePage === '1145' || codePage === '1148' ? 0x9f : -1)
    if (euro >= 0) theirs[euro] = 0xa4
    assert.deepEqual([...translationTable({ from: 'EBCDIC', to: 'ASCII', codePage })], theirs)
  })
}

test('text becomes the EBCDIC octets a mainframe expects, its newline NL', async () => {
  const out = await run(
    Buffer.from('Ab1 [x]\n', 'latin1'),
    translate({ from: 'ASCII', to: 'EBCDIC', codePage: '1047' }),
  )
  assert.equal(out.toString('hex'), 'c182f140ada7bd15')
  const other = await run(
    Buffer.from('[]', 'latin1'),
    translate({ from: 'ASCII', to: 'EBCDIC', codePage: '037' }),
  )
  assert.equal(other.toString('hex'), 'babb')
})

test('any bytes in any chunks come back as they were, octet by octet what the table says', async () => {
  const padded = randomBytes(100_001)
  await fc.assert(
    fc.asyncProperty(
      anySizes,
      fc.constantFrom(...PAGES),
      fc.integer({ min: 0, max: 3 }),
      async (sizes, codePage, skipped) => {
        const bytes = padded.subarray(skipped)
        const there = await run(bytes, translate({ from: 'EBCDIC', to: 'ASCII', codePage }), sizes)
        const table = translationTable({ from: 'EBCDIC', to: 'ASCII', codePage })
        assert.ok(there.equals(Buffer.from(bytes.map((octet) => table[octet]!))))
        assert.ok(
          (await run(there, translate({ from: 'ASCII', to: 'EBCDIC', codePage }), sizes)).equals(bytes),
        )
      },
    ),
    { numRuns: 15 },
  )
})

test('the bytes that were given are left alone', async () => {
  const bytes = Buffer.alloc(70_000, 'A')
  await run(bytes, translate({ from: 'ASCII', to: 'EBCDIC', codePage: '1047' }))
  assert.ok(bytes.equals(Buffer.alloc(70_000, 'A')))
})
