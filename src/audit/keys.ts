// The keys of the audit trail, all derived from the master key, which never enters the database: whoever can write the
// database alone can make neither a row nor a head that fits.

import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  sign,
  verify,
} from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { X509Certificate } from 'node:crypto'
import { asRing, derived } from '../domain/key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'

export type AuditKeys = {
  /** Of one row, by the node that writes it. */
  mac(text: string): string
  /** Made by a node of this platform: with the current key, or with one before it. */
  isMac(text: string, mac: string): boolean
  sign(text: string): string
  isSigned(text: string, signature: string): boolean
  /** With the current key; what an older one signed is to be signed anew. */
  isSignedNow(text: string, signature: string): boolean
  /** PEM, for whoever checks an export elsewhere. */
  readonly publicKey: string
  /** Tells whether a secret is the same as another, and nothing else: without the key it cannot be guessed at. */
  fingerprint(secret: string): string
}

export function makeAuditKeys(masterKey: string | KeyRing): AuditKeys {
  const ring = asRing(masterKey)
  const keys = derived(ring, keysOf)
  /** Another process may have exchanged the key a moment ago: what fits no key that is known is looked at once more. */
  const fits = (test: (one: Keys) => boolean) => keys().some(test) || (ring.refresh(), keys().some(test))
  const mac = (text: string, { macKey }: Keys) =>
    createHmac('sha256', macKey).update(text).digest('base64url')
  return {
    mac: (text) => mac(text, keys()[0]),
    isMac: (text, given) => fits((one) => mac(text, one) === given),
    sign: (text) => {
      // Under the chain's lock, and so either before the points are signed anew after an exchange, or with the new key.
      ring.refresh()
      return sign(null, Buffer.from(text), keys()[0].privateKey).toString('base64url')
    },
    isSigned: (text, signature) => fits(({ publicKey }) => isSigned(publicKey, text, signature)),
    isSignedNow: (text, signature) => isSigned(keys()[0].publicKey, text, signature),
    get publicKey() {
      return keys()[0].publicKey.export({ type: 'spki', format: 'pem' }).toString()
    },
    fingerprint: (secret) =>
      certificatePrint(secret) ??
      `keyed:${createHmac('sha256', keys()[0].printKey).update(secret).digest('hex').slice(0, 32)}`,
  }
}

type Keys = ReturnType<typeof keysOf>

function keysOf(masterKey: string) {
  const master = Buffer.from(masterKey, 'utf8')
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', master, '', `esclusa audit ${purpose}`, 32))
  const privateKey = ed25519(derive('head'))
  return {
    // As key objects: Node takes three times as long with the octets themselves.
    macKey: createSecretKey(derive('row')),
    printKey: createSecretKey(derive('fingerprint')),
    privateKey,
    publicKey: createPublicKey(privateKey),
  }
}

// RFC 8410: what stands before the 32 octets of an Ed25519 key in PKCS #8.
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

function ed25519(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
}

export function isSigned(publicKey: KeyObject, text: string, signature: string): boolean {
  return verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'))
}

/** Certificates and public keys are no secrets: people compare their fingerprints over another line. */
function certificatePrint(pem: string): string | undefined {
  if (/PRIVATE KEY/.test(pem)) return undefined
  const hex = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  try {
    if (/BEGIN CERTIFICATE/.test(pem)) return hex(new X509Certificate(pem).raw)
    if (/BEGIN PUBLIC KEY/.test(pem)) return hex(createPublicKey(pem).export({ type: 'spki', format: 'der' }))
  } catch {
    // Something else that only looks like it.
  }
  return undefined
}
