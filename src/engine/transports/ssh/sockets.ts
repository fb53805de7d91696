// The sockets under SSH lines. Where packet memory is used again (packet-memory.ts) they give the memory of large
// packets back when they were sent, and read into one place all the time (read-buffer.ts): what a line reads and writes
// leaves no garbage. Otherwise they are Node's own, as they come.

import { connect } from 'node:net'
import type { Socket } from 'node:net'

import { readBuffer, readInto } from '../read-buffer.ts'
import { loadSsh } from './library.ts'
import { takeBack } from './packet-memory.ts'

export interface LineSocket {
  readonly socket: Socket
  /** To be called when the first keys are agreed: until then ssh2 keeps what is read, from then on nobody does. */
  readonly keysAgreed: () => void
}

export function connectSocket(options: { host: string; port: number }): LineSocket {
  const plain = { ...options, noDelay: true }
  if (!loadSsh().packetMemory) return asItComes(connect(plain))
  let reuse = false
  const onread = readBuffer(
    () => socket,
    () => reuse,
  )
  const socket: Socket = connect({ ...plain, onread })
  // Nothing but the kernel keeps what arrives before ssh2 listens and lets it flow.
  socket.pause()
  return { socket: givingBack(socket), keysAgreed: () => (reuse = true) }
}

/** `oneBuffer`: the socket is to read into one place. */
export function acceptSocket(accepted: Socket, { oneBuffer }: { oneBuffer: boolean }): LineSocket {
  if (!loadSsh().packetMemory) return asItComes(accepted)
  if (!oneBuffer) return asItComes(givingBack(accepted))
  let reuse = false
  readInto(
    accepted,
    readBuffer(
      () => accepted,
      () => reuse,
    ),
  )
  return { socket: givingBack(accepted), keysAgreed: () => (reuse = true) }
}

function asItComes(socket: Socket): LineSocket {
  return { socket, keysAgreed: () => {} }
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
