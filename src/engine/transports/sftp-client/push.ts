// Carries one file to the partner's inbox: bytes to a hidden temporary name, then one step that makes the file appear
// under its real name without ever replacing another.
//
// - The temporary name is made from the file's key, so every attempt finds what the one before left. What is there is
//   trusted only after it was read back and compared with the local bytes. A server that lets nobody read gets the file from
//   its beginning.
// - A node that slept may wake in the middle of an attempt that another has taken over. So attempts take turns with a few
//   names, and each first makes its own what those before it left: the sleeper finds nothing under its name that it could cut
//   short or give its real name. What it still writes to a file that it has open repeats octets that are there, for nothing
//   is cut short by its handle. An Esclusa at the other end lets the later connection have the file, so there is one name.
// - The last step is the plain SFTP rename on OpenSSH, where it refuses a taken name in one atomic move; elsewhere a
//   hard link and the removal of the temporary name, since a link cannot replace anything; and where there are no
//   links a look followed by the rename. posix-rename is never used: replacing is its purpose.
// - The engine notes durably that the last step comes next. If its answer is lost, the next attempt looks. A file of the
//   same bytes under the real name is ours. So is one of the same size that we may not read, where our temporary name has
//   gone: servers that take files over at once show them no more. If both names are gone, and this process remembers an
//   unanswered step at that very server, the partner has taken the file already. Without that memory the file is sent again,
//   and to another Esclusa as well: it shows what it has taken, and drops temporary files that it had no room for.

import { NodeError } from '../../../errors.ts'
import { OPEN, STATUS, isRegular } from '../ssh/sftp-packet.ts'
import type { Attrs } from '../ssh/sftp-packet.ts'
import type { Leftover, PartnerAnswer, PushProgress, PushResult, WireFile } from '../transport.ts'

import { equalOctets, sendBytes, sha256Of } from './byte-flow.ts'
import { abortReason } from './line.ts'
import { PART, TURNS, namesFor, partName, stemOf } from './part-name.ts'
import { isEsclusa, isOpenSsh, isRefusal, refusal } from './remote.ts'
import type { Remote } from './remote.ts'
import { inFolder, isPlainName } from './settings.ts'
import type { SideLines } from './side-lines.ts'
import type { StepsInDoubt } from './steps-in-doubt.ts'

export interface PushContext {
  remote: Remote
  /** Where the partner wants the files of an application. */
  folderOf: (application: string) => string
  /** Tells apart nodes that push into one inbox. */
  localId: string
  peer: string
  inDoubt: StepsInDoubt
  /** Each file is synced where the server can. */
  sync: boolean
  sides: SideLines
}

interface Job {
  context: PushContext
  remote: Remote
  file: WireFile
  target: string
  /** The beginning of the temporary name, whichever attempt it is. */
  stem: string
  /** Of the attempt, among the temporary names; undefined where there is one for all. */
  turn: number | undefined
  part: string
  progress: PushProgress
  signal: AbortSignal
}

/** What there was before anything was sent, and the temporary file, open. */
interface Beginning {
  target: Attrs | undefined
  part: Attrs | undefined
  handle: Buffer
}

export async function pushFile(
  context: PushContext,
  file: WireFile,
  progress: PushProgress,
  signal: AbortSignal,
): Promise<PushResult> {
  const { remote, localId } = context
  const folder = context.folderOf(file.application)
  if (!isPlainName(file.name))
    throw new NodeError('file_refused', `"${file.name}" cannot be a file name at the partner`)
  const turn = isEsclusa(remote) || file.attempt === undefined ? undefined : file.attempt % TURNS
  const job: Job = {
    context,
    remote,
    file,
    ...namesFor(folder, localId, file, turn ?? 0),
    turn,
    progress,
    signal,
  }
  if (turn !== undefined && file.again !== false) await takeOver(job)
  if (file.mayBeThere && (await deliveredBefore(job))) return FOUND
  const beginning = await begin(job)
  try {
    if (beginning.target !== undefined) {
      remote.closeLater(beginning.handle)
      await requireOurs(job, beginning.target)
      return FOUND
    }
    const remoteSha256 = await sendPart(job, beginning)
    await putInPlace(job, remoteSha256)
    return { receipt: 'none', remoteSha256 }
  } catch (thrown) {
    const error = (await isTakenOver(job, thrown)) ? takenOver(job) : thrown
    await giveUp(job, beginning.handle, error)
    throw signal.aborted ? abortReason(signal) : error
  }
}

/** What was being written there is gone: a node that slept took it over before it found out that it has lost the file. */
async function isTakenOver({ remote, part, turn }: Job, error: unknown): Promise<boolean> {
  if (turn === undefined || !isRefusal(error)) return false
  return (await remote.lstat(part).catch(() => 'not to be seen')) === undefined
}

function takenOver({ part }: Job): NodeError {
  return new NodeError('connection_lost', `${part} is gone, or was taken over by another node`)
}

const FOUND: PushResult = { receipt: 'none', remoteSha256: undefined, found: true }

