// The `in` folders of one partner, over all its connections: uploads on their way, uploads kept from connections that
// broke, and for a while the names of files already handed over, because clients look at a file after sending it.
//
// A file is handed to the engine when it is closed under a final name, or renamed from a temporary one to a final
// one; from then on it is the engine's and can be neither changed, renamed nor removed from here.

import { NodeError } from '../../../errors.ts'
import { NAME_ALONE } from '../transport.ts'
import type { Incoming, Reach, SessionHost } from '../transport.ts'

import type { KeptUpload } from '../outbox.ts'
import { isTemporaryName } from '../temporary-name.ts'
import { HandedOver, ReadBack, Upload } from './upload.ts'
import type { Look } from './upload.ts'

export const REMEMBER_MS = 10 * 60_000
const MOST_REMEMBERED = 5000

type Kept = Look & { channel: string; name: string }

const textKey = (channel: string, name: string) => `${channel}/${name}`

/** A file of a client of one session; `channel` is the code of the channel that the application stands for in it. */
export type UploadPlace = {
  channel: string
  application: string
  name: string
  owner: object
  reach: Reach
  /** It does not ask to be handed over, even if its name would do. */
  provisional?: boolean
}

export interface InboxParts {
  contactId: string
  host: SessionHost
  /** Uploads that earlier runs of the node have kept; asked once per channel. */
  keptUploads: (channel: string) => Promise<readonly KeptUpload[]>
  /** The size of a file of that name that was handed over a short while ago, before this run or at another node. */
  takenBefore: (channel: string, name: string) => Promise<number | undefined>
}

export class Inbox {
  readonly #parts: InboxParts
  readonly #uploads = new Map<string, Upload>()
  readonly #kept = new Map<string, Kept>()
  readonly #handedOver = new Map<string, Kept & { until: number }>()
  /** Names that files were begun for which were not handed over, and until when an earlier one of that name could show. */
  readonly #sentAnew = new Map<string, number>()
  readonly #loaded = new Map<string, Promise<void>>()
  /** Uploads that are just being kept. A client that is back at once must find what it left. */
  readonly #leaving = new Set<Promise<void>>()
  /** Files that are just being handed over, by the name they had and the name they get. */
  readonly #handing = new Map<string, Promise<void>>()

  constructor(parts: InboxParts) {
    this.#parts = parts
  }

