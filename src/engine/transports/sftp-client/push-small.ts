// Many small files to an OpenSSH server by the dozen. Each leaves the same names on the way as a push (push.ts), so an attempt
// after a crash finds what it knows. All requests of a step go out together, and their answers come in some few packets.
//
// Whatever the server refuses is left to a push, which finds out why. Only OpenSSH is known to refuse a name that is taken
// in the very move that gives it.

import { filesToSend } from '../../../files/small/copies.ts'
import type { Copied } from '../../../files/small/copies.ts'
import { OPEN, STATUS } from '../ssh/sftp-packet.ts'
import type { PreparedFile, SmallBatches, SmallFile } from '../small-batches.ts'

import { abortReason } from './line.ts'
import { TURNS, namesFor } from './part-name.ts'
import type { PushContext } from './push.ts'
import { isOpenSsh, refusal } from './remote.ts'
import type { Remote } from './remote.ts'
import { isPlainName } from './settings.ts'

type SmallContext = Omit<PushContext, 'sides'>

const MOST_OCTETS = 1024 * 1024
/** As many as are prepared at once, and some for the files of others. */
const OPEN_FILES = 512
/** In front of the octets of a packet; a handle is no longer than 256. */
const MOST_HEAD = 320
const ANEW = OPEN.WRITE | OPEN.CREAT | OPEN.TRUNC

export function smallBatches(context: SmallContext): SmallBatches | undefined {
  const { remote } = context
  if (!isOpenSsh(remote) || remote.limits.openFiles < OPEN_FILES) return undefined
  return {
    mostOctets: MOST_OCTETS,
    prepare: (files, signal) => prepare(context, files, signal),
    synced: () => Promise.resolve(),
  }
}

async function prepare(
  context: SmallContext,
  files: readonly SmallFile[],
  signal: AbortSignal,
): Promise<(PreparedFile | undefined)[]> {
  const copied = filesToSend.isQuick
    ? await filesToSend.make(files.map(({ path, expected }) => ({ from: { path, expected }, to: null })))
    : []
  if (signal.aborted) throw abortReason(signal)
  const rooms = roomsFor(context.remote, copied)
  const uploads = files.map((file, nth) => upload(context, { file, copied: copied[nth], rooms }))
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const stop = () => reject(abortReason(signal))
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([Promise.all(uploads), stopped])
  } catch (thrown) {
    // The temporary file of a session that broke stays, for the next attempt.
    for (const one of uploads) one.then((prepared) => prepared?.drop()).catch(() => {})
    throw thrown
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

type Upload = { file: SmallFile; copied: Copied; rooms: (octets: number) => Buffer }

async function upload(
  { remote, folderOf, localId, peer, inDoubt, sync }: SmallContext,
  { file, copied, rooms }: Upload,
): Promise<PreparedFile | undefined> {
  if (!copied?.octets || !isPlainName(file.name)) return undefined
  const { stem, part, target } = namesFor(folderOf(file.application), localId, file, file.attempt % TURNS)
  const drop = () => void remote.remove(part).catch(() => {})
  const [there, opened] = await Promise.allSettled([remote.lstat(target), remote.open(part, ANEW)])
  if (opened.status === 'rejected') return leftToPush(remote, opened.reason)
  const handle = opened.value
  try {
    if (there.status === 'rejected') throw there.reason
    if (there.value !== undefined) throw TAKEN
    const written = writeAll(remote, handle, copied.octets, rooms)
    const synced = sync ? remote.sync(handle) : undefined
    await Promise.all([...written, synced, remote.close(handle)])
  } catch (thrown) {
    remote.closeLater(handle)
    drop()
    return leftToPush(remote, thrown)
  }
  const place = async () => {
    inDoubt.add(peer, stem)
    const status = await remote.rename(part, target).catch(() => undefined)
    if (!status) return 'unknown'
    inDoubt.settle(peer, stem)
    return status.code === STATUS.OK ? 'placed' : 'refused'
  }
  return { sha256: copied.sha256, place, drop, settled: () => {} }
}

const TAKEN = new Error('the name is taken')

/** What the server refuses; unless it answers nothing any more. */
function leftToPush(remote: Remote, thrown: unknown): undefined {
  if (remote.requests.ended.aborted) throw thrown
}

/** Packets for all of them out of one piece of memory: many of some KiB each would be collected as often as a big file. */
function roomsFor(remote: Remote, copied: readonly Copied[]): (octets: number) => Buffer {
  const packets = (octets: number) => Math.ceil(octets / remote.limits.write)
  const all = copied.reduce((sum, one) => {
    const { length } = one?.octets ?? []
    return sum + length + packets(length) * MOST_HEAD
  }, 0)
  const memory = Buffer.allocUnsafeSlow(all)
  let used = 0
  return (octets) => memory.subarray(used, (used += octets))
}

function writeAll(
  remote: Remote,
  handle: Buffer,
  octets: Uint8Array,
  rooms: (octets: number) => Buffer,
): Promise<void>[] {
  const head = remote.writeHead(handle)
  const written: Promise<void>[] = []
  for (let at = 0; at < octets.length; at += remote.limits.write) {
    const piece = octets.subarray(at, at + remote.limits.write)
    const room = rooms(head + piece.length)
    room.set(piece, head)
    written.push(
      remote.write(handle, room, piece.length, at).then((status) => {
        if (status.code !== STATUS.OK) throw refusal(status, 'write')
      }),
    )
  }
  return written
}