/** What earlier attempts left becomes this one's own, or goes. */
async function takeOver({ remote, stem, turn, part, signal }: Job): Promise<void> {
  const names = Array.from({ length: TURNS }, (_, nth) => partName(stem, nth))
  const found = await Promise.all(names.map((name) => remote.lstat(name, signal)))
  let isHere = found[turn ?? 0] !== undefined
  for (const [nth, name] of names.entries()) {
    if (nth === turn || found[nth] === undefined) continue
    if (isHere || (await remote.rename(name, part)).code !== STATUS.OK) await remote.remove(name)
    else isHere = true
  }
}

/** Removes the temporary files of these; who they belong to is asked only if there is any. */
export async function discardParts(
  { remote, localId }: PushContext,
  folder: string,
  find: () => Promise<readonly Leftover[]>,
): Promise<void> {
  const there = (await namesIn(remote, folder)).filter((name) => PART.test(name))
  if (there.length === 0) return
  const dead = new Set((await find()).map((file) => stemOf(localId, file)))
  for (const name of there)
    if (dead.has(PART.exec(name)?.[1] ?? '')) await remote.remove(inFolder(folder, name))
}

async function namesIn(remote: Remote, folder: string): Promise<string[]> {
  const names: string[] = []
  const handle = await remote.openFolder(folder)
  try {
    for (;;) {
      const entries = await remote.readFolder(handle)
      if (entries === undefined || names.length > MOST_ENTRIES) return names
      names.push(...entries.map(({ name }) => name))
    }
  } finally {
    remote.closeLater(handle)
  }
}

const MOST_ENTRIES = 100_000

/** Everything that is asked before the first byte goes out in one round trip, where no earlier attempt got far. */
async function begin(job: Job): Promise<Beginning> {
  const { remote, signal } = job
  const [target, part, handle] = await Promise.allSettled([
    remote.lstat(job.target, signal),
    remote.lstat(job.part, signal),
    openPart(job),
  ])
  if (handle.status === 'rejected') throw handle.reason
  if (target.status === 'fulfilled' && part.status === 'fulfilled' && !signal.aborted)
    return { target: target.value, part: part.value, handle: handle.value }
  const looked = [target, part].find((one) => one.status === 'rejected')
  const error: unknown = looked === undefined ? abortReason(signal) : looked.reason
  // It was made, or cut short, a moment ago.
  await giveUp(job, handle.value, error)
  throw error
}

/** Bytes that are not to be trusted need not be kept; bytes that may be must be read back first. `begin` closes it. */
async function openPart({ remote, part, file }: Job): Promise<Buffer> {
  const anew = OPEN.WRITE | OPEN.CREAT | OPEN.TRUNC
  if (file.restartFrom === 0) return remote.open(part, anew)
  try {
    return await remote.open(part, OPEN.READ | OPEN.WRITE | OPEN.CREAT)
  } catch (error) {
    if (!isRefusal(error)) throw error
    return remote.open(part, anew)
  }
}

/**
 * Whether an earlier attempt delivered the file; throws name_taken when another file has the name. A look before anything is
 * opened: an attempt that died in it must not have changed what the next one goes by, which is whether the temporary name is
 * there.
 */
async function deliveredBefore(job: Job): Promise<boolean> {
  const { context, remote, signal } = job
  const { inDoubt, peer } = context
  const [target, part] = await Promise.all([remote.lstat(job.target, signal), remote.lstat(job.part, signal)])
  // Our temporary name vanished in a step whose answer we never saw, and the real name is gone too: taken already.
  const takenAlready =
    target === undefined && part === undefined && inDoubt.has(peer, job.stem) && !isEsclusa(remote)
  if (target === undefined && !takenAlready) return false
  if (target !== undefined && !(await isOurs(job, target, part === undefined))) throw nameTaken(job)
  if (part !== undefined) await dropPart(job)
  inDoubt.settle(peer, job.stem)
  return true
}

function nameTaken({ target }: Job, cause?: PartnerAnswer): NodeError {
  return new NodeError('name_taken', `the partner already has a file ${target}`, { cause })
}

/**
 * What came under the real name since the look may be the file: a server that slept carries out late what an earlier attempt
 * has asked of it. Throws name_taken where it is not.
 */
async function requireOurs(job: Job, target: Attrs): Promise<void> {
  if (!job.file.mayBeThere) throw nameTaken(job)
  // An Esclusa lets nobody read what it was handed. But what it shows its caller is what that caller has handed to it.
  const ours = await isOurs(job, target, isEsclusa(job.remote)).catch((error: unknown) => {
    if (isRefusal(error)) return false
    throw error
  })
  if (!ours) throw nameTaken(job)
  await dropPart(job)
}

async function isOurs(job: Job, target: Attrs, ifUnreadable: boolean): Promise<boolean> {
  if (!isRegular(target) || target.size !== job.file.source.size) return false
  return sameBytes(job, ifUnreadable)
}

