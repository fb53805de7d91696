// Secrets at rest: AES-256-GCM with a fresh key for every value. The key is derived from the master key, a random salt
// and the value's place, so a sealed value that is moved to another row does not open. The master key never enters the
// database.

import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { asRing, derived } from '../domain/key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { NodeError } from '../errors.ts'

export type Seal = {
  /** `place` says where the value is stored, e.g. "channel BANCO-ACME-NOMINA localKey". */
  seal(place: string, secret: string): string
  open(place: string, sealed: string): string
  /** Sealed with the current key; one that an older key opens wants sealing anew. */
  isCurrent(place: string, sealed: string): boolean
}

const VERSION = 'v1'
/** Of a shorter tag, which OpenSSL would take as well, somebody who may write to the database could guess one that fits. */
const WHOLE_TAG = { authTagLength: 16 }

type Keys = (salt: Buffer, place: string) => KeyObject

export function makeSeal(masterKey: string | KeyRing): Seal {
  const ring = asRing(masterKey)
  const keys = derived(ring, (key): Keys => {
    // Key objects: Node takes three times as long with the octets themselves.
    const master = createSecretKey(key, 'utf8')
    return (salt, place) => createSecretKey(Buffer.from(hkdfSync('sha256', master, salt, place, 32)))
  })
  const openWithAny = (place: string, sealed: Parts): string | undefined => {
    for (const keyFor of keys()) {
      const text = unseal(keyFor, place, sealed)
      if (text !== undefined) return text
    }
    return undefined
  }
  return {
    seal(place, secret) {
      const salt = randomBytes(16)
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keys()[0](salt, place), iv, WHOLE_TAG)
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return [
        VERSION,
        ...[salt, iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url')),
      ].join('.')
    },
    open(place, text) {
      const sealed = partsOf(text)
      if (!sealed) throw unopened(place)
      let opened = openWithAny(place, sealed)
      if (opened === undefined) {
        // The key was exchanged a moment ago, by another process.
        ring.refresh()
        opened = openWithAny(place, sealed)
      }
      if (opened === undefined) throw unopened(place)
      return opened
    },
    isCurrent(place, text) {
      const sealed = partsOf(text)
      return sealed !== undefined && unseal(keys()[0], place, sealed) !== undefined
    },
  }
}

type Parts = { salt: Buffer; iv: Buffer; tag: Buffer; sealed: Buffer }

function partsOf(text: string): Parts | undefined {
  const [version, ...parts] = text.split('.')
  const [salt, iv, tag, sealed] = parts.map((part) => Buffer.from(part, 'base64url'))
  return version === VERSION && salt && iv && tag && sealed ? { salt, iv, tag, sealed } : undefined
}

/** Undefined: it was sealed with another key, for another place, or changed since. */
function unseal(keyFor: Keys, place: string, { salt, iv, tag, sealed }: Parts): string | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', keyFor(salt, place), iv, WHOLE_TAG)
    decipher.setAuthTag(tag)
    return decipher.update(sealed, undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

function unopened(place: string): NodeError {
  return new NodeError(
    'internal',
    `the secret "${place}" does not open: is ESCLUSA_MASTER_KEY the one it was sealed with?`,
  )
}
