// Archives in the tar format (POSIX.1-2001: ustar headers, pax records for what does not fit them), written and read as
// streams. A backup that is not sealed can so be looked into with any tar.

import { NodeError } from '../errors.ts'

export type Entry = { name: string; size: number; mode: number; modifiedAt: number }
export type WrittenEntry = Entry & { body: AsyncIterable<Uint8Array> | Iterable<Uint8Array> }
/** `body` must be read to its end before the next entry is asked for. */
export type ReadEntry = Entry & { body: AsyncIterable<Uint8Array> }

const BLOCK = 512
const LONGEST_NAME = 100
/** What eleven octal digits hold. */
const LARGEST_SIZE = 0o77777777777
const MOST_PAX = 65_536

export async function* writeTar(entries: AsyncIterable<WrittenEntry>): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    const pax = paxRecords(entry)
    if (pax.length > 0) {
      yield header({ ...entry, name: 'pax', size: pax.length }, 'x')
      yield padded(pax)
    }
    yield header(entry, '0')
    let written = 0
    for await (const piece of entry.body) {
      written += piece.length
      yield piece
    }
    if (written !== entry.size) throw new Error(`${entry.name}: ${written} octets, not ${entry.size}`)
    yield Buffer.alloc(filling(entry.size))
  }
  yield Buffer.alloc(2 * BLOCK)
}

function paxRecords({ name, size }: Entry): Buffer {
  const records: [string, string][] = []
  if (Buffer.byteLength(name) > LONGEST_NAME || /[^\x20-\x7e]/.test(name)) records.push(['path', name])
  if (size > LARGEST_SIZE) records.push(['size', String(size)])
  return Buffer.concat(records.map(([key, value]) => paxRecord(key, value)))
}

/** Its length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest)
  length += String(length + String(length).length).length
  return Buffer.from(`${length}${rest}`)
}

function header({ name, size, mode, modifiedAt }: Entry, type: '0' | 'x'): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, digits: number) =>
    block.write(value.toString(8).padStart(digits, '0'), at, 'latin1')
  block.write(Buffer.from(name).subarray(0, LONGEST_NAME).toString('latin1'), 0, 'latin1')
  octal(mode & 0o777, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size > LARGEST_SIZE ? 0 : size, 124, 11)
  octal(Math.max(0, Math.floor(modifiedAt / 1000)), 136, 11)
  block.write(`        ${type}`, 148, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  octal(checksum(block), 148, 6)
  block.write('\0 ', 154, 'latin1')
  return block
}

function checksum(block: Buffer): number {
  let sum = 0
  for (const [at, value] of block.entries()) sum += at >= 148 && at < 156 ? 0x20 : value
  return sum
}

function filling(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(filling(bytes.length))])
}

export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const input = new Input(source)
  let pax = new Map<string, string>()
  for (;;) {
    const block = await input.exactly(BLOCK)
    if (block.every((value) => value === 0)) return input.drain()
    if (octalAt(block, 148, 6) !== checksum(block)) throw damaged('a header does not add up')
    const size = Number(pax.get('size') ?? octalAt(block, 124, 11))
    if (block.toString('latin1', 156, 157) === 'x') {
      if (size > MOST_PAX) throw damaged('a header is too long')
      pax = readPax(await input.exactly(size))
      await input.exactly(filling(size))
      continue
    }
    const name = pax.get('path') ?? block.toString('latin1', 0, LONGEST_NAME).replace(/\0.*$/s, '')
    pax = new Map()
    const body = input.body(size)
    yield { name, size, mode: octalAt(block, 100, 7), modifiedAt: octalAt(block, 136, 11) * 1000, body }
    await input.exactly(filling(size))
  }
}

function octalAt(block: Buffer, at: number, digits: number): number {
  return Number.parseInt(block.toString('latin1', at, at + digits), 8)
}

function readPax(bytes: Buffer): Map<string, string> {
  const found = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + 10), 10)
    const record = /^\d+ ([^=]+)=(.*)\n$/s.exec(bytes.toString('utf8', at, at + length))
    if (!record?.[1] || length < 5) throw damaged('a header cannot be read')
    found.set(record[1], record[2] ?? '')
    at += length
  }
  return found
}

function damaged(what: string): NodeError {
  return new NodeError('damaged', `the backup is damaged: ${what}`)
}

/** Pieces of any length in, exactly as many octets as asked for out. */
class Input {
  readonly #pieces: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#pieces = source[Symbol.asyncIterator]()
  }

  async #more(): Promise<Buffer> {
    const next = await this.#pieces.next()
    if (next.done) throw damaged('it ends too early')
    return Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length)
  }

  async exactly(length: number): Promise<Buffer> {
    const parts = [this.#rest]
    for (let have = this.#rest.length; have < length;) {
      const piece = await this.#more()
      parts.push(piece)
      have += piece.length
    }
    const all = parts.length === 1 ? this.#rest : Buffer.concat(parts)
    this.#rest = all.subarray(length)
    return all.subarray(0, length)
  }

  async *body(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.#more()
      const piece = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  /** To its very end: only then has whatever stands before it (sealing, compression) checked everything. */
  async drain(): Promise<void> {
    while (!(await this.#pieces.next()).done);
  }
}
