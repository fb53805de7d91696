// For tests alone: a partner made of a bare socket, which says whatever it is told to, in or out of place.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { StreamBuffers } from '../../../src/engine/transports/oftp2/data/buffers.ts'
import type {
  Command,
  CommandKind,
  CommandOf,
  Level,
} from '../../../src/engine/transports/oftp2/protocol/commands.ts'
import { decodeCommand, encodeCommand } from '../../../src/engine/transports/oftp2/protocol/commands.ts'
import { CALLED, CALLER, closeAfterwards } from './ends.ts'

const NO_BYTES = new Uint8Array(0)

/** A command of each kind as a partner that calls would send it. */
export const SAMPLES: { [K in CommandKind]: CommandOf<K> } = {
  SSRM: { kind: 'SSRM' },
  SSID: {
    kind: 'SSID',
    level: 5,
    code: CALLER,
    password: '',
    bufferSize: 4096,
    ways: 'B',
    compression: 'N',
    restart: 'Y',
    special: 'N',
    credit: 4,
    authentication: 'N',
    user: '',
  },
  SFID: {
    kind: 'SFID',
    dataset: 'FILE',
    date: '20261115',
    time: '1200000001',
    user: 'PAY',
    destination: CALLED,
    originator: CALLER,
    format: 'U',
    recordLength: 0,
    blocks: 1,
    originalBlocks: 1,
    restart: 0n,
    security: '00',
    suite: '00',
    compression: '0',
    envelope: '0',
    signedReceipt: 'N',
    description: '',
  },
  SFPA: { kind: 'SFPA', position: 0n },
  SFNA: { kind: 'SFNA', reason: '02', retry: 'N', text: '' },
  DATA: { kind: 'DATA', payload: Uint8Array.of(0x83, 1, 2, 3) },
  CDT: { kind: 'CDT' },
  EFID: { kind: 'EFID', records: 0n, octets: 3n },
  EFPA: { kind: 'EFPA', changeDirection: 'N' },
  EFNA: { kind: 'EFNA', reason: '99', text: '' },
  ESID: { kind: 'ESID', reason: '00', text: '' },
  CD: { kind: 'CD' },
  EERP: {
    kind: 'EERP',
    dataset: 'FILE',
    date: '20261115',
    time: '1200000001',
    user: '',
    destination: CALLER,
    originator: CALLED,
    hash: NO_BYTES,
    signature: NO_BYTES,
  },
  NERP: {
    kind: 'NERP',
    dataset: 'FILE',
    date: '20261115',
    time: '1200000001',
    destination: CALLER,
    originator: CALLED,
    creator: CALLED,
    reason: '34',
    text: '',
    hash: NO_BYTES,
    signature: NO_BYTES,
  },
  RTR: { kind: 'RTR' },
  SECD: { kind: 'SECD' },
  AUCH: { kind: 'AUCH', challenge: new Uint8Array(40) },
  AURP: { kind: 'AURP', response: new Uint8Array(20) },
}

export class TrialPartner {
  level: Level = 5
  readonly #socket: Socket
  readonly #buffers = new StreamBuffers()
  readonly #heard: Command[] = []
  #wake: () => void = () => undefined
  #closed = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    const closed = closeAfterwards(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      this.#buffers.push(chunk)
      for (let next = this.#buffers.next(); next !== undefined; next = this.#buffers.next())
        this.#heard.push(decodeCommand(Uint8Array.from(next), this.level))
      this.#wake()
    })
    socket.on('close', () => {
      this.#closed = true
      closed()
      this.#wake()
    })
  }

  /** Calls a node. */
  static async call(port: number): Promise<TrialPartner> {
    const socket = connect({ host: '127.0.0.1', port })
    await once(socket, 'connect')
    return new TrialPartner(socket)
  }

  say(...commands: Command[]): this {
    this.#socket.write(Buffer.concat(commands.map((command) => encodeCommand(command, this.level))))
    return this
  }

  sayOctets(octets: Uint8Array): this {
    this.#socket.write(octets)
    return this
  }

  /** Commands that came and were not asked for yet. */
  get unheard(): number {
    return this.#heard.length
  }

  /** The next command, whatever it is; undefined when the line is closed. */
  async hear(): Promise<Command | undefined> {
    while (this.#heard.length === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    return this.#heard.shift()
  }

  async expect<K extends CommandKind>(kind: K): Promise<CommandOf<K>> {
    const command = await this.hear()
    if (command?.kind !== kind)
      throw new Error(
        `${command?.kind ?? 'the end of the line'} came instead of ${kind}: ${JSON.stringify(command, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))}`,
      )
    return command as CommandOf<K>
  }

  /** Reads on until the node ends the session; gives its last word, then closes. */
  async lastWord(): Promise<CommandOf<'ESID'> | undefined> {
    for (;;) {
      const command = await this.hear()
      if (command === undefined) return undefined
      if (command.kind !== 'ESID') continue
      this.#socket.end()
      await this.whenClosed()
      return command
    }
  }

  /** The reason of that last word. */
  async expectEnd(): Promise<string> {
    return (await this.lastWord())?.reason ?? 'closed'
  }

  async whenClosed(): Promise<void> {
    while (!this.#closed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
  }

  /** Closes in order, after what was said. */
  hangUp(): void {
    this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** A port that a node can call; each call becomes a partner. */
export class TrialServer {
  readonly #server = createServer((socket) => this.#arrived.shift()?.(new TrialPartner(socket)))
  readonly #arrived: ((partner: TrialPartner) => void)[] = []
  #done: () => void = () => undefined

  async listen(): Promise<number> {
    this.#done = closeAfterwards(() => this.#server.close())
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  next(): Promise<TrialPartner> {
    return new Promise((resolve) => this.#arrived.push(resolve))
  }

  async close(): Promise<void> {
    this.#done()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
