// Asks for a transfer: what `send` does, and what the engine's automation does (retry.ts is the other way). When these
// functions return, the transfer is a durable PENDING row, and the engine will find it.
//
// Order: first look at the files (slow, no lock). Then one transaction locks the channel, checks its state again and
// inserts. If two sends come at the same time, the unique index lets one through. If another one has come and gone
// since the look, its files are sent and perhaps moved away: the transaction finds that out and the look is repeated.

import { newest } from '../domain/newest.ts'
import { hash } from 'node:crypto'
import type { Channel } from '../contract/channel.ts'
import type { TransferDirection, TransferType } from '../contract/transfer.ts'
import { closedBecause, directoriesFor, goes, parseCode } from '../domain/channel.ts'
import type { TransferFileRecord, TransferRecord } from '../domain/transfer.ts'
import { fileRootsOf } from '../domain/file-roots.ts'
import { NodeError } from '../errors.ts'
import { hashFile } from '../files/hash.ts'
import { findSendSet } from '../files/send-set.ts'
import type { Candidate } from '../files/send-set.ts'
import { findLocalEntity } from '../store/contacts.ts'
import { addHistory, lockChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { heldIn, releasePaths } from '../store/held-files.ts'
import { newId } from '../store/database/ids.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { countAwaited } from '../store/transfers/receipts.ts'
import { sentHashes, wasSentSince } from '../store/transfers/sent-files.ts'
import { endFetchPause, endPause, findPause } from '../store/automation-runs.ts'
import { failedEmissions, settle } from '../store/transfers/failures.ts'
import { countTransfers } from '../store/transfers/transfer-pages.ts'
import { activeTransfers, findTransfer, insertTransfer } from '../store/transfers/transfers.ts'
import { keyOf } from './file-keys.ts'

export type Asking = {
  store: Store
  fileRoots: readonly string[]
  now: () => number
  /** Who asks; null for the engine itself. */
  requestedBy: string | null
  /** Told in the transaction that makes the transfer; gives the entry of the audit trail. */
  audited?: ((tx: Tx, transferId: string) => Promise<string>) | undefined
}

export async function requestSend(
  asking: Asking,
  channel: ChannelRecord,
  type: TransferType,
): Promise<TransferRecord> {
  requireOutbound(channel)
  requireOpen(channel.config)
  return lookAndInsert(asking, channel, async () => {
    await requireNoEmission(asking, channel)
    const found = channel.config.keyExchangeChannel
      ? [certificateFile(channel)]
      : await filesToSend(asking, channel, type)
    const now = asking.now()
    const before = type === 'AUTOMATIC' ? await failedFiles(asking, channel, isUndelivered) : NONE
    const scripted = channel.config.integrations?.preEmisionFile
      ? await failedFiles(asking, channel, ({ phase }) => phase !== 'WAITING')
      : NONE
    const files = found.map((candidate, index) => {
      const file = Object.assign(newFile(candidate, index), keyOf(now, index))
      return Object.assign(file, goneOnWith(file, before), afterScript(file, scripted))
    })
    return { type, files, now, retryOf: null }
  })
}

/** What a send would take now; throws what it would be refused for. */
export async function previewSend(
  asking: Asking,
  channel: ChannelRecord,
): Promise<{ name: string; path: string; size: number }[]> {
  requireOutbound(channel)
  requireOpen(channel.config)
  await requireNoEmission(asking, channel)
  return channel.config.keyExchangeChannel
    ? [certificateFile(channel)]
    : filesToSend(asking, channel, 'MANUAL')
}

export function requireOutbound({ code, config }: ChannelRecord): void {
  if (!goes(config, 'EMISION'))
    throw new NodeError('bad_request', `the direction of channel ${code} is RECEPCION: it does not send`)
  if (!config.keyExchangeChannel && directoriesFor(config, 'EMISION').length === 0)
    throw new NodeError(
      'bad_request',
      `channel ${code} has no outbound directory: set one by config/outbound-path`,
    )
}

export function requireOpen(channel: Channel, way: 'EMISION' | 'RECEPCION' = 'EMISION'): void {
  const closed = closedBecause(channel, way)
  if (closed) throw new NodeError('conflict', closed)
}

/** Gives an early and clear answer. What really prevents a second emission is the unique index. */
async function requireNoEmission({ store }: Asking, { code }: ChannelRecord): Promise<void> {
  const active = (await activeTransfers(store.db, code)).find((one) => one.direction === 'EMISION')
  if (active)
    throw new NodeError('conflict', `an emission of channel ${code} is ${active.state}: ${active.id}`)
}

/** By their paths: there may be thousands. */
type FilesByPath = ReadonlyMap<string, readonly TransferFileRecord[]>
const NONE: FilesByPath = new Map()

/** Of emissions that failed, and that nobody has retried or reset; the last ones first. */
async function failedFiles(
  { store }: Asking,
  { code }: ChannelRecord,
  fits: (file: TransferFileRecord) => boolean,
): Promise<FilesByPath> {
  const files: TransferFileRecord[] = []
  for (const id of await failedEmissions(store.db, code))
    files.push(...((await findTransfer(store.db, id))?.files ?? []).filter(fits))
  return Map.groupBy(files, ({ path }) => path)
}

function isUndelivered({ phase, receipt }: TransferFileRecord): boolean {
  return (phase === 'WAITING' || phase === 'STAGED') && receipt !== 'NEGATIVE'
}

/** The partner took it and has not said no. Whether to send it again is for a person to say, by a retry or a reset. */
function isWithPartner({ phase, receipt }: TransferFileRecord): boolean {
  return phase === 'ARRIVED' && receipt !== 'NEGATIVE'
}

function sameIn(files: FilesByPath, { path, size, modifiedAt }: FileAsFound): TransferFileRecord[] {
  const there = files.get(path) ?? []
  return there.filter((one) => one.size === size && floor(one.modifiedAt) === floor(modifiedAt))
}

type FileAsFound = Pick<TransferFileRecord, 'path' | 'size' | 'modifiedAt'>

/**
 * The same file keeps its key, so that the partner's end finds what the failed emission left there, goes on with it or
 * replaces it, and knows a file that had arrived. How far it got counts only if the file itself travelled.
 */
function goneOnWith(file: FileAsFound, before: FilesByPath): Partial<TransferFileRecord> {
  const all = sameIn(before, file)
  // What is known under a key is what its last try came to: one that the partner has refused since may not be there.
  const last = all.filter((file, index) => all.findIndex((other) => isSameKey(other, file)) === index)
  // One that may have arrived goes before later tries under other keys.
  const same = last.find(({ maybeVisible }) => maybeVisible) ?? last[0]
  if (!same) return {}
  const { keyDate, keyTime, stagedPath, position, maybeVisible, wireHash } = same
  // Whatever form it travelled in: the partner may have it, and then its receipt shows the hash of that form. How far an
  // unfinished one got is only known of the file itself.
  return {
    keyDate,
    keyTime,
    maybeVisible,
    ...(maybeVisible && { wireHash }),
    ...(stagedPath === null && { position }),
  }
}

/** Of a file that was sent before, and lies there as it was sent: the script before sending is not run on it again. */
export function firstPhase({ config }: ChannelRecord): 'WAITING' | 'STAGED' {
  return config.integrations?.preEmisionFile ? 'STAGED' : 'WAITING'
}

/**
 * It lies there as the script of the failed emission has left it: to run the script on it again would, say, add a second
 * trailer.
 */
function afterScript(file: FileAsFound, scripted: FilesByPath): Partial<TransferFileRecord> {
  return sameIn(scripted, file).length > 0 ? { phase: 'STAGED' } : {}
}

function isSameKey(one: TransferFileRecord, other: TransferFileRecord): boolean {
  return one.keyDate === other.keyDate && one.keyTime === other.keyTime
}

function floor(time: number | null): number {
  return Math.floor(time ?? 0)
}

/** What an automatic emission is tried with, as a hash: the same again would fail again. */
export function triedWith({ revision }: ChannelRecord, files: readonly FileAsFound[]): string {
  const named = files.map(({ path, size, modifiedAt }) => JSON.stringify([path, size, floor(modifiedAt)]))
  return hash('sha256', JSON.stringify([revision, named.sort()]))
}

export async function filesToSend(
  asking: Asking,
  channel: ChannelRecord,
  type: TransferType,
): Promise<Candidate[]> {
  const local = await findLocalEntity(asking.store.db, channel.localCode)
  const roots = fileRootsOf(asking.fileRoots, local?.fileRoots)
  const { files: found, places, ...left } = await findSendSet(channel.config, roots, asking.now())
  const isHeld = await heldIn(asking.store.db, channel.code)
  const files = found.filter((file) => !isHeld(file))
  if (files.length === 0) {
    const why = [
      [left.busy, 'still being written or locked'],
      [left.unnamed, 'whose name is not UTF-8'],
      [left.hidden, 'that the node has no rights to look at'],
      [found.length, 'held since a restore (esclusa held)'],
    ] as const
    const said = why.map(([count, what]) => (count > 0 ? `; ${count} ${what}` : '')).join('')
    throw new NodeError('conflict', `there is no file to send in ${places.join(', ')}${said}`)
  }
  const repeats = channel.config.allowSendDuplicateFiles === true
  if (repeats && type !== 'AUTOMATIC') return files
  const known = repeats ? sentAsItLies : wasSent
  const fresh: Candidate[] = []
  for (const file of files) if (!(await known(asking, channel.code, file))) fresh.push(file)
  if (fresh.length > 0) return type === 'AUTOMATIC' ? withoutTaken(asking, channel, fresh) : fresh
  const what = files.length === 1 ? `${files[0]?.name} was` : `all ${files.length} files were`
  const why = repeats ? 'and is there unchanged' : 'and allowSendDuplicateFiles is false'
  throw new NodeError('conflict', `${what} sent already ${why}`)
}

async function withoutTaken(
  asking: Asking,
  channel: ChannelRecord,
  fresh: readonly Candidate[],
): Promise<Candidate[]> {
  const taken = await failedFiles(asking, channel, isWithPartner)
  const left = fresh.filter((file) => sameIn(taken, file).length === 0)
  if (left.length > 0) return left
  throw new NodeError(
    'conflict',
    `${fresh[0]?.name} was taken by the partner and its receipt did not come in time: retry or reset the channel`,
  )
}

// A watched folder is checked every few seconds. A large file in it must not be hashed each time.
const hashes = newest<string>(10_000)

export async function wasSent(
  asking: Asking,
  code: string,
  file: Omit<Candidate, 'directory'>,
): Promise<boolean> {
  return (await hashIfSent(asking, code, file)) !== undefined
}

/** The file's hash if it was sent before. Hashes only a file whose name and size were. */
export async function hashIfSent(
  { store }: Asking,
  code: string,
  file: Omit<Candidate, 'directory'>,
): Promise<string | undefined> {
  const sent = await sentHashes(store.db, code, file.name, file.size)
  if (sent.length === 0) return undefined
  const version = JSON.stringify([file.path, file.size, file.modifiedAt, file.changedAt])
  const hash = hashes.get(version) ?? (await hashFile(file.path).catch(unreadable))
  if (hash === undefined) return undefined
  // A file touched a moment ago may be touched again within the same millisecond.
  if (Date.now() - file.modifiedAt > SETTLED_MS) hashes.set(version, hash)
  return sent.includes(hash) ? hash : undefined
}

/** It may not be read, or it is gone: its own transfer says so. It must not hold up the other files of the channel. */
function unreadable(thrown: unknown): undefined {
  if (!(thrown instanceof NodeError) || !['no_rights', 'file_missing'].includes(thrown.code)) throw thrown
}

const SETTLED_MS = 10_000
const LOOK_BACK_MS = 30 * 86_400_000

/** For automation, a file that is still there as it was sent is not new, even if duplicates may be sent. */
function sentAsItLies({ store, now }: Asking, code: string, file: Candidate): Promise<boolean> {
  return wasSentSince(store.db, code, file, Math.min(file.modifiedAt, now() - LOOK_BACK_MS))
}

/** A key-exchange channel sends the local certificate. The engine writes it when it runs the transfer. */
function certificateFile({ code }: ChannelRecord): Certificate {
  const local = parseCode(code)?.localCode ?? 'local'
  return { directory: null, name: `${local}-certificate.pem`, path: '', size: 0, modifiedAt: 0 }
}

/** It is in no directory, and its size is known only when it is written. */
type Certificate = Omit<Candidate, 'directory'> & { directory: null }

export function newFile(
  candidate: Candidate | Certificate,
  index: number,
): Omit<TransferFileRecord, 'keyDate' | 'keyTime'> {
  return {
    index,
    content: candidate.directory === null ? 'CERTIFICATE' : 'FILE',
    directory: candidate.directory,
    name: candidate.name,
    path: candidate.path,
    size: candidate.size,
    modifiedAt: candidate.modifiedAt,
    hash: null,
    phase: 'WAITING',
    position: 0,
    maybeVisible: false,
    keyName: candidate.name,
    stagedPath: null,
    wireHash: null,
    receipt: 'NONE',
    receiptReason: null,
    receiptAt: null,
    actionPost: null,
    pathPost: null,
  }
}

export type Insertion = {
  type: TransferType
  /** That of the failed one where it is a retry, else EMISION unless it says otherwise. */
  direction?: TransferDirection
  files: TransferFileRecord[]
  now: number
  retryOf: { id: string; direction: TransferDirection } | null
  comment?: string
  resendOf?: string
  /** How many the channel had before the look at the files. */
  transfersSeen?: number
  /** How many receipts the failed one awaited then, where it is a retry. */
  receiptsSeen?: number
}

const LOOKS = 5

/** Another transfer, or a receipt, has come between a look at the files and its transaction. Nothing was written. */
class OutdatedLook extends Error {}

/** What was seen holds only if the channel has got no other transfer since, from this node or from another. */
export async function lookAndInsert(
  asking: Asking,
  channel: ChannelRecord,
  look: () => Promise<Insertion>,
): Promise<TransferRecord> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const transfersSeen = await countTransfers(asking.store.db, channel.code)
    const made = await look()
    try {
      return await insert(asking, channel, { ...made, transfersSeen })
    } catch (thrown) {
      if (!(thrown instanceof OutdatedLook)) throw thrown
    }
  }
  throw new NodeError(
    'conflict',
    `channel ${channel.code} got other transfers whenever its files were looked at: try again`,
  )
}