  /** Whether anything would be forgotten if this object were. */
  get isEmpty(): boolean {
    this.#forgetOld()
    const all = [this.#uploads, this.#kept, this.#handedOver, this.#sentAnew, this.#leaving, this.#handing]
    return all.every(({ size }) => size === 0)
  }

  async look(channel: string, name: string): Promise<Look | undefined> {
    await this.#load(channel)
    const key = textKey(channel, name)
    await this.#handing.get(key)
    this.#forgetOld()
    const upload = this.#uploads.get(key)
    // Confirmed octets count, even if the client is back before its old line is known to be dead.
    if (upload !== undefined) {
      await upload.written()
      return { size: upload.safeSize, mtime: upload.mtime }
    }
    return this.#kept.get(key) ?? this.#handedOver.get(key) ?? (await this.#takenBefore(channel, name))
  }

  async #takenBefore(channel: string, name: string): Promise<Look | undefined> {
    if (isTemporaryName(name) || this.#sentAnew.has(textKey(channel, name))) return undefined
    const size = await this.#parts.takenBefore(channel, name)
    return size === undefined ? undefined : { size, mtime: Math.floor(Date.now() / 1000) }
  }

  async list(channel: string): Promise<(Look & { name: string })[]> {
    await this.#load(channel)
    this.#forgetOld()
    const seen = new Map<string, Look & { name: string }>()
    for (const one of [...this.#handedOver.values(), ...this.#kept.values()])
      if (one.channel === channel) seen.set(one.name, one)
    for (const one of this.#uploads.values())
      if (one.channel === channel)
        seen.set(one.name, { name: one.name, size: one.safeSize, mtime: one.mtime })
    return [...seen.values()]
  }

  async open(
    at: UploadPlace,
    how: { create: boolean; truncate: boolean; exclusive: boolean; append: boolean },
  ): Promise<Upload | HandedOver> {
    const { channel, name } = at
    await this.#load(channel)
    const key = textKey(channel, name)
    await this.#handing.get(key)
    const there = this.#uploads.has(key) || this.#kept.has(key)
    if (how.exclusive && (there || (await this.look(channel, name))))
      throw new NodeError('conflict', 'the file is there already')
    const handedOver = this.#handedOver.get(key)
    if (!there && !how.truncate && handedOver) return new HandedOver(at, handedOver, how.append)
    if (!there && !how.create) throw new NodeError('not_found', 'there is no such file')
    const upload = await this.#openUpload(at, !how.truncate)
    upload.appends = how.append
    return upload
  }

  /** A client writes to a file that was handed over: another one begins, as if it had been opened to be cut to nothing. */
  async openAnew(at: UploadPlace): Promise<Upload> {
    await this.#load(at.channel)
    await this.#handing.get(textKey(at.channel, at.name))
    return this.#openUpload(at, false)
  }

  async #openUpload(at: UploadPlace, goesOn: boolean): Promise<Upload> {
    const key = textKey(at.channel, at.name)
    const running = this.#uploads.get(key)
    if (running?.state === 'open' && running.owner === at.owner)
      throw new NodeError('conflict', 'the file is open already')
    // A connection that came later wins: the earlier one is most likely dead and does not know it yet.
    if (running !== undefined) await this.leave(running, new NodeError('connection_lost', 'taken over'))
    return this.#begin({ ...at, restartFrom: goesOn ? (this.#kept.get(key)?.size ?? 0) : 0 })
  }

  /** An upload that waits for its rename, or the half of one that an earlier connection left, to be read back. */
  async readBack(at: UploadPlace): Promise<ReadBack> {
    const { channel, name } = at
    await this.#load(channel)
    const key = textKey(channel, name)
    const upload = this.#uploads.get(key)
    if (upload?.state === 'closed') return new ReadBack(upload)
    // Whatever its name: it is only looked at, and must not become a transfer.
    if (this.#kept.has(key)) return new ReadBack(await this.#waiting({ ...at, provisional: true }))
    throw (await this.look(channel, name)) === undefined
      ? new NodeError('not_found', 'there is no such file')
      : new NodeError('forbidden', 'only what waits for its name is read back')
  }

  /** The client has closed its handle. Resolves when a final file is handed over. */
  async close(upload: Upload): Promise<void> {
    if (upload.state !== 'open')
      throw new NodeError('conflict', 'the file was taken over by another connection')
    try {
      await upload.settled()
      if (!upload.isWhole)
        throw new NodeError('protocol_violation', 'the file was closed before all of it was there')
    } catch (error) {
      await this.leave(upload, error)
      throw error
    }
    upload.state = 'closed'
    if (!isTemporaryName(upload.name)) await this.#handOver(upload, upload.name)
  }

  async rename(at: UploadPlace, to: string, replace: boolean): Promise<void> {
    const { channel, name: from, owner } = at
    await this.#load(channel)
    const target = textKey(channel, to)
    const taken = this.#uploads.has(target) || this.#kept.has(target)
    if (taken && !replace) throw new NodeError('conflict', 'the new name is taken')
    const upload = await this.#waiting(at)
    const final = !isTemporaryName(to)
    if (final) this.#hideEarlier(target)
    // The engine judges the real name; when it refuses, the file stays under the temporary one.
    if (final) await upload.incoming.rename(to)
    if (taken) await this.remove({ ...at, name: to })
    if (final) return this.#handOver(upload, to)
    this.#uploads.delete(textKey(channel, from))
    upload.name = to
    upload.owner = owner
    this.#uploads.set(target, upload)
  }

  async remove(at: UploadPlace): Promise<void> {
    const { channel, name } = at
    await this.#load(channel)
    const key = textKey(channel, name)
    if (!this.#uploads.has(key) && !this.#kept.has(key))
      throw this.#handedOver.has(key)
        ? new NodeError('forbidden', 'the file was handed over already')
        : new NodeError('not_found', 'there is no such file')
    // The transfer that it came by has failed already: to take the rest away is no other one.
    const upload = await this.#waiting({ ...at, provisional: true })
    this.#end(upload)
    await upload.incoming.abandon(
      new NodeError('remote_refused', `${name} was removed by the partner before it was handed over`),
      false,
    )
  }

  /** Clients set times on what they have sent; it is shown back to them and means nothing else. */
  async stamp(channel: string, name: string, mtime: number | undefined): Promise<void> {
    await this.#load(channel)
    const key = textKey(channel, name)
    const there = this.#uploads.get(key) ?? this.#kept.get(key) ?? this.#handedOver.get(key)
    if (there === undefined) throw new NodeError('not_found', 'there is no such file')
    if (mtime !== undefined) there.mtime = mtime
  }

  /** The connection is gone, or the file cannot go on: what is safe is kept for the next one. */
  async leave(upload: Upload, reason: unknown): Promise<void> {
    if (upload.state === 'over') return
    this.#end(upload)
    const leaving = this.#keep(upload, reason)
    this.#leaving.add(leaving)
    await leaving.finally(() => this.#leaving.delete(leaving))
  }

  async #keep(upload: Upload, reason: unknown): Promise<void> {
    const size = await upload.keep(reason)
    const { channel, name, mtime } = upload
    if (size > 0) this.#kept.set(textKey(channel, name), { channel, name, size, mtime })
  }

  /** Everything the owner has open, and everything of it that waits for a rename. */
  async leaveAll(owner: object, reason: unknown): Promise<void> {
    const mine = [...this.#uploads.values()].filter((upload) => upload.owner === owner)
    await Promise.allSettled(mine.map((upload) => this.leave(upload, reason)))
  }

  #end(upload: Upload): void {
    upload.state = 'over'
    const key = textKey(upload.channel, upload.name)
    if (this.#uploads.get(key) === upload) this.#uploads.delete(key)
  }

  async #begin(at: UploadPlace & { restartFrom: number }): Promise<Upload> {
    const { channel, application, name, owner } = at
    const incoming = await this.#offer(at)
    const key = textKey(channel, name)
    const mtime = this.#kept.get(key)?.mtime
    this.#kept.delete(key)
    if (!isTemporaryName(name)) this.#hideEarlier(key)
    const upload = new Upload({ channel, application, name, incoming, owner })
    if (mtime !== undefined) upload.mtime = mtime
    this.#uploads.set(key, upload)
    return upload
  }

  /**
   * Another file of that name comes. Some clients do not heed a refused CLOSE and look at the size instead: an earlier
   * file must not be taken for this one, until this one is handed over.
   */
  #hideEarlier(key: string): void {
    this.#handedOver.delete(key)
    this.#sentAnew.delete(key)
    this.#sentAnew.set(key, Date.now() + REMEMBER_MS)
  }

  /** SFTP says neither size nor date ahead: the key is the client's name alone, good for finding a kept part. */
  #offer({
    application,
    name,
    restartFrom,
    reach,
    provisional = isTemporaryName(name),
  }: UploadPlace & { restartFrom: number }): Promise<Incoming> {
    return this.#parts.host.offer({
      contactId: this.#parts.contactId,
      application,
      reach,
      name,
      provisional,
      key: { name, date: NAME_ALONE, time: '0000000000' },
      format: { kind: 'U', recordLength: 0 },
      envelope: undefined,
      size: undefined,
      restartFrom,
      encryptedSession: true,
    })
  }

