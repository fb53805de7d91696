// Lines that break: a port in front of each of a node's own, which carries what comes to it and, by chance, stops doing so
// after so many octets. What is on the way then is lost, as it is when a router dies.
//
//   cut      both ends are told by a reset
//   shut     one end is told that no more comes, and the other hears nothing for a while
//   stalled  neither hears anything for a while

import type { Socket } from 'node:net'
import { startTcpLine } from '../support/tcp-line.ts'
import type { TcpLine } from '../support/tcp-line.ts'
import type { Random } from './random.ts'

const WAYS = ['cut', 'shut', 'stalled'] as const
const STALL_MS = 1500

export class BrokenLines {
  readonly #random: Random
  readonly #lines: TcpLine[] = []
  #state: 'breaking' | 'whole' = 'breaking'
  carried = 0
  broken = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** A port that leads to that one. */
  async before(port: number): Promise<number> {
    const line = await startTcpLine(
      () => port,
      (caller, called) => this.#carry(caller, called),
    )
    this.#lines.push(line)
    return line.port
  }

  /** From now on none breaks. Those that are to break do so now. */
  mend(): void {
    this.#state = 'whole'
    for (const { open } of this.#lines) for (const socket of open) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    await Promise.all(this.#lines.map((line) => line.stop()))
  }

  #carry(caller: Socket, called: Socket): void {
    this.carried++
    // Most often within the greetings or in a small file, now and then far inside a big one.
    let left =
      this.#state === 'whole'
        ? Infinity
        : Math.floor(2 ** this.#random.between(8, 23) * (1 + this.#random.next()))
    const way = this.#random.pick(WAYS)
    for (const [from, to] of [
      [caller, called],
      [called, caller],
    ] as const) {
      from.on('end', () => to.end())
      from.on('data', (piece) => {
        if (left <= 0) return // lost
        left -= piece.length
        if (left <= 0) {
          to.write(piece.subarray(0, piece.length + left))
          return this.#break(way, from, to)
        }
        if (!to.write(piece)) {
          from.pause()
          to.once('drain', () => from.resume())
        }
      })
    }
  }

  #break(way: (typeof WAYS)[number], from: Socket, to: Socket): void {
    this.broken++
    if (way === 'shut') to.end()
    const over = setTimeout(
      () => {
        from.resetAndDestroy()
        to.resetAndDestroy()
      },
      way === 'cut' ? 0 : STALL_MS,
    )
    from.on('close', () => clearTimeout(over))
  }
}
