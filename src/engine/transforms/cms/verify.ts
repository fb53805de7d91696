// Reads CMS SignedData of any length and yields the content while it comes; whether the signature is good is known
// only at the end, so whoever pulls must put the content aside until the stream has ended without an error.
//
// The key decides, not the name: a message is good when one of its signatures was made with the key we hold, however
// its signer is named and whatever certificates travel along. Every way of being wrong is bad_signature.

import { SignerInfo } from '@peculiar/asn1-cms'
import { AlgorithmIdentifier } from '@peculiar/asn1-x509'
import {
  constants,
  createHash,
  publicDecrypt,
  verify as verifyBytes,
  type Hash,
  type KeyObject,
} from 'node:crypto'
import { NodeError } from '../../../errors.ts'
import type { Step } from '../step.ts'
import { digestOf, digestOid, OID, rsaSignatureDigest } from './algorithms.ts'
import { BerReader, parseAs, type Fail } from './ber.ts'
import * as der from './der.ts'
import { readPartnerKey, type PartnerKey } from './keys.ts'
import { digestFault, keyUseFault, type CmsPolicy } from './policy.ts'

export type VerifyOptions = {
  certificateOrPublicKeyPem: string
  /** The content a signature without content belongs to. Where the message has its own, the two must be the same. */
  detachedContent?: Uint8Array
  /** Takes the content out of the message and says nothing about who signed it. */
  unchecked?: boolean
  policy?: CmsPolicy | undefined
}

const MAX_SIGNERS = 16
const MAX_DIGESTS = 8
const SIGNER_OCTETS = 128 * 1024

const fail: Fail = (what, cause) =>
  new NodeError('bad_signature', `the signature does not verify: ${what}`, { cause })

export function verify(options: VerifyOptions): Step {
  const key = readPartnerKey(options.certificateOrPublicKeyPem)
  return async function* verified(source) {
    const reader = new BerReader(source, fail)
    try {
      const message = await openSignedData(reader)
      if (message.hasContent) {
        const seen = new Comparison(options.detachedContent)
        for await (const piece of reader.octets(der.TAG.octetString, 'the signed content')) {
          message.update(piece)
          seen.update(piece)
          yield piece
        }
        seen.end()
        // explicit [0], content info
        await reader.leave()
        await reader.leave()
      } else {
        if (options.detachedContent === undefined) throw fail('the message carries no content')
        message.update(options.detachedContent)
        yield options.detachedContent
      }
      const signers = await closeSignedData(reader)
      if (!options.unchecked) checkSigners(signers, key, message, options.policy)
    } finally {
      await reader.close()
    }
  }
}

/** What is known of a message before its content, and the hashes that run over it. */
class SignedMessage {
  readonly contentType: string
  readonly hasContent: boolean
  readonly #hashes: Map<string, Hash>
  readonly #digests = new Map<string, Buffer>()

  constructor(contentType: string, hasContent: boolean, digests: readonly string[]) {
    this.contentType = contentType
    this.hasContent = hasContent
    this.#hashes = new Map(digests.map((digest) => [digest, createHash(digest)]))
  }

  update(piece: Uint8Array): void {
    for (const hash of this.#hashes.values()) hash.update(piece)
  }

  /** The content's digest, if the message announced the algorithm before the content. */
  digest(name: string): Buffer | undefined {
    const known = this.#digests.get(name)
    if (known !== undefined) return known
    const digest = this.#hashes.get(name)?.digest()
    if (digest !== undefined) this.#digests.set(name, digest)
    return digest
  }
}

/** Holds a content that travels against the one that was expected. */
class Comparison {
  readonly #expected: Uint8Array | undefined
  #at = 0

  constructor(expected: Uint8Array | undefined) {
    this.#expected = expected
  }

