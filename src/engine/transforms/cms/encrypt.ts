// Writes CMS EnvelopedData (CBC, RFC 5652) or AuthEnvelopedData (GCM, RFC 5083 and 5084) for one recipient: a new
// content key wrapped with the recipient's RSA key, the content in segments of open-ended BER.

import { constants, createCipheriv, publicEncrypt, randomBytes, type CipherGCM } from 'node:crypto'
import { NodeError } from '../../../errors.ts'
import { blocks, type Step } from '../step.ts'
import { cipherByName, OID, type Cipher, type ContentCipher } from './algorithms.ts'
import { segment } from './ber.ts'
import * as der from './der.ts'
import { readPartnerKey, type PartnerKey } from './keys.ts'
import { requireUsable, type CmsPolicy } from './policy.ts'
import { gcmParameters, oaepParameters } from './parameters.ts'

export type EncryptOptions = {
  certificateOrPublicKeyPem: string
  cipher: Cipher
  /** RSA-OAEP with SHA-256 in place of PKCS#1 v1.5. */
  oaep?: boolean
  policy?: CmsPolicy | undefined
}

const OAEP_DIGEST = 'sha256'
const TAG_OCTETS = 16

/** One nonce covers at most 2^36 - 32 octets (NIST SP 800-38D, 5.2.1.1). */
const MAX_GCM_OCTETS = 2 ** 36 - 32

export function encrypt(options: EncryptOptions): Step {
  const recipient = readPartnerKey(options.certificateOrPublicKeyPem)
  requireUsable(recipient, options.policy, 'the partner’s key')
  const cipher = cipherByName(options.cipher)
  return async function* encrypted(source) {
    const key = randomBytes(cipher.keyOctets)
    const iv = randomBytes(cipher.ivOctets)
    const running = cipher.authenticated
      ? createCipheriv(cipher.name as 'aes-256-gcm', key, iv, { authTagLength: TAG_OCTETS }) // the table's promise
      : createCipheriv(cipher.name, key, iv)
    yield opening(cipher, iv, recipientInfo(recipient, key, options.oaep ?? false))
    let octets = 0
    for await (const block of blocks(source)) {
      octets += block.length
      if (cipher.authenticated && octets > MAX_GCM_OCTETS)
        throw new NodeError('file_refused', 'AES-256-GCM carries at most 64 GiB in one file')
      const piece = running.update(block)
      if (piece.length > 0) yield segment(piece)
    }
    const last = running.final()
    if (last.length > 0) yield segment(last)
    yield closing(cipher.authenticated ? (running as CipherGCM).getAuthTag() : undefined)
  }
}

function opening(cipher: ContentCipher, iv: Buffer, recipient: Recipient): Buffer {
  const parameters = cipher.authenticated ? gcmParameters(iv, TAG_OCTETS) : der.octetString(iv)
  // EnvelopedData has version 2 as soon as a recipient is not named by its certificate; AuthEnvelopedData always 0.
  const version = cipher.authenticated || recipient.version === 0 ? 0 : 2
  return Buffer.concat([
    der.openEnded(der.TAG.sequence),
    der.oid(cipher.authenticated ? OID.authEnvelopedData : OID.envelopedData),
    der.openEnded(der.TAG.contextConstructed(0)),
    der.openEnded(der.TAG.sequence),
    der.integer(version),
    der.setOf([recipient.info]),
    der.openEnded(der.TAG.sequence),
    der.oid(OID.data),
    der.algorithm(cipher.oid, parameters),
    der.openEnded(der.TAG.contextConstructed(0)),
  ])
}

function closing(mac: Buffer | undefined): Buffer {
  return Buffer.concat([
    // encrypted content, its info
    der.closeEnded(2),
    ...(mac === undefined ? [] : [der.octetString(mac)]),
    // enveloped data, explicit [0], content info
    der.closeEnded(3),
  ])
}

type Recipient = { version: 0 | 2; info: Buffer }

function recipientInfo({ certificate, publicKey, keyId }: PartnerKey, key: Buffer, oaep: boolean): Recipient {
  const wrapped = publicEncrypt(
    oaep
      ? { key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: OAEP_DIGEST }
      : { key: publicKey, padding: constants.RSA_PKCS1_PADDING },
    key,
  )
  const version = certificate === undefined ? 2 : 0
  const info = der.sequence(
    der.integer(version),
    certificate === undefined
      ? der.tlv(der.TAG.context(0), keyId)
      : der.sequence(certificate.issuer, der.tlv(der.TAG.integer, certificate.serial)),
    oaep
      ? der.algorithm(OID.rsaOaep, oaepParameters(OAEP_DIGEST))
      : der.algorithm(OID.rsaEncryption, der.NULL),
    der.octetString(wrapped),
  )
  return { version, info }
}
