// The partner's server as typed calls: what it can do (extensions, limits), and one function per request. A refusal
// becomes a NodeError here, where it enters; the few callers that must tell refusals apart get the bare status.

import { cleanWords, NodeError } from '../../../errors.ts'
import type { ErrorCode } from '../../../errors.ts'
import { HEAD_LENGTH, MAX_DATA, MAX_PACKET, TYPE, U64, STATUS, writeU64 } from '../ssh/sftp-packet.ts'
import type { Attrs, Field, PacketReader } from '../ssh/sftp-packet.ts'

import type { Reply, Requests } from './requests.ts'

/** What any server must take (32,768 with its head), where it does not say more. */
const MODEST_DATA = 31_952

export interface RemoteEntry {
  name: string
  attrs: Attrs
}

export interface RemoteStatus {
  code: number
  message: string
}

export interface RemoteLimits {
  read: number
  write: number
  /** How many files may be open on the connection. */
  openFiles: number
}

const STATUS_WORDS: Record<number, string> = {
  [STATUS.NO_SUCH_FILE]: 'no such file or folder',
  [STATUS.PERMISSION_DENIED]: 'permission denied',
  [STATUS.OP_UNSUPPORTED]: 'not supported',
  [STATUS.NO_SPACE_ON_FILESYSTEM]: 'no space left',
  [STATUS.QUOTA_EXCEEDED]: 'quota exceeded',
}

export function refusal(status: RemoteStatus, what: string): NodeError {
  const words = STATUS_WORDS[status.code] ?? (cleanWords(status.message) || `status ${status.code}`)
  return new NodeError(codeOf(status), `the partner's server refused to ${what}: ${words}`)
}

export function isRefusal(error: unknown): boolean {
  return error instanceof NodeError && error.code === 'remote_refused'
}

/** Version 3 has no status for a full disk: servers put the system's words, or their own, into the message of a failure. */
const NO_ROOM =
  /no space left|not enough space|(disk|file ?system|volume) (is )?full|quota (is )?(exceeded|met)/i

function codeOf({ code, message }: RemoteStatus): ErrorCode {
  if (code === STATUS.CONNECTION_LOST || code === STATUS.NO_CONNECTION) return 'connection_lost'
  if (code === STATUS.NO_SPACE_ON_FILESYSTEM || code === STATUS.QUOTA_EXCEEDED) return 'no_space'
  return code === STATUS.FAILURE && NO_ROOM.test(message) ? 'no_space' : 'remote_refused'
}

function statusIn(body: PacketReader): RemoteStatus {
  const code = body.u32()
  // Some servers leave the words out.
  return { code, message: body.left >= 4 ? body.text() : '' }
}

function unexpected(reply: Reply, what: string): NodeError {
  return new NodeError('protocol_violation', `the answer to "${what}" is of type ${reply.type}`)
}

/** The answer's body when it is of the type asked for; a status otherwise. */
function bodyOr(reply: Reply, type: number, what: string): PacketReader | RemoteStatus {
  if (reply.type === type) return reply.body
  if (reply.type === TYPE.STATUS) return statusIn(reply.body)
  throw unexpected(reply, what)
}

export class Remote {
  readonly requests: Requests
  readonly ident: string
  /** Servers give the name of a handle that was closed to the next file: used once more it would be that file's. */
  readonly #closed = new WeakSet<Buffer>()
  #extensions = new Set<string>()
  #limits: RemoteLimits = { read: MODEST_DATA, write: MODEST_DATA, openFiles: Infinity }
  #roundTripMs = 0

  constructor(requests: Requests, ident: string) {
    this.requests = requests
    this.ident = ident
  }

  get limits(): RemoteLimits {
    return this.#limits
  }

  get roundTripMs(): number {
    return this.#roundTripMs
  }

  offers(extension: string): boolean {
    return this.#extensions.has(extension)
  }

  /** Version 3 and no other; then what the server can take. */
  async greet(): Promise<void> {
    const began = performance.now()
    const { body } = await this.requests.init(3)
    this.#roundTripMs = performance.now() - began
    const version = body.u32()
    if (version !== 3)
      throw new NodeError('protocol_violation', `the partner's server speaks SFTP version ${version}`)
    while (body.left >= 8) {
      this.#extensions.add(body.text())
      body.bytes()
    }
    if (this.offers('limits@openssh.com')) await this.#readLimits()
  }

