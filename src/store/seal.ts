// Secrets at rest: AES-256-GCM with a fresh key for every value. The key is derived from the master key, a random salt
// and the value's place, so a sealed value that is moved to another row does not open. The master key never enters the
// database.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { NodeError } from '../errors.ts'

export type Seal = {
  /** `place` says where the value is stored, e.g. "channel BANCO-ACME-NOMINA localKey". */
  seal(place: string, secret: string): string
  open(place: string, sealed: string): string
}

const VERSION = 'v1'

export function makeSeal(masterKey: string): Seal {
  const master = Buffer.from(masterKey, 'utf8')
  const keyFor = (salt: Buffer, place: string) => Buffer.from(hkdfSync('sha256', master, salt, place, 32))
  return {
    seal(place, secret) {
      const salt = randomBytes(16)
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt, place), iv)
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return [
        VERSION,
        ...[salt, iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url')),
      ].join('.')
    },
    open(place, text) {
      const [version, ...parts] = text.split('.')
      const [salt, iv, tag, sealed] = parts.map((part) => Buffer.from(part, 'base64url'))
      if (version !== VERSION || !salt || !iv || !tag || !sealed) throw unopened(place)
      try {
        const decipher = createDecipheriv('aes-256-gcm', keyFor(salt, place), iv)
        decipher.setAuthTag(tag)
        return decipher.update(sealed, undefined, 'utf8') + decipher.final('utf8')
      } catch (cause) {
        throw unopened(place, cause)
      }
    },
  }
}

function unopened(place: string, cause?: unknown): NodeError {
  return new NodeError(
    'internal',
    `the secret "${place}" does not open: is ESCLUSA_MASTER_KEY the one it was sealed with?`,
    { cause },
  )
}
