// SFID, the command that offers a file: made from a WireFile, and read into an Offer.
import { NodeError } from '../../../errors.ts'
import type { Digest, Envelope, Offer, RecordFormat, WireFile } from '../transport.ts'
import type { CommandOf } from './protocol/commands.ts'
import { datasetName, realName } from './protocol/dataset-name.ts'
import { fitsText } from './protocol/fields.ts'
import type { Agreement } from './protocol/negotiation.ts'
import { fileFault } from './protocol/reasons.ts'
import { suiteOf } from './protocol/suites.ts'
import type { RestartPoint, WireShape } from './restart.ts'
import { LONGEST_VARIABLE, octetsBefore, safeUnits, wireShape } from './restart.ts'
import type { Party } from './settings.ts'
import { outgoingSuite } from './settings.ts'

type Sfid = CommandOf<'SFID'>

const kibibytes = (octets: number): number => Math.ceil(octets / 1024)

/** Refuses, before anything is said, a file that the standard or the partner's level cannot carry. */
export function checkFile(file: WireFile, agreement: Agreement): void {
  const refuse = (why: string): never => {
    throw new NodeError('file_refused', `${file.name} cannot go over OFTP2: ${why}`)
  }
  const { kind, recordLength } = file.format
  if (!agreement.canSend) throw new NodeError('remote_refused', 'the partner takes no files in this session')
  if (!fitsText(file.application, 8))
    refuse(`application ${file.application}: at most 8 of A-Z 0-9 / - . & ( )`)
  // What the partner would have to take out of it must not be lost on the way without a word.
  if (realName(file.name, '') !== file.name) refuse(unfitName(file.name))
  if (kind === 'F' && (recordLength < 1 || recordLength > 99_999)) refuse(`records of ${recordLength} octets`)
  if (kind === 'V' && (recordLength < 0 || recordLength > LONGEST_VARIABLE))
    refuse(`records of up to ${recordLength} octets`)
  if (kind === 'F' && file.envelope === undefined && file.source.size % recordLength !== 0)
    refuse(`${file.source.size} octets are no whole number of records of ${recordLength}`)
  if (agreement.level < 5 && file.envelope !== undefined)
    refuse('the partner’s level knows no enveloped files')
  // Sent all the same, it would complete without the proof that the channel asks for.
  if (agreement.level < 5 && file.signedReceipt && file.verify)
    throw new NodeError(
      'insecure_session',
      `${file.name}: validationHashFiles and crc ask for a signed receipt with a hash, and the partner’s level (below 2.0) has none`,
    )
  if (agreement.level < 5 && file.source.size >= 10 ** 12)
    refuse('the partner’s level cannot count so many octets')
}

/** SFIDDESC could hold such a name, but a receiver cannot tell it from a path, or from padding. */
function unfitName(name: string): string {
  if (/[/\\]/.test(name))
    return 'its name holds a backslash, which a receiver takes for the end of a folder’s name'
  if (name !== name.trim())
    return 'its name begins or ends with white space, which a receiver takes for padding'
  return 'its name holds control characters, or one that stands for octets that are not UTF-8'
}

function protectionOf({ envelope }: WireFile): number {
  return (envelope?.encrypted === true ? 1 : 0) + (envelope?.signed === true ? 2 : 0)
}

/** SFIDCIPH: what protects the file, and what its signed receipt is made with (5.3.3). */
function announcedSuite(file: WireFile, party: Party): string {
  if (!file.signedReceipt && protectionOf(file) === 0) return '00'
  return outgoingSuite(party.settings)
}

/** The digest of the hash that the partner's receipt will show: that of the announced suite. */
export function receiptDigest(file: WireFile, party: Party, { level }: Agreement): Digest | undefined {
  if (!file.signedReceipt || level < 5) return undefined
  return suiteOf(announcedSuite(file, party))?.digest
}

export function startFile(file: WireFile, party: Party, restart: RestartPoint): Sfid {
  const { envelope, format } = file
  return {
    kind: 'SFID',
    dataset: datasetName(file.key.name),
    date: file.key.date,
    time: file.key.time,
    user: file.application,
    destination: file.ends?.destination ?? party.remoteId,
    originator: file.ends?.originator ?? party.localId,
    format: format.kind,
    recordLength: format.recordLength,
    blocks: kibibytes(file.source.size),
    originalBlocks: kibibytes(envelope === undefined ? file.source.size : file.originalSize),
    restart: BigInt(restart.units),
    security: `0${protectionOf(file)}`,
    suite: announcedSuite(file, party),
    compression: envelope?.compressed === true ? '1' : '0',
    envelope: envelope === undefined ? '0' : '1',
    signedReceipt: file.signedReceipt ? 'Y' : 'N',
    description: file.name,
  }
}

function readEnvelope(sfid: Sfid): Envelope | undefined {
  const level = Number(sfid.security)
  if (level > 3 || Number(sfid.compression) > 1 || Number(sfid.envelope) > 1)
    throw fileFault(
      '99',
      `security ${sfid.security}, compression ${sfid.compression}, envelope ${sfid.envelope}`,
    )
  if ((level > 0 || sfid.signedReceipt === 'Y') && suiteOf(sfid.suite) === undefined)
    throw fileFault('15', `cipher suite ${sfid.suite}`)
  if (sfid.envelope === '0') {
    if (level > 0 || sfid.compression === '1') throw fileFault('99', 'a protected file without envelope')
    return undefined
  }
  return {
    signed: level >= 2,
    encrypted: (level & 1) === 1,
    compressed: sfid.compression === '1',
    digest: suiteOf(sfid.suite)?.digest ?? 'sha256',
    cipher: suiteOf(sfid.suite)?.cipher ?? 'AES-256-CBC',
  }
}

function readFormat(sfid: Sfid): RecordFormat {
  const { format: kind, recordLength } = sfid
  if (kind === 'U' || kind === 'T') return { kind, recordLength: 0 }
  if (kind === 'F' && recordLength === 0) throw fileFault('05', 'fixed records of length 0')
  if (kind === 'V' && recordLength > LONGEST_VARIABLE)
    throw fileFault('05', `records of up to ${recordLength} octets`)
  return { kind, recordLength }
}

export type OfferedFile = { offer: Offer; shape: WireShape; units: number }

/** What the engine is asked about an offered file. */
export function readStartFile(sfid: Sfid, party: Party, encryptedSession: boolean): OfferedFile {
  if (sfid.dataset === '') throw fileFault('01', 'a file without dataset name')
  const format = readFormat(sfid)
  const envelope = readEnvelope(sfid)
  const shape = wireShape(format, envelope)
  const units = safeUnits(sfid.restart)
  const offer: Offer = {
    contactId: party.contactId,
    reach: party.reach,
    application: sfid.user,
    ends: { originator: sfid.originator, destination: sfid.destination },
    name: realName(sfid.description, sfid.dataset),
    // Without a description the dataset name stands for it, which is upper case by the standard.
    anyCase: sfid.description === '',
    key: { name: sfid.dataset, date: sfid.date, time: sfid.time },
    format,
    envelope,
    // SFIDFSIZ counts blocks of 1 KiB, rounded up: the last one may hold a single octet.
    size: undefined,
    estimate: sfid.blocks === 0 ? 0 : (sfid.blocks - 1) * 1024 + 1,
    restartFrom: Math.min(octetsBefore(shape, units), Number.MAX_SAFE_INTEGER),
    encryptedSession,
    receiptDigest: sfid.signedReceipt === 'Y' ? suiteOf(sfid.suite)?.digest : undefined,
  }
  return { offer, shape, units }
}