  async #readLimits(): Promise<void> {
    const began = performance.now()
    const reply = await this.requests.ask(TYPE.EXTENDED, ['limits@openssh.com'])
    this.#roundTripMs = Math.min(this.#roundTripMs, performance.now() - began)
    const body = bodyOr(reply, TYPE.EXTENDED_REPLY, 'limits')
    if ('code' in body) return
    const packetLimit = body.u64() || MAX_PACKET
    const most = Math.min(MAX_DATA, Math.max(MODEST_DATA, packetLimit - 1024))
    const clamp = (announced: number) => Math.min(most, Math.max(announced, 4096))
    // 0 means that the server knows no limit of its own.
    this.#limits = {
      read: clamp(body.u64() || MODEST_DATA),
      write: clamp(body.u64() || MODEST_DATA),
      openFiles: (body.left >= 8 && body.u64()) || Infinity,
    }
  }

  async status(type: number, fields: readonly Field[], signal?: AbortSignal): Promise<RemoteStatus> {
    const reply = await this.requests.ask(type, fields, signal)
    if (reply.type !== TYPE.STATUS) throw unexpected(reply, `request ${type}`)
    return statusIn(reply.body)
  }

  async #must(what: string, type: number, fields: readonly Field[], signal?: AbortSignal): Promise<void> {
    const status = await this.status(type, fields, signal)
    if (status.code !== STATUS.OK) throw refusal(status, what)
  }

  /** Undefined where there is nothing of that name. */
  async lstat(path: string, signal?: AbortSignal): Promise<Attrs | undefined> {
    const body = bodyOr(await this.requests.ask(TYPE.LSTAT, [path], signal), TYPE.ATTRS, `look at ${path}`)
    if (!('code' in body)) return body.attrs()
    if (body.code === STATUS.NO_SUCH_FILE) return undefined
    throw refusal(body, `look at ${path}`)
  }

  async fstat(handle: Buffer, signal?: AbortSignal): Promise<Attrs> {
    const body = bodyOr(
      await this.requests.ask(TYPE.FSTAT, [handle], signal),
      TYPE.ATTRS,
      'look at an open file',
    )
    if (!('code' in body)) return body.attrs()
    throw refusal(body, 'look at an open file')
  }

  async open(path: string, flags: number, signal?: AbortSignal): Promise<Buffer> {
    const asked = this.requests.ask(TYPE.OPEN, [path, flags, { attrs: {} }])
    return this.#handle(asked, `open ${path}`, signal)
  }

  async openFolder(path: string, signal?: AbortSignal): Promise<Buffer> {
    return this.#handle(this.requests.ask(TYPE.OPENDIR, [path]), `list ${path}`, signal)
  }

  /** A handle that arrives after the caller gave up is closed, not forgotten. */
  async #handle(asked: Promise<Reply>, what: string, signal?: AbortSignal): Promise<Buffer> {
    const body = bodyOr(await asked, TYPE.HANDLE, what)
    if ('code' in body) throw refusal(body, what)
    const handle = Buffer.from(body.bytes())
    if (signal?.aborted) this.closeLater(handle)
    return handle
  }

  /** The next entries of a folder; undefined at its end. */
  async readFolder(handle: Buffer, signal?: AbortSignal): Promise<RemoteEntry[] | undefined> {
    const reply = await this.requests.ask(TYPE.READDIR, [handle], signal)
    const body = bodyOr(reply, TYPE.NAME, 'list a folder')
    if ('code' in body) {
      if (body.code === STATUS.EOF) return undefined
      throw refusal(body, 'list a folder')
    }
    const entries: RemoteEntry[] = []
    for (let left = body.u32(); left > 0; left--) {
      // A name that is not UTF-8 cannot be asked for, but it counts: a list must come to its end.
      const name = body.strictText() ?? ''
      body.bytes()
      entries.push({ name, attrs: body.attrs() })
    }
    // An answer has one entry at least. OpenSSH, too, takes an empty one for the end; else a server could go on for ever.
    return entries.length === 0 ? undefined : entries
  }

  /** Once: whoever gives up closes whatever may still be open. */
  async close(handle: Buffer, signal?: AbortSignal): Promise<void> {
    if (this.#closed.has(handle)) return
    this.#closed.add(handle)
    return this.#must('close a file', TYPE.CLOSE, [handle], signal)
  }

  /** Closes without waiting: for the ways out where another error is already on its way. */
  closeLater(handle: Buffer): void {
    this.close(handle).catch(() => {})
  }

  setAttrs(handle: Buffer, attrs: Attrs, signal?: AbortSignal): Promise<RemoteStatus> {
    return this.status(TYPE.FSETSTAT, [handle, { attrs }], signal)
  }

  /** Where the server can. */
  async sync(handle: Buffer, signal?: AbortSignal): Promise<void> {
    if (!this.offers('fsync@openssh.com')) return
    const status = await this.status(TYPE.EXTENDED, ['fsync@openssh.com', handle], signal)
    if (status.code !== STATUS.OK && status.code !== STATUS.OP_UNSUPPORTED)
      throw refusal(status, 'sync a file')
  }

  rename(from: string, to: string): Promise<RemoteStatus> {
    return this.status(TYPE.RENAME, [from, to])
  }

  link(from: string, to: string): Promise<RemoteStatus> {
    return this.status(TYPE.EXTENDED, ['hardlink@openssh.com', from, to])
  }

  remove(path: string, signal?: AbortSignal): Promise<RemoteStatus> {
    return this.status(TYPE.REMOVE, [path], signal)
  }

  /** Octets free for us where `path` lies; undefined where the server does not tell. */
  async freeSpace(path: string, signal?: AbortSignal): Promise<number | undefined> {
    if (!this.offers('statvfs@openssh.com')) return undefined
    const reply = await this.requests.ask(TYPE.EXTENDED, ['statvfs@openssh.com', path], signal)
    const body = bodyOr(reply, TYPE.EXTENDED_REPLY, 'free space')
    if ('code' in body) return undefined
    body.u64()
    const fragment = body.u64()
    body.u64()
    body.u64()
    return fragment * body.u64()
  }

  /** Room in front of the data of a WRITE packet for this handle. */
  writeHead(handle: Buffer): number {
    return HEAD_LENGTH + 4 + handle.length + 8 + 4
  }

  /** Sends `length` octets that stand behind `writeHead` octets of room in `room`. */
  async write(
    handle: Buffer,
    room: Buffer,
    length: number,
    position: number,
    signal?: AbortSignal,
  ): Promise<RemoteStatus> {
    // What was to go over a line that broke may come this way after its file was given up.
    if (this.#closed.has(handle)) throw new NodeError('internal', 'a write to a file that was closed')
    const head = this.writeHead(handle)
    room.writeUInt32BE(head + length - 4, 0)
    room[4] = TYPE.WRITE
    room.writeUInt32BE(handle.length, HEAD_LENGTH)
    room.set(handle, HEAD_LENGTH + 4)
    const at = writeU64(room, position, HEAD_LENGTH + 4 + handle.length)
    room.writeUInt32BE(length, at)
    const reply = await this.requests.askWith(room.subarray(0, head + length), signal)
    if (reply.type !== TYPE.STATUS) throw unexpected(reply, 'write')
    return statusIn(reply.body)
  }

  /** Octets at `position`, fewer than asked for where the server likes; undefined at the end of the file. */
  async read(
    handle: Buffer,
    position: number,
    length: number,
    signal?: AbortSignal,
  ): Promise<RemoteData | undefined> {
    const reply = await this.requests.ask(TYPE.READ, [handle, new U64(position), length], signal)
    const body = bodyOr(reply, TYPE.DATA, 'read')
    if ('code' in body) {
      if (body.code === STATUS.EOF) return undefined
      throw refusal(body, 'read a file')
    }
    const bytes = body.bytes()
    if (bytes.length === 0 || bytes.length > length)
      throw new NodeError(
        'protocol_violation',
        `the partner sent ${bytes.length} octets where ${length} were asked for`,
      )
    return { bytes, done: () => this.requests.recycle(reply) }
  }
}

export interface RemoteData {
  readonly bytes: Buffer
  /** The bytes were used; their memory may hold something else from now on. */
  done(): void
}

export function isEsclusa({ ident }: Remote): boolean {
  return /^SSH-[\d.]+-Esclusa/.test(ident)
}

export function isOpenSsh({ ident }: Pick<Remote, 'ident'>): boolean {
  return /^SSH-[\d.]+-OpenSSH/.test(ident)
}
