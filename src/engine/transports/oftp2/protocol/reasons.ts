// Reason codes of RFC 5024 (5.3.5, 5.3.10, 5.3.11, 5.3.14) and what they mean to the engine, both ways.
//
// A fault of the partner is a NodeError protocol_violation whose cause carries the ESID reason to answer with; an
// answer of the partner becomes a NodeError whose code tells whether trying again can help. Nothing matches on text.
import type { ErrorCode } from '../../../../errors.ts'
import { cleanWords, NodeError } from '../../../../errors.ts'
import type { FileFlaw, PartnerAnswer } from '../../transport.ts'

export const ESID_REASONS = {
  '00': 'normal end of session',
  '01': 'command not recognised',
  '02': 'protocol violation',
  '03': 'identification code not known',
  '04': 'invalid password',
  '05': 'local site closes down',
  '06': 'command contained invalid data',
  '07': 'exchange buffer size error',
  '08': 'resources not available',
  '09': 'time-out',
  '10': 'mode or capabilities incompatible',
  '11': 'invalid challenge response',
  '12': 'secure authentication requirements incompatible',
  '99': 'unspecified reason',
} as const

export type EsidReason = keyof typeof ESID_REASONS

/** SFNA and EFNA share one list; 21 to 23 can only be known at the file's end. */
const FILE_REASONS = {
  '01': 'invalid file name',
  '02': 'invalid destination',
  '03': 'invalid origin',
  '04': 'record format not supported',
  '05': 'record length not supported',
  '06': 'file too big',
  '10': 'invalid record count',
  '11': 'invalid byte count',
  '12': 'access method failure',
  '13': 'duplicate file',
  '14': 'direction refused',
  '15': 'cipher suite not supported',
  '16': 'encrypted file not allowed',
  '17': 'unencrypted file not allowed',
  '18': 'compression not allowed',
  '19': 'signed file not allowed',
  '20': 'unsigned file not allowed',
  '21': 'invalid file signature',
  '22': 'decryption failed',
  '23': 'decompression failed',
  '99': 'unspecified reason',
} as const

export type FileReason = keyof typeof FILE_REASONS

const NERP_REASONS: Readonly<Record<string, string>> = {
  '03': 'identification code not known',
  '04': 'invalid password',
  '09': 'unspecified end of session',
  '31': 'invalid file signature',
  '32': 'decompression failed',
  '33': 'decryption failed',
  '34': 'processing failed',
  '35': 'not delivered to the recipient',
  '36': 'not acknowledged by the recipient',
  '50': 'stopped by the operator',
  '90': 'file size incompatible with the recipient’s protocol level',
  '99': 'unspecified reason',
}

/** What a NERP's reason means; 11-16 and 20-30 repeat the file reasons ten further on. */
function nerpMeaning(code: string): string {
  const direct = NERP_REASONS[code]
  if (direct !== undefined) return direct
  const behind = String(Number(code) - 10).padStart(2, '0')
  return behind in FILE_REASONS ? FILE_REASONS[behind as FileReason] : `reason ${code}`
}

/** What a partner's NERP says, in words. */
export function nerpText(code: string, text: string): string {
  return said(`${nerpMeaning(code)} (NERP ${code})`, text)
}

function said(means: string, text: string): string {
  const plain = cleanWords(text)
  return plain === '' ? means : `${means}: ${plain}`
}

type Fault = { esid: EsidReason }
type Refusal = { command: 'SFNA' | 'EFNA' | 'ESID'; reason: string }

/** The partner broke the protocol; the session ends with this reason. */
export function fault(esid: EsidReason, message: string): NodeError {
  return new NodeError('protocol_violation', message, { cause: { esid } satisfies Fault })
}

