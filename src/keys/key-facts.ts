// The public part of a key, as people compare it: fingerprint, names and dates. Of a private key only its certificate or
// its public half is looked at.

import { createHash, createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { certificatesIn } from '../domain/channel-faults.ts'
import { newest } from '../domain/newest.ts'

export type PublicPart = {
  /** Lower-case hex SHA-256 of the certificate, or of the public key where there is none. */
  fingerprint: string
  pem: string
  subject?: string
  issuer?: string
  validFrom?: number
  validTo?: number
  algorithm: string
  bits?: number
}

// A private key without a certificate takes milliseconds to read, and pages ask for the same ones again and again.
const KEPT = 2000
const kept = newest<PublicPart>(KEPT)

/** Undefined: the text holds no key that can be read. */
export function publicPartOf(pem: string): PublicPart | undefined {
  const name = createHash('sha256').update(pem).digest('base64')
  const known = kept.get(name)
  if (known) return known
  const read = readPublicPart(pem)
  if (read) kept.set(name, read)
  return read
}

function readPublicPart(pem: string): PublicPart | undefined {
  const certificate = ownCertificate(pem)
  try {
    if (certificate !== undefined) return ofCertificate(new X509Certificate(certificate))
    const key = createPublicKey(privateKeysIn(pem)[0] ?? pem)
    const der = key.export({ type: 'spki', format: 'der' })
    return {
      fingerprint: sha256(der),
      pem: key.export({ type: 'spki', format: 'pem' }).toString(),
      ...kindOf(key),
    }
  } catch {
    return undefined
  }
}

/** The certificate at work: that of the private key, where there is one. Some programs write the chain in front of it. */
export function ownCertificate(pem: string): string | undefined {
  const all = certificatesIn(pem)
  const [key] = privateKeysIn(pem)
  // A lone certificate needs no comparing, which takes milliseconds.
  return key === undefined || all.length === 1 ? all[0] : all.find((one) => belongs(one, key))
}

function privateKeysIn(pem: string): string[] {
  return pem.match(/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/g) ?? []
}

/** Beside the one at work: the chain that leads to it. Certificates of keys that were at work before are no part of it. */
export function chainBehind(pem: string): string[] {
  const keys = privateKeysIn(pem)
  const own = ownCertificate(pem)
  return certificatesIn(pem).filter((one) => one !== own && !keys.some((key) => belongs(one, key)))
}

/**
 * Of a key that is replaced: what still opens files that partners encrypt for its certificate. One without a certificate
 * that is valid is encrypted for by nobody.
 */
export function openingPart(pem: string, now: number): string | undefined {
  const [key] = privateKeysIn(pem)
  const certificate = key && certificatesIn(pem).find((one) => belongs(one, key))
  if (certificate === undefined || new X509Certificate(certificate).validToDate.getTime() <= now)
    return undefined
  return `${key}\n${certificate}\n`
}

function belongs(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

function ofCertificate(certificate: X509Certificate): PublicPart {
  return {
    fingerprint: sha256(certificate.raw),
    pem: certificate.toString(),
    subject: inOneLine(certificate.subject),
    issuer: inOneLine(certificate.issuer),
    validFrom: Date.parse(certificate.validFrom),
    validTo: Date.parse(certificate.validTo),
    ...kindOf(certificate.publicKey),
  }
}

function kindOf(key: KeyObject): { algorithm: string; bits?: number } {
  const bits = key.asymmetricKeyDetails?.modulusLength
  return { algorithm: key.asymmetricKeyType ?? 'unknown', ...(bits !== undefined && { bits }) }
}

function inOneLine(name: string | undefined): string {
  return (name ?? '').replaceAll('\n', ', ')
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** As it is kept: people write fingerprints with colons, spaces and capitals. */
export function plainFingerprint(text: string): string {
  return text
    .replace(/^sha256:/i, '')
    .replaceAll(/[: ]/g, '')
    .toLowerCase()
}
