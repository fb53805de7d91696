// A TCP line to a server that is listened to: how many calls and octets passed. It can be told to hold back what comes.

import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

export class CountedLine {
  calls = 0
  /** Both ways. */
  octets = 0
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  #quietAfter = Number.POSITIVE_INFINITY

  private constructor(target: number) {
    this.#server = createServer((near) => this.#join(near, target))
  }

  static async open(target: number): Promise<CountedLine> {
    const line = new CountedLine(target)
    line.#server.listen(0, '127.0.0.1')
    await new Promise((resolve) => line.#server.once('listening', resolve))
    return line
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Calls from now on go quiet after so many octets: the line stays open, and nothing passes any more. */
  quietAfter(octets: number): void {
    this.#quietAfter = octets
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(near: Socket, target: number): void {
    this.calls++
    let left = this.#quietAfter
    const far = connect({ port: target, host: '127.0.0.1', noDelay: true })
    near.setNoDelay(true)
    const pass = (from: Socket, to: Socket) => {
      this.#sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => (this.#sockets.delete(from), to.destroy()))
      from.on('data', (chunk: Buffer) => {
        const given = chunk.subarray(0, Math.min(left, chunk.length))
        left -= given.length
        this.octets += given.length
        if (given.length > 0 && !to.write(given)) {
          from.pause()
          to.once('drain', () => from.resume())
        }
      })
    }
    pass(near, far)
    pass(far, near)
  }
}
