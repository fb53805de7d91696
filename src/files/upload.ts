// A file that somebody uploads into a channel's outbound directory. Its octets go to a hidden name beside its place, which
// no send picks up. When they are all there and on the disk, it gets its name, unless that is taken. What an upload that
// broke off leaves is removed at once, and after a crash by the sweep.

import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Channel } from '../contract/channel.ts'
import { directoriesFor } from '../domain/channel.ts'
import { nameFault } from '../domain/names/received-name.ts'
import { NodeError, fromFileError } from '../errors.ts'
import { DiskRoom } from './disk-room.ts'
import { ensureFolder, exists, placeFile, sweepParts } from './place.ts'
import { confined, fixedPart } from './roots.ts'
import { groupMatcher, isSendable } from './send-set.ts'

export type UploadLimits = {
  /** Octets of one file. */
  most: number
  /** What may lie in the directory with it. */
  quota: { octets: number; files: number }
  diskReserveOctets: number
}
export type Uploaded = { path: string; size: number; sha256: string }

/** The place of a file of that name: in the first outbound directory that takes it. Throws what is wrong with it. */
export async function uploadPlace(
  channel: Channel,
  name: string,
  fileRoots: readonly string[],
): Promise<string> {
  const fault = nameFault(name)
  if (fault !== undefined) throw new NodeError('bad_request', fault)
  if (!isSendable(name))
    throw new NodeError('bad_request', `${name} would not be sent: its ending marks a file that is not done`)
  const refusals: string[] = []
  for (const { directory } of directoriesFor(channel, 'EMISION')) {
    const place = directory.filePath ?? ''
    const target = await targetIn(place, name)
    if (target === undefined || !groupMatcher(directory.fileGroupsName)(name)) {
      refusals.push(directory.fileGroupsName ? `${place} (${directory.fileGroupsName})` : place)
      continue
    }
    const real = confined(target, fileRoots)
    if (real === undefined)
      throw new NodeError('conflict', `${place} leads out of the node’s file roots by a link`)
    return real
  }
  throw new NodeError('bad_request', `${name} fits no outbound directory: ${refusals.join(', ')}`)
}

/** A directory takes any name. One file or a glob takes what a send from there would take. */
async function targetIn(place: string, name: string): Promise<string | undefined> {
  const there = await stat(place).catch(() => undefined)
  if (there?.isDirectory()) return join(place, name)
  if (there) return basename(place) === name ? place : undefined
  if (fixedPart(place) === place) return basename(place) === name ? place : join(place, name)
  // Only the last step is a glob: which folder a file belongs to is then certain.
  if (fixedPart(place) !== dirname(place)) return undefined
  return groupMatcher(basename(place))(name) ? join(dirname(place), name) : undefined
}

/** All octets of `source`, on the disk under a hidden name; `place` gives them their own, `discard` removes them. */
export class Upload {
  readonly #target: string
  readonly #part: string
  readonly #limits: UploadLimits

  private constructor(target: string, limits: UploadLimits) {
    this.#target = target
    this.#part = join(dirname(target), `.esclusa-upload-${randomUUID()}.part`)
    this.#limits = limits
  }

  /** Checked before an octet is taken: the name is free, and there is room. `size` where it is known. */
  static async begin(target: string, size: number | undefined, limits: UploadLimits): Promise<Upload> {
    requireFits(size ?? 0, limits)
    await ensureFolder(dirname(target))
    if (await exists(target)) throw taken(target)
    await sweepParts(dirname(target))
    const upload = new Upload(target, limits)
    await upload.#room(size ?? 0)
    return upload
  }

  async write(source: AsyncIterable<Uint8Array>): Promise<Omit<Uploaded, 'path'>> {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
    const file = await this.#onDisk(open(this.#part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
    const hash = createHash('sha256')
    const disk = this.#disk()
    let size = 0
    try {
      for await (const chunk of source) {
        size += chunk.length
        requireFits(size, this.#limits)
        await disk.wrote(chunk.length)
        hash.update(chunk)
        await this.#onDisk(file.writeFile(chunk))
      }
      await this.#onDisk(file.sync())
    } finally {
      await file.close()
    }
    // Others may have put files there meanwhile.
    await this.#room(size)
    return { size, sha256: hash.digest('hex') }
  }

  /** What the disk says is told of the folder; what the caller's line says is not the disk's. */
  async #onDisk<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (thrown) {
      throw fromFileError(thrown, dirname(this.#target))
    }
  }

  /** Throws `conflict` if the name was taken meanwhile. */
  async place(): Promise<string> {
    try {
      await placeFile(this.#part, this.#target)
    } catch (thrown) {
      if (thrown instanceof NodeError && thrown.code === 'name_taken') throw taken(this.#target)
      throw thrown
    }
    return this.#target
  }

  async discard(): Promise<void> {
    await rm(this.#part, { force: true })
  }

  #disk(): DiskRoom {
    return new DiskRoom(dirname(this.#target), this.#limits.diskReserveOctets)
  }

  async #room(size: number): Promise<void> {
    const folder = dirname(this.#target)
    const { quota } = this.#limits
    const there = await waitingIn(folder, quota.files)
    if (there.files >= quota.files || there.octets + size > quota.octets)
      throw new NodeError(
        'no_space',
        `${folder} holds ${there.files} files, ${there.octets} octets: the partner’s quota is ${quota.files} files, ${quota.octets} octets`,
      )
    await this.#disk().require(size)
  }
}

function requireFits(size: number, { most }: UploadLimits): void {
  if (size > most)
    throw new NodeError('too_large', `the file is larger than an upload may be (${most} octets)`)
}

function taken(target: string): NodeError {
  return new NodeError('conflict', `${target} exists already, and is not overwritten`)
}

async function waitingIn(folder: string, most: number): Promise<{ files: number; octets: number }> {
  const names = (await readdir(folder)).filter(isSendable)
  if (names.length > most) return { files: names.length, octets: 0 }
  const stats = await Promise.all(names.map((name) => lstat(join(folder, name)).catch(() => undefined)))
  const files = stats.filter((one) => one?.isFile())
  return { files: files.length, octets: files.reduce((sum, one) => sum + (one?.size ?? 0), 0) }
}
