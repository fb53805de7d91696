// The folder transport: a partner on the same file system. Files go to its `inbox` and are fetched from its `outbox`.
// A real transport for partners beside us (or behind a mount), and the reference for the conformance suite.
//
// A push writes a hidden `.part` in the inbox, fsyncs it, and hard-links it to the real name, which fails if that is
// taken. Then the `.part` becomes `.done`, which stays until the engine has recorded the arrival: the partner may take
// the file away at once, and an attempt that finds `.done` knows that it was there (push-markers.ts). A crash leaves the
// `.part`, the file and its `.part`, or the `.done`, never half a file under its real name.

import { constants } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { FolderSettings } from '../../../contract/contact-settings.ts'
import { NodeError, fromFileError, systemCode } from '../../../errors.ts'
import { syncFolder } from '../../../files/folder-sync.ts'
import { requirePartnerFolder } from '../../../files/partner-folders.ts'
import type { NodePlaces } from '../../../files/partner-folders.ts'
import type { SmallBatches } from '../small-batches.ts'
import type { FileKey } from '../file-key.ts'
import { FilesLeft } from '../files-left.ts'
import type {
  Call,
  Capabilities,
  PartnerAnswer,
  PushProgress,
  PushResult,
  Session,
  SessionHost,
  Transport,
  WireFile,
  Reach,
} from '../transport.ts'
import { copyBytes, sameBytes, sha256Of } from './bytes.ts'
import { folderFault, noFolder } from './folder-faults.ts'
import { smallBatches } from './push-small.ts'
import { isQuickHere, isSmall, placeSmall, writeSmall } from './small-files.ts'
import { PushMarkers } from './push-markers.ts'
import type { Names } from './push-markers.ts'
import { OutboxTaker } from './take-files.ts'

/** Nothing, where the contact has no such section. */
type Settings = Partial<FolderSettings>

const CAPABILITIES: Capabilities = {
  records: false,
  envelopes: false,
  oneFileAtATime: false,
  pickup: false,
  receipts: false,
  remoteHash: true,
  nobodyCalls: true,
  defaultPort: undefined,
}

/** `places`: what the folders of partners must stay away from. */
export function createFolder(places: NodePlaces): Transport<Settings> {
  const left = new FilesLeft()
  return {
    protocol: 'folder',
    capabilities: CAPABILITIES,
    sections: { calling: 'folder', called: 'folder' },
    // Nobody calls through a folder.
    callerIds: () => [],
    keyName: (name) => name,
    async connect(call, host) {
      const folder = call.settings
      if (call.security.encrypted)
        throw new NodeError(
          'insecure_session',
          'a folder is no encrypted session: the channel asks for one (ciphrate)',
        )
      for (const path of [folder.inbox, folder.outbox])
        if (path !== undefined) await requireFolder(path, places)
      return new FolderSession(call, folder, host, left)
    },
    async discard({ inbox }, find) {
      if (inbox === undefined) return
      await requireFolder(inbox, places)
      await new PushMarkers(inbox).discard(find)
    },
  }
}

async function requireFolder(path: string, places: NodePlaces): Promise<void> {
  const found = await stat(path).catch((thrown: unknown) => {
    throw folderFault(thrown, path)
  })
  if (!found.isDirectory()) throw noFolder(path)
  // Only now: this waits for the disk, and a disk that does not answer would hold up the whole engine.
  requirePartnerFolder(path, places)
}

class FolderSession implements Session {
  readonly contactId: string
  readonly reach: Reach
  readonly encrypted = false
  readonly small: SmallBatches | undefined
  readonly #over = new AbortController()
  /** The files of a transfer come with one signal, by the thousand. */
  readonly #either = new WeakMap<AbortSignal, AbortSignal>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #folder: Settings
  readonly #markers: PushMarkers | undefined
  readonly #taker: OutboxTaker

  constructor(call: Call<unknown>, folder: Settings, host: SessionHost, left: FilesLeft) {
    this.contactId = call.contactId
    this.reach = call.reach
    this.#folder = folder
    const { inbox } = folder
    this.#markers = inbox === undefined ? undefined : new PushMarkers(inbox)
    if (inbox !== undefined && this.#markers)
      this.small = smallBatches(this.#markers, {
        during: (work) => this.#during(work),
        sync: () => syncInbox(inbox),
      })
    this.#taker = new OutboxTaker(call, host, left)
  }

  get ended(): AbortSignal {
    return this.#over.signal
  }

  push(file: WireFile, progress: PushProgress, signal: AbortSignal): Promise<PushResult> {
    return this.#untilOver(signal, (either) => this.#push(file, progress, either))
  }

  fetch(signal: AbortSignal): Promise<void> {
    const { outbox } = this.#folder
    if (outbox === undefined) return Promise.resolve()
    return this.#untilOver(signal, (either) => this.#taker.takeAll(outbox, either))
  }