/** The ESID reason that a thrown error asks for. */
export function esidOf(error: unknown): EsidReason {
  if (!(error instanceof NodeError)) return '99'
  const cause: unknown = error.cause
  if (typeof cause === 'object' && cause !== null && 'esid' in cause && isEsidReason(cause.esid))
    return cause.esid
  return ESID_OF_CODE[error.code] ?? '99'
}

function isEsidReason(value: unknown): value is EsidReason {
  return typeof value === 'string' && value in ESID_REASONS
}

const ESID_OF_CODE: Partial<Record<ErrorCode, EsidReason>> = {
  login_refused: '03',
  not_found: '03',
  unauthorized: '04',
  remote_busy: '08',
  unavailable: '08',
  too_many: '08',
  no_space: '08',
  disk_fault: '08',
  insecure_session: '10',
  remote_refused: '10',
  timed_out: '09',
  protocol_violation: '02',
}

/**
 * Where the engine says nothing finer, its code picks the reason of SFNA and EFNA. 13 is for a file that is here and for
 * nothing else: a partner that lost our EFPA takes it for that. A name that is taken is a problem of mapping the Virtual
 * File to a real one, which the standard counts under 01 (5.3.5).
 */
const FILE_REASON_OF_CODE: Partial<Record<ErrorCode, FileReason>> = {
  not_found: '02',
  duplicate_file: '13',
  name_taken: '01',
  file_refused: '04',
  too_large: '06',
  no_space: '06',
  no_rights: '12',
  disk_fault: '12',
  insecure_session: '17',
  bad_signature: '21',
  bad_envelope: '22',
  hash_mismatch: '11',
}

/** Codes whose message says something of the file alone; the others may name this node's paths or its insides. */
const SPEAKABLE: ReadonlySet<ErrorCode> = new Set([
  'file_refused',
  'not_found',
  'duplicate_file',
  'conflict',
  'too_large',
  'insecure_session',
  'bad_signature',
  'bad_envelope',
  'hash_mismatch',
])

type FileFault = { fileReason: FileReason } & FileFlaw
const REASON_OF_FLAW: Record<FileFlaw['flaw'], FileReason> = {
  name: '01',
  weak: '15',
  encrypted: '16',
  signed: '19',
  unsigned: '20',
  compression: '23',
  originator: '03',
  destination: '02',
  direction: '14',
}

/**
 * The reason, text and retry flag that answer a rejection of the engine. Where the cause names what is wrong with the
 * file, that picks the reason; so does `{ fileReason: 'nn' }`, which this protocol's own refusals have.
 */
export function fileReasonOf(error: unknown): { reason: FileReason; retry: boolean; text: string } {
  if (!(error instanceof NodeError)) return { reason: '99', retry: false, text: '' }
  const cause: unknown = error.cause
  const { fileReason, flaw } =
    typeof cause === 'object' && cause !== null ? (cause as Partial<FileFault>) : {}
  const named = fileReason ?? (flaw && REASON_OF_FLAW[flaw])
  const reason = named ?? FILE_REASON_OF_CODE[error.code] ?? '99'
  return {
    reason,
    // What stands in the way now need not do so later: another reception, a refusal a moment ago.
    retry: error.retry || error.code === 'conflict',
    text: textOf(error, reason),
  }
}