  /** An upload that no handle writes to: closed under a temporary name now, or kept from an earlier connection. */
  async #waiting(at: UploadPlace): Promise<Upload> {
    const key = textKey(at.channel, at.name)
    const upload = this.#uploads.get(key)
    if (upload?.state === 'open') throw new NodeError('conflict', 'the file is still open')
    if (upload !== undefined) return upload
    const kept = this.#kept.get(key)
    if (kept === undefined)
      throw this.#handedOver.has(key)
        ? new NodeError('forbidden', 'the file was handed over already')
        : new NodeError('not_found', 'there is no such file')
    const restartFrom = kept.size
    const resumed = await this.#begin({ ...at, restartFrom })
    resumed.state = 'closed'
    if (resumed.safeSize === kept.size) return resumed
    await this.leave(resumed, new NodeError('file_missing', 'part of the file is no longer here'))
    throw new NodeError('conflict', 'part of the file is no longer here')
  }

  /** Whoever looks at either name meanwhile waits: to a client whose line broke here, a name that is gone means a safe file. */
  async #handOver(upload: Upload, name: string): Promise<void> {
    this.#end(upload)
    const handing = this.#complete(upload, name)
    const over = handing.catch(() => undefined)
    const keys = [upload.name, name].map((one) => textKey(upload.channel, one))
    for (const key of keys) this.#handing.set(key, over)
    await handing.finally(() => {
      for (const key of keys) if (this.#handing.get(key) === over) this.#handing.delete(key)
    })
  }

  async #complete(upload: Upload, name: string): Promise<void> {
    const { channel, mtime } = upload
    const size = upload.ranges.end
    const hidden = upload.name
    try {
      await upload.incoming.complete({ size })
    } catch (error) {
      // Its temporary name stays, to be sent again: without it a client could believe that the file was taken.
      if (isTemporaryName(hidden))
        this.#kept.set(textKey(channel, hidden), { channel, name: hidden, size, mtime })
      throw error
    }
    const until = Date.now() + REMEMBER_MS
    this.#sentAnew.delete(textKey(channel, name))
    this.#handedOver.set(textKey(channel, name), { channel, name, size, mtime, until })
    this.#forgetOld()
  }

  async #load(channel: string): Promise<void> {
    if (this.#leaving.size > 0) await Promise.allSettled(this.#leaving)
    let loading = this.#loaded.get(channel)
    if (loading === undefined) {
      loading = this.#parts.keptUploads(channel).then((kept) => {
        const mtime = Math.floor(Date.now() / 1000)
        for (const { name, size } of kept.slice(0, MOST_REMEMBERED))
          this.#kept.set(textKey(channel, name), { channel, name, size, mtime })
      })
      this.#loaded.set(channel, loading)
      loading.catch(() => this.#loaded.delete(channel))
    }
    await loading
  }

  #forgetOld(): void {
    const now = Date.now()
    for (const [key, one] of this.#handedOver) {
      if (one.until > now && this.#handedOver.size <= MOST_REMEMBERED) break
      this.#handedOver.delete(key)
    }
    for (const [key, until] of this.#sentAnew) {
      if (until > now && this.#sentAnew.size <= MOST_REMEMBERED) break
      this.#sentAnew.delete(key)
    }
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= MOST_REMEMBERED) break
      this.#kept.delete(key)
    }
  }
}
