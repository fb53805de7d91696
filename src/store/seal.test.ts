import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { makeSeal } from './seal.ts'

const seal = makeSeal('master key of at least 32 bytes.')

test('whatever is sealed opens at its place, and never reads the same twice', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (secret, place) => {
      const sealed = seal.seal(place, secret)
      assert.equal(seal.open(place, sealed), secret.toWellFormed())
      assert.notEqual(sealed, seal.seal(place, secret))
    }),
  )
})

test('a sealed value opens neither elsewhere, nor with another master key, nor changed', () => {
  const sealed = seal.seal('channel A localKey', 'secret')
  assert.throws(() => seal.open('channel B localKey', sealed), /does not open/)
  assert.throws(
    () => makeSeal('another key of at least 32 bytes').open('channel A localKey', sealed),
    /ESCLUSA_MASTER_KEY/,
  )
  const parts = sealed.split('.')
  for (const [index, part] of parts.entries()) {
    const changed = parts
      .with(index, part.startsWith('A') ? `B${part.slice(1)}` : `A${part.slice(1)}`)
      .join('.')
    assert.throws(() => seal.open('channel A localKey', changed), /does not open/, `part ${index}`)
  }
  const tag = Buffer.from(parts[3] ?? '', 'base64url')
  for (const octets of [4, 8, 15]) {
    const cut = parts.with(3, tag.subarray(0, octets).toString('base64url')).join('.')
    assert.throws(() => seal.open('channel A localKey', cut), /does not open/, `${octets} octets of its tag`)
  }
  for (const text of ['', 'v1', 'secret', 'v1.a.b'])
    assert.throws(() => seal.open('x', text), /does not open/)
})

test('the sealed form does not hold the secret', () => {
  const sealed = seal.seal('x', 'very recognisable secret')
  assert.ok(!sealed.includes('recognisable'))
  assert.ok(!Buffer.from(sealed.split('.').at(-1) ?? '', 'base64url').includes('recognisable'))
})
