// The folder transport: a partner on the same file system. Files go to its `inbox` and are fetched from its `outbox`.
// A real transport for partners beside us (or behind a mount), and the reference for the conformance suite.
//
// A push writes a hidden `.part` in the inbox, named after the file's key so that a later attempt finds it, fsyncs it,
// and hard-links it to the real name, which fails if that is taken. Between "placing" and the partner's view of the
// file nothing can be half done: a crash leaves the `.part`, the file, or both as one inode.

import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { createHash } from 'node:crypto'
import { link, lstat, open, readdir, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { NodeError, fromFileError, systemCode } from '../../../errors.ts'
import type {
  Call,
  Capabilities,
  PushProgress,
  PushResult,
  Session,
  SessionHost,
  Transport,
  WireFile,
} from '../transport.ts'
import { copyBytes, sameBytes, sha256Of } from './bytes.ts'

export type FolderSettings = { inbox?: string; outbox?: string }

const CAPABILITIES: Capabilities = {
  records: false,
  receipts: false,
  remoteHash: true,
  defaultPort: undefined,
}

export const folderTransport: Transport<FolderSettings> = {
  protocol: 'folder',
  capabilities: CAPABILITIES,
  async connect(call, host) {
    const folder = call.settings
    if (call.security.encrypted)
      throw new NodeError(
        'insecure_session',
        'a folder is no encrypted session: the channel asks for one (ciphrate)',
      )
    for (const path of [folder.inbox, folder.outbox]) if (path !== undefined) await requireFolder(path)
    return new FolderSession(call, folder, host)
  },
}

async function requireFolder(path: string): Promise<void> {
  const found = await stat(path).catch((thrown: unknown) => {
    if (systemCode(thrown) === 'ENOENT')
      throw new NodeError('connect_failed', `the partner’s folder ${path} does not exist`, { cause: thrown })
    throw fromFileError(thrown, path)
  })
  if (!found.isDirectory())
    throw new NodeError('connect_failed', `the partner’s folder ${path} is not a folder`)
}

class FolderSession implements Session {
  readonly contactId: string
  readonly encrypted = false
  readonly #over = new AbortController()
  readonly #folder: FolderSettings
  readonly #host: SessionHost
  readonly #applications: readonly string[]

  constructor(call: Call<unknown>, folder: FolderSettings, host: SessionHost) {
    this.contactId = call.contactId
    this.#folder = folder
    this.#host = host
    this.#applications = call.applications
  }

  get ended(): AbortSignal {
    return this.#over.signal
  }

  async push(file: WireFile, progress: PushProgress, signal: AbortSignal): Promise<PushResult> {
    if (this.#folder.inbox === undefined)
      throw new NodeError('remote_refused', 'the partner has no inbox folder')
    const target = join(this.#folder.inbox, file.name)
    const part = join(this.#folder.inbox, partName(file))
    try {
      if (file.mayBeThere && (await wasPlaced(file, part, target))) return await delivered(file, part, target)
      await writePart(file, part, progress, signal)
      const remoteSha256 = file.verify ? await sha256Of(part) : undefined
      await progress.placing()
      await placePart(part, target, this.#folder.inbox)
      return { receipt: 'none', remoteSha256 }
    } catch (thrown) {
      if (signal.aborted && isCancelled(signal.reason)) await rm(part, { force: true })
      throw signal.aborted ? signal.reason : fromFileError(thrown, target)
    }
  }

  async fetch(signal: AbortSignal): Promise<void> {
    const { outbox } = this.#folder
    if (outbox === undefined) return
    for (const name of (await readdir(outbox)).sort()) {
      signal.throwIfAborted()
      if (name.startsWith('.') || name.toLowerCase().endsWith('.part')) continue
      const found = await lstat(join(outbox, name)).catch(() => undefined)
      if (found?.isFile()) await this.#take(join(outbox, name), name, found, signal)
    }
  }

  async #take(path: string, name: string, found: Stats, signal: AbortSignal): Promise<void> {
    const digits = found.mtime.toISOString().replaceAll(/[^0-9]/g, '')
    const incoming = await this.#host.offer({
      contactId: this.contactId,
      application: this.#applications.length === 1 ? (this.#applications[0] ?? '') : '',
      name,
      // The inode makes a file that was replaced by another of the same name and time a new one.
      key: { name, date: digits.slice(0, 8), time: `${digits.slice(8, 17)}-${found.size}-${found.ino}` },
      format: { kind: 'U', recordLength: 0 },
      envelope: undefined,
      size: found.size,
      restartFrom: found.size,
      encryptedSession: false,
      signedReceipt: false,
    })
    try {
      await using file = await open(path, 'r')
      const buffer = Buffer.allocUnsafe(Math.min(PIECE, found.size) || 1)
      let position = incoming.position
      while (position < found.size) {
        signal.throwIfAborted()
        const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
        if (bytesRead === 0) throw new NodeError('file_changed', `${path} became shorter while it was read`)
        await incoming.write(buffer.subarray(0, bytesRead), position)
        position += bytesRead
      }
      await incoming.complete({ size: found.size })
    } catch (thrown) {
      await incoming.abandon(thrown, true)
      throw fromFileError(thrown, path)
    }
    await rm(path, { force: true })
  }

  close(): Promise<void> {
    this.#over.abort()
    return Promise.resolve()
  }
}

const PIECE = 1024 * 1024

function isCancelled(reason: unknown): boolean {
  return reason instanceof NodeError && reason.code === 'cancelled'
}

function partName(file: WireFile): string {
  const { name, date, time } = file.key
  return `.esclusa-${createHash('sha256').update(`${name}\0${date}\0${time}`).digest('hex').slice(0, 32)}.part`
}

/** An earlier attempt may have linked the file and died before saying so: the same inode, or the very same bytes. */
async function wasPlaced(file: WireFile, part: string, target: string): Promise<boolean> {
  const there = await stat(target).catch(() => undefined)
  if (!there?.isFile()) return false
  const here = await stat(part).catch(() => undefined)
  if (here) return here.ino === there.ino && here.dev === there.dev
  return there.size === file.source.size && (await sameBytes(file.source, target, there.size))
}

async function delivered(file: WireFile, part: string, target: string): Promise<PushResult> {
  await rm(part, { force: true })
  return { receipt: 'none', remoteSha256: file.verify ? await sha256Of(target) : undefined }
}

async function writePart(
  file: WireFile,
  part: string,
  progress: PushProgress,
  signal: AbortSignal,
): Promise<void> {
  await using out = await openPart(part)
  const position = await resumeAt(file, part, out)
  await copyBytes(file.source, out, { position, progress, signal })
  await out.sync()
  progress.safe(file.source.size)
}

async function openPart(part: string): Promise<FileHandle> {
  // Never through a link somebody left under our name.
  return open(part, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o640)
}

/** Where to go on: only if what is there is, byte for byte, the beginning of what is to be sent. */
async function resumeAt(file: WireFile, part: string, out: FileHandle): Promise<number> {
  const { size } = await out.stat()
  const wanted = Math.min(size, file.restartFrom, file.source.size)
  const position = wanted > 0 && (await sameBytes(file.source, part, wanted)) ? wanted : 0
  await out.truncate(position)
  return position
}

async function placePart(part: string, target: string, inbox: string): Promise<void> {
  try {
    await link(part, target)
  } catch (thrown) {
    if (systemCode(thrown) === 'EEXIST')
      throw new NodeError('name_taken', `${target} exists already: the partner has not taken it yet`, {
        cause: thrown,
      })
    throw thrown
  }
  await rm(part, { force: true })
  await using folder = await open(inbox, constants.O_RDONLY | constants.O_DIRECTORY)
  await folder.sync()
}
