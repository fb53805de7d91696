// A socket that a server has accepted, made anew with one place to read into. Node has that option for connections one
// makes, and none for those one accepts. This reaches into Node: the open connection is moved from one socket to
// another by Node's own name for it. Written for Node 24.
//
// `whyNotAdopted` tries it on a connection of its own before the first caller comes; where it does not hold, callers
// keep the sockets that Node gave them.

import { Socket, connect, createServer } from 'node:net'
import type { AddressInfo, OnReadOpts, Server } from 'node:net'

import { messageOf } from '../../../errors.ts'

const PROOF_MS = 3000
const KNOWN = Buffer.from('known octets, there before anybody listens, '.repeat(2000))

export function adoptSocket(accepted: Socket, onread: OnReadOpts): Socket {
  const owner = accepted as unknown as { _handle: unknown } // Node’s own name for the open connection
  const handle = owner._handle
  if (typeof handle !== 'object' || handle === null) throw new Error('an accepted socket has no handle')
  owner._handle = null
  accepted.destroy()
  return new Socket({ handle, onread } as { onread: OnReadOpts })
}

/** Undefined when an adopted connection carries known octets both ways and ends as it should. */
export async function whyNotAdopted(adopt: typeof adoptSocket = adoptSocket): Promise<string | undefined> {
  const server = createServer({ pauseOnConnect: true })
  const sockets: Socket[] = []
  let timer: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('an adopted socket is silent')), PROOF_MS)
    })
    await Promise.race([prove(server, sockets, adopt), late])
    return undefined
  } catch (thrown) {
    return messageOf(thrown)
  } finally {
    clearTimeout(timer)
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}

async function prove(server: Server, sockets: Socket[], adopt: typeof adoptSocket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const arrives = new Promise<Socket>((resolve) => server.once('connection', resolve))
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  sockets.push(near)
  const answered = gather(near)
  near.write(KNOWN)
  const accepted = await arrives
  sockets.push(accepted)
  const place = Buffer.alloc(64 * 1024)
  let read = Buffer.alloc(0)
  await new Promise<void>((resolve, reject) => {
    const callback = (length: number, buffer: Uint8Array) => {
      if (buffer === place) read = Buffer.concat([read, buffer.subarray(0, length)])
      if (read.length >= KNOWN.length) resolve()
      return true
    }
    const far = adopt(accepted, { buffer: place, callback })
    sockets.push(far.once('error', reject).resume())
    if (far.remotePort !== near.localPort) throw new Error('an adopted socket does not know who called')
  })
  if (!read.equals(KNOWN)) throw new Error('an adopted socket does not read what was sent')
  sockets.at(-1)?.end(KNOWN)
  if (!(await answered).equals(KNOWN)) throw new Error('an adopted socket does not send what is written')
}

function gather(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const read: Buffer[] = []
    socket.on('data', (chunk: Buffer) => read.push(chunk))
    socket.once('end', () => resolve(Buffer.concat(read)))
    socket.once('error', reject)
  })
}
