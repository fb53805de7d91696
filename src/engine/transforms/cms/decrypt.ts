// Opens CMS EnvelopedData and AuthEnvelopedData of any length. Content is yielded while it comes; that it is whole and
// unchanged is known only at the end (and with CBC no more than roughly), so it must be put aside until then.
//
// A key that does not unwrap is replaced by a random one and the content is decrypted all the same: what goes wrong
// with the key, the padding or the tag ends in one error at one place, and a sender who tries forged keys learns
// nothing from us (RFC 3218). Only what anybody can read in the message is told apart: that it is not for this key.

import { KeyTransRecipientInfo } from '@peculiar/asn1-cms'
import { OctetString } from '@peculiar/asn1-schema'
import { AlgorithmIdentifier, Name, type AttributeTypeAndValue } from '@peculiar/asn1-x509'
import { constants, createDecipheriv, privateDecrypt, randomBytes, type DecipherGCM } from 'node:crypto'
import { NodeError } from '../../../errors.ts'
import type { Step } from '../step.ts'
import { cipherByOid, OID, type ContentCipher } from './algorithms.ts'
import { BerReader, parseAs, type Fail } from './ber.ts'
import * as der from './der.ts'
import { readOpeningKeys, type LocalKey } from './keys.ts'
import { cipherFault, type CmsPolicy } from './policy.ts'
import { readGcmParameters, readOaepDigest } from './parameters.ts'

export type DecryptOptions = {
  /** May hold the certificate too, and behind them keys of before, which open what is encrypted for them. */
  privateKeyPem: string
  /** Tells which recipient of a message is us; without it every recipient named by issuer and serial may be. */
  certificatePem?: string
  policy?: CmsPolicy | undefined
}

const MAX_RECIPIENTS = 64
const RECIPIENT_OCTETS = 64 * 1024

const fail: Fail = (what, cause) =>
  new NodeError('bad_envelope', `the envelope does not open: ${what}`, { cause })
const changed = (): NodeError => fail('it was changed, or its key is not for us')

export function decrypt(options: DecryptOptions): Step {
  const keys = readOpeningKeys(options.privateKeyPem, options.certificatePem)
  return async function* decrypted(source) {
    const reader = new BerReader(source, fail)
    try {
      const { authenticated, recipients, algorithm } = await openEnvelope(reader)
      const weak = cipherFault(cipherByOid(algorithm.algorithm)?.name ?? '', options.policy)
      if (weak !== undefined) throw fail(weak)
      const running = new Decryption(algorithm, authenticated, recipients, keys)
      for await (const piece of reader.octets(der.TAG.context(0), 'the encrypted content')) {
        const plain = running.update(piece)
        if (plain.length > 0) yield plain
      }
      const last = running.final(await closeEnvelope(reader, authenticated))
      if (last.length > 0) yield last
    } finally {
      await reader.close()
    }
  }
}

class Decryption {
  readonly #decipher: DecipherGCM
  readonly #tagOctets: number

  constructor(
    algorithm: AlgorithmIdentifier,
    authenticated: boolean,
    recipients: readonly KeyTransRecipientInfo[],
    keys: readonly LocalKey[],
  ) {
    const cipher = cipherByOid(algorithm.algorithm)
    if (cipher === undefined || cipher.authenticated !== authenticated)
      throw fail(`its cipher ${algorithm.algorithm} is not supported`)
    const { iv, tagOctets } = readParameters(cipher, algorithm)
    const contentKey = unwrap(recipients, keys, cipher.keyOctets)
    this.#tagOctets = tagOctets
    const options = authenticated ? { authTagLength: tagOctets } : {}
    this.#decipher = createDecipheriv(cipher.name as 'aes-256-gcm', contentKey, iv, options) // CBC has no tag to set
  }

  update(piece: Buffer): Buffer {
    try {
      return this.#decipher.update(piece)
    } catch {
      throw changed()
    }
  }

