// The octets of one SFTP channel on the server's side: packets in, answers out, and both bounded. While too much is
// unwritten or unsent the channel is not read, its receive window stays closed and the client has to wait: that is
// the only brake SSH gives a server.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

import { NodeError } from '../../../errors.ts'
import { BufferPool } from '../ssh/buffer-pool.ts'
import { PacketSplitter } from '../ssh/packet-splitter.ts'
import { HEAD_LENGTH, MAX_PACKET, TYPE } from '../ssh/sftp-packet.ts'

const DATA_HEAD = HEAD_LENGTH + 4
/** An answer up to here is one SSH packet, and one write to the socket. */
const ONE_PACKET = 32 * 1024

export class ChannelIo {
  readonly #channel: Duplex
  readonly #socket: Socket
  readonly #most: number
  readonly #splitter = new PacketSplitter(MAX_PACKET + 1024)
  readonly #rooms = new BufferPool({ smallest: 64 * 1024, size: DATA_HEAD + MAX_PACKET, mostFree: 8 })
  #held = 0
  #requests = 0
  #unsent = 0
  #corked = false
  #over = false
  #drainWanted = false
  #waiting: (() => void)[] = []

  constructor(channel: Duplex, socket: Socket, mostQueued: number) {
    this.#channel = channel
    this.#socket = socket
    this.#most = mostQueued
  }

  /** Hands over each packet until the channel ends; `broken` gets what cannot be read as packets. */
  start(take: (packet: Buffer) => void, ended: () => void, broken: (error: unknown) => void): void {
    this.#channel.on('data', (chunk: Buffer) => {
      try {
        this.#splitter.push(chunk, take)
      } catch (error) {
        broken(error)
      }
    })
    this.#channel.on('end', ended)
    this.#channel.on('close', ended)
    this.#channel.on('error', ended)
  }

  /** Octets of a request that are in use from now until `release`. */
  hold(octets: number): void {
    this.#requests++
    this.#held += octets
    this.#brake()
  }

  release(octets: number, packet: Buffer): void {
    this.#requests--
    this.#held -= octets
    this.#splitter.recycle(packet)
    this.#brake()
  }

  send(answer: Buffer, sent?: () => void): void {
    this.#unsent += answer.length
    // A client that waits for this alone gets it at once, without the way through the socket's queue.
    if (this.#requests > 1 || answer.length > ONE_PACKET) this.#cork()
    this.#channel.write(answer, () => {
      this.#unsent -= answer.length
      sent?.()
      this.#brake()
    })
    this.#brake()
  }

  /** Room for a DATA answer of at most `length` octets, to be filled and given to `sendData`. */
  dataRoom(length: number): { whole: Buffer; data: Buffer } {
    const whole = this.#rooms.lend(DATA_HEAD + length)
    return { whole, data: whole.subarray(DATA_HEAD, DATA_HEAD + length) }
  }

  sendData(id: number, whole: Buffer, length: number): void {
    whole.writeUInt32BE(DATA_HEAD + length - 4, 0)
    whole[4] = TYPE.DATA
    whole.writeUInt32BE(id, 5)
    whole.writeUInt32BE(length, HEAD_LENGTH)
    this.send(whole.subarray(0, DATA_HEAD + length), () => this.#rooms.giveBack(whole))
  }

  /** Everything answered in one turn leaves in one system call. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#socket.cork()
    process.nextTick(() => {
      this.#corked = false
      this.#socket.uncork()
    })
  }

  /** Resolves when another answer may be made: so many are not sent yet that their memory counts. */
  room(): Promise<void> {
    if (this.#over || !this.#outIsFull()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #outIsFull(): boolean {
    return this.#unsent > this.#most || this.#socket.writableLength > 2 * this.#most
  }

  #brake(): void {
    const outIsFull = this.#outIsFull()
    const full = outIsFull || this.#held > this.#most
    if (full && !this.#channel.isPaused()) this.#channel.pause()
    else if (!full && this.#channel.isPaused()) this.#channel.resume()
    if (!outIsFull) this.#letGo()
    else if (this.#socket.writableNeedDrain && !this.#drainWanted) {
      this.#drainWanted = true
      this.#socket.once('drain', () => {
        this.#drainWanted = false
        this.#brake()
      })
    }
  }

  /** One at a time while there is room, since each makes an answer of its own; all of them when it is over. */
  #letGo(): void {
    if (this.#over) for (const resolve of this.#waiting.splice(0)) resolve()
    else this.#waiting.shift()?.()
  }

  end(): void {
    this.#over = true
    this.#letGo()
    this.#channel.end()
    this.#channel.destroy()
  }

  static tooMuchUnread(channel: Duplex, most: number): NodeError | undefined {
    if (channel.readableLength <= most) return undefined
    return new NodeError('protocol_violation', 'the client sends more than its window allows')
  }
}
