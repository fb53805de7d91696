import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { test } from 'node:test'

import { NodeError } from '../../../errors.ts'
import { readPrivateKey } from './keys.ts'

const made: [string, string, KeyObject][] = [
  ['rsa', 'ssh-rsa', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
  ['ec', 'ecdsa-sha2-nistp256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ['ed25519', 'ssh-ed25519', generateKeyPairSync('ed25519').privateKey],
]

for (const [kind, type, key] of made)
  test(`an ${kind} key in PKCS #8 signs, encrypted or not`, () => {
    const form = { type: 'pkcs8', format: 'pem' } as const
    const encrypted = { ...form, cipher: 'aes-256-cbc', passphrase: 'open sesame' }
    const hash = kind === 'rsa' ? 'sha512' : undefined
    for (const [pem, passphrase] of [
      [key.export(form).toString(), undefined],
      [key.export(encrypted).toString(), 'open sesame'],
    ] as const) {
      const read = readPrivateKey(pem, passphrase)
      assert.equal(read.type, type)
      const signature = read.sign('text', hash)
      assert.equal(read.verify('text', signature, hash), true)
    }
    const closed = key.export(encrypted).toString()
    assert.throws(() => readPrivateKey(closed, undefined), /passphrase is not set/)
    assert.throws(() => readPrivateKey(closed, 'another'), NodeError)
  })

test('a key in PKCS #8 that is not for SSH is refused by its type', () => {
  const pem = generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  assert.throws(() => readPrivateKey(pem, undefined), /x25519/)
})
