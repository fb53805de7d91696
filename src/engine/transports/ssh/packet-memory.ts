// The memory of large SSH packets, used again. ssh2 allocates every packet anew, and collecting them was a sixth of
// the time of a large file, on threads that take the processor from the other end of a fast line.
//
// - Going out: lent when ssh2 asks its cipher for room, encrypted in place and written to the socket in the same turn,
//   taken back when the socket has sent it (sockets.ts).
// - Coming in: each packet is gathered whole before ssh2's decipher sees it, which then decrypts it where it lies.
//   Whoever reads the channel gives it back (packet-splitter.ts); what nobody gives back is garbage as before.
//
// The packets are those of AES-GCM in ssh2's native binding, with their length readable in front and their tag behind
// (RFC 5647). With another cipher every packet is garbage, but there too the decipher keeps nothing of what it was
// handed, so that sockets can read into the same place all the time.

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

/** Up to 32 KiB of data, what SFTP sends in, with all that is around it. Smaller ones share slabs of Node's own pool. */
const pool = new BufferPool({ smallest: Buffer.poolSize >>> 1, size: 33 * 1024, mostFree: 64 })

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
  cipher.allocPacket = (payloadLength) => {
    const padding = paddingOf(payloadLength)
    const inside = 1 + payloadLength + padding
    const packet = pool.lend(LENGTH + inside + TAG)
    packet.writeUInt32BE(inside, 0)
    packet[LENGTH] = padding
    fillRandom(packet, LENGTH + 1 + payloadLength, padding)
    return packet
  }
  return cipher
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
      gathering = behind === 0 ? length : pool.lend(behind)
      filled = 0
      if (next !== undefined) return next === gathered.length ? at : next
    }
    return undefined
  }
  return decipher
}

/** For what was sent, or received and read to its end. */
export function takeBack(packet: Uint8Array): void {
  pool.giveBack(packet)
}
