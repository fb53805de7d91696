// For tests alone: a partner that knows nothing of this node's code. It says octets that a test spells out from the
// standard (RFC 5024, and RFC 2204 for the older levels), and hears octets. Framing and sub-records are its own.

import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { closeAfter } from '../harness.ts'

/** X(n): left-justified, blanks behind. */
export const x = (text: string, width: number): string => text.padEnd(width)
/** 9(n): right-justified, zeros in front. */
export const n = (value: number | bigint, width: number): string => String(value).padStart(width, '0')
/** U(2): binary, the high octet first. */
export const u2 = (value: number): Uint8Array => Uint8Array.of(value >> 8, value & 255)

export const octets = (...parts: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part)))

const PATIENCE_MS = 180_000

export class ForeignLine {
  readonly #socket: Socket
  #bytes = Buffer.alloc(0)
  #closed = false
  #wake: () => void = () => undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#wake()
    })
    socket.on('close', () => {
      this.#closed = true
      this.#wake()
    })
  }

  static async call(t: TestContext, port: number): Promise<ForeignLine> {
    const socket = connect(port, '127.0.0.1')
    closeAfter(t, async () => void socket.destroy())
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new ForeignLine(socket)
  }

  /** One exchange buffer behind its stream transmission header: version 1, then the length of both. */
  say(...parts: readonly (string | Uint8Array)[]): this {
    const exchange = octets(...parts)
    const header = Buffer.alloc(4)
    header.writeUInt32BE(0x10_00_00_00 + exchange.length + 4)
    this.#socket.write(Buffer.concat([header, exchange]))
    return this
  }

  async #until(ready: () => boolean): Promise<void> {
    const giveUpAt = Date.now() + PATIENCE_MS
    while (!ready() && !this.#closed) {
      const left = giveUpAt - Date.now()
      if (left <= 0) throw new Error(`nothing was heard for ${PATIENCE_MS} ms`)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        timer = setTimeout(resolve, left)
      })
      clearTimeout(timer)
    }
  }

  /** The next exchange buffer; undefined when the line is closed. */
  async hear(): Promise<Buffer | undefined> {
    const length = () => this.#bytes.readUInt32BE(0) & 0xff_ff_ff
    await this.#until(() => this.#bytes.length >= 4 && this.#bytes.length >= length())
    if (this.#bytes.length < 4) return undefined
    assert.equal(this.#bytes[0], 0x10, 'the stream header: version 1, no flags')
    const exchange = this.#bytes.subarray(4, length())
    this.#bytes = this.#bytes.subarray(length())
    return exchange
  }

  /** The next command must be this one, by its first octet. */
  async expect(command: string): Promise<Buffer> {
    const heard = await this.hear()
    assert.equal(heard?.toString('latin1', 0, 1), command, `heard ${heard?.toString('latin1') ?? 'the end'}`)
    return heard
  }

  /** What a file's DATA buffers hold, up to and with its EFID. Gives credit back as often as it is used up. */
  async expectFile(credit: number): Promise<{ content: Buffer; records: number; efid: string }> {
    const parts: Buffer[] = []
    let records = 0
    for (let left = credit; ;) {
      const heard = await this.hear()
      if (heard?.[0] === 0x54) return { content: Buffer.concat(parts), records, efid: text(heard) }
      assert.equal(heard?.toString('latin1', 0, 1), 'D', 'data, or the end of the file')
      records += unpack(heard, parts)
      left -= 1
      if (left > 0) continue
      this.say('C  ')
      left = credit
    }
  }

  hangUp(): void {
    this.#socket.end()
  }

  async whenClosed(): Promise<void> {
    await this.#until(() => false)
  }
}

/** Sub-records (RFC 5024, 7.2): end of record, compressed, count; then the octets, or one for all. */
function unpack(data: Buffer, into: Buffer[]): number {
  let records = 0
  for (let at = 1; at < data.length;) {
    const header = data[at] ?? 0
    const count = header & 0x3f
    records += header >> 7
    const packed = (header & 0x40) !== 0
    into.push(packed ? Buffer.alloc(count, data[at + 1]) : data.subarray(at + 1, at + 1 + count))
    at += 1 + (packed ? 1 : count)
  }
  return records
}

/** A DATA buffer that holds a whole short file: sub-records of 63, the last with the end of its one record. */
export function dataOf(content: Uint8Array): Buffer {
  const parts: (string | Uint8Array)[] = ['D']
  let at = 0
  for (; content.length - at > 63; at += 63) parts.push(Uint8Array.of(63), content.subarray(at, at + 63))
  return octets(...parts, Uint8Array.of(0x80 | (content.length - at)), content.subarray(at))
}

export const text = (exchange: Uint8Array): string => Buffer.from(exchange).toString('latin1')

/** A port that nodes call. */
export class ForeignServer {
  readonly #waiting: ForeignLine[] = []
  readonly #server = createServer((socket) => this.#arrived(socket))
  readonly #sockets = new Set<Socket>()
  #wake: () => void = () => undefined

  static async listen(t: TestContext): Promise<ForeignServer> {
    const server = new ForeignServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    closeAfter(t, () => server.close())
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  #arrived(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    this.#waiting.push(new ForeignLine(socket))
    this.#wake()
  }

  /** Calls that nobody has answered yet. */
  get unanswered(): number {
    return this.#waiting.length
  }

  /** The next call. */
  async next(): Promise<ForeignLine> {
    const giveUpAt = Date.now() + PATIENCE_MS
    for (;;) {
      const line = this.#waiting.shift()
      if (line) return line
      if (Date.now() > giveUpAt) throw new Error(`nobody called for ${PATIENCE_MS} ms`)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        timer = setTimeout(resolve, PATIENCE_MS)
      })
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
