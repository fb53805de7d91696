// Makes an RSA key with a self-signed certificate: what a partner needs to name us in CMS when there is no authority.

import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import * as x509 from '@peculiar/asn1-x509'
import { generateKeyPair, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { NodeError } from '../../../errors.ts'
import { NULL } from './der.ts'
import { keyIdOf } from './keys.ts'

const SHA256_WITH_RSA = '1.2.840.113549.1.1.11'
const COMMON_NAME = '2.5.4.3'
const DAY_MS = 24 * 60 * 60 * 1000

/** Set back a little, so that a partner whose clock is slow does not find it not yet valid. */
const BACKDATED_MS = 60 * 60 * 1000

export type SelfSignedOptions = {
  commonName: string
  bits?: number | undefined
  days?: number | undefined
  now?: Date
}

export async function generateSelfSigned(
  options: SelfSignedOptions,
): Promise<{ privateKeyPem: string; certificatePem: string }> {
  const { commonName, bits = 3072, days = 3650, now = new Date() } = options
  if (bits < 2048 || bits > 8192) throw new NodeError('bad_use', `a key has 2048 to 8192 bits, not ${bits}`)
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: bits })
  const algorithm = new x509.AlgorithmIdentifier({ algorithm: SHA256_WITH_RSA, parameters: arrayOf(NULL) })
  const name = nameOf(commonName)
  const tbsCertificate = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: arrayOf(serialNumber()),
    signature: algorithm,
    issuer: name,
    validity: new x509.Validity({
      notBefore: new Date(now.getTime() - BACKDATED_MS),
      notAfter: new Date(now.getTime() + days * DAY_MS),
    }),
    subject: name,
    subjectPublicKeyInfo: AsnConvert.parse(
      publicKey.export({ type: 'spki', format: 'der' }),
      x509.SubjectPublicKeyInfo,
    ),
    extensions: new x509.Extensions(extensionsFor(keyIdOf(publicKey))),
  })
  const signatureValue = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), privateKey)
  const certificate = new x509.Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: arrayOf(signatureValue),
  })
  return {
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificatePem: toPem(Buffer.from(AsnConvert.serialize(certificate))),
  }
}

function nameOf(commonName: string): x509.Name {
  const value = new x509.AttributeValue({ utf8String: commonName })
  const pair = new x509.AttributeTypeAndValue({ type: COMMON_NAME, value })
  return new x509.Name([new x509.RelativeDistinguishedName([pair])])
}

function extensionsFor(keyId: Buffer): x509.Extension[] {
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags
  return [
    extension(x509.id_ce_basicConstraints, true, new x509.BasicConstraints({ cA: false })),
    extension(x509.id_ce_keyUsage, true, new x509.KeyUsage(digitalSignature | keyEncipherment)),
    extension(x509.id_ce_subjectKeyIdentifier, false, new x509.SubjectKeyIdentifier(arrayOf(keyId))),
  ]
}

function extension(extnID: string, critical: boolean, value: unknown): x509.Extension {
  return new x509.Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })
}

/** 16 random octets, positive and without leading zeros, as RFC 5280 wants them. */
function serialNumber(): Buffer {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40
  return serial
}

/** The schema classes take ArrayBuffers; this is a copy of exactly the octets meant. */
function arrayOf(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
