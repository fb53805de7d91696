// What a node takes at the least in CMS messages: digests, ciphers, the length of keys; and that certificates are valid now.
// Whoever opens or makes a message passes the node's policy. Without one nothing is judged: for fixtures and challenges.

import type { Config } from '../../../config.ts'
import { NodeError } from '../../../errors.ts'
import type { PartnerKey } from './keys.ts'

export type CmsPolicy = Pick<Config, 'leastDigest' | 'leastCipher' | 'leastRsaBits'>

/** Bits of what a collision costs; names are node:crypto's. */
const STRENGTH: Record<string, number> = {
  sha1: 61,
  sha224: 112,
  sha256: 128,
  'sha3-256': 128,
  sha384: 192,
  sha512: 256,
  'sha3-512': 256,
}
const LEAST: Record<CmsPolicy['leastDigest'], number> = { 'SHA-1': 61, 'SHA-256': 128, 'SHA-512': 256 }

/** Why a signature with this digest does not count; undefined where it does. */
export function digestFault(digest: string, policy: CmsPolicy | undefined): string | undefined {
  if (policy === undefined || (STRENGTH[digest] ?? 0) >= LEAST[policy.leastDigest]) return undefined
  return `it is made with ${digest}, and this node takes ${policy.leastDigest} at the least (ESCLUSA_LEAST_DIGEST)`
}

export function cipherFault(cipher: string, policy: CmsPolicy | undefined): string | undefined {
  if (policy?.leastCipher !== 'AES' || !/^(des-|3des)/i.test(cipher)) return undefined
  return 'it is encrypted with 3DES, and this node takes AES at the least (ESCLUSA_LEAST_CIPHER)'
}

/** Why the key is not used now: too short, or its certificate is not valid. */
export function keyUseFault(
  { publicKey, certificate }: PartnerKey,
  policy: CmsPolicy | undefined,
  now = new Date(),
): string | undefined {
  if (policy === undefined) return undefined
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < policy.leastRsaBits)
    return `the key has ${bits} bits, and this node takes ${policy.leastRsaBits} at the least (ESCLUSA_LEAST_RSA_BITS)`
  const day = (date: Date) => date.toISOString().slice(0, 10)
  if (certificate && certificate.validTo < now) return `its certificate ended on ${day(certificate.validTo)}`
  if (certificate && certificate.validFrom > now)
    return `its certificate begins on ${day(certificate.validFrom)}`
  return undefined
}

/** Throws where a key may not be used to encrypt or sign. */
export function requireUsable(key: PartnerKey, policy: CmsPolicy | undefined, whose: string): void {
  const fault = keyUseFault(key, policy)
  if (fault !== undefined) throw new NodeError('insecure_session', `${whose} is not used: ${fault}`)
}