  update(piece: Buffer): void {
    if (
      this.#expected !== undefined &&
      !piece.equals(this.#expected.subarray(this.#at, this.#at + piece.length))
    )
      throw fail('its content is not the expected one')
    this.#at += piece.length
  }

  end(): void {
    if (this.#expected !== undefined && this.#at !== this.#expected.length)
      throw fail('its content is not the expected one')
  }
}

async function openSignedData(reader: BerReader): Promise<SignedMessage> {
  await reader.enter(der.TAG.sequence, 'the CMS message')
  const type = await reader.oid('the content type')
  if (type !== OID.signedData) throw fail('the message is not signed')
  await reader.enter(der.TAG.contextConstructed(0), 'the signed data')
  await reader.enter(der.TAG.sequence, 'the signed data')
  await reader.element(der.TAG.integer, 'the version', 16)
  const digests = await announcedDigests(reader)
  await reader.enter(der.TAG.sequence, 'the content info')
  const contentType = await reader.oid('the content type')
  const hasContent = await reader.more()
  if (hasContent) await reader.enter(der.TAG.contextConstructed(0), 'the signed content')
  else await reader.leave()
  return new SignedMessage(contentType, hasContent, digests)
}

async function announcedDigests(reader: BerReader): Promise<string[]> {
  const digests = new Set<string>()
  await reader.enter(der.TAG.set, 'the list of digest algorithms')
  for (let count = 0; await reader.more(); count++) {
    if (count === MAX_DIGESTS) throw fail('it names too many digest algorithms')
    const bytes = await reader.element(der.TAG.sequence, 'a digest algorithm', 256)
    const digest = digestOf(parseAs(bytes, AlgorithmIdentifier, fail, 'a digest algorithm').algorithm)
    if (digest !== undefined) digests.add(digest)
  }
  await reader.leave()
  return [...digests]
}

async function closeSignedData(reader: BerReader): Promise<Signer[]> {
  const signers: Signer[] = []
  for (const context of [0, 1]) {
    const what = context === 0 ? 'the set of certificates' : 'the set of revocation lists'
    if ((await reader.peek()) === der.TAG.contextConstructed(context)) await reader.skip(what)
  }
  await reader.enter(der.TAG.set, 'the set of signers')
  while (await reader.more()) {
    if (signers.length === MAX_SIGNERS) throw fail('it has too many signers')
    signers.push(readSigner(await reader.element(der.TAG.sequence, 'a signer', SIGNER_OCTETS)))
  }
  // the set, signed data, explicit [0], content info
  for (let level = 0; level < 4; level++) await reader.leave()
  await reader.finish()
  return signers
}

/** A signer, and its signed attributes as the octets that were signed: a SET, where the message has [0]. */
type Signer = { info: SignerInfo; attributes: Buffer | undefined }

function readSigner(bytes: Buffer): Signer {
  try {
    const whole = der.definite(bytes)
    const fields = der.children(der.readTlv(whole).value)
    // version, signer, digest algorithm, and then the attributes if there are any
    const raw = fields[3]?.tag === der.TAG.contextConstructed(0) ? fields[3].whole : undefined
    const attributes =
      raw === undefined ? undefined : Buffer.concat([Buffer.from([der.TAG.set]), raw.subarray(1)])
    return { info: parseAs(whole, SignerInfo, fail, 'a signer'), attributes }
  } catch (cause) {
    throw cause instanceof NodeError ? cause : fail('a signer is malformed', cause)
  }
}

function checkSigners(
  signers: readonly Signer[],
  key: PartnerKey,
  message: SignedMessage,
  policy: CmsPolicy | undefined,
): void {
  if (signers.length === 0) throw fail('nobody has signed')
  const unusable = keyUseFault(key, policy)
  if (unusable !== undefined) throw fail(unusable)
  const wrong = signers.map((signer) => whatIsWrong(signer, key.publicKey, message, policy))
  if (wrong.includes(undefined)) return
  throw fail(wrong.find((reason) => reason !== OTHER_KEY) ?? OTHER_KEY)
}

const OTHER_KEY = 'no signature was made with the key we hold'

/** Why a signature does not count; undefined when it is good. */
function whatIsWrong(
  { info, attributes }: Signer,
  key: KeyObject,
  message: SignedMessage,
  policy: CmsPolicy | undefined,
): string | undefined {
  const digest = digestOf(info.digestAlgorithm.algorithm)
  const contentDigest = digest === undefined ? undefined : message.digest(digest)
  if (digest === undefined || contentDigest === undefined)
    return 'its digest algorithm is unknown or was not announced'
  const signature = Buffer.from(info.signature.buffer)
  const { algorithm } = info.signatureAlgorithm
  const pss = algorithm === OID.rsaPss
  const signatureDigest = pss ? digest : rsaSignatureDigest(algorithm, digest)
  if (signatureDigest === undefined) return `its signature algorithm ${algorithm} is unknown`
  const weak = digestFault(digest, policy) ?? digestFault(signatureDigest, policy)
  if (weak !== undefined) return weak

  if (attributes === undefined) {
    if (pss || signatureDigest !== digest) return 'a signature of this kind needs signed attributes'
    return isSignatureOf(contentDigest, digest, signature, key)
      ? undefined
      : `${OTHER_KEY}, or the content was changed`
  }
  const padding = pss ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING
  const saltLength = pss ? constants.RSA_PSS_SALTLEN_AUTO : undefined
  if (!verifyBytes(signatureDigest, attributes, { key, padding, saltLength }, signature)) return OTHER_KEY
  if (!holds(info, OID.messageDigest, der.octetString(contentDigest))) return 'the content was changed'
  if (!holds(info, OID.contentType, der.oid(message.contentType)))
    return 'it was made for another type of content'
  return undefined
}

/** Whether the signed attribute is there exactly once, with exactly this value. */
function holds(signer: SignerInfo, type: string, value: Buffer): boolean {
  const found = (signer.signedAttrs ?? []).filter(({ attrType }) => attrType === type)
  const values = found.flatMap(({ attrValues }) => attrValues)
  return found.length === 1 && values.length === 1 && Buffer.from(values[0]!).equals(value)
}

/**
 * A PKCS#1 v1.5 signature made over the content itself. node:crypto verifies no finished digest, so the signature is
 * opened and what it holds is compared whole with what it must hold, never parsed.
 */
function isSignatureOf(contentDigest: Buffer, digest: string, signature: Buffer, key: KeyObject): boolean {
  let opened: Buffer
  try {
    opened = publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, signature)
  } catch {
    return false
  }
  const oid = digestOid(digest)
  return [der.algorithm(oid, der.NULL), der.algorithm(oid)].some((algorithm) =>
    der.sequence(algorithm, der.octetString(contentDigest)).equals(opened),
  )
}
