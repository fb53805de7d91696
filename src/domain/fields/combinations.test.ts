import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Directory } from '../../contract/channel.ts'
import { vainCombinations } from './combinations.ts'
import type { Configured } from './effects.ts'

const warned = (channel: Configured, protocol = 'sftp') =>
  vainCombinations(channel, protocol).map(({ pointer, message }) => `${pointer} ${message}`)
const ofDirectory = (directory: Directory, protocol?: string, characters?: 'ASCII') =>
  warned(
    {
      directories: [{ direction: 'EMISION' }, directory],
      connection: { advancedConfigurationTransmission: characters ? { characters } : {} },
    },
    protocol,
  ).map((text) => text.replace('/directories/1/', ''))

test('a kind of encryption that is not switched on is told of', () => {
  for (const ciphrate of ['TRANSMISION', 'FILE', 'ALL'] as const)
    for (const security of [{ ciphrate }, { ciphrate, cryptography: false }])
      assert.deepEqual(warned({ security }), [
        `/security/ciphrate ${ciphrate} has no effect while cryptography is not true: nothing is encrypted`,
      ])
  assert.deepEqual(warned({ security: { ciphrate: 'TRANSMISION', cryptography: true } }), [])
  assert.deepEqual(warned({ security: { ciphrate: 'NO' } }), [])
})

test('signatures that are not switched on are told of', () => {
  assert.deepEqual(warned({ emissionff: true, receptionff: true }), [
    '/emissionff has no effect while svcff is not true',
    '/receptionff has no effect while svcff is not true',
  ])
})

test('keys that signing and encrypting need are asked for, by the ways that files go', () => {
  const keysOf = (channel: Configured) => warned(channel).map((text) => text.split(':')[0])
  const signed = { svcff: true, emissionff: true, receptionff: true }
  const sign = '/security/rsaLocalKey is needed to sign files (emissionff)'
  const check = '/security/rsaRemoteKey is needed to check signatures (receptionff)'
  assert.deepEqual(keysOf(signed), [sign, check])
  assert.deepEqual(keysOf({ ...signed, direction: 'EMISION' }), [sign])
  assert.deepEqual(keysOf({ ...signed, direction: 'RECEPCION' }), [check])
  assert.deepEqual(keysOf({ ...signed, security: { rsaLocalKey: 'x', rsaRemoteKey: 'y' } }), [])
  const security = { cryptography: true, ciphrate: 'ALL' as const }
  assert.deepEqual(keysOf({ security }), [
    '/security/rsaLocalKey is needed to open encrypted files (ciphrate)',
    '/security/rsaRemoteKey is needed to encrypt files (ciphrate)',
  ])
  assert.deepEqual(keysOf({ security: { ...security, ciphrate: 'TRANSMISION' } }), [])
  const left = /; it is not here, and one in the database stays$/
  assert.match(warned({ security, direction: 'EMISION' })[0] ?? '', left)
  const taken = warned({ security: { ...security, rsaRemoteKey: null }, direction: 'EMISION' })
  assert.equal(taken.length, 1)
  assert.doesNotMatch(taken[0] ?? '', left)
})

test('records that nobody can carry, and what is said of records where there are none', () => {
  const fixed = (registerLength: number): Directory => ({ fileFormat: 'FIJO', registerLength })
  assert.deepEqual(ofDirectory(fixed(1_048_576)), [])
  assert.match(ofDirectory(fixed(1_048_577)).join(), /^registerLength is more than 1048576/)
  assert.deepEqual(ofDirectory(fixed(99_999), 'oftp2'), [])
  assert.match(ofDirectory(fixed(100_000), 'oftp2').join(), /^registerLength is more than 99999/)
  assert.deepEqual(ofDirectory({ ...fixed(100_000), compression: true }, 'oftp2'), [])
  assert.deepEqual(ofDirectory({ registerLength: 80, delimitator: 'DOS' }), [
    'registerLength has no effect with BINARIO: there are no records',
    'delimitator has no effect with BINARIO: there are no records',
  ])
  assert.deepEqual(ofDirectory({ registerLength: 0, delimitator: 'NINGUNO' }), [])
  assert.deepEqual(ofDirectory({ fileFormat: 'VARIABLE', registerLength: 80, delimitator: 'DOS' }), [])
})

test('a translation that has no beginning or no end, or is not switched on, is told of', () => {
  const on: Directory = { translateStatus: true }
  assert.match(ofDirectory({ ...on, traduction: 'EBCDIC' }).join(), /^translateStatus .* without alphabet/)
  assert.match(
    ofDirectory({ ...on, alphabet: 'EBCDIC' }).join(),
    /^translateStatus .* neither traduction nor/,
  )
  assert.deepEqual(ofDirectory({ ...on, alphabet: 'EBCDIC' }, 'sftp', 'ASCII'), [])
  assert.deepEqual(ofDirectory({ ...on, alphabet: 'EBCDIC', traduction: 'ASCII' }), [])
  assert.match(ofDirectory({ alphabet: 'EBCDIC', traduction: 'ASCII' }).join(), /^traduction has no effect/)
})
