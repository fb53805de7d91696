// The memory of large outgoing SSH packets, used again once the socket has sent them. ssh2 allocates every packet
// anew; collecting them was a sixth of the time of a large upload.
//
// A packet is lent when ssh2 asks its cipher for room, filled and encrypted in place, written to the socket in the
// same turn, and taken back in the write's callback. One whose write fails is not: nobody knows who still reads it.

import type { Socket } from 'node:net'

import { BufferPool } from './buffer-pool.ts'

/** What ssh2 makes of a session's keys for the packets that go out; its own class, hence known by name. */
export interface OutgoingCipher {
  allocPacket(payloadLength: number): Buffer
}
const CIPHER_IN_PLACE = 'AESGCMCipherBinding'

const BLOCK = 16
const TAG = 16
/** A packet of 32 KiB of data with all that is around it. */
const LARGEST = 33 * 1024
/** Smaller ones share slabs of Node's own pool. */
const SMALLEST = Buffer.poolSize >>> 1

const packets = new BufferPool(LARGEST, 64)

/** RFC 5647: the length in front is not encrypted, so the padding fills up the blocks behind it. */
function paddingOf(payloadLength: number): number {
  const padding = BLOCK - ((1 + payloadLength) % BLOCK)
  return padding < 4 ? padding + BLOCK : padding
}

/** Lets a cipher take large packets from the pool; one that does not encrypt in place stays as it is. */
export function lendPackets<C extends OutgoingCipher>(
  cipher: C,
  fillRandom: (into: Buffer, offset: number, size: number) => void,
): C {
  if (cipher.constructor.name !== CIPHER_IN_PLACE) return cipher
  const allocate = cipher.allocPacket.bind(cipher)
  cipher.allocPacket = (payloadLength) => {
    const padding = paddingOf(payloadLength)
    const length = 4 + 1 + payloadLength + padding
    if (length + TAG < SMALLEST || length + TAG > LARGEST) return allocate(payloadLength)
    const packet = packets.lend(length + TAG)
    packet.writeUInt32BE(length - 4, 0)
    packet[4] = padding
    fillRandom(packet, 5 + payloadLength, padding)
    return packet
  }
  return cipher
}

/** To be called for a socket before ssh2 gets it, or its packets are garbage after all. */
export function takePacketsBack(socket: Socket): void {
  const write = socket.write.bind(socket)
  // ssh2 is the only one to write to it, and never asks to be called back.
  socket.write = (chunk: Uint8Array | string) =>
    write(chunk, (error) => {
      if (!error && typeof chunk !== 'string') packets.giveBack(chunk)
    })
}