  final(mac: Buffer | undefined): Buffer {
    if (mac !== undefined && mac.length !== this.#tagOctets) throw changed()
    try {
      if (mac !== undefined) this.#decipher.setAuthTag(mac)
      return this.#decipher.final()
    } catch {
      throw changed()
    }
  }
}

type Envelope = {
  authenticated: boolean
  recipients: KeyTransRecipientInfo[]
  algorithm: AlgorithmIdentifier
}

async function openEnvelope(reader: BerReader): Promise<Envelope> {
  await reader.enter(der.TAG.sequence, 'the CMS message')
  const type = await reader.oid('the content type')
  const authenticated = type === OID.authEnvelopedData
  if (!authenticated && type !== OID.envelopedData) throw fail('the message is not encrypted')
  await reader.enter(der.TAG.contextConstructed(0), 'the enveloped data')
  await reader.enter(der.TAG.sequence, 'the enveloped data')
  await reader.element(der.TAG.integer, 'the version', 16)
  if ((await reader.peek()) === der.TAG.contextConstructed(0)) await reader.skip('the originator')
  const recipients = await readRecipients(reader)
  await reader.enter(der.TAG.sequence, 'the content info')
  await reader.oid('the content type')
  const bytes = await reader.element(der.TAG.sequence, 'the cipher', 1024)
  return { authenticated, recipients, algorithm: parseAs(bytes, AlgorithmIdentifier, fail, 'the cipher') }
}

async function readRecipients(reader: BerReader): Promise<KeyTransRecipientInfo[]> {
  const recipients: KeyTransRecipientInfo[] = []
  await reader.enter(der.TAG.set, 'the set of recipients')
  for (let count = 0; await reader.more(); count++) {
    if (count === MAX_RECIPIENTS) throw fail('it has too many recipients')
    // Other kinds of recipient (key agreement, passwords) have context tags, and are not for an RSA key.
    if ((await reader.peek()) !== der.TAG.sequence) {
      await reader.skip('a recipient')
      continue
    }
    const bytes = await reader.element(der.TAG.sequence, 'a recipient', RECIPIENT_OCTETS)
    recipients.push(parseAs(bytes, KeyTransRecipientInfo, fail, 'a recipient'))
  }
  await reader.leave()
  return recipients
}

/** Reads what follows the content; returns the authentication tag where there is one. */
async function closeEnvelope(reader: BerReader, authenticated: boolean): Promise<Buffer | undefined> {
  await reader.leave()
  let mac: Buffer | undefined
  if (authenticated) {
    // They would have to be known before the content to be checked in one pass; nobody needs them for plain data.
    if ((await reader.peek()) === der.TAG.contextConstructed(1))
      throw fail('it has authenticated attributes, which are not supported')
    const bytes = await reader.element(der.TAG.octetString, 'the authentication tag', 64)
    mac = Buffer.from(parseAs(bytes, OctetString, fail, 'the authentication tag').buffer)
  }
  const unprotected = der.TAG.contextConstructed(authenticated ? 2 : 1)
  if ((await reader.peek()) === unprotected) await reader.skip('the unprotected attributes')
  // enveloped data, explicit [0], content info
  for (let level = 0; level < 3; level++) await reader.leave()
  await reader.finish()
  return mac
}

function readParameters(
  cipher: ContentCipher,
  { parameters }: AlgorithmIdentifier,
): { iv: Buffer; tagOctets: number } {
  if (!parameters) throw fail('the cipher has no parameters')
  const bytes = new Uint8Array(parameters)
  if (cipher.authenticated) {
    const { nonce, tagOctets } = readGcmParameters(bytes, fail)
    return { iv: nonce, tagOctets }
  }
  const iv = Buffer.from(parseAs(bytes, OctetString, fail, 'the cipher’s parameters').buffer)
  if (iv.length !== cipher.ivOctets) throw fail('the initialisation vector has an impossible length')
  return { iv, tagOctets: 0 }
}

function unwrap(
  recipients: readonly KeyTransRecipientInfo[],
  keys: readonly LocalKey[],
  keyOctets: number,
): Buffer {
  const ours = ourShares(recipients, keys)
  if (ours.length === 0) throw fail('it is not for this key')
  // Drawn in every case, so that needing it cannot be told from not needing it.
  let contentKey: Buffer = randomBytes(keyOctets)
  let found = false
  for (const { recipient, key } of ours) {
    const opened = tryUnwrap(recipient, key)
    if (opened?.length !== keyOctets || found) continue
    contentKey = opened
    found = true
  }
  return contentKey
}

type Share = { recipient: KeyTransRecipientInfo; key: LocalKey }

/** What is named as one of our keys; where the key at work has no certificate, whatever is named by issuer and serial. */
function ourShares(recipients: readonly KeyTransRecipientInfo[], keys: readonly LocalKey[]): Share[] {
  const named = recipients.flatMap((recipient) =>
    keys.filter((key) => isFor(recipient, key)).map((key) => ({ recipient, key })),
  )
  const [key] = keys
  if (named.length > 0 || key === undefined || key.certificate !== undefined) return named
  return recipients
    .filter(({ rid }) => rid.issuerAndSerialNumber !== undefined)
    .map((recipient) => ({ recipient, key }))
}

function isFor({ rid }: KeyTransRecipientInfo, { certificate, keyId }: LocalKey): boolean {
  if (rid.subjectKeyIdentifier !== undefined) {
    const named = Buffer.from(rid.subjectKeyIdentifier.buffer)
    return named.equals(keyId) || (certificate?.subjectKeyId.equals(named) ?? false)
  }
  if (rid.issuerAndSerialNumber === undefined || certificate === undefined) return false
  const { issuer, serialNumber } = rid.issuerAndSerialNumber
  return Buffer.from(serialNumber).equals(certificate.serial) && sameName(issuer, certificate.issuer)
}

/** Names are compared as people read them: encoders differ in string types, case and spaces. */
function sameName(named: Name, own: Buffer): boolean {
  return readable(named) === readable(parseAs(own, Name, fail, 'the issuer of our certificate'))
}

function readable(name: Name): string {
  return JSON.stringify([...name].map((part) => [...part].map(spelled).sort((a, b) => (a < b ? -1 : 1))))
}

function spelled({ type, value }: AttributeTypeAndValue): string {
  return `${type}=${String(value).trim().replace(/\s+/g, ' ').toLowerCase()}`
}

function tryUnwrap(recipient: KeyTransRecipientInfo, { privateKey }: LocalKey): Buffer | undefined {
  const { algorithm, parameters } = recipient.keyEncryptionAlgorithm
  if (algorithm !== OID.rsaEncryption && algorithm !== OID.rsaOaep)
    throw fail(`its key is wrapped with ${algorithm}, which is not supported`)
  const wrapped = Buffer.from(recipient.encryptedKey.buffer)
  const padding =
    algorithm === OID.rsaOaep
      ? { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: readOaepDigest(parameters, fail) }
      : { padding: constants.RSA_PKCS1_PADDING }
  try {
    // For PKCS#1 v1.5 OpenSSL answers a wrong padding with random octets of its own, never with an error.
    return privateDecrypt({ key: privateKey, ...padding }, wrapped)
  } catch {
    return undefined
  }
}
