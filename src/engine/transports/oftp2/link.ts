// The socket under a session: exchange buffers in, octets out, one clock, one end.
//
// While the link is held nothing is delivered, which is the back-pressure on the line. Nor after it has ended. The socket
// itself is paused when something comes meanwhile: a partner that waits for an answer sends nothing, and to pause and resume
// costs more than a small command.
import type { Socket } from 'node:net'
import { fromSocketError, NodeError } from '../../../errors.ts'
import { LazyTimer } from '../lazy-timer.ts'
import { StreamBuffers } from './data/buffers.ts'

export interface LinkEvents {
  /** One exchange buffer. It may be overwritten once this returns, unless the link is held. */
  exchange(bytes: Uint8Array): void
  /** A stream buffer with nothing in it. */
  empty(): void
  /** The octets make no stream buffer, or handling one threw. */
  faulty(error: unknown): void
  timedOut(): void
  /** The line is closed; called once, last. `error` is absent when the partner closed in order. */
  closed(error: NodeError | undefined): void
}

export class Link {
  readonly buffers = new StreamBuffers()
  readonly #socket: Socket
  readonly #events: LinkEvents
  readonly #peer: string
  #held = false
  #error: NodeError | undefined
  readonly #timer: LazyTimer
  #clockMs: number | undefined
  #corked = false
  #delivering = false
  #deaf = false

  constructor(socket: Socket, peer: string, events: LinkEvents) {
    this.#socket = socket
    this.#peer = peer
    this.#events = events
    this.buffers.empty = () => events.empty()
    this.#timer = new LazyTimer(() => events.timedOut())
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 60_000)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => {
      this.#error ??= fromSocketError(error, peer)
    })
    socket.on('end', () => socket.destroy())
    socket.on('close', () => {
      this.#timer.end()
      events.closed(this.#error)
    })
  }

  get open(): boolean {
    return !this.#socket.destroyed
  }

  get writable(): boolean {
    return this.#socket.writable
  }

  /** Resolves when the system has taken the octets, or when the line is gone. `closed` tells the session of that. */
  write(bytes: Uint8Array): Promise<void> {
    if (!this.#socket.writable) return Promise.resolve()
    if (!this.#corked) {
      // What is written in one turn of the event loop leaves together.
      this.#corked = true
      this.#socket.cork()
      process.nextTick(() => this.flush())
    }
    return new Promise((resolve) => {
      this.#socket.write(bytes, () => {
        this.#timer.putOff()
        resolve()
      })
    })
  }

  /** Sends what was written at once, because nothing more comes before the partner answers. */
  flush(): void {
    if (!this.#corked) return
    this.#corked = false
    this.#socket.uncork()
  }

  /** Starts the clock again. Whatever moves on the line pushes it back, but for headers without anything behind them. Undefined stops it. */
  clock(milliseconds: number | undefined): void {
    this.#clockMs = milliseconds
    if (milliseconds === undefined || !this.open) this.#timer.stop()
    else this.#timer.start(milliseconds)
  }

  hold(): void {
    this.#held = true
    this.#timer.stop()
  }

  release(): void {
    if (!this.#held) return
    this.#held = false
    this.clock(this.#clockMs)
    this.#deliver()
    if (!this.#held && this.#socket.isPaused()) this.#socket.resume()
  }

  /** From now on input is thrown away. The line is still read, because otherwise its close would not be seen. */
  ignore(): void {
    this.#deaf = true
    this.#held = false
    this.#socket.resume()
  }

  /** Cuts the line now. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Lets what was written leave, then closes. */
  end(): void {
    this.ignore()
    this.#socket.end()
  }

  get lost(): NodeError {
    return this.#error ?? new NodeError('connection_lost', `${this.#peer} closed the connection`)
  }

  #take(chunk: Buffer): void {
    if (this.#deaf) return
    const { taken } = this.buffers
    this.buffers.push(chunk)
    if (this.#held) this.#socket.pause()
    else this.#deliver()
    this.buffers.keepRest()
    if (this.buffers.taken > taken) this.#timer.putOff()
  }

  #deliver(): void {
    if (this.#delivering) return
    this.#delivering = true
    try {
      while (!this.#held && !this.#deaf && this.open) {
        const exchange = this.buffers.next()
        if (exchange === undefined) break
        this.#events.exchange(exchange)
      }
    } catch (error) {
      this.#events.faulty(error)
    } finally {
      this.#delivering = false
    }
  }
}
