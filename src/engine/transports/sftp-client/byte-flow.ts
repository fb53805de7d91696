// Bytes between a local file and an open remote one, many requests in flight. Local reads and writes are strictly
// one after the other in ascending order; only the line is pipelined.
//
// In flight: about 2 MiB on a short line (measured best on loopback), more as the round trip grows,
// never more than 64 requests. Where several lines carry one file, about 6 MiB on each.

import { createHash } from 'node:crypto'

import { NodeError } from '../../../errors.ts'
import { STATUS } from '../ssh/sftp-packet.ts'
import type { PushProgress, Source } from '../transport.ts'

import { refusal } from './remote.ts'
import type { Remote, RemoteData, RemoteStatus } from './remote.ts'
import type { Way } from './side-lines.ts'

const SSH_PACKET = 32 * 1024
const MAX_IN_FLIGHT = 64
/** On each of several lines: what the server lets travel, and what follows at once when it does. */
const SIDE_IN_FLIGHT = 6 << 20

function requestsInFlight(baseBytes: number, requestBytes: number, roundTripMs: number): number {
  const base = Math.ceil(baseBytes / requestBytes)
  return Math.min(MAX_IN_FLIGHT, base + Math.floor(roundTripMs))
}

/** The largest write whose packet fills whole SSH packets: an almost empty one costs as much as a full one. */
function writeSize(limit: number, head: number): number {
  const packets = Math.floor((limit + head) / SSH_PACKET)
  return packets > 0 ? packets * SSH_PACKET - head : limit
}

/** Reads until `into` is full or the source has ended; a source that ends before its size has changed. */
async function readWhole(source: Source, into: Uint8Array, position: number): Promise<void> {
  let filled = 0
  while (filled < into.length) {
    const got = await source.read(filled === 0 ? into : into.subarray(filled), position + filled)
    if (got === 0)
      throw new NodeError('file_changed', `the file ended at ${position + filled} of ${source.size} octets`)
    filled += got
  }
}

interface Upload extends Way {
  /** The name behind the handle, for asking about its disk. */
  path: string
  source: Source
  from: number
  progress: PushProgress
  signal: AbortSignal
  /** The same file over further lines. What goes wrong on one of them is sent again over the first. */
  sides?: Way[] | undefined
}

/** Tells `safe` how far the answers reach without a gap. */
function gaplessAnswers(from: number, safe: (position: number) => void) {
  const ends = new Map<number, number>()
  let reached = from
  return (start: number, end: number) => {
    ends.set(start, end)
    const before = reached
    for (let next = ends.get(reached); next !== undefined; next = ends.get(reached)) {
      ends.delete(reached)
      reached = next
    }
    if (reached > before) safe(reached)
  }
}

/**
 * Sends the rest of a source. Resolves when everything was sent; `answered` settles when the partner has confirmed
 * every write, so that the caller can send what follows without a round trip in between.
 */
export async function sendBytes(upload: Upload): Promise<{ answered: Promise<void> }> {
  const { remote, handle, source, progress, signal, sides } = upload
  const head = remote.writeHead(handle)
  const size = writeSize(remote.limits.write, head)
  const most = sides ? Math.ceil(SIDE_IN_FLIGHT / size) : requestsInFlight(1 << 21, size, remote.roundTripMs)
  const confirm = gaplessAnswers(upload.from, (position) => progress.safe(position))
  const free: Buffer[] = []
  const flying = new Map<Way, number>([[upload, 0]])
  const flights = new Set<Promise<void>>()
  const failures: unknown[] = []
  let landed = () => {}
  const fly = async (way: Way, piece: Piece) => {
    flying.set(way, (flying.get(way) ?? 0) + 1)
    try {
      return await way.remote.write(way.handle, piece.room, piece.length, piece.position, signal)
    } finally {
      flying.set(way, (flying.get(way) ?? 1) - 1)
    }
  }
  const send = async (way: Way, piece: Piece) => {
    let status = way === upload ? undefined : await fly(way, piece).catch(() => undefined)
    if (status?.code !== STATUS.OK) {
      if (way !== upload && sides?.includes(way)) sides.splice(sides.indexOf(way), 1)
      status = await fly(upload, piece)
    }
    if (status.code !== STATUS.OK) throw await writeRefusal(upload, source.size - piece.position, status)
    confirm(piece.position, piece.position + piece.length)
    free.push(piece.room)
  }
  /** The line with most room; undefined: all are full. */
  const freeWay = (): Way | undefined => {
    let [best, least]: [Way | undefined, number] = [undefined, most]
    for (const way of sides ? [upload, ...sides] : [upload]) {
      const now = flying.get(way) ?? 0
      if (now < least && way.remote.writeHead(way.handle) === head) [best, least] = [way, now]
    }
    return best
  }
  const read = async (position: number): Promise<Piece> => {
    const length = Math.min(size, source.size - position)
    const room = free.pop() ?? Buffer.allocUnsafeSlow(head + Math.min(size, source.size - upload.from))
    await readWhole(source, room.subarray(head, head + length), position)
    return { room, length, position }
  }
  // One piece is read while those before it travel.
  let reading = upload.from < source.size ? read(upload.from) : undefined
  while (reading !== undefined && failures.length === 0) {
    const piece = await reading
    const end = piece.position + piece.length
    reading = end < source.size ? read(end) : undefined
    reading?.catch(() => {}) // met by the next turn, or by nobody
    let way = freeWay()
    for (; way === undefined && failures.length === 0; way = freeWay())
      await new Promise<void>((resolve) => (landed = resolve))
    if (way === undefined) break
    const flight: Promise<void> = send(way, piece)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        flights.delete(flight)
        landed()
      })
    flights.add(flight)
    progress.moved(end)
  }
  // Whoever closes the source now closes nothing that is being read.
  await reading?.catch(() => {})
  const answered = Promise.all(flights).then(() => {
    if (failures.length > 0) throw failures[0]
  })
  // Whoever awaits it later sees the error; until then it is not an unhandled one.
  answered.catch(() => {})
  return { answered }
}