  /** Ends with the session too. */
  #untilOver<T>(signal: AbortSignal, work: (either: AbortSignal) => Promise<T>): Promise<T> {
    const either = this.#either.get(signal) ?? AbortSignal.any([signal, this.#over.signal])
    this.#either.set(signal, either)
    return this.#during(() => work(either))
  }

  /** The session is not over before the work is. */
  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.#over.signal.throwIfAborted()
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async #push(file: WireFile, progress: PushProgress, signal: AbortSignal): Promise<PushResult> {
    const { inbox } = this.#folder
    if (inbox === undefined || !this.#markers)
      throw new NodeError('remote_refused', 'the partner has no inbox folder')
    const names = this.#markers.namesFor(file)
    const { part, done, target } = names
    try {
      if (file.again !== false && (await this.#markers.takeOver(file, names)))
        return await delivered(file, done)
      if (file.mayBeThere && (await isThere(file, names))) return await delivered(file, target)
      await writePart(file, part, progress, signal)
      const remoteSha256 = file.verify ? await sha256Of(part) : undefined
      await progress.placing(remoteSha256)
      await placePart(file, names, inbox)
      return { receipt: 'none', remoteSha256 }
    } catch (thrown) {
      const fault = signal.aborted ? (signal.reason as unknown) : pushFault(thrown, names, inbox)
      // What cannot be removed is taken over by a later attempt; the first fault is the one to tell.
      if (!mayGoOn(fault)) await rm(part, { force: true }).catch(() => {})
      throw fault
    }
  }

  async settled(key: FileKey): Promise<void> {
    await this.#markers?.forget(key)
  }

  async close(): Promise<void> {
    this.#over.abort(new NodeError('connection_lost', 'the session was closed'))
    await Promise.allSettled(this.#running)
  }
}

/**
 * A name that is gone is its own `.part`: a node that slept and has lost the transfer took it over before it found out. It
 * can give it no real name. Or it is the real name, taken away while it was looked at. The next attempt finds out anew.
 */
function pushFault(thrown: unknown, { target }: Names, inbox: string): NodeError {
  if (systemCode(thrown) === 'ENOTDIR') return noFolder(inbox, thrown)
  if (systemCode(thrown) !== 'ENOENT') return fromFileError(thrown, target)
  const why = 'what was being written there is gone, or was taken over by another node'
  return new NodeError('connection_lost', `${target}: ${why}`, { cause: thrown })
}

/**
 * Whether a later attempt may go on with the `.part`: the fault can pass, and the bytes were not at fault. After an error of
 * the disk they may be in memory alone, and no later sync would tell.
 */
function mayGoOn(fault: unknown): boolean {
  return (
    fault instanceof NodeError && fault.retry && fault.code !== 'hash_mismatch' && fault.code !== 'disk_fault'
  )
}

/** The markers are gone, perhaps because somebody removed the hidden files. Then only the bytes can tell. */
async function isThere(file: WireFile, { part, target }: Names): Promise<boolean> {
  if (await stat(part).catch(() => undefined)) return false
  const there = await stat(target).catch(() => undefined)
  return (
    there?.isFile() === true &&
    there.size === file.source.size &&
    (await sameBytes(file.source, target, there.size))
  )
}

/** The hidden names stay for `settled`. */
async function delivered(file: WireFile, placed: string): Promise<PushResult> {
  return { receipt: 'none', remoteSha256: file.verify ? await sha256Of(placed) : undefined }
}

async function writePart(
  file: WireFile,
  part: string,
  progress: PushProgress,
  signal: AbortSignal,
): Promise<void> {
  if (isSmall(file) && isQuickHere()) return writeSmall(file, part, progress, signal)
  const { handle, position } = (await halfDone(file, part)) ?? (await newPart(part))
  await using out = handle
  await copyBytes(file.source, out, { position, progress, signal })
  await out.sync()
  progress.safe(file.source.size)
}

type OpenPart = { handle: FileHandle; position: number }

/** Where to go on from. What is there counts only if it is, byte for byte, the beginning of what is to be sent. */
async function halfDone(file: WireFile, part: string): Promise<OpenPart | undefined> {
  if (file.restartFrom === 0) return undefined
  // Never through a link somebody left under our name.
  const handle = await open(part, constants.O_RDWR | constants.O_NOFOLLOW).catch(() => undefined)
  if (!handle) return undefined
  const { size } = await handle.stat()
  const position = Math.min(size, file.restartFrom, file.source.size)
  if (position > 0 && size <= file.source.size && (await sameBytes(file.source, part, position)))
    return { handle, position }
  await handle.close()
  return undefined
}

/** Makes a new file, so that one which another attempt has open is not touched. */
async function newPart(part: string): Promise<OpenPart> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(part, flags, 0o640).catch(async (thrown: unknown) => {
    if (systemCode(thrown) !== 'EEXIST') throw thrown
    await rm(part)
    return open(part, flags, 0o640)
  })
  return { handle, position: 0 }
}

async function placePart({ mayBeThere }: WireFile, names: Names, inbox: string): Promise<void> {
  const { part, done, target } = names
  try {
    if (isQuickHere()) placeSmall(names)
    else {
      await link(part, target)
      await rename(part, done)
    }
  } catch (thrown) {
    if (systemCode(thrown) === 'EEXIST')
      throw new NodeError('name_taken', `${target} exists already: the partner has not taken it yet`, {
        // What stands there is another's: it must not count as this one at the next attempt, should it hold the same.
        cause: mayBeThere ? thrown : ({ placed: false } satisfies PartnerAnswer),
      })
    throw thrown
  }
  await syncFolder(inbox)
}

async function syncInbox(inbox: string): Promise<void> {
  await syncFolder(inbox).catch((thrown: unknown) => {
    throw fromFileError(thrown, inbox)
  })
}
