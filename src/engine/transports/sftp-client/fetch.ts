// Takes what lies in the partner's outbox. Each regular file that has no temporary name is offered to the
// engine, read, completed, and only then removed at the partner's end: a crash in between shows the same file again,
// and its key (name, size, modification time) lets the engine recognise it. Times are told in seconds, so that key may be
// another file's too: a file that the engine recognises is read again, and removed only if its octets are the same. If they
// are not, it is offered as a new file.
//
// A file that changes while it is read is left for the next time. Several files are under way at once, since a small
// one costs round trips and nothing else.

import { setTimeout as delay } from 'node:timers/promises'

import { NodeError } from '../../../errors.ts'
import { OPEN, STATUS, isRegular } from '../ssh/sftp-packet.ts'
import type { Attrs } from '../ssh/sftp-packet.ts'
import type { FileKey } from '../file-key.ts'
import type { FilesLeft } from '../files-left.ts'
import { isTemporaryName } from '../temporary-name.ts'
import type { Incoming, SessionHost, Reach } from '../transport.ts'

import { receiveBytes, sha256Of } from './byte-flow.ts'
import { FILES_AT_ONCE } from './fetch-lines.ts'
import type { FetchLines, Leave } from './fetch-lines.ts'
import { abortReason } from './line.ts'
import { isEsclusa, refusal } from './remote.ts'
import type { Remote } from './remote.ts'
import { inFolder, isPlainName } from './settings.ts'

const MOST_ENTRIES = 100_000
/** Written so short a while ago, by our clock, a file may still grow: it is looked at twice. */
const FRESH_MS = 10_000
/** Longer than a second, which is what SFTP tells times in. */
const SECOND_LOOK_MS = 1100

export interface FetchContext {
  remote: Remote
  lines: FetchLines
  host: SessionHost
  reach: Reach
  left: FilesLeft
  /** Folders to look in, each with the application its files belong to ('' when the folder does not say). */
  outboxes: readonly { folder: string; application: string }[]
}

interface RemoteFile {
  path: string
  name: string
  application: string
  size: number
  mtime: number
}

/** A file or folder that either end refuses does not hold up the others: it is told when they are here. */
export async function fetchFiles(context: FetchContext, signal: AbortSignal): Promise<void> {
  const refused: unknown[] = []
  const unlessRefused = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      if (signal.aborted || endsFetch(error)) throw error
      refused.push(error)
    })
  const takeFolder = async (folder: string, application: string) => {
    const listed = await listFiles(context.remote, folder, application, signal)
    const files = await untouchedSince(context.remote, listed, signal)
    const take = (file: RemoteFile) =>
      context.lines.use((remote, leave) => takeFile(context, { ...file, remote, leave }, signal))
    await takeAll(files, signal, (file) => unlessRefused(take(file)))
  }
  for (const { folder, application } of context.outboxes) await unlessRefused(takeFolder(folder, application))
  if (refused.length > 0) throw refused[0]
}

/** What can pass concerns the session, the disk or the database, and would meet the next file too. */
function endsFetch(error: unknown): boolean {
  return !(error instanceof NodeError) || error.retry || ENDS_FETCH.has(error.code)
}

const ENDS_FETCH: ReadonlySet<string> = new Set(['cancelled', 'lease_lost', 'protocol_violation', 'internal'])

async function listFiles(
  remote: Remote,
  folder: string,
  application: string,
  signal: AbortSignal,
): Promise<RemoteFile[]> {
  const files: RemoteFile[] = []
  const handle = await remote.openFolder(folder, signal)
  let seen = 0
  try {
    for (;;) {
      const entries = await remote.readFolder(handle, signal)
      if (entries === undefined) break
      seen += entries.length
      if (seen > MOST_ENTRIES) break
      const offered = entries.filter(({ name }) => isOffered(name))
      const looks = offered.map(async ({ name, attrs }) => {
        const path = inFolder(folder, name)
        const known = isComplete(attrs) ? attrs : await lookAt(remote, path, signal)
        if (known?.size === undefined || !isRegular(known)) return
        files.push({ path, name, application, size: known.size, mtime: known.mtime ?? 0 })
      })
      await Promise.all(looks)
    }
  } finally {
    remote.closeLater(handle)
  }
  // Oldest first; the name settles ties, so that two runs go the same way.
  return files.sort((a, b) => a.mtime - b.mtime || (a.name < b.name ? -1 : 1))
}

