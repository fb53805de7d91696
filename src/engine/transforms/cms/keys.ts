// Keys as people hand them over: PEM with a private key and maybe its certificates, or a partner's certificate or bare
// public key. Reads what CMS needs of them. RSA alone. Whether a certificate is still valid is reported and never
// decided here; no chain is built, because a channel trusts the key it was given.

import { AsnConvert } from '@peculiar/asn1-schema'
import { Certificate, id_ce_subjectKeyIdentifier, SubjectKeyIdentifier } from '@peculiar/asn1-x509'
import { createHash, createPrivateKey, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto'
import { NodeError } from '../../../errors.ts'
import { children, readTlv } from './der.ts'

export type CertificateFacts = {
  pem: string
  der: Buffer
  subject: string
  /** The issuer's name as it is encoded, and the octets of the serial number: how CMS names a certificate. */
  issuer: Buffer
  serial: Buffer
  subjectKeyId: Buffer
  validFrom: Date
  validTo: Date
  /** Lower-case hex SHA-256 of the certificate. */
  fingerprint: string
}

export type PartnerKey = {
  publicKey: KeyObject
  /** SHA-1 of the bare key (RFC 5280, 4.2.1.2): its name where there is no certificate. */
  keyId: Buffer
  certificate: CertificateFacts | undefined
}

export type LocalKey = PartnerKey & { privateKey: KeyObject }

/**
 * A private key in PEM, followed or preceded by certificates; the one that fits the key is taken. Of several keys the first
 * is at work.
 */
export function readPrivateKey(pem: string, certificatePem?: string): LocalKey {
  const [block] = pemBlocks(pem).filter(isPrivateKey)
  if (block === undefined) throw badKey('there is no private key in the PEM')
  const privateKey = parsed('private key', () => createPrivateKey(block.pem))
  checkRsa(privateKey)
  const offered = [...pemBlocks(certificatePem ?? ''), ...pemBlocks(pem)].filter(isCertificate)
  const own = offered.find(({ pem }) =>
    parsed('certificate', () => new X509Certificate(pem)).checkPrivateKey(privateKey),
  )
  if (offered.length > 0 && own === undefined)
    throw badKey('no certificate in the PEM belongs to the private key')
  return localKey(privateKey, own)
}

/**
 * All that opens what is encrypted for us: the key at work, and behind it what was at work before it, because partners may
 * still encrypt for those certificates. CMS names keys by certificate, so each is told by its own.
 */
export function readOpeningKeys(pem: string, certificatePem?: string): LocalKey[] {
  const atWork = readPrivateKey(pem, certificatePem)
  const blocks = pemBlocks(pem)
  if (blocks.length <= 2) return [atWork]
  const certificates = blocks.filter(isCertificate)
  const earlier = blocks.filter(isPrivateKey).slice(1).flatMap(readableKey)
  const all = [atWork.privateKey, ...earlier].flatMap((privateKey) =>
    certificates.filter((one) => fits(one, privateKey)).map((one) => localKey(privateKey, one)),
  )
  const isAtWork = ({ certificate }: LocalKey) => certificate?.fingerprint === atWork.certificate?.fingerprint
  return [atWork, ...all.filter((one) => !isAtWork(one))]
}

// What stands behind the key at work must not stop that one, whatever it is.

function readableKey({ pem }: PemBlock): KeyObject[] {
  try {
    const key = createPrivateKey(pem)
    return key.asymmetricKeyType === 'rsa' ? [key] : []
  } catch {
    return []
  }
}

function fits({ pem }: PemBlock, privateKey: KeyObject): boolean {
  try {
    return new X509Certificate(pem).checkPrivateKey(privateKey)
  } catch {
    return false
  }
}

function localKey(privateKey: KeyObject, own: PemBlock | undefined): LocalKey {
  const publicKey = createPublicKey(privateKey)
  const certificate = own === undefined ? undefined : readCertificate(own.pem)
  return { privateKey, publicKey, keyId: keyIdOf(publicKey), certificate }
}

/** The partner's certificate (the first, if there are more) or bare public key, in PEM. */
export function readPartnerKey(pem: string): PartnerKey {
  const found = pemBlocks(pem)
  const block = found.find(isCertificate) ?? found.find(({ label }) => label.endsWith('PUBLIC KEY'))
  if (block === undefined) throw badKey('there is neither a certificate nor a public key in the PEM')
  const certificate = isCertificate(block) ? readCertificate(block.pem) : undefined
  const publicKey = parsed('public key', () => createPublicKey(block.pem))
  checkRsa(publicKey)
  return { publicKey, keyId: keyIdOf(publicKey), certificate }
}

export function readCertificate(pem: string): CertificateFacts {
  return parsed('certificate', () => {
    const x509 = new X509Certificate(pem)
    const [tbs] = children(readTlv(x509.raw).value)
    const fields = children(tbs!.value)
    // version [0] is left out by certificates of version 1.
    const [serial, , issuer] = fields[0]!.tag === 0xa0 ? fields.slice(1) : fields
    return {
      pem: x509.toString(),
      der: x509.raw,
      subject: x509.subject,
      issuer: issuer!.whole,
      serial: serial!.value,
      subjectKeyId: statedKeyId(x509.raw) ?? keyIdOf(x509.publicKey),
      validFrom: new Date(x509.validFrom),
      validTo: new Date(x509.validTo),
      fingerprint: createHash('sha256').update(x509.raw).digest('hex'),
    }
  })
}

/** Lower-case hex SHA-256 of the certificate, or of the public key (SubjectPublicKeyInfo) where there is none. */
export function fingerprintOf(pem: string): string {
  const { certificate, publicKey } = readPartnerKey(pem)
  if (certificate !== undefined) return certificate.fingerprint
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

export function keyIdOf(publicKey: KeyObject): Buffer {
  const [, bits] = children(readTlv(publicKey.export({ type: 'spki', format: 'der' })).value)
  return createHash('sha1').update(bits!.value.subarray(1)).digest()
}

function statedKeyId(der: Buffer): Buffer | undefined {
  const { extensions } = AsnConvert.parse(der, Certificate).tbsCertificate
  const stated = extensions?.find(({ extnID }) => extnID === id_ce_subjectKeyIdentifier)
  return stated && Buffer.from(AsnConvert.parse(stated.extnValue.buffer, SubjectKeyIdentifier).buffer)
}

type PemBlock = { label: string; pem: string }

function pemBlocks(text: string): PemBlock[] {
  const found = text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----/g)
  return [...found].map(([pem, label]) => ({ pem, label: label! }))
}

function isPrivateKey({ label }: PemBlock): boolean {
  return label.endsWith('PRIVATE KEY')
}

function isCertificate({ label }: PemBlock): boolean {
  return label === 'CERTIFICATE' || label === 'X509 CERTIFICATE'
}

function checkRsa({ asymmetricKeyType }: KeyObject): void {
  if (asymmetricKeyType !== 'rsa') throw badKey(`the key is of type ${asymmetricKeyType}, not RSA`)
}

function parsed<T>(what: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    throw new NodeError('bad_use', `the ${what} does not parse`, { cause })
  }
}

function badKey(what: string): NodeError {
  return new NodeError('bad_use', what)
}