interface Piece {
  room: Buffer
  length: number
  position: number
}

/** SFTP has no status for a full disk: ask for the free space to tell it from other failures. */
async function writeRefusal({ remote, path, signal }: Upload, missing: number, status: RemoteStatus) {
  const free = await remote.freeSpace(path, signal)
  const refused = refusal(status, 'write')
  if (free === undefined || free >= MAX_IN_FLIGHT * SSH_PACKET) return refused
  if (free < missing) return new NodeError('no_space', `the partner's disk is full (${free} octets free)`)
  // What is missing would fit, so it may be something else; so little room may also be kept for others.
  return new NodeError('no_space', `${refused.message}; it has little room (${free} octets free)`)
}

interface Download {
  remote: Remote
  handle: Buffer
  from: number
  to: number
  signal: AbortSignal
}

/** Reads `from`…`to` and hands the pieces over in order, waiting for each to be taken; `false` ends it early. */
export async function receiveBytes(
  download: Download,
  take: (bytes: Buffer, position: number) => Promise<boolean | void> | void,
): Promise<void> {
  const { remote, handle, to, signal } = download
  const size = remote.limits.read
  const most = requestsInFlight(2 << 20, size, remote.roundTripMs)
  type Piece = { position: number; length: number; data: Promise<RemoteData | undefined> }
  const ask = (position: number, length: number): Piece => {
    const data = remote.read(handle, position, length, signal)
    data.catch(() => {})
    return { position, length, data }
  }
  const flying: Piece[] = []
  let next = download.from
  for (;;) {
    for (; next < to && flying.length < most; next += size) flying.push(ask(next, Math.min(size, to - next)))
    const piece = flying.shift()
    if (piece === undefined) return
    const data = await piece.data
    if (data === undefined)
      throw new NodeError('file_changed', `the partner's file ended at ${piece.position} of ${to} octets`)
    const got = data.bytes.length
    if (got < piece.length) flying.unshift(ask(piece.position + got, piece.length - got))
    const goOn = await take(data.bytes, piece.position)
    data.done()
    if (goOn === false) return
  }
}

/** How many octets from the start, at most `length`, are the same in the remote file and the source. */
export async function equalOctets(
  remote: Remote,
  handle: Buffer,
  source: Source,
  length: number,
  signal: AbortSignal,
): Promise<number> {
  const own = Buffer.allocUnsafeSlow(Math.min(remote.limits.read, Math.max(length, 1)))
  let equal = 0
  const compare = async (bytes: Buffer, position: number) => {
    const ours = own.subarray(0, bytes.length)
    await readWhole(source, ours, position)
    if (!ours.equals(bytes)) return false
    equal = position + bytes.length
    return true
  }
  try {
    await receiveBytes({ remote, handle, from: 0, to: length, signal }, compare)
  } catch (error) {
    // A remote file shorter than its attributes said has simply fewer equal octets.
    if (!(error instanceof NodeError) || error.code !== 'file_changed') throw error
  }
  return equal
}

export async function sha256Of(
  remote: Remote,
  handle: Buffer,
  size: number,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256')
  await receiveBytes({ remote, handle, from: 0, to: size, signal }, (bytes) => void hash.update(bytes))
  return hash.digest('hex')
}