/**
 * Leaves out what grows: many partners write into the folder under the last name. An Esclusa shows whole files alone. Where
 * clocks differ much a file may look old; then only a change while it is read tells.
 */
async function untouchedSince(
  remote: Remote,
  files: RemoteFile[],
  signal: AbortSignal,
): Promise<RemoteFile[]> {
  const freshFrom = (Date.now() - FRESH_MS) / 1000
  const isFresh = ({ mtime }: RemoteFile) => mtime > freshFrom
  if (isEsclusa(remote) || !files.some(isFresh)) return files
  await delay(SECOND_LOOK_MS, undefined, { signal }).catch(() => {
    throw abortReason(signal)
  })
  const touched = new Set<RemoteFile>()
  const look = async (file: RemoteFile) => {
    const now = isFresh(file) ? await lookAt(remote, file.path, signal) : file
    if (now?.size !== file.size || now.mtime !== file.mtime) touched.add(file)
  }
  await takeAll(files, signal, look)
  return files.filter((file) => !touched.has(file))
}

/** An entry that the partner does not let us look at is none of ours: the others are taken. */
function lookAt(remote: Remote, path: string, signal: AbortSignal): Promise<Attrs | undefined> {
  return remote.lstat(path, signal).catch((error: unknown) => {
    if (error instanceof NodeError && error.code === 'remote_refused') return undefined
    throw error
  })
}

/** A listing may leave out any of them; then the entry itself is asked about. */
function isComplete({ permissions, size, mtime }: Attrs): boolean {
  return permissions !== undefined && size !== undefined && mtime !== undefined
}

function isOffered(name: string): boolean {
  return isPlainName(name) && !isTemporaryName(name)
}

/** Several at once. What ends the session, or the engine's stop, ends it. */
async function takeAll(
  files: readonly RemoteFile[],
  signal: AbortSignal,
  take: (file: RemoteFile) => Promise<void>,
): Promise<void> {
  const queue = files.values()
  let failed: unknown
  const work = async () => {
    for (const file of queue) {
      if (failed !== undefined) return
      if (signal.aborted) throw abortReason(signal)
      await take(file)
    }
  }
  const workers = Array.from({ length: Math.min(FILES_AT_ONCE, files.length) }, () =>
    work().catch((error: unknown) => void (failed ??= error)),
  )
  await Promise.all(workers)
  if (failed !== undefined) throw failed
}

/** The engine answered the offer with a refusal of this one file: it knows, and the file stays where it is. */
const SKIPS_FILE = new Set([
  'file_refused',
  'name_taken',
  'conflict',
  'forbidden',
  'not_found',
  'file_changed',
  'duplicate_file',
])

/** The connection that it goes over. */
interface Over {
  remote: Remote
  leave: Leave
}

