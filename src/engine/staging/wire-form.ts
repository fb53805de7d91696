// The layers between a local file and its form on the wire, as a list of streaming steps, and the same list backwards.
//
// Out, in this order: records and alphabet, gzip (the directory's compression), signature, compression of the wire,
// encryption. A transport that carries records gets them in canonical form; any other gets the local file's bytes.

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Directory } from '../../contract/channel.ts'
import { NodeError } from '../../errors.ts'
import { translate } from '../transforms/alphabet.ts'
import type { Alphabet } from '../transforms/alphabet.ts'
import type { CodePage } from '../../config.ts'
import { compress, decompress } from '../transforms/cms/compressed-data.ts'
import { decrypt } from '../transforms/cms/decrypt.ts'
import { encrypt } from '../transforms/cms/encrypt.ts'
import type { CmsPolicy } from '../transforms/cms/policy.ts'
import { sign } from '../transforms/cms/sign.ts'
import { verify } from '../transforms/cms/verify.ts'
import { gunzip, gzip } from '../transforms/gzip.ts'
import { LZW_MARK, lzwExpand } from '../transforms/lzw.ts'
import { OutputBudget } from '../transforms/output-limit.ts'
import type { OutputLimit } from '../transforms/output-limit.ts'
import {
  NEWLINES,
  canonicalKind,
  checkRecords,
  fromCanonical,
  toCanonical,
  translateCanonical,
} from '../transforms/records.ts'
import type { RecordOptions } from '../transforms/records.ts'
import { GZ, sendsGzip } from './gz-name.ts'
import { blocks } from '../transforms/step.ts'
import type { Step } from '../transforms/step.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Capabilities, Envelope, FileFlaw, RecordFormat } from '../transports/transport.ts'

export type WireForm = {
  /** Steps that change the bytes; empty where the local file is sent as it lies. */
  steps: Step[]
  /** A step that only checks. A file that does not fit is refused before anything is sent. */
  check: Step | undefined
  /** Applied only if the result is smaller than without it. */
  optional: Step | undefined
  format: RecordFormat
  envelope: Envelope | undefined
  /** What the name on the wire gets, to say how the file is packed. */
  suffix: string
}

type Wire = {
  plan: TransferPlan
  directory: Directory
  capabilities: Capabilities
  codePage: CodePage
  policy: CmsPolicy
  /** False: no compressed envelopes; the transport compresses as far as it can itself. */
  unpacks?: boolean
}

export function outgoingForm(wire: Wire): WireForm {
  const { plan, directory, capabilities } = wire
  const compression = plan.channel.connection?.advancedConfigurationTransmission?.compression ?? 'NO'
  const records = recordOptions(directory)
  const translated = translationOf(wire)
  const steps: Step[] = []
  let check: Step | undefined
  if (capabilities.records) {
    if (records.fileFormat !== 'BINARIO') steps.push(toCanonical(records))
    if (translated)
      steps.push(
        translateCanonical({
          kind: canonicalKind(records.fileFormat),
          ...translated,
          codePage: wire.codePage,
        }),
      )
  } else {
    if (records.fileFormat !== 'BINARIO') check = checkRecords(records)
    if (translated) steps.push(translate({ ...translated, codePage: wire.codePage }))
  }
  if (directory.compression) steps.push(gzip())
  if (plan.signFiles) steps.push(signStep(wire))
  const layer = compressionStep(compression, capabilities, wire.unpacks)
  if (layer && compression !== 'VARIABLE') steps.push(layer)
  const optional = layer && compression === 'VARIABLE' ? layer : undefined
  if (plan.encryptFiles && !optional) steps.push(encryptStep(wire))
  const enveloped =
    capabilities.envelopes && (plan.signFiles || plan.encryptFiles || (layer !== undefined && !optional))
  return {
    steps,
    check,
    optional,
    format: formatOf(wire, records, translated),
    envelope: enveloped ? envelopeOf(plan, layer !== undefined) : undefined,
    suffix: layer && !optional && !capabilities.envelopes ? GZ : '',
  }
}

