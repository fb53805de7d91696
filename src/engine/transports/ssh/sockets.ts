// The sockets under SSH lines. Where packet memory is used again (packet-memory.ts) they give the memory of large
// packets back when they were sent, and read into one place all the time, where Node would allocate 64 KiB for each
// read: what a line reads and writes leaves no garbage. Otherwise they are Node's own, as they come.

import { connect } from 'node:net'
import type { OnReadOpts, Socket } from 'node:net'

import { adoptSocket } from './adopted-socket.ts'
import { loadSsh } from './library.ts'
import { takeBack } from './packet-memory.ts'

/** More does not make it faster. */
const READ_AT_ONCE = 64 * 1024

export interface LineSocket {
  readonly socket: Socket
  /** To be called when the first keys are agreed: until then ssh2 keeps what is read, from then on nobody does. */
  readonly keysAgreed: () => void
}

export function connectSocket(options: { host: string; port: number }): LineSocket {
  const plain = { ...options, noDelay: true }
  return loadSsh().packetMemory
    ? readingSocket((onread) => connect({ ...plain, onread }))
    : { socket: connect(plain), keysAgreed: () => {} }
}

/** `adopted` in place of the socket that a server has just accepted, which then goes (adopted-socket.ts). */
export function acceptSocket(accepted: Socket, { adopted }: { adopted: boolean }): LineSocket {
  if (!loadSsh().packetMemory) return { socket: accepted, keysAgreed: () => {} }
  if (adopted) return readingSocket((onread) => adoptSocket(accepted, onread))
  return { socket: givingBack(accepted), keysAgreed: () => {} }
}

function readingSocket(make: (onread: OnReadOpts) => Socket): LineSocket {
  let reuse = false
  const socket = make({
    buffer: Buffer.allocUnsafeSlow(READ_AT_ONCE),
    callback: (length, buffer) => {
      const read = buffer.subarray(0, length)
      socket.emit('data', reuse ? read : Buffer.from(read))
      return true
    },
  })
  // Nothing but the kernel keeps what arrives before ssh2 listens and lets it flow.
  socket.pause()
  return { socket: givingBack(socket), keysAgreed: () => (reuse = true) }
}

/** ssh2 is the only one to write, and never asks to be called back. After a failure nobody knows who still reads. */
function givingBack(socket: Socket): Socket {
  const write = socket.write.bind(socket)
  socket.write = (chunk: Uint8Array | string) =>
    write(chunk, (error) => {
      if (!error && typeof chunk !== 'string') takeBack(chunk)
    })
  return socket
}