/** Whatever the code: no message that holds a path of this node leaves it. */
const NAMES_A_PATH = /(^|[\s"'“(:])\/[^\s/]/u

function textOf({ code, message }: NodeError, reason: FileReason): string {
  if (code === 'no_space') return 'no room for the file now'
  if (code === 'name_taken') return 'a file of that name is here already'
  return SPEAKABLE.has(code) && !NAMES_A_PATH.test(message) ? message : FILE_REASONS[reason]
}

/** Reasons that the standard knows at a file's end alone (5.3.10). */
const AT_THE_END: ReadonlySet<FileReason> = new Set(['21', '22', '23'])

/** The same for a file that is refused when it is offered. */
export function offerReasonOf(error: unknown): ReturnType<typeof fileReasonOf> {
  const answer = fileReasonOf(error)
  return AT_THE_END.has(answer.reason) ? { ...answer, reason: '99' } : answer
}

/**
 * Whether a file that came whole is answered by the end of the session (ESID 08) and not by EFNA. An EFNA cannot say that a
 * later try may succeed, as SFNA does: the partner gives the file up for good. So a full or failing disk is not told by it,
 * nor that the database does not answer: then nobody knows whether the file is here.
 */
export function endsSession(error: unknown): boolean {
  return error instanceof NodeError && MAY_PASS.has(error.code)
}

const MAY_PASS: ReadonlySet<ErrorCode> = new Set(['unavailable', 'no_space', 'disk_fault'])

/** What the partner may read of the error that ends the session. */
export function esidText(error: NodeError): string {
  return error.code === 'protocol_violation' ? error.message : ESID_REASONS[esidOf(error)]
}

/** An error of this node that ends the session with a reason of its own. */
export function ending(code: ErrorCode, esid: EsidReason, message: string): NodeError {
  return new NodeError(code, message, { cause: { esid } satisfies Fault })
}

/** A file that does not fit, refused before or after its bytes, with the reason to answer. */
export function fileFault(fileReason: FileReason, message: string): NodeError {
  return new NodeError('file_refused', message, { cause: { fileReason } })
}

const CODE_OF_ESID: Partial<Record<string, ErrorCode>> = {
  '03': 'login_refused',
  '04': 'login_refused',
  '05': 'remote_busy',
  '08': 'remote_busy',
  '09': 'timed_out',
  '10': 'remote_refused',
  '11': 'login_refused',
  '12': 'insecure_session',
  '99': 'connection_lost',
}

/** The partner ended the session abnormally. Reasons that blame this node's protocol are not tried again. */
export function errorOfEsid(reason: string, text: string): NodeError {
  const means = isEsidReason(reason) ? ESID_REASONS[reason] : 'unknown reason'
  const code = CODE_OF_ESID[reason] ?? 'remote_refused'
  return refusal(code, 'ESID', reason, `the partner ended the session: ${means} (ESID ${reason})`, text)
}

/** A count that does not agree is what a broken line looks like from the other end: worth another try. */
const CODE_OF_FILE_REASON: Partial<Record<string, ErrorCode>> = {
  '10': 'hash_mismatch',
  '11': 'hash_mismatch',
  '13': 'duplicate_file',
}

/** The partner refused a file, before (SFNA) or after (EFNA) its bytes. */
export function errorOfFileAnswer(
  command: 'SFNA' | 'EFNA',
  reason: string,
  text: string,
  retry: boolean,
): NodeError {
  const means = reason in FILE_REASONS ? FILE_REASONS[reason as FileReason] : 'unknown reason'
  const code = retry ? 'remote_busy' : (CODE_OF_FILE_REASON[reason] ?? 'remote_refused')
  return refusal(code, command, reason, `the partner refused the file: ${means} (${command} ${reason})`, text)
}

function refusal(
  code: ErrorCode,
  command: Refusal['command'],
  reason: string,
  means: string,
  text: string,
): NodeError {
  const cause: Refusal & PartnerAnswer = {
    command,
    reason,
    ...(reason === '18' && { refuses: 'compression' }),
    ...(command === 'EFNA' && { placed: false }),
  }
  return new NodeError(code, said(means, text), { cause })
}

/** The command and reason with which the partner refused, when an error stands for such an answer. */
export function refusalOf(error: unknown): Refusal | undefined {
  const cause: unknown = error instanceof NodeError ? error.cause : undefined
  if (typeof cause !== 'object' || cause === null || !('command' in cause) || !('reason' in cause))
    return undefined
  const { command, reason } = cause
  if (command !== 'SFNA' && command !== 'EFNA' && command !== 'ESID') return undefined
  return typeof reason === 'string' ? { command, reason } : undefined
}