function envelopeOf(plan: TransferPlan, compressed: boolean): Envelope {
  return { signed: plan.signFiles, compressed, encrypted: plan.encryptFiles, ...plan.protection }
}

/** A name for the form. It changes whenever the same file would travel in another form. */
export function formId(wire: Wire): string {
  const { plan, directory, capabilities, codePage } = wire
  const { fileFormat, delimitator, registerLength, alphabet, compression } = directory
  const transmission = plan.channel.connection?.advancedConfigurationTransmission
  const { cipher, digest } = plan.protection
  const keys = [plan.signFiles && plan.security.rsaLocalKey, plan.encryptFiles && plan.security.rsaRemoteKey]
  const form = [
    [fileFormat, delimitator, registerLength, alphabet, compression, translationOf(wire), codePage],
    [
      transmission?.compression,
      plan.channel.security?.confidentiality,
      capabilities.records,
      capabilities.envelopes,
      sendsGzip(plan.channel, capabilities) && GZ,
      keys,
    ],
    // Files that were staged before there was a choice keep their name.
    ...(cipher === 'AES-256-CBC' && digest === 'sha256' ? [] : [cipher, digest]),
    ...(wire.unpacks === false ? ['unpacked'] : []),
  ]
  return createHash('sha256').update(JSON.stringify(form)).digest('hex').slice(0, 12)
}

/** The final form, once it is known whether the optional layer makes it smaller. Encryption always comes last. */
export function settleOptional(
  form: WireForm,
  wire: Pick<Wire, 'plan' | 'capabilities' | 'policy'>,
  smaller: boolean,
): WireForm {
  const { plan, capabilities } = wire
  if (!form.optional) return form
  const steps = [
    ...form.steps,
    ...(smaller ? [form.optional] : []),
    ...(plan.encryptFiles ? [encryptStep(wire)] : []),
  ]
  const enveloped = capabilities.envelopes && (plan.signFiles || plan.encryptFiles || smaller)
  return {
    ...form,
    steps,
    optional: undefined,
    envelope: enveloped ? envelopeOf(plan, smaller) : undefined,
    suffix: smaller && !capabilities.envelopes ? GZ : '',
  }
}

/** Where the partner is told of envelopes the CMS form of zlib; elsewhere gzip, which the name tells. */
function compressionStep(compression: string, { envelopes }: Capabilities, unpacks = true): Step | undefined {
  if (compression === 'NO') return undefined
  if (envelopes) return unpacks ? compress() : undefined
  return compression === 'SI' ? undefined : gzip()
}

type Keyed = Pick<Wire, 'plan' | 'policy'>

function signStep({ plan, policy }: Keyed): Step {
  const { rsaLocalKey } = plan.security
  if (!rsaLocalKey) throw missing(plan, 'files must be signed (svcff, emissionff)', 'rsaLocalKey')
  const { digest } = plan.protection
  return sign({ privateKeyPem: rsaLocalKey, digest, includeCertificate: false, policy })
}

function encryptStep({ plan, policy, capabilities }: Keyed & Pick<Wire, 'capabilities'>): Step {
  const { rsaRemoteKey } = plan.security
  if (!rsaRemoteKey) throw missing(plan, 'files must be encrypted (ciphrate)', 'rsaRemoteKey')
  const { confidentiality } = plan.channel.security ?? {}
  // Where an envelope is announced, a suite names the cipher, and none has GCM: the partner could not open it.
  const cipher =
    confidentiality === 'AES-256-GCM' && !capabilities.envelopes ? 'AES-256-GCM' : plan.protection.cipher
  return encrypt({ certificateOrPublicKeyPem: rsaRemoteKey, cipher, policy })
}

function missing(plan: TransferPlan, why: string, field: string): NodeError {
  return new NodeError('insecure_session', `channel ${plan.code}: ${why}, but security.${field} is not set`)
}

