// One SFTP channel of a signed-in partner: reads requests, finds the place they speak of, and answers. Put in `in`,
// get and remove in `out`, rename inside `in`; everything else is refused. There is no request here that makes a
// link, follows one, makes a folder or reaches the local file system by a client's path.

import { NodeError } from '../../../errors.ts'
import { MAX_DATA, MAX_PACKET, OPEN, PacketReader, STATUS, TYPE, U64, packet } from '../ssh/sftp-packet.ts'
import type { Attrs } from '../ssh/sftp-packet.ts'
import type { Reach, Reached } from '../transport.ts'

import { FOLDER_ATTRS, errorPacket, fileAttrs, namePacket, statusPacket } from './answers.ts'
import type { ChannelIo } from './channel-io.ts'
import { Handles, refused } from './handles.ts'
import type { UploadPlace } from './inbox.ts'
import type { SftpServerLimits } from './limits.ts'
import { canonicalPath } from './paths.ts'
import { Reading } from './download-tracking.ts'
import { Tree, missing } from './tree.ts'
import type { FilePlace, SessionFiles } from './tree.ts'
import { HandedOver, ReadBack, Upload } from './upload.ts'

export interface FileSessionParts {
  io: ChannelIo
  reach: Reach
  /** What exists for the session: its tree. */
  reached: Reached
  files: SessionFiles
  limits: SftpServerLimits
  /** Called at each request: the session is not idle. */
  active: () => void
  /** The client broke the protocol: the connection must go. */
  broken: (error: unknown) => void
}

const LIST_BATCH = 100
/** In the queue of names, where no file can have this one. */
const LISTINGS = 'listings'
/** What a request costs besides its octets; without it a flood of tiny ones would count as nothing. */
const REQUEST_WEIGHT = 1024
const EXTENSIONS = ['limits@openssh.com', '1', 'posix-rename@openssh.com', '1', 'fsync@openssh.com', '1']

export class FileSession {
  readonly #parts: FileSessionParts
  readonly #tree: Tree
  readonly #handles: Handles
  #running = 0
  #idle: (() => void) | undefined
  #state: 'greeting' | 'open' | 'over' = 'greeting'
  #ended: Promise<void> | undefined

  constructor(parts: FileSessionParts) {
    this.#parts = parts
    this.#handles = new Handles(parts.limits.handlesPerChannel, parts.files.room)
    this.#tree = new Tree(parts.files, parts.reached)
  }

