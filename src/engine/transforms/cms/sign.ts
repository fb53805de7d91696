// Writes CMS SignedData (RFC 5652) around content of any length: open-ended BER, the content in segments, the
// signature behind it. Signed attributes are always there; the signer is named by issuer and serial number when there
// is a certificate, by its key identifier when there is none.

import { createHash, sign as signBytes } from 'node:crypto'
import { blocks, type Step } from '../step.ts'
import { digestOid, OID, type Digest } from './algorithms.ts'
import { segment } from './ber.ts'
import * as der from './der.ts'
import { readPrivateKey, type LocalKey } from './keys.ts'
import { requireUsable, type CmsPolicy } from './policy.ts'

export type SignOptions = {
  /** May hold the certificate too. */
  privateKeyPem: string
  certificatePem?: string
  digest: Digest
  /** Whether the certificate travels along; OFTP2 advises against it. */
  includeCertificate: boolean
  signingTime?: Date
  policy?: CmsPolicy | undefined
}

export function sign(options: SignOptions): Step {
  const key = readPrivateKey(options.privateKeyPem, options.certificatePem)
  requireUsable(key, options.policy, 'the key that files are signed with')
  return async function* signed(source) {
    const hash = createHash(options.digest)
    yield opening(key, options.digest)
    for await (const block of blocks(source)) {
      hash.update(block)
      yield segment(block)
    }
    yield closing(key, options, hash.digest())
  }
}

function digestAlgorithm(digest: Digest): Buffer {
  return der.algorithm(digestOid(digest), der.NULL)
}

function opening({ certificate }: LocalKey, digest: Digest): Buffer {
  return Buffer.concat([
    der.openEnded(der.TAG.sequence),
    der.oid(OID.signedData),
    der.openEnded(der.TAG.contextConstructed(0)),
    der.openEnded(der.TAG.sequence),
    der.integer(certificate === undefined ? 3 : 1),
    der.setOf([digestAlgorithm(digest)]),
    der.openEnded(der.TAG.sequence),
    der.oid(OID.data),
    der.openEnded(der.TAG.contextConstructed(0)),
    der.openEnded(der.TAG.octetStringSegmented),
  ])
}

function closing(key: LocalKey, options: SignOptions, contentDigest: Buffer): Buffer {
  const { certificate } = key
  const carried =
    options.includeCertificate && certificate !== undefined
      ? [der.tlv(der.TAG.contextConstructed(0), certificate.der)]
      : []
  return Buffer.concat([
    // octet string, explicit [0], content info
    der.closeEnded(3),
    ...carried,
    der.setOf([signerInfo(key, options, contentDigest)]),
    // signed data, explicit [0], content info
    der.closeEnded(3),
  ])
}

function signerInfo(key: LocalKey, options: SignOptions, contentDigest: Buffer): Buffer {
  const { certificate, privateKey, keyId } = key
  const attributes = [
    attribute(OID.contentType, der.oid(OID.data)),
    attribute(OID.signingTime, der.time(options.signingTime ?? new Date())),
    attribute(OID.messageDigest, der.octetString(contentDigest)),
  ]
  // What is signed is the SET itself; what is sent has the tag [0] in its place (RFC 5652, 5.4).
  const signature = signBytes(options.digest, der.setOf(attributes), privateKey)
  return der.sequence(
    der.integer(certificate === undefined ? 3 : 1),
    certificate === undefined
      ? der.tlv(der.TAG.context(0), keyId)
      : der.sequence(certificate.issuer, der.tlv(der.TAG.integer, certificate.serial)),
    digestAlgorithm(options.digest),
    der.setOf(attributes, der.TAG.contextConstructed(0)),
    der.algorithm(OID.rsaEncryption, der.NULL),
    der.octetString(signature),
  )
}

function attribute(type: string, value: Buffer): Buffer {
  return der.sequence(der.oid(type), der.setOf([value]))
}