function formatOf(wire: Wire, records: RecordOptions, translated: Translated | undefined): RecordFormat {
  if (!wire.capabilities.records || wire.directory.compression) return { kind: 'U', recordLength: 0 }
  const kind = canonicalKind(records.fileFormat)
  if (kind === 'F') return { kind, recordLength: records.registerLength }
  // No record is longer than its two octets of length can say, whatever the directory would allow.
  if (kind === 'V') return { kind, recordLength: Math.min(records.registerLength || 65_535, 65_535) }
  const onWire = translated?.to ?? wire.directory.alphabet
  // Text on the wire means ASCII lines; text in another alphabet travels as bytes.
  return kind === 'T' && onWire !== 'EBCDIC' ? { kind, recordLength: 0 } : { kind: 'U', recordLength: 0 }
}

function recordOptions(directory: Directory): RecordOptions {
  return {
    fileFormat: directory.fileFormat ?? 'BINARIO',
    delimitator: directory.delimitator ?? 'NINGUNO',
    registerLength: directory.registerLength ?? 0,
    newline: NEWLINES[directory.alphabet === 'EBCDIC' ? 'EBCDIC' : 'ASCII'],
  }
}

type Translated = { from: Alphabet; to: Alphabet }

/** Local alphabet to the wire's; undefined where nothing is to be translated. */
function translationOf({ plan, directory }: Wire): Translated | undefined {
  if (!directory.translateStatus || !directory.alphabet || directory.alphabet === 'NINGUNO') return undefined
  const named = directory.traduction === 'NINGUNO' ? undefined : directory.traduction
  const to = named ?? plan.channel.connection?.advancedConfigurationTransmission?.characters
  return to && to !== directory.alphabet ? { from: directory.alphabet, to } : undefined
}

export type Arrived = {
  format: RecordFormat
  envelope: Envelope | undefined
  /** The name says gzip; called when the bytes are. */
  isGzip?: (() => void) | undefined
}

/** The steps that turn received bytes into the local file. `verify` and `decrypt` throw at the end of a bad stream. */
export function incomingSteps(
  wire: Wire,
  arrived: Arrived,
  /** All layers count against it together. */
  limit: OutputLimit,
  signature: 'checked' | 'unchecked' = 'checked',
): Step[] {
  const { plan, directory, capabilities } = wire
  const { envelope } = arrived
  const steps: Step[] = []
  if (plan.encryptFiles || envelope?.encrypted) steps.push(decryptStep(wire))
  if (envelope?.compressed) steps.push(unpacking(decompress(limit)))
  else if (sendsGzip(plan.channel, capabilities)) steps.push(unpackedIfMarked(arrived.isGzip, limit))
  if (plan.signedFilesOnly || envelope?.signed)
    steps.push(signature === 'checked' ? verifyStep(wire) : contentIfSigned(plan))
  if (directory.compression) steps.push(unpacking(gunzip(limit)))
  const records = recordOptions(directory)
  const back = translationOf(wire)
  if (capabilities.records) {
    const kind = canonicalKind(records.fileFormat)
    if (back) steps.push(translateCanonical({ kind, from: back.to, to: back.from, codePage: wire.codePage }))
    if (records.fileFormat !== 'BINARIO') steps.push(fromCanonical(records))
  } else {
    if (back) steps.push(translate({ from: back.to, to: back.from, codePage: wire.codePage }))
    if (records.fileFormat !== 'BINARIO') steps.push(checkRecords(records))
  }
  return steps
}

/** What this step itself throws is a fault of the compression; what comes from the steps before it is theirs. */
function unpacking(step: Step): Step {
  return async function* unpacked(source) {
    let earlier: { thrown: unknown } | undefined
    async function* watched() {
      try {
        yield* source
      } catch (thrown) {
        earlier = { thrown }
        throw thrown
      }
    }
    try {
      yield* step(watched())
    } catch (thrown) {
      if (earlier || !(thrown instanceof NodeError) || thrown.code !== 'bad_envelope') throw thrown
      throw new NodeError(thrown.code, thrown.message, { cause: { flaw: 'compression' } satisfies FileFlaw })
    }
  }
}

/**
 * For one file: what it may become, by its size as received and in all. zlib reaches 1030 on zeros, and where the channel
 * itself compresses twice, the second layer may do the same to what the first one made.
 */
