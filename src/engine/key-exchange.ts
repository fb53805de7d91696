// Channels that carry keys alone: what goes out is our certificate; what comes in is kept as the partner's proposed
// key and takes effect only when somebody accepts it.

import { NodeError } from '../errors.ts'
import { readPartnerKey, readPrivateKey, fingerprintOf } from './transforms/cms/keys.ts'
import type { Plan } from './plan.ts'

export function certificateOf(plan: Plan): string {
  const { rsaLocalKey } = plan.security
  const certificate = rsaLocalKey === undefined ? undefined : readPrivateKey(rsaLocalKey).certificate
  if (!certificate)
    throw new NodeError(
      'file_refused',
      `channel ${plan.code} exchanges keys, but security.rsaLocalKey holds no certificate to send`,
    )
  return certificate.pem
}

/** Reads a received file as a certificate (PEM or DER) or public key; throws file_refused if it is neither. */
export function proposedKey(bytes: Buffer): { pem: string; fingerprint: string } {
  const text = bytes.toString('latin1')
  const pem = text.includes('-----BEGIN') ? text : toPem(bytes)
  try {
    readPartnerKey(pem)
    return { pem, fingerprint: fingerprintOf(pem) }
  } catch (cause) {
    throw new NodeError('file_refused', 'the file is neither a certificate nor a public key', { cause })
  }
}

function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