  take(whole: Buffer): void {
    if (this.#state === 'over') return
    this.#parts.active()
    const reader = new PacketReader(whole)
    if (this.#state === 'greeting') {
      if (reader.type !== TYPE.INIT) throw new NodeError('protocol_violation', 'the first packet is not INIT')
      this.#state = 'open'
      return this.#parts.io.send(packet(TYPE.VERSION, 3, ...EXTENSIONS))
    }
    void this.#serve(reader.u32(), reader, whole)
  }

  /** From the request to its answer, whatever it is; `end` waits for it. */
  async #serve(id: number, reader: PacketReader, whole: Buffer): Promise<void> {
    const { io } = this.#parts
    const weight = whole.length + REQUEST_WEIGHT
    io.hold(weight)
    this.#running++
    try {
      await this.#answer(id, reader)
    } catch (error) {
      io.send(errorPacket(id, error))
    } finally {
      io.release(weight, whole)
      if (--this.#running === 0) this.#idle?.()
    }
  }

  /** The channel is over: what was open is kept or closed. Resolves when nothing of it runs any more. */
  end(reason: unknown): Promise<void> {
    this.#state = 'over'
    return (this.#ended ??= this.#finish(reason))
  }

  async #finish(reason: unknown): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    const { downloads, inbox } = this.#parts.files
    await Promise.allSettled(this.#handles.closeAll().map((reading) => downloads.lost(reading)))
    await inbox.leaveAll(this, reason)
  }

  /** Fields are read before anything is awaited: requests behind this one may follow at once. */
  #answer(id: number, reader: PacketReader): Promise<void> {
    try {
      return this.#handlerOf(id, reader)
    } catch (error) {
      if (error instanceof NodeError && error.code === 'protocol_violation') this.#parts.broken(error)
      return Promise.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #handlerOf(id: number, reader: PacketReader): Promise<void> {
    switch (reader.type) {
      case TYPE.OPEN:
        return this.#open(id, reader.strictText(), reader.u32(), reader.attrs())
      case TYPE.CLOSE:
        return this.#close(id, reader.bytes())
      case TYPE.READ:
        return this.#read(id, reader.bytes(), reader.u64(), reader.u32())
      case TYPE.WRITE:
        return this.#write(id, reader.bytes(), reader.u64(), reader.bytes())
      case TYPE.LSTAT:
      case TYPE.STAT:
        return this.#stat(id, reader.strictText())
      case TYPE.FSTAT:
        return this.#fstat(id, reader.bytes())
      case TYPE.SETSTAT:
        return this.#setStat(id, reader.strictText(), reader.attrs())
      case TYPE.FSETSTAT:
        return this.#setStatOpen(id, reader.bytes(), reader.attrs())
      case TYPE.OPENDIR:
        return this.#openFolder(id, reader.strictText())
      case TYPE.READDIR:
        return this.#readFolder(id, reader.bytes())
      case TYPE.REMOVE:
        return this.#remove(id, reader.strictText())
      case TYPE.RENAME:
        return this.#rename(id, reader.strictText(), reader.strictText(), false)
      case TYPE.REALPATH:
        return this.#realPath(id, reader.strictText())
      case TYPE.MKDIR:
      case TYPE.RMDIR:
      case TYPE.READLINK:
      case TYPE.SYMLINK:
        return this.#reply(statusPacket(id, STATUS.PERMISSION_DENIED, 'not allowed here'))
      case TYPE.EXTENDED:
        return this.#extended(id, reader.text(), reader)
      default:
        return this.#reply(statusPacket(id, STATUS.OP_UNSUPPORTED, 'not supported'))
    }
  }

  #extended(id: number, name: string, reader: PacketReader): Promise<void> {
    if (name === 'posix-rename@openssh.com')
      return this.#rename(id, reader.strictText(), reader.strictText(), true)
    if (name === 'fsync@openssh.com') return this.#sync(id, reader.bytes())
    if (name !== 'limits@openssh.com')
      return this.#reply(statusPacket(id, STATUS.OP_UNSUPPORTED, 'not supported'))
    const most = [MAX_PACKET, MAX_DATA, MAX_DATA, this.#parts.limits.handlesPerChannel]
    return this.#reply(packet(TYPE.EXTENDED_REPLY, id, ...most.map((value) => new U64(value))))
  }

  async #reply(answer: Buffer): Promise<void> {
    this.#parts.io.send(answer)
  }

  #ok(id: number): void {
    this.#parts.io.send(statusPacket(id, STATUS.OK))
  }

  #at(channel: string, { application, name }: FilePlace): UploadPlace {
    return { channel, application, name, owner: this, reach: this.#parts.reach }
  }

  async #open(id: number, path: string | undefined, flags: number, attrs: Attrs): Promise<void> {
    const place = this.#tree.file(path)
    const writes = (flags & (OPEN.WRITE | OPEN.APPEND)) !== 0
    if (place.side === 'in' ? !this.#tree.mayPut : writes || !this.#tree.mayGet) throw refused()
    const written = await this.#handles.add(async () => {
      const handle = await (writes ? this.#openUpload(place, flags) : this.#openReading(place))
      const isWritten = handle instanceof Upload || handle instanceof HandedOver
      if (isWritten && attrs.size !== undefined && attrs.size > 0) handle.announced = attrs.size
      if (this.#state !== 'over') return handle
      // The channel ended while the engine was asked: nobody will close this one.
      if (handle instanceof Reading) await this.#parts.files.downloads.lost(handle)
      return undefined
    })
    if (written) this.#parts.io.send(packet(TYPE.HANDLE, id, written))
  }

