// The memory of large SSH packets, used again. This reaches into ssh2; it was written for its version 1.17.0.
//
// ssh2 allocates every packet anew. Collecting them takes as much of the processor again as all the rest of a large
// file, on threads that take it from the other end of a fast line.
//
// - Going out: lent when ssh2 asks its cipher for room, encrypted in place and written to the socket in the same turn,
//   taken back when the socket has sent it (sockets.ts).
// - Coming in: each packet is gathered whole before ssh2's decipher sees it, which then decrypts it where it lies.
//   Whoever reads the channel gives it back (packet-splitter.ts); what nobody gives back is garbage as before.
//
// This holds for AES-GCM in ssh2's native binding, packets with their length readable in front and their tag behind
// (RFC 5647). With another cipher every packet is garbage, but there too the decipher keeps nothing of what it was
// handed, so that sockets can read into the same place all the time.
//
// packet-memory-proof.ts tries all of this before the first connection; where it does not hold, ssh2 stays as it is.

import { messageOf } from '../../../errors.ts'

import { BufferPool } from './buffer-pool.ts'
import { provePacketMemory } from './packet-memory-proof.ts'
import { fillPadding } from './packet-padding.ts'
import type { Cipher, CipherFactories, CipherModule, Decipher } from './ssh2-ciphers.ts'

export const WRITTEN_FOR = '1.17.0'

const POOLED = new Set(['aes-128-gcm', 'aes-256-gcm'])
const LENGTH = 4
const TAG = 16
const BLOCK = 16

/** Up to 32 KiB of data, what SFTP sends in, with all that is around it. Smaller ones share slabs of Node's own pool. */
const pool = new BufferPool({ smallest: Buffer.poolSize >>> 1, size: 33 * 1024, mostFree: 64 })

/** Puts the pool behind ssh2's ciphers, before ssh2 itself is loaded. Returns why not; then nothing was changed. */
export function installPacketMemory(ciphers: CipherModule): string | undefined {
  try {
    if (!ciphers.bindingAvailable) return 'ssh2 runs without its native crypto binding'
    const plain = { createCipher: ciphers.createCipher, createDecipher: ciphers.createDecipher }
    const pooled: CipherFactories = {
      createCipher: (config) => {
        const cipher = plain.createCipher(config)
        return POOLED.has(config.outbound.cipherInfo.sslName) ? lendToCipher(cipher) : cipher
      },
      createDecipher: (config) => {
        const decipher = plain.createDecipher(config)
        return POOLED.has(config.inbound.decipherInfo.sslName)
          ? lendToDecipher(decipher)
          : keepNothing(decipher)
      },
    }
    provePacketMemory(ciphers, { plain, pooled, takeBack })
    Object.assign(ciphers, pooled)
    return undefined
  } catch (thrown) {
    return messageOf(thrown)
  }
}

/** The blocks begin behind the length. */
function paddingOf(payloadLength: number): number {
  const padding = BLOCK - ((1 + payloadLength) % BLOCK)
  return padding < 4 ? padding + BLOCK : padding
}

/** Lets a cipher take the room for large packets from the pool. */
function lendToCipher(cipher: Cipher): Cipher {
  cipher.allocPacket = (payloadLength) => {
    const padding = paddingOf(payloadLength)
    const inside = 1 + payloadLength + padding
    const packet = pool.lend(LENGTH + inside + TAG)
    packet.writeUInt32BE(inside, 0)
    packet[LENGTH] = padding
    fillPadding(packet, LENGTH + 1 + payloadLength, padding)
    return packet
  }
  return cipher
}

/** Hands a decipher each packet as a whole, large ones in memory of the pool. */
function lendToDecipher(decipher: Decipher): Decipher {
  const decrypt = decipher.decrypt.bind(decipher)
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

/** Hands a decipher a copy. */
function keepNothing(decipher: Decipher): Decipher {
  const decrypt = decipher.decrypt.bind(decipher)
  decipher.decrypt = (data, at, end) => {
    const next = decrypt(Buffer.copyBytesFrom(data, at, end - at), 0, end - at)
    return next === undefined ? undefined : at + next
  }
  return decipher
}

/** For what was sent, or received and read to its end. */
export function takeBack(packet: Uint8Array): void {
  pool.giveBack(packet)
}