async function sameBytes(job: Job, ifUnreadable: boolean): Promise<boolean> {
  const { remote, file, signal } = job
  let handle: Buffer
  try {
    handle = await remote.open(job.target, OPEN.READ, signal)
  } catch (error) {
    if (ifUnreadable && isRefusal(error)) return true
    throw error
  }
  try {
    return (await equalOctets(remote, handle, file.source, file.source.size, signal)) === file.source.size
  } finally {
    remote.closeLater(handle)
  }
}

async function dropPart(job: Job): Promise<void> {
  const status = await job.remote.remove(job.part)
  if (status.code !== STATUS.OK && status.code !== STATUS.NO_SUCH_FILE)
    throw refusal(status, `remove ${job.part}`)
}

/** Where to go on from: as far as the bytes there equal ours. */
async function restartPoint(job: Job, { part, handle }: Beginning): Promise<number> {
  const { remote, file, signal } = job
  const there = part?.size ?? 0
  const believed = Math.min(file.restartFrom, there, file.source.size)
  const comparing =
    believed === 0 ? Promise.resolve(0) : equalOctets(remote, handle, file.source, believed, signal)
  const equal = await comparing.catch((error: unknown) => {
    if (isRefusal(error)) return 0
    throw error
  })
  // What another attempt may have open is never cut short. What lies behind is written over.
  if (there > (job.turn === undefined ? equal : file.source.size)) {
    const status = await remote.setAttrs(handle, { size: equal }, signal)
    if (status.code !== STATUS.OK) throw refusal(status, `shorten ${job.part}`)
  }
  return equal
}

async function sendPart(job: Job, beginning: Beginning): Promise<string | undefined> {
  const { remote, file, progress, signal, context } = job
  const { handle } = beginning
  const from = file.restartFrom === 0 ? 0 : await restartPoint(job, beginning)
  const sides = context.sides.carry(file.source.size - from, (side) =>
    side.open(job.part, OPEN.WRITE, signal),
  )
  try {
    const { answered } = await sendBytes({
      remote,
      handle,
      path: job.part,
      source: file.source,
      from,
      progress,
      signal,
      sides: sides?.ways,
    })
    // What other lines carry must be there before the sync.
    if (sides) await answered
    // All of this is sent behind the last write, without waiting for its answer.
    const synced = context.sync ? remote.sync(handle, signal) : undefined
    const closed = remote.close(handle, signal)
    await Promise.all([answered, synced, closed, sides?.close()])
  } catch (error) {
    await sides?.close().catch(() => {})
    throw error
  }
  progress.safe(file.source.size)
  return file.verify ? readBack(job) : undefined
}

async function readBack(job: Job): Promise<string> {
  const handle = await job.remote.open(job.part, OPEN.READ, job.signal)
  try {
    return await sha256Of(job.remote, handle, job.file.source.size, job.signal)
  } finally {
    job.remote.closeLater(handle)
  }
}

/** From here on the signal is not heeded: a step that was asked for is worth its answer. */
async function putInPlace(job: Job, remoteSha256: string | undefined): Promise<void> {
  const { remote, context } = job
  const { inDoubt, peer } = context
  await job.progress.placing(remoteSha256)
  if (job.signal.aborted) throw abortReason(job.signal)
  inDoubt.add(peer, job.stem)
  const replacesNothing = isOpenSsh(remote)
  let status =
    !replacesNothing && remote.offers('hardlink@openssh.com')
      ? await remote.link(job.part, job.target)
      : undefined
  if (status?.code === STATUS.OK) {
    inDoubt.settle(peer, job.stem)
    return dropPart(job)
  }
  if (!replacesNothing && (await remote.lstat(job.target)) !== undefined)
    status = { code: STATUS.FAILURE, message: '' }
  else status = await remote.rename(job.part, job.target)
  inDoubt.settle(peer, job.stem)
  if (status.code === STATUS.OK) return
  const target = await remote.lstat(job.target)
  // Nobody has tried before, and this try was refused: what stands there is another's, whatever it holds.
  if (target !== undefined && !job.file.mayBeThere) throw nameTaken(job, { placed: false })
  if (target !== undefined) return requireOurs(job, target)
  throw refusal(status, `rename ${job.part} to ${job.target}`)
}

const KEEPS_PART = new Set(['connection_lost', 'timed_out', 'unavailable'])

/** No room at the partner is given back. Our own database's full disk, which alone says when to ask again, takes none there. */
function keepsPart({ code, retryAfterSeconds }: NodeError): boolean {
  return KEEPS_PART.has(code) || (code === 'no_space' && retryAfterSeconds !== undefined)
}

/** Leaves the temporary file where a later attempt can use it, removes it where none will come. */
async function giveUp(job: Job, handle: Buffer, error: unknown): Promise<void> {
  const { remote, signal } = job
  if (remote.requests.ended.aborted) return
  remote.closeLater(handle)
  const fault = signal.aborted ? abortReason(signal) : error
  if (fault instanceof NodeError && keepsPart(fault)) return
  // Another node goes on with it, where it has the same name there.
  if (fault instanceof NodeError && fault.code === 'lease_lost' && job.turn === undefined) return
  await remote.remove(job.part).catch(() => {})
}