  #openUpload(place: FilePlace, flags: number): Promise<Upload | HandedOver> {
    const how = {
      create: (flags & OPEN.CREAT) !== 0,
      truncate: (flags & OPEN.TRUNC) !== 0,
      exclusive: (flags & OPEN.EXCL) !== 0,
      append: (flags & OPEN.APPEND) !== 0,
    }
    return this.#tree.inChannel([place], (channel) =>
      this.#parts.files.inbox.open(this.#at(channel, place), how),
    )
  }

  /**
   * Where a request that writes goes. With an upload that is known at once: what is sent behind it, the CLOSE above all,
   * must not overtake it.
   */
  #uploadFor(written: Buffer, begins: boolean): Upload | Promise<Upload> {
    const handle = this.#handles.writable(written)
    return handle instanceof Upload ? handle : handle.next(begins, () => this.#openAnew(handle))
  }

  async #openAnew(handedOver: HandedOver): Promise<Upload> {
    const { application, name, announced } = handedOver
    const place: FilePlace = { kind: 'file', side: 'in', application, name }
    const upload = await this.#tree.inChannel([place], (channel) =>
      this.#parts.files.inbox.openAnew(this.#at(channel, place)),
    )
    upload.announced = announced
    return upload
  }

  async #openReading(place: FilePlace): Promise<Reading | ReadBack> {
    const { inbox, outbox, downloads } = this.#parts.files
    const { application, name } = place
    if (place.side === 'in')
      return this.#tree.inChannel([place], (channel) => inbox.readBack(this.#at(channel, place)))
    const entry = await outbox.find(application, name)
    if (entry === undefined) throw missing()
    const reading = new Reading(application, entry, await outbox.open(application, entry))
    downloads.opened(reading)
    return reading
  }

  async #close(id: number, written: Buffer): Promise<void> {
    const closed = this.#handles.close(written)
    const handle = closed instanceof HandedOver ? await closed.closed() : closed
    const { inbox, outbox, downloads } = this.#parts.files
    if (handle instanceof Upload)
      await this.#tree.inTurn([{ side: 'in', application: handle.application, name: handle.name }], () =>
        inbox.close(handle),
      )
    if (handle instanceof Reading) await downloads.closed(outbox, handle)
    this.#ok(id)
  }

  async #read(id: number, written: Buffer, position: number, length: number): Promise<void> {
    const handle = this.#handles.readable(written)
    const { io } = this.#parts
    if (!Number.isSafeInteger(position)) return io.send(statusPacket(id, STATUS.EOF, 'end of file'))
    await handle.inTurn(async () => {
      await io.room()
      if (this.#state === 'over') return
      // Clients ask for the most a packet holds even of a tiny file: no more memory than there are octets left.
      const { whole, data } = io.dataRoom(Math.min(length, MAX_DATA, handle.left(position)))
      const got = await handle.read(data, position)
      if (got === 0) io.send(statusPacket(id, STATUS.EOF, 'end of file'))
      else io.sendData(id, whole, got)
    })
  }

  async #write(id: number, written: Buffer, position: number, bytes: Buffer): Promise<void> {
    const found = this.#uploadFor(written, position === 0)
    const upload = found instanceof Upload ? found : await found
    if (!Number.isSafeInteger(position + bytes.length))
      throw new NodeError('conflict', 'no file reaches as far as that')
    await upload.write(bytes, position)
    this.#ok(id)
  }

  async #sync(id: number, written: Buffer): Promise<void> {
    const found = this.#uploadFor(written, false)
    await (found instanceof Upload ? found : await found).settled()
    this.#ok(id)
  }

  async #stat(id: number, path: string | undefined): Promise<void> {
    const attrs = await this.#tree.attrsAt(this.#tree.place(path))
    this.#parts.io.send(packet(TYPE.ATTRS, id, { attrs }))
  }

  async #fstat(id: number, written: Buffer): Promise<void> {
    const found = this.#handles.find(written)
    const begun = found instanceof HandedOver ? await found.begun : undefined
    const handle = found instanceof ReadBack ? found.upload : (begun ?? found)
    let attrs = FOLDER_ATTRS
    if (handle instanceof Upload) {
      await handle.settled()
      attrs = fileAttrs({ size: handle.ranges.end, mtime: handle.mtime }, true)
    } else if (handle instanceof Reading) {
      const { size, mtimeMs } = handle.entry
      attrs = fileAttrs({ size, mtime: Math.floor(mtimeMs / 1000) }, false)
    } else if (handle instanceof HandedOver) attrs = fileAttrs(handle.look, true)
    this.#parts.io.send(packet(TYPE.ATTRS, id, { attrs }))
  }

  /** Times are shown back; owners and rights mean nothing here and are taken without a word. */
  async #setStat(id: number, path: string | undefined, attrs: Attrs): Promise<void> {
    const place = this.#tree.file(path)
    if (place.side !== 'in' || attrs.size !== undefined) throw refused()
    await this.#tree.inChannel([place], (channel) =>
      this.#parts.files.inbox.stamp(channel, place.name, attrs.mtime),
    )
    this.#ok(id)
  }

  async #setStatOpen(id: number, written: Buffer, attrs: Attrs): Promise<void> {
    const handle = this.#handles.writable(written)
    if (handle instanceof HandedOver && handle.isUnchangedBy(attrs)) return this.#ok(id)
    const found = this.#uploadFor(written, true)
    const upload = found instanceof Upload ? found : await found
    if (attrs.size !== undefined) await upload.resize(attrs.size)
    else await upload.settled()
    if (attrs.mtime !== undefined) upload.mtime = attrs.mtime
    this.#ok(id)
  }

  async #openFolder(id: number, path: string | undefined): Promise<void> {
    const place = this.#tree.place(path)
    if (place.kind === 'file') throw missing()
    const { limits, files } = this.#parts
    // One folder of a partner after the other: each is read as a whole before it counts.
    const written = await files.queue.take([LISTINGS], () =>
      this.#handles.add(async () => ({
        entries: (await this.#tree.entriesOf(place)).slice(0, limits.listEntries),
      })),
    )
    if (written) this.#parts.io.send(packet(TYPE.HANDLE, id, written))
  }

  async #readFolder(id: number, written: Buffer): Promise<void> {
    const batch = this.#handles.entries(written, LIST_BATCH)
    this.#parts.io.send(batch.length === 0 ? statusPacket(id, STATUS.EOF, 'no more') : namePacket(id, batch))
  }

  async #remove(id: number, path: string | undefined): Promise<void> {
    const place = this.#tree.file(path)
    const { application, name } = place
    const { inbox, outbox, downloads } = this.#parts.files
    if (place.side === 'in')
      await this.#tree.inChannel([place], (channel) => inbox.remove(this.#at(channel, place)))
    else
      await this.#tree.inTurn([place], async () => {
        if (!this.#tree.mayGet) throw refused()
        const entry = await outbox.find(application, name)
        if (entry !== undefined) return downloads.removed(outbox, application, entry)
        if (!downloads.removedWhatItTook(await outbox.channels(application), name)) throw missing()
      })
    this.#ok(id)
  }

  async #rename(
    id: number,
    from: string | undefined,
    to: string | undefined,
    replace: boolean,
  ): Promise<void> {
    const [source, target] = [this.#tree.file(from), this.#tree.file(to)]
    if (
      source.side !== 'in' ||
      target.side !== 'in' ||
      source.application !== target.application ||
      !this.#tree.mayPut
    )
      throw refused()
    if (source.name === target.name) throw new NodeError('conflict', 'both names are the same')
    await this.#tree.inChannel([source, target], (channel) =>
      this.#parts.files.inbox.rename(this.#at(channel, source), target.name, replace),
    )
    this.#ok(id)
  }

  async #realPath(id: number, path: string | undefined): Promise<void> {
    const canonical = canonicalPath(path)
    if (canonical === undefined) throw missing()
    this.#parts.io.send(namePacket(id, [{ name: canonical, attrs: {} }]))
  }
}
