import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { datasetName, realName } from './dataset-name.ts'

test('a dataset name has the standard’s characters alone, and is its own dataset name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), (name) => {
      const dataset = datasetName(name)
      assert.match(dataset, /^[A-Z0-9/\-.&()]{1,26}$/)
      assert.equal(datasetName(dataset), dataset)
      assert.equal(datasetName(name), dataset)
    }),
  )
})

test('short names stay readable, long ones stay apart', () => {
  assert.equal(datasetName('Invoices_2026.csv'), 'INVOICES-2026.CSV')
  assert.equal(datasetName('Año.txt'), 'ANO.TXT')
  const [one, other] = [
    datasetName('a very long file name, part 1.txt'),
    datasetName('a very long file name, part 2.txt'),
  ]
  assert.equal(one?.slice(0, 17), 'A-VERY-LONG-FILE-')
  assert.notEqual(one, other)
})

test('a real name never leaves its directory', () => {
  assert.equal(realName('', 'DATASET'), 'DATASET')
  assert.equal(realName('año 1.txt', 'DATASET'), 'año 1.txt')
  assert.equal(realName('../../etc/passwd', 'DATASET'), 'passwd')
  assert.equal(realName('C:\\in\\file.txt', 'DATASET'), 'file.txt')
  assert.equal(realName('..', 'A/B'), 'A-B')
  assert.equal(realName('a\u0000b\nc', 'DATASET'), 'abc')
  assert.equal(realName('bad \uFFFD octets', 'DATASET'), 'DATASET')
  const long = realName(`${'ñ'.repeat(200)}.tar.gz`, 'DATASET')
  assert.equal(long, `${'ñ'.repeat(126)}.gz`, 'one that is too long keeps its extension')
  assert.equal(realName(`${'a '.repeat(130)}.b c`, 'DATASET').length, 255)
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.string({ maxLength: 26 }),
      (description, dataset) => {
        const name = realName(description, dataset)
        assert.doesNotMatch(name, /[/\\\p{Cc}]/u)
        assert.ok(name !== '' && name !== '.' && name !== '..')
        assert.ok(Buffer.byteLength(name) <= 255)
      },
    ),
  )
})
