// One place to read into, for sockets that carry big files. Node allocates memory for each read, up to 64 KiB, and for each
// record of TLS, 16 KiB: of 1 GiB that came over TLS, a third of the receiver's processor time went into collecting it.
//
// Node has that option for connections one makes, and none for those one accepts. These get it afterwards: this reaches
// into Node, and sets what the option sets by Node's own names for it. Written for Node 24.
//
// `whyNotReadInto` tries it on a connection of its own before the first caller comes; where it does not hold, callers keep
// their sockets as Node gave them.

import { Socket, connect, createServer } from 'node:net'
import type { AddressInfo, OnReadOpts, Server } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'

import { messageOf } from '../../errors.ts'
import type { TlsIdentity } from '../../files/tls-pair.ts'

/** More does not make it faster. */
const READ_AT_ONCE = 64 * 1024
const PROOF_MS = 3000
const KNOWN = Buffer.from('known octets, there before anybody listens, '.repeat(2000))

/**
 * What is read goes to whoever listens for 'data', and is overwritten when that has returned. What nobody is ready for, and
 * what comes while `isOver` says no, has memory of its own as ever.
 */
export function readBuffer(socket: () => Socket, isOver = () => true): OnReadOpts {
  return {
    buffer: Buffer.allocUnsafeSlow(READ_AT_ONCE),
    callback: (length, buffer) => {
      const to = socket()
      const read = buffer.subarray(0, length)
      if (!isOver() || !to.readableFlowing || to.readableLength > 0) return to.push(Buffer.from(read))
      to.emit('data', read)
      return true
    },
  }
}

/** For a socket that a server has just accepted, before anything is read from it. */
export function readInto(accepted: Socket, { buffer, callback }: OnReadOpts): void {
  const inside = accepted as unknown as Record<symbol, unknown> & {
    _handle?: { useUserBuffer?: (buffer: unknown) => void } | null
  }
  const names = Object.getOwnPropertySymbols(accepted)
  const [place, taker] = ['kBuffer', 'kBufferCb'].map((name) =>
    names.find(({ description }) => description === name),
  )
  const handle = inside._handle
  if (place === undefined || taker === undefined || !handle?.useUserBuffer)
    throw new Error('an accepted socket has other names inside')
  inside[place] = buffer
  inside[taker] = callback
  handle.useUserBuffer(buffer)
}

/** Undefined when such a connection, over TLS where `tls` is given, carries known octets both ways and ends as it should. */
export async function whyNotReadInto(tls?: TlsIdentity, give = readInto): Promise<string | undefined> {
  const server = tls ? createTlsServer({ ...tls }) : createServer({ pauseOnConnect: true })
  const sockets: Socket[] = []
  let timer: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('a socket that reads into one place is silent')), PROOF_MS)
    })
    await Promise.race([prove(server, tls !== undefined, sockets, give), late])
    return undefined
  } catch (thrown) {
    return messageOf(thrown)
  } finally {
    clearTimeout(timer)
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}

async function prove(server: Server, isTls: boolean, sockets: Socket[], give: typeof readInto) {
  const taken = Promise.withResolvers<{ accepted: Socket; read: Buffer }>()
  // At once, as with callers: what they say next may come with the end of the handshake.
  server.once(isTls ? 'secureConnection' : 'connection', (accepted: Socket) => {
    sockets.push(accepted)
    const place = Buffer.alloc(READ_AT_ONCE)
    let read = Buffer.alloc(0)
    const callback = (length: number, buffer: Uint8Array) => {
      if (buffer === place) read = Buffer.concat([read, buffer.subarray(0, length)])
      if (read.length >= KNOWN.length) taken.resolve({ accepted, read })
      return true
    }
    try {
      give(accepted, { buffer: place, callback })
      accepted.once('error', taken.reject)
      accepted.once('data', () => taken.reject(new Error('a socket reads beside the one place'))).resume()
    } catch (thrown) {
      taken.reject(thrown)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const at = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const near = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at)
  sockets.push(near)
  const answered = gather(near)
  near.write(KNOWN)
  const { accepted, read } = await Promise.race([taken.promise, answered.then(endedEarly)])
  if (!read.equals(KNOWN)) throw new Error('a socket that reads into one place does not read what was sent')
  accepted.end(KNOWN)
  if (!(await answered).equals(KNOWN))
    throw new Error('a socket that reads into one place does not send what is written')
}

function endedEarly(): never {
  throw new Error('a socket that reads into one place has ended by itself')
}

function gather(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const read: Buffer[] = []
    socket.on('data', (chunk: Buffer) => read.push(chunk))
    socket.once('end', () => resolve(Buffer.concat(read)))
    socket.once('error', reject)
  })
}
