// Public keys as people write them: fingerprints for pinning hosts, `authorized_keys` lines for letting partners in.
//
// Comparisons are over the key's own bytes or its SHA-256, never over text with comments. RSA signatures with SHA-1
// and RSA keys under 2048 bits are refused in both roles.

import { createHash, createPublicKey, timingSafeEqual } from 'node:crypto'

import type { ParsedKey } from 'ssh2'

import { messageOf, NodeError } from '../../../errors.ts'
import { loadSsh } from './library.ts'
import { fromPkcs8 } from './pkcs8.ts'

const MIN_RSA_BITS = 2048

/** As OpenSSH prints it: `SHA256:` and unpadded base64. */
export function fingerprintOf(keyBlob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(keyBlob).digest('base64').replace(/=+$/, '')}`
}

/** Accepts the fingerprint with or without padding; anything else is a mistake in the set-up. */
export function checkFingerprint(written: string): string {
  const trimmed = written.trim().replace(/=+$/, '')
  if (!/^SHA256:[A-Za-z0-9+/]{43}$/.test(trimmed))
    throw new NodeError('bad_use', `"${written}" is not a host key fingerprint of the form SHA256:…`)
  return trimmed
}

export function isPinned(keyBlob: Uint8Array, fingerprints: readonly string[]): boolean {
  const offered = Buffer.from(fingerprintOf(keyBlob))
  let found = false
  for (const pinned of fingerprints) {
    const expected = Buffer.from(pinned)
    if (expected.length === offered.length && timingSafeEqual(expected, offered)) found = true
  }
  return found
}

/** The algorithm named inside a public key blob, for messages. */
export function keyTypeOf(keyBlob: Uint8Array): string {
  const view = Buffer.from(keyBlob.buffer, keyBlob.byteOffset, keyBlob.byteLength)
  const length = view.length >= 4 ? view.readUInt32BE(0) : 0
  const type = length > 0 && length <= 64 ? view.toString('latin1', 4, 4 + length) : ''
  return /^[\w@.-]+$/.test(type) ? type : 'unknown type'
}

function tooShort(key: ParsedKey): boolean {
  if (key.type !== 'ssh-rsa') return false
  const bits = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails?.modulusLength ?? 0
  return bits < MIN_RSA_BITS
}

/** One `authorized_keys` line, without options: type, base64, comment. Undefined when it is not a usable key. */
export function readAuthorizedKey(line: string): ParsedKey | undefined {
  const parsed = loadSsh().ssh2.utils.parseKey(line.trim())
  if (parsed instanceof Error) return undefined
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  if (key === undefined || key.isPrivateKey() || (key.type as string) === 'ssh-dss' || tooShort(key))
    return undefined
  return key
}

/** For a listener: the library reads it itself, and without a passphrase. */
export function isHostKey(pem: string): boolean {
  const parsed = loadSsh().ssh2.utils.parseKey(pem)
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  return key !== undefined && !(key instanceof Error) && key.isPrivateKey()
}

/**
 * A private key to sign in with. ssh2 falls back to SHA-1 for RSA where the server does not say what it takes:
 * its signing is wrapped so that such a signature is never made.
 */
export function readPrivateKey(pem: string, passphrase: string | undefined): ParsedKey {
  const parsed = loadSsh().ssh2.utils.parseKey(fromPkcs8(pem, passphrase), passphrase)
  if (parsed instanceof Error)
    throw new NodeError('bad_use', `the private key cannot be read: ${messageOf(parsed)}`, { cause: parsed })
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  if (key === undefined || !key.isPrivateKey())
    throw new NodeError('bad_use', 'the private key is not a private key')
  if (tooShort(key)) throw new NodeError('bad_use', `the RSA private key has less than ${MIN_RSA_BITS} bits`)
  if (key.type === 'ssh-rsa') {
    const sign = key.sign.bind(key)
    key.sign = (data: Buffer | string, hash?: string) => {
      if (hash === 'sha256' || hash === 'sha512') return sign(data, hash)
      // The library takes an Error as the answer and goes on to the next way to sign in.
      return new Error('the server takes RSA keys only with SHA-1') as never
    }
  }
  return key
}
