// The memory of large SSH packets, used again. ssh2 allocates every packet anew, and collecting them was a sixth of
// the time of a large file, on threads that take the processor from the other end of a fast line.
//
// - Going out: lent when ssh2 asks its cipher for room, encrypted in place and written to the socket in the same turn,
//   taken back in the write's callback. One whose write failed is not: nobody knows who still reads it.
// - Coming in: each packet is gathered whole before ssh2's decipher sees it, which then decrypts it where it lies.
//   Whoever reads the channel gives it back; what nobody gives back is garbage as before. No decipher keeps what the
//   socket read, so a socket of ours reads into one place all the time.
//
// The packets are those of AES-GCM in ssh2's native binding, with their length readable in front and their tag behind
// (RFC 5647); with other ciphers everything is garbage as before.

import { connect } from 'node:net'
import type { Socket } from 'node:net'

import { BufferPool } from './buffer-pool.ts'

/** What ssh2 makes of a session's keys; its own classes, hence known by name. */
export interface Cipher {
  allocPacket(payloadLength: number): Buffer
}
export interface Decipher {
  /** Takes what arrived, from `at` to `end`; returns where to go on when the keys change in between. */
  decrypt(data: Buffer, at: number, end: number): number | undefined
}
const CIPHER = 'AESGCMCipherBinding'
const DECIPHER = 'AESGCMDecipherBinding'

const LENGTH = 4
const TAG = 16
const BLOCK = 16
/** A packet of 32 KiB of data, what SFTP sends in, and some room for all that is around it. */
const LARGEST = 33 * 1024
/** Smaller ones share slabs of Node's own pool. */
const SMALLEST = Buffer.poolSize >>> 1

/** More does not make it faster. */
const READ_AT_ONCE = 64 * 1024

const pool = new BufferPool(LARGEST, 64)

const isLarge = (length: number) => length >= SMALLEST && length <= LARGEST

/** The blocks begin behind the length. */
function paddingOf(payloadLength: number): number {
  const padding = BLOCK - ((1 + payloadLength) % BLOCK)
  return padding < 4 ? padding + BLOCK : padding
}

/** Lets a cipher take the room for large packets from the pool. */
export function lendToCipher<C extends Cipher>(
  cipher: C,
  fillRandom: (into: Buffer, offset: number, size: number) => void,
): C {
  if (cipher.constructor.name !== CIPHER) return cipher
  const allocate = cipher.allocPacket.bind(cipher)
  cipher.allocPacket = (payloadLength) => {
    const padding = paddingOf(payloadLength)
    const inside = 1 + payloadLength + padding
    if (!isLarge(LENGTH + inside + TAG)) return allocate(payloadLength)
    const packet = pool.lend(LENGTH + inside + TAG)
    packet.writeUInt32BE(inside, 0)
    packet[LENGTH] = padding
    fillRandom(packet, LENGTH + 1 + payloadLength, padding)
    return packet
  }
  return cipher
}

/** To be called for a socket before ssh2 gets it, or its packets are garbage after all. */
export function takeSentBack(socket: Socket): void {
  const write = socket.write.bind(socket)
  // ssh2 is the only one to write to it, and never asks to be called back.
  socket.write = (chunk: Uint8Array | string) =>
    write(chunk, (error) => {
      if (!error && typeof chunk !== 'string') pool.giveBack(chunk)
    })
}

/** Hands a decipher each packet as a whole, large ones in memory of the pool; another cipher's gets a copy. */
export function lendToDecipher<D extends Decipher>(decipher: D): D {
  const decrypt = decipher.decrypt.bind(decipher)
  if (decipher.constructor.name !== DECIPHER) {
    decipher.decrypt = (data, at, end) => {
      const next = decrypt(Buffer.copyBytesFrom(data, at, end - at), 0, end - at)
      return next === undefined ? undefined : at + next
    }
    return decipher
  }
  const length = Buffer.alloc(LENGTH)
  let gathering: Buffer = length
  let filled = 0
  decipher.decrypt = (data, at, end) => {
    while (at < end) {
      const copied = data.copy(gathering, filled, at, Math.min(end, at + gathering.length - filled))
      at += copied
      filled += copied
      if (filled < gathering.length) return undefined
      const gathered = gathering
      const behind = gathered === length ? length.readUInt32BE(0) + TAG : 0
      // The length goes in alone: ssh2 refuses one that no packet has before anything is allocated for it.
      const next = decrypt(gathered, 0, gathered.length)
      gathering = behind === 0 ? length : isLarge(behind) ? pool.lend(behind) : Buffer.allocUnsafe(behind)
      filled = 0
      if (next !== undefined) return next === gathered.length ? at : next
    }
    return undefined
  }
  return decipher
}

/** What came in by a channel and is read to its end. */
export function takeReceivedBack(chunk: Buffer): void {
  pool.giveBack(chunk)
}

/** A socket that may read into one place, once `keysAgreed` says that packets come through a decipher from here. */
export function connectReusing(options: { host: string; port: number }): {
  socket: Socket
  keysAgreed: () => void
} {
  let reuse = false
  const onread = {
    buffer: Buffer.allocUnsafeSlow(READ_AT_ONCE),
    callback: (length: number, buffer: Uint8Array) => {
      const read = buffer.subarray(0, length)
      socket.emit('data', reuse ? read : Buffer.from(read))
      return true
    },
  }
  const socket: Socket = connect({ ...options, noDelay: true, onread })
  // What arrives before ssh2 listens must wait, and here nothing but the kernel keeps it.
  socket.pause()
  takeSentBack(socket)
  return { socket, keysAgreed: () => (reuse = true) }
}