async function takeFile(context: FetchContext, file: RemoteFile & Over, signal: AbortSignal): Promise<void> {
  const { remote, leave } = file
  const { left } = context
  const id = `${context.reach.contactId} ${file.path}/${file.size}/${file.mtime}`
  let incoming: Incoming
  try {
    incoming = await offer(context, file)
    if (incoming.known) throwIfThere(left.reasonOf(id, Date.now()))
  } catch (error) {
    if (skipsFile(error)) return
    throw error
  }
  let handle: Buffer | undefined
  let sha256: string | undefined
  try {
    handle = await openListed(remote, file, signal)
    if (incoming.known) {
      sha256 = await sha256Of(remote, handle, file.size, signal)
      checkSame(file, await remote.fstat(handle, signal))
      if (sha256 !== incoming.known.sha256) incoming = await offer(context, file, sha256)
    }
    if (!incoming.known) await download(file, handle, incoming, signal)
  } catch (error) {
    if (handle) leave(handle)
    const fault = signal.aborted ? abortReason(signal) : error
    const changed = fault instanceof NodeError && fault.code === 'file_changed'
    const cancelled = fault instanceof NodeError && fault.code === 'cancelled'
    await incoming.abandon(fault, !changed && !cancelled)
    if (changed) return
    // It was read in vain.
    if (incoming.known && skipsFile(fault)) return left.stays(id, fault, Date.now())
    throw fault
  }
  try {
    await incoming.complete({ size: file.size, ...(sha256 !== undefined && { sha256 }) })
  } catch (error) {
    leave(handle)
    throw error
  }
  // Only now that it is safe here.
  remote.closeLater(handle)
  try {
    await removeTaken(remote, file)
    left.gone(id)
  } catch (error) {
    if (!endsFetch(error)) left.stays(id, error, Date.now())
    throw error
  }
}

/** `sha256`: its octets were read and have this hash. */
function offer({ host, reach }: FetchContext, file: RemoteFile, sha256?: string): Promise<Incoming> {
  return host.offer({
    contactId: reach.contactId,
    reach,
    application: file.application,
    name: file.name,
    key: keyOf(file, sha256),
    format: { kind: 'U', recordLength: 0 },
    envelope: undefined,
    size: file.size,
    restartFrom: file.size,
    fetched: true,
    encryptedSession: true,
  })
}

function skipsFile(error: unknown): boolean {
  return error instanceof NodeError && SKIPS_FILE.has(error.code)
}

function throwIfThere(reason: unknown): void {
  if (reason !== undefined) throw reason
}

/**
 * '/' cannot be part of a name, so name and size cannot be mistaken for another pair. The hash is part of it where another
 * file of that name, size and time was received.
 */
export function keyOf(file: { name: string; size: number; mtime: number }, sha256?: string): FileKey {
  const digits = new Date(file.mtime * 1000).toISOString().replace(/\D/g, '')
  const name = `${file.name}/${file.size}${sha256 === undefined ? '' : `/${sha256}`}`
  return { name, date: digits.slice(0, 8), time: `${digits.slice(8, 14)}0000` }
}

async function download(
  file: RemoteFile & Over,
  handle: Buffer,
  incoming: Incoming,
  signal: AbortSignal,
): Promise<void> {
  const { remote } = file
  const from = Math.min(incoming.position, file.size)
  await receiveBytes({ remote, handle, from, to: file.size, signal }, (bytes, position) =>
    incoming.write(bytes, position),
  )
  checkSame(file, await remote.fstat(handle, signal))
}

/** What another fetch has taken since the folder was listed, or the partner has taken back, is no reason to stop. */
async function openListed(remote: Remote, { path }: RemoteFile, signal: AbortSignal): Promise<Buffer> {
  try {
    return await remote.open(path, OPEN.READ, signal)
  } catch (error) {
    const refused = error instanceof NodeError && error.code === 'remote_refused'
    if (!refused || (await remote.lstat(path, signal)) !== undefined) throw error
    throw new NodeError('file_changed', `the partner's file ${path} is gone`, { cause: error })
  }
}

function checkSame(file: RemoteFile, attrs: Attrs | undefined): void {
  if (attrs?.size === file.size && (attrs.mtime ?? 0) === file.mtime) return
  throw new NodeError('file_changed', `the partner's file ${file.path} changed while it was read`)
}

/** The file is ours now. It is removed unless the partner has put another one in its place meanwhile. */
async function removeTaken(remote: Remote, file: RemoteFile): Promise<void> {
  const attrs = await remote.lstat(file.path)
  if (attrs === undefined || attrs.size !== file.size || (attrs.mtime ?? 0) !== file.mtime) return
  const status = await remote.remove(file.path)
  if (status.code !== STATUS.OK && status.code !== STATUS.NO_SUCH_FILE)
    throw refusal(status, `remove ${file.path} after taking it`)
}
