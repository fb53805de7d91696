// Parameters of algorithms for which the CMS package has no schema: GCM (RFC 5084) and RSA-OAEP (RFC 4055). The schema
// functions are decorators called by hand, because the source runs unbuilt.

import { AsnProp, AsnPropTypes, AsnType, AsnTypeTypes, OctetString } from '@peculiar/asn1-schema'
import { AlgorithmIdentifier } from '@peculiar/asn1-x509'
import { digestOf, digestOid, OID } from './algorithms.ts'
import { parseAs, type Fail } from './ber.ts'
import * as der from './der.ts'

class GcmParameters {
  nonce = new OctetString()
  tagOctets = 12
}
AsnType({ type: AsnTypeTypes.Sequence })(GcmParameters)
AsnProp({ type: OctetString })(GcmParameters.prototype, 'nonce')
AsnProp({ type: AsnPropTypes.Integer, defaultValue: 12 })(GcmParameters.prototype, 'tagOctets')

class OaepParameters {
  hash = new AlgorithmIdentifier({ algorithm: digestOid('sha1') })
  mask = new AlgorithmIdentifier({ algorithm: OID.mgf1 })
  label: AlgorithmIdentifier | undefined
}
AsnType({ type: AsnTypeTypes.Sequence })(OaepParameters)
for (const [context, name] of ['hash', 'mask', 'label'].entries())
  AsnProp({ type: AlgorithmIdentifier, context, optional: true })(OaepParameters.prototype, name)

export function gcmParameters(nonce: Buffer, tagOctets: number): Buffer {
  return der.sequence(der.octetString(nonce), der.integer(tagOctets))
}

export function readGcmParameters(bytes: Uint8Array, fail: Fail): { nonce: Buffer; tagOctets: number } {
  const { nonce, tagOctets } = parseAs(bytes, GcmParameters, fail, 'the cipher’s parameters')
  const octets = Buffer.from(nonce.buffer)
  if (octets.length < 1 || octets.length > 64) throw fail('the nonce has an impossible length')
  // RFC 5084 allows 12 to 16; node:crypto would take shorter ones, which are easier to forge.
  if (!Number.isInteger(tagOctets) || tagOctets < 12 || tagOctets > 16)
    throw fail('the tag has an impossible length')
  return { nonce: octets, tagOctets }
}

/** OAEP with one digest for label and mask, which is all that node:crypto can do. */
export function oaepParameters(digest: string): Buffer {
  const hash = der.algorithm(digestOid(digest), der.NULL)
  return der.sequence(
    der.tlv(der.TAG.contextConstructed(0), hash),
    der.tlv(der.TAG.contextConstructed(1), der.algorithm(OID.mgf1, hash)),
  )
}

export function readOaepDigest(bytes: ArrayBuffer | null | undefined, fail: Fail): string {
  const what = 'the key’s parameters'
  const stated = bytes ? parseAs(new Uint8Array(bytes), OaepParameters, fail, what) : new OaepParameters()
  const digest = digestOf(stated.hash.algorithm)
  const maskHash = stated.mask.parameters
    ? digestOf(parseAs(new Uint8Array(stated.mask.parameters), AlgorithmIdentifier, fail, what).algorithm)
    : 'sha1'
  if (
    digest === undefined ||
    stated.label !== undefined ||
    stated.mask.algorithm !== OID.mgf1 ||
    maskHash !== digest
  )
    throw fail('its key is wrapped with OAEP parameters that are not supported')
  return digest
}
