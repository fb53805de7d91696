// A line between two nodes that is listened to: every call that passes, every command of it, and how many octets of
// files it carried. It can be told to break the next call after a command, or in the middle of one.

import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import {
  EMPTY_STREAM_BUFFER,
  StreamBuffers,
  writeStreamHeader,
} from '../../src/engine/transports/oftp2/data/buffers.ts'
import type { Command, CommandKind } from '../../src/engine/transports/oftp2/protocol/commands.ts'
import { decodeCommand } from '../../src/engine/transports/oftp2/protocol/commands.ts'
import { contentsOfData } from '../support/oftp2/ends.ts'

export type From = 'caller' | 'called'
/** At an end's nth command of a kind, the first being 1: after it, or when half of it has passed. */
export type Break = { from: From; kind: CommandKind; nth: number; inside: boolean }

const NOTHING = new Uint8Array(0)

export class TappedCall {
  /** DATA without its octets. */
  readonly said: { from: From; command: Command }[] = []
  /** The same in words, with the wishes for the turn among them: `called wish`, `caller CD`. */
  readonly words: string[] = []
  /** Octets of files, both ways, without what the protocol puts around them. */
  carried = 0
  broken = false
  silent = false

  take(from: From, exchange: Uint8Array): CommandKind {
    const command = decodeCommand(exchange, 5)
    if (command.kind === 'DATA') this.carried += contentsOfData(command.payload).octets
    this.said.push({ from, command: command.kind === 'DATA' ? { ...command, payload: NOTHING } : command })
    this.words.push(`${from} ${command.kind}`)
    return command.kind
  }

  count(from: From, kind: CommandKind): number {
    return this.said.filter((one) => one.from === from && one.command.kind === kind).length
  }

  /** The positions offered and answered, for each file that was taken. */
  get restarts(): { offered: number; answered: number }[] {
    const found: { offered: number; answered: number }[] = []
    let offered = 0
    for (const { command } of this.said) {
      if (command.kind === 'SFID') offered = Number(command.restart)
      if (command.kind === 'SFPA') found.push({ offered, answered: Number(command.position) })
    }
    return found
  }
}

export class WireTap {
  readonly calls: TappedCall[] = []
  readonly #target: number
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((near) => this.#join(near))
  #break: Break | undefined
  #letPass = 0
  #held: Promise<void> = Promise.resolve()
  #silentAfter: CommandKind | undefined

  private constructor(target: number) {
    this.#target = target
  }

  static async open(target: number): Promise<WireTap> {
    const tap = new WireTap(target)
    tap.#server.listen(0, '127.0.0.1')
    await new Promise((resolve) => tap.#server.once('listening', resolve))
    return tap
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The next call breaks there, or the one after as many as are let pass; those after it do not. */
  breakNext(where: Break, letPass = 0): void {
    this.#break = where
    this.#letPass = letPass
  }

  /** Calls from now on are answered by nobody until they are released. */
  holdNext(): { release: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held = promise
    return { release: resolve }
  }

  /** While it is set, nothing passes after such a command; the line stays open. */
  silentAfter(kind: CommandKind | undefined): void {
    this.#silentAfter = kind
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(near: Socket): void {
    const call = new TappedCall()
    this.calls.push(call)
    const where = this.#letPass > 0 ? undefined : this.#break
    if (where) this.#break = undefined
    else this.#letPass--
    const far = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    near.setNoDelay(true)
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    }
    void this.#held.then(() => {
      this.#pass(call, 'caller', near, far, where)
      this.#pass(call, 'called', far, near, where)
    })
  }

  #pass(call: TappedCall, from: From, socket: Socket, other: Socket, where: Break | undefined): void {
    const buffers = new StreamBuffers()
    buffers.empty = () => {
      call.words.push(`${from} wish`)
      other.write(EMPTY_STREAM_BUFFER)
    }
    socket.on('close', () => {
      if (!call.broken) other.destroy()
    })
    socket.on('data', (chunk: Buffer) => {
      if (call.broken || call.silent) return
      buffers.push(chunk)
      for (let next = buffers.next(); next !== undefined; next = buffers.next()) {
        const framed = frame(next)
        const kind = call.take(from, next)
        const here = where?.from === from && where.kind === kind && call.count(from, kind) === where.nth
        if (kind === this.#silentAfter) {
          call.silent = true
          other.write(framed)
          return
        }
        if (here) {
          call.broken = true
          // What has passed arrives; nothing else does, either way.
          other.end(where.inside ? framed.subarray(0, framed.length >> 1) : framed)
          socket.resetAndDestroy()
          return
        }
        if (!other.write(framed)) {
          socket.pause()
          other.once('drain', () => socket.resume())
        }
      }
    })
  }
}

function frame(exchange: Uint8Array): Uint8Array {
  const framed = new Uint8Array(exchange.length + 4)
  writeStreamHeader(framed, 0, framed.length)
  framed.set(exchange, 4)
  return framed
}