export function openingLimit(
  { plan, directory, capabilities }: Pick<Wire, 'plan' | 'directory' | 'capabilities'>,
  received: number,
  maxOctets: number,
): OutputLimit {
  const { compression = 'NO' } = plan.channel.connection?.advancedConfigurationTransmission ?? {}
  const onWire = compressionStep(compression, capabilities) !== undefined
  const maxRatio = onWire && directory.compression ? 1100 * 1100 : 1100
  return { budget: new OutputBudget(received, { maxOctets, maxRatio }) }
}

const GZIP_MARK = Buffer.from([0x1f, 0x8b])

/**
 * Opens what is packed: gzip where the name says so, and LZW by its mark, which nodes before 0.2.0 sent. A file that was
 * not worth compressing comes as it is.
 */
function unpackedIfMarked(isGzip: (() => void) | undefined, limit: OutputLimit): Step {
  return async function* unpacked(source) {
    const pieces = blocks(source)[Symbol.asyncIterator]()
    const first = await pieces.next()
    if (first.done) return
    async function* whole() {
      yield first.value as Buffer
      yield* { [Symbol.asyncIterator]: () => pieces }
    }
    const begins = (mark: Buffer) => first.value.subarray(0, mark.length).equals(mark)
    if (isGzip && begins(GZIP_MARK)) {
      isGzip()
      yield* unpacking(gunzip(limit))(whole())
    } else yield* begins(LZW_MARK) ? unpacking(lzwExpand(limit))(whole()) : whole()
  }
}

export async function startsLikeLzw(path: string): Promise<boolean> {
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LZW_MARK.length), 0, LZW_MARK.length, 0)
  return bytesRead === LZW_MARK.length && buffer.equals(LZW_MARK)
}

function decryptStep({ plan, policy }: Keyed): Step {
  const { rsaLocalKey } = plan.security
  if (!rsaLocalKey) throw missing(plan, 'the file is encrypted', 'rsaLocalKey')
  return decrypt({ privateKeyPem: rsaLocalKey, policy })
}

function verifyStep({ plan, policy }: Keyed): Step {
  const { rsaRemoteKey } = plan.security
  if (!rsaRemoteKey) throw missing(plan, 'files must be signed (svcff, receptionff)', 'rsaRemoteKey')
  return verify({ certificateOrPublicKeyPem: rsaRemoteKey, policy })
}

const SIGNED_DATA = Buffer.from('06092a864886f70d010702', 'hex')

/** The content of a signed message whoever signed it; a file that is no such message as it is. */
function contentIfSigned(plan: TransferPlan): Step {
  const { rsaRemoteKey = '' } = plan.security
  return async function* content(source) {
    const pieces = blocks(source)[Symbol.asyncIterator]()
    const first = await pieces.next()
    if (first.done) return
    async function* whole() {
      yield first.value as Buffer
      yield* { [Symbol.asyncIterator]: () => pieces }
    }
    const isSigned = first.value[0] === 0x30 && first.value.subarray(0, 32).includes(SIGNED_DATA)
    yield* isSigned ? verify({ certificateOrPublicKeyPem: rsaRemoteKey, unchecked: true })(whole()) : whole()
  }
}

/** Why the announced record format does not fit the directory. Undefined: it fits. */
export function formatMismatch(
  directory: Directory,
  arrived: RecordFormat,
  capabilities: Capabilities,
): string | undefined {
  if (!capabilities.records || directory.compression) return undefined
  const wanted = canonicalKind(directory.fileFormat ?? 'BINARIO')
  const { kind, recordLength } = arrived
  if (wanted === 'F' && (kind !== 'F' || recordLength !== directory.registerLength))
    return `records of exactly ${directory.registerLength} are expected, ${kind} ${recordLength} was announced`
  if (wanted === 'V' && kind !== 'V') return `variable records are expected, format ${kind} was announced`
  if ((wanted === 'U' || wanted === 'T') && kind === 'V') return `the directory takes no variable records`
  return undefined
}
