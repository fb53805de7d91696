// The sockets under SSH lines. They read into one place all the time, where Node would allocate 64 KiB for each read,
// and give the memory of large packets back when they were sent: what a line reads and writes leaves no garbage.

import { Socket, connect } from 'node:net'
import type { OnReadOpts } from 'node:net'

import { takeBack } from './packet-memory.ts'

/** More does not make it faster. */
const READ_AT_ONCE = 64 * 1024

export interface LineSocket {
  readonly socket: Socket
  /** To be called when the first keys are agreed: until then ssh2 keeps what is read, from then on nobody does. */
  readonly keysAgreed: () => void
}

export function connectSocket(options: { host: string; port: number }): LineSocket {
  return lineSocket((onread) => connect({ ...options, noDelay: true, onread }))
}

/** In place of a socket that a server has just accepted, which goes: a server has no such option for its own. */
export function adoptSocket(accepted: Socket): LineSocket {
  const owner = accepted as unknown as { _handle: unknown } // Node’s own name for the open connection
  const handle = owner._handle
  owner._handle = null
  accepted.destroy()
  return lineSocket((onread) => new Socket({ handle, onread } as { onread: OnReadOpts }))
}

function lineSocket(make: (onread: OnReadOpts) => Socket): LineSocket {
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
  const write = socket.write.bind(socket)
  // ssh2 is the only one to write, and never asks to be called back. After a failure nobody knows who still reads.
  socket.write = (chunk: Uint8Array | string) =>
    write(chunk, (error) => {
      if (!error && typeof chunk !== 'string') takeBack(chunk)
    })
  return { socket, keysAgreed: () => (reuse = true) }
}