export async function insert(
  asking: Asking,
  channel: ChannelRecord,
  made: Insertion,
): Promise<TransferRecord> {
  const id = newId(made.now)
  const direction = made.retryOf?.direction ?? made.direction ?? 'EMISION'
  return asking.store.write(async (tx) => {
    const current = await lockChannel(tx, asking.store.dialect, channel.code)
    const { transfersSeen } = made
    if (transfersSeen !== undefined && (await countTransfers(tx, channel.code)) !== transfersSeen)
      throw new OutdatedLook()
    requireOpen(current.config, direction)
    if (made.retryOf && !(await settle(tx, made.retryOf.id)))
      throw new NodeError('conflict', `transfer ${made.retryOf.id} was retried already`)
    const { receiptsSeen } = made
    if (made.retryOf && receiptsSeen && (await countAwaited(tx, made.retryOf.id)) !== receiptsSeen)
      throw new OutdatedLook()
    if (made.retryOf)
      await releasePaths(
        tx,
        channel.code,
        made.files.map(({ path }) => path),
      )
    const transfer = await insertTransfer(tx, {
      id,
      channelCode: channel.code,
      direction,
      type: made.type,
      requestedBy: asking.requestedBy,
      retryOf: made.retryOf?.id ?? null,
      comment: made.comment,
      resendOf: made.resendOf,
      now: made.now,
      files: made.files,
    })
    // Somebody deals with the failure: automation need not wait any longer.
    if (made.retryOf && direction === 'EMISION') await endPause(tx, channel.code)
    if (direction === 'RECEPCION') await endFetchPause(tx, channel.code)
    const event = made.retryOf ? 'TRANSFER_RETRIED' : 'TRANSFER_REQUESTED'
    const auditId = await asking.audited?.(tx, id)
    // An automatic emission that is tried again after failures leaves one entry, when it ends.
    if (made.type === 'AUTOMATIC' && (await findPause(tx, channel.code))) return transfer
    await addHistory(tx, channel.code, [{ at: made.now, event, detail: id, auditId }])
    return transfer
  })
}
