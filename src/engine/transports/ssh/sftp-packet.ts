// SFTP version 3 on the wire (draft-ietf-secsh-filexfer-02 and OpenSSH's PROTOCOL): constants, writing and reading of
// single packets. Both roles use it. Reading throws protocol_violation on a packet that ends too early, and ignores
// what follows a packet's last field: clients exist that pad their requests.

import { NodeError } from '../../../errors.ts'

export const TYPE = {
  INIT: 1,
  VERSION: 2,
  OPEN: 3,
  CLOSE: 4,
  READ: 5,
  WRITE: 6,
  LSTAT: 7,
  FSTAT: 8,
  SETSTAT: 9,
  FSETSTAT: 10,
  OPENDIR: 11,
  READDIR: 12,
  REMOVE: 13,
  MKDIR: 14,
  RMDIR: 15,
  REALPATH: 16,
  STAT: 17,
  RENAME: 18,
  READLINK: 19,
  SYMLINK: 20,
  STATUS: 101,
  HANDLE: 102,
  DATA: 103,
  NAME: 104,
  ATTRS: 105,
  EXTENDED: 200,
  EXTENDED_REPLY: 201,
} as const

export const STATUS = {
  OK: 0,
  EOF: 1,
  NO_SUCH_FILE: 2,
  PERMISSION_DENIED: 3,
  FAILURE: 4,
  BAD_MESSAGE: 5,
  NO_CONNECTION: 6,
  CONNECTION_LOST: 7,
  OP_UNSUPPORTED: 8,
  // Of later versions; some servers answer them in version 3 too.
  NO_SPACE_ON_FILESYSTEM: 14,
  QUOTA_EXCEEDED: 15,
} as const

export const OPEN = { READ: 1, WRITE: 2, APPEND: 4, CREAT: 8, TRUNC: 16, EXCL: 32 } as const

export const MODE = { TYPE: 0o170000, FILE: 0o100000, FOLDER: 0o040000 } as const

/** What OpenSSH reads and writes at once, and the most a packet of ours carries. */
export const MAX_DATA = 255 * 1024
export const MAX_PACKET = 256 * 1024

/** Length, type, id. */
export const HEAD_LENGTH = 9

const HAS = { SIZE: 1, UIDGID: 2, PERMISSIONS: 4, TIMES: 8, EXTENDED: 0x80000000 } as const

export interface Attrs {
  size?: number
  permissions?: number
  /** Seconds since 1970. */
  atime?: number
  mtime?: number
}

/** An unsigned 64-bit field. */
export class U64 {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** A number is a uint32; text and bytes go behind their length; `raw` bytes go as they are. */
export type Field = number | U64 | string | Uint8Array | { attrs: Attrs } | { raw: Uint8Array }

function attrsFlags(attrs: Attrs): number {
  return (
    (attrs.size === undefined ? 0 : HAS.SIZE) |
    (attrs.permissions === undefined ? 0 : HAS.PERMISSIONS) |
    (attrs.mtime === undefined ? 0 : HAS.TIMES)
  )
}

function fieldLength(field: Field): number {
  if (typeof field === 'number') return 4
  if (field instanceof U64) return 8
  if (typeof field === 'string') return 4 + Buffer.byteLength(field)
  if (field instanceof Uint8Array) return 4 + field.length
  if ('raw' in field) return field.raw.length
  const { size, permissions, mtime } = field.attrs
  return (
    4 + (size === undefined ? 0 : 8) + (permissions === undefined ? 0 : 4) + (mtime === undefined ? 0 : 8)
  )
}

export function writeU64(into: Buffer, value: number, at: number): number {
  into.writeUInt32BE(Math.floor(value / 0x100000000), at)
  return into.writeUInt32BE(value % 0x100000000, at + 4)
}

function writeAttrs(into: Buffer, attrs: Attrs, at: number): number {
  let p = into.writeUInt32BE(attrsFlags(attrs), at)
  if (attrs.size !== undefined) p = writeU64(into, attrs.size, p)
  if (attrs.permissions !== undefined) p = into.writeUInt32BE(attrs.permissions, p)
  if (attrs.mtime !== undefined) {
    p = into.writeUInt32BE(attrs.atime ?? attrs.mtime, p)
    p = into.writeUInt32BE(attrs.mtime, p)
  }
  return p
}

function writeField(into: Buffer, field: Field, at: number): number {
  if (typeof field === 'number') return into.writeUInt32BE(field, at)
  if (field instanceof U64) return writeU64(into, field.value, at)
  if (typeof field === 'string') {
    const length = into.write(field, at + 4, 'utf8')
    into.writeUInt32BE(length, at)
    return at + 4 + length
  }
  if (field instanceof Uint8Array) {
    into.set(field, into.writeUInt32BE(field.length, at))
    return at + 4 + field.length
  }
  if ('raw' in field) {
    into.set(field.raw, at)
    return at + field.raw.length
  }
  return writeAttrs(into, field.attrs, at)
}

/** A whole packet, its length in front. INIT and VERSION have their version where others have the id. */
export function packet(type: number, id: number, ...fields: readonly Field[]): Buffer {
  let length = HEAD_LENGTH
  for (const field of fields) length += fieldLength(field)
  const out = Buffer.allocUnsafe(length)
  out.writeUInt32BE(length - 4, 0)
  out[4] = type
  out.writeUInt32BE(id, 5)
  let p = HEAD_LENGTH
  for (const field of fields) p = writeField(out, field, p)
  return out
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads the fields of one packet in order; the length in front is gone already. */
export class PacketReader {
  readonly #bytes: Buffer
  #at = 1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get type(): number {
    return this.#bytes[0] ?? 0
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  #take(length: number): number {
    const from = this.#at
    if (length > this.#bytes.length - from)
      throw new NodeError('protocol_violation', `an SFTP packet of type ${this.type} ends too early`)
    this.#at = from + length
    return from
  }

  u32(): number {
    return this.#bytes.readUInt32BE(this.#take(4))
  }

  /** Not exact from 2^53 on: no file has a place there, and whoever asks for one hears that. */
  u64(): number {
    const at = this.#take(8)
    return this.#bytes.readUInt32BE(at) * 0x100000000 + this.#bytes.readUInt32BE(at + 4)
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    const length = this.u32()
    const at = this.#take(length)
    return this.#bytes.subarray(at, at + length)
  }

  text(): string {
    return this.bytes().toString('utf8')
  }

  /** Undefined when the bytes are not UTF-8: such a name can match nothing. */
  strictText(): string | undefined {
    const bytes = this.bytes()
    // Most names need no second look: what is not UTF-8 reads as U+FFFD.
    const read = bytes.toString('utf8')
    if (!read.includes('\ufffd')) return read
    try {
      return strictUtf8.decode(bytes)
    } catch {
      return undefined
    }
  }

  attrs(): Attrs {
    const flags = this.u32()
    const attrs: Attrs = {}
    if (flags & HAS.SIZE) attrs.size = this.u64()
    if (flags & HAS.UIDGID) this.#take(8)
    if (flags & HAS.PERMISSIONS) attrs.permissions = this.u32()
    if (flags & HAS.TIMES) {
      attrs.atime = this.u32()
      attrs.mtime = this.u32()
    }
    if (flags & HAS.EXTENDED) {
      for (let left = this.u32(); left > 0; left--) {
        this.bytes()
        this.bytes()
      }
    }
    return attrs
  }
}

export function isRegular(attrs: Attrs): boolean {
  return attrs.permissions === undefined || (attrs.permissions & MODE.TYPE) === MODE.FILE
}
