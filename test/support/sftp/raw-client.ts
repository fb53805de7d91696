// For tests: an SFTP client that sends whatever it is told to, octet for octet, and shows every answer. Nothing of the
// product imports it.

import { connect } from 'node:net'
import type { Socket } from 'node:net'

import type { Client, ClientChannel, ConnectConfig } from 'ssh2'

import { loadSsh } from '../../../src/engine/transports/ssh/library.ts'
import { PacketSplitter } from '../../../src/engine/transports/ssh/packet-splitter.ts'
import { PacketReader, STATUS, TYPE, U64, packet } from '../../../src/engine/transports/ssh/sftp-packet.ts'
import type { Field } from '../../../src/engine/transports/ssh/sftp-packet.ts'

export interface Answer {
  type: number
  body: PacketReader
}

export class RawClient {
  readonly client: Client
  readonly socket: Socket
  readonly channel: ClientChannel
  readonly closed: Promise<void>
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #nextId = 1

  constructor(client: Client, socket: Socket, channel: ClientChannel) {
    this.client = client
    this.socket = socket
    this.channel = channel
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
    const splitter = new PacketSplitter(300_000)
    channel.on('data', (chunk: Buffer) =>
      splitter.push(chunk, (whole) => {
        const body = new PacketReader(whole)
        const id = body.u32()
        this.#waiting.get(id)?.({ type: body.type, body })
        this.#waiting.delete(id)
      }),
    )
  }

  ask(type: number, ...fields: Field[]): Promise<Answer> {
    const id = this.#nextId++
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.channel.write(packet(type, id, ...fields))
    })
  }

  async status(type: number, ...fields: Field[]): Promise<number> {
    const { type: got, body } = await this.ask(type, ...fields)
    return got === TYPE.STATUS ? body.u32() : -got
  }

  async open(path: string | Uint8Array, flags: number): Promise<Buffer> {
    const { type, body } = await this.ask(TYPE.OPEN, path, flags, { attrs: {} })
    if (type !== TYPE.HANDLE) throw new Error(`open answered with status ${body.u32()}`)
    return Buffer.from(body.bytes())
  }

  write(handle: Uint8Array, position: number, bytes: Uint8Array): Promise<number> {
    return this.status(TYPE.WRITE, handle, new U64(position), bytes)
  }

  async sizeOf(path: string): Promise<number | undefined> {
    const { type, body } = await this.ask(TYPE.STAT, path)
    return type === TYPE.ATTRS ? body.attrs().size : undefined
  }

  async close(): Promise<void> {
    this.client.end()
    await this.closed
  }
}

/** Signs in, starts SFTP and greets. */
export async function connectRaw(port: number, signIn: ConnectConfig): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const client = new (loadSsh().ssh2.Client)()
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.on('error', reject)
    client.on('close', () => reject(new Error('closed')))
    client.on('ready', () =>
      client.subsys('sftp', (error, stream) => (error ? reject(error) : resolve(stream))),
    )
    client.connect({ sock: socket, hostVerifier: () => true, ...signIn })
  })
  const raw = new RawClient(client, socket, channel)
  const greeted = new Promise<void>((resolve) => channel.once('data', () => resolve()))
  channel.write(packet(TYPE.INIT, 3))
  await greeted
  return raw
}

export const OK: number = STATUS.OK
