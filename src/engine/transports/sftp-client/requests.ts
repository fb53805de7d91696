// The requests in flight on one SFTP channel: gives out ids, matches answers, and ends everything at once when the
// partner breaks the protocol, stops answering or goes away. Answers may come in any order; an id nobody waits for
// is a violation.
//
// Clock: servers answer in order or nearly so, hence only the oldest request is timed, from the moment it became the
// oldest. A packet arriving piece by piece counts as its answer, unless later requests were answered before it. That
// bounds every wait by `ackMs` without punishing requests that queue behind others on a slow line.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

import { NodeError } from '../../../errors.ts'
import { PacketSplitter } from '../ssh/packet-splitter.ts'
import { MAX_PACKET, PacketReader, TYPE, packet } from '../ssh/sftp-packet.ts'
import type { Field } from '../ssh/sftp-packet.ts'

import { abortReason } from './line.ts'

export interface Reply {
  readonly type: number
  readonly body: PacketReader
  /** The packet's memory, to be given back by `recycle` when its bytes were used. */
  readonly memory: Buffer
}

interface Waiting {
  resolve(reply: Reply): void
  reject(error: NodeError): void
}

export class Requests {
  readonly #channel: Duplex
  readonly #socket: Socket
  readonly #peer: string
  readonly #ackMs: number
  readonly #splitter = new PacketSplitter(MAX_PACKET + 1024)
  readonly #waiting = new Map<number, Waiting>()
  readonly #ended = new AbortController()
  #nextId = 0
  #headSince = 0
  /** Later requests were answered while the oldest still waits. */
  #overtaken = false
  #sweep: NodeJS.Timeout | undefined
  #corked = false

  constructor(line: { channel: Duplex; socket: Socket; peer: string }, ackMs: number) {
    this.#channel = line.channel
    this.#socket = line.socket
    this.#peer = line.peer
    this.#ackMs = ackMs
    this.#channel.on('data', (chunk: Buffer) => this.#receive(chunk))
    const gone = () => this.end(new NodeError('connection_lost', `${this.#peer} closed the connection`))
    this.#channel.on('end', gone)
    this.#channel.on('close', gone)
    this.#channel.on('error', gone)
  }

  /** Aborted when nothing can be asked any more, with the NodeError that says why. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** One request with its answer. With a signal, the caller stops waiting; the answer is then dropped. */
  ask(type: number, fields: readonly Field[], signal?: AbortSignal): Promise<Reply> {
    const id = this.#takeId()
    return this.#wait(id, packet(type, id, ...fields), signal)
  }

  /** A packet built by the caller; its id is written here. */
  askWith(built: Buffer, signal?: AbortSignal): Promise<Reply> {
    const id = this.#takeId()
    built.writeUInt32BE(id, 5)
    return this.#wait(id, built, signal)
  }

  /** INIT is the one request without an id: its answer is VERSION. */
  init(version: number): Promise<Reply> {
    return this.#wait(-1, packet(TYPE.INIT, version))
  }

  recycle(reply: Reply): void {
    this.#splitter.recycle(reply.memory)
  }

  end(error: NodeError): void {
    if (this.#ended.signal.aborted) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#ended.abort(error)
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const one of waiting) one.reject(error)
    this.#socket.destroy()
  }

  #takeId(): number {
    const id = this.#nextId
    this.#nextId = (id + 1) >>> 0
    return id
  }

  #wait(id: number, built: Buffer, signal?: AbortSignal): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.#ended.signal.aborted) return reject(this.#ended.signal.reason as NodeError)
      if (signal?.aborted) return reject(abortReason(signal))
      if (this.#waiting.size === 0) this.#headSince = Date.now()
      this.#waiting.set(id, signal ? untilAborted(signal, { resolve, reject }) : { resolve, reject })
      this.#startSweep()
      this.#send(built)
    })
  }

  /** Everything sent in one turn leaves in one system call. */
  #send(built: Buffer): void {
    if (!this.#corked) {
      this.#corked = true
      this.#socket.cork()
      process.nextTick(() => {
        this.#corked = false
        this.#socket.uncork()
      })
    }
    this.#channel.write(built)
  }

  #receive(chunk: Buffer): void {
    try {
      this.#splitter.push(chunk, (whole) => this.#take(whole))
      if (this.#splitter.inMiddle && !this.#overtaken) this.#headSince = Date.now()
    } catch (error) {
      this.end(
        error instanceof NodeError ? error : new NodeError('internal', 'unreadable answer', { cause: error }),
      )
    }
  }

  #take(whole: Buffer): void {
    const body = new PacketReader(whole)
    const type = body.type
    const id = type === TYPE.VERSION ? -1 : body.u32()
    const waiting = this.#waiting.get(id)
    if (waiting === undefined)
      throw new NodeError('protocol_violation', `${this.#peer} answered request ${id}, which was never asked`)
    const [oldest] = this.#waiting.keys()
    this.#overtaken = oldest !== id
    if (oldest === id) this.#headSince = Date.now()
    this.#waiting.delete(id)
    waiting.resolve({ type, body, memory: whole })
  }

  #startSweep(): void {
    this.#sweep ??= setInterval(
      () => {
        if (this.#waiting.size === 0) {
          clearInterval(this.#sweep)
          this.#sweep = undefined
        } else if (Date.now() - this.#headSince > this.#ackMs) {
          this.end(new NodeError('timed_out', `${this.#peer} did not answer within ${this.#ackMs} ms`))
        }
      },
      Math.max(20, Math.min(1000, this.#ackMs / 4)),
    )
  }
}

function untilAborted(signal: AbortSignal, { resolve, reject }: Waiting): Waiting {
  const abort = () => reject(abortReason(signal))
  signal.addEventListener('abort', abort, { once: true })
  const tidy = () => signal.removeEventListener('abort', abort)
  return { resolve: (reply) => (tidy(), resolve(reply)), reject: (error) => (tidy(), reject(error)) }
}
