// Packets through ssh2's own ciphers with our memory behind them: nothing of what the socket read is kept, nothing of
// what was lent is overwritten too early, and large ones come from the same memory again. Where ssh2 is not as it was
// taken to be, it stays as it is.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import { loadSsh } from './library.ts'
import { nativeBinding } from './native-binding.ts'
import { installPacketMemory, takeBack } from './packet-memory.ts'
import { PacketSplitter } from './packet-splitter.ts'
import { lineConfig } from './ssh2-ciphers.ts'
import type { CipherModule } from './ssh2-ciphers.ts'

const require = createRequire(import.meta.url)
const PATH = require.resolve('ssh2/lib/protocol/crypto.js')
const { packetMemory, notes } = loadSsh()
const protocol = require(PATH) as CipherModule
const skip = nativeBinding().loaded ? false : nativeBinding().advice
const LARGE = 32 * 1024 + 9

/** Both ends of a line with the same keys; `take` gets what the receiving one makes of the packets. */
function line(name: string, take: (payload: Buffer) => false | void) {
  const sent: Buffer[] = []
  const ends = { onWrite: (packet: Buffer) => void sent.push(packet), onPayload: take }
  const config = lineConfig(protocol, name, ends)
  const cipher = protocol.createCipher(config)
  return {
    sent,
    send(payload: Uint8Array) {
      const packet = cipher.allocPacket(payload.length)
      packet.set(payload, 5)
      cipher.encrypt(packet)
      return packet
    },
    decipher: protocol.createDecipher(config),
  }
}

test('ssh2 is as it was taken to be', { skip }, () => {
  assert.deepEqual(notes, [])
  assert.equal(packetMemory, true)
})

/** The module as ssh2 ships it, apart from the one that is in use here. */
function freshCiphers(): CipherModule {
  const used = require.cache[PATH]
  delete require.cache[PATH]
  try {
    return require(PATH) as CipherModule
  } finally {
    require.cache[PATH] = used
  }
}

/** Ways in which another version could differ and work all the same by itself. */
const OTHERWISE: Record<string, [change: (ciphers: CipherModule) => void, says: RegExp]> = {
  'keeps what it was handed until the next comes': [
    (ciphers) => {
      const { createDecipher } = ciphers
      ciphers.createDecipher = (config) => {
        const { onPayload } = config.inbound
        let kept: Buffer | undefined
        const late = (payload: Buffer) => {
          const before = kept
          kept = payload
          if (payload.length < 100) return onPayload(payload)
          return before === undefined ? undefined : onPayload(before)
        }
        return createDecipher({ ...config, inbound: { ...config.inbound, onPayload: late } })
      }
    },
    /do not come back as they were/,
  ],
  'has room in front of its packets': [
    (ciphers) => {
      const { createCipher } = ciphers
      ciphers.createCipher = (config) => {
        const cipher = createCipher(config)
        const [alloc, encrypt] = [cipher.allocPacket.bind(cipher), cipher.encrypt.bind(cipher)]
        const inner = (packet: Buffer) => packet.subarray(8)
        cipher.allocPacket = (length) => {
          const packet = Buffer.concat([Buffer.alloc(8), alloc(length)])
          const set = packet.set.bind(packet)
          packet.set = (bytes, at = 0) => set(bytes, at + 8)
          return packet
        }
        cipher.encrypt = (packet) => encrypt(inner(packet))
        return cipher
      }
    },
    /./,
  ],
  'encrypts into other memory': [
    (ciphers) => {
      const { createCipher } = ciphers
      ciphers.createCipher = (config) => {
        const onWrite = (packet: Buffer) => config.outbound.onWrite(Buffer.from(Uint8Array.from(packet)))
        return createCipher({ ...config, outbound: { ...config.outbound, onWrite } })
      }
    },
    /not encrypted where it lies/,
  ],
  'writes in a later turn': [
    (ciphers) => {
      const { createCipher } = ciphers
      ciphers.createCipher = (config) => {
        const onWrite = (packet: Buffer) => setImmediate(() => config.outbound.onWrite(packet))
        return createCipher({ ...config, outbound: { ...config.outbound, onWrite } })
      }
    },
    /not written in the turn/,
  ],
  'decrypts into other memory': [
    (ciphers) => {
      const { createDecipher } = ciphers
      ciphers.createDecipher = (config) => {
        const onPayload = (payload: Buffer) => config.inbound.onPayload(Buffer.from(Uint8Array.from(payload)))
        return createDecipher({ ...config, inbound: { ...config.inbound, onPayload } })
      }
    },
    /not decrypted where it lies/,
  ],
  'takes what was changed on its way': [
    (ciphers) => {
      const { createDecipher } = ciphers
      ciphers.createDecipher = (config) => {
        const decipher = createDecipher(config)
        const decrypt = decipher.decrypt.bind(decipher)
        decipher.decrypt = (...given) => {
          try {
            return decrypt(...given)
          } catch {
            return undefined
          }
        }
        return decipher
      }
    },
    /a changed packet is not refused/,
  ],
  'has other functions': [(ciphers) => Reflect.deleteProperty(ciphers, 'createDecipher'), /createDecipher/],
  'has lost a cipher': [
    (ciphers) => Reflect.deleteProperty(ciphers.CIPHER_INFO, 'aes256-gcm@openssh.com'),
    /no cipher aes256-gcm/,
  ],
  'has no native binding': [(ciphers) => void (ciphers.bindingAvailable = false), /native crypto binding/],
}

for (const [how, [change, says]] of Object.entries(OTHERWISE))
  test(`a library that ${how} stays as it is`, { skip }, () => {
    const ciphers = freshCiphers()
    change(ciphers)
    const { createCipher, createDecipher } = ciphers
    assert.match(installPacketMemory(ciphers) ?? '', says)
    assert.deepEqual([ciphers.createCipher, ciphers.createDecipher], [createCipher, createDecipher])
  })

for (const name of ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr'])
  test(`packets cut anywhere and read into one place arrive as they were (${name})`, { skip }, () => {
    const payloads = Array.from({ length: 60 }, (_, at) =>
      randomBytes([1, 17, 9000, LARGE, 32 * 1024 - 40, LARGE + 13][at % 6] ?? 1),
    )
    const kept: Buffer[] = []
    const { sent, send, decipher } = line(name, (payload) => void kept.push(payload))
    for (const payload of payloads) send(payload)
    const wire = Buffer.concat(sent)
    const place = Buffer.alloc(64 * 1024)
    for (let at = 0, turn = 0; at < wire.length; turn++) {
      // One octet, a few, some packets: every border inside a packet is met.
      const read = Math.min(wire.length - at, [1, 3, 40_000, 5, 64 * 1024, 16][turn % 6] ?? 1)
      wire.copy(place, 7, at, (at += Math.min(read, place.length - 7)))
      assert.equal(decipher.decrypt(place, 7, 7 + Math.min(read, place.length - 7)), undefined)
      place.fill(0)
    }
    assert.equal(kept.length, payloads.length)
    for (const [at, payload] of payloads.entries())
      assert.ok(kept[at]?.equals(payload), `packet ${at} of ${payload.length} octets`)
  })

test('large packets come from the same memory once they are back, never before', { skip }, () => {
  const name = 'aes128-gcm@openssh.com'
  const memories = new Set<ArrayBufferLike>()
  let received: Buffer = Buffer.alloc(0)
  const { sent, send, decipher } = line(name, (payload) => void (received = payload))
  for (let at = 0; at < 100; at++) {
    const payload = randomBytes(LARGE)
    const packet = send(payload)
    decipher.decrypt(packet, 0, packet.length)
    assert.ok(received.equals(payload))
    assert.notEqual(received.buffer, packet.buffer)
    memories.add(received.buffer).add(packet.buffer)
    takeBack(packet)
    takeBack(received)
    takeBack(received)
  }
  assert.ok(memories.size <= 2, `${memories.size} pieces of memory for 200 packets`)
  sent.length = 0
  const packets = Array.from({ length: 100 }, () => send(randomBytes(LARGE)).buffer)
  assert.equal(new Set(packets).size, 100, 'two packets on their way share their memory')
})

test(
  'who reads a channel gives back what is read to its end, and not what is still looked at',
  { skip },
  () => {
    const splitter = new PacketSplitter(256 * 1024)
    const memories = new Set<ArrayBufferLike>()
    const packets: Buffer[] = []
    const { send, decipher } = line('aes128-gcm@openssh.com', (payload) => {
      memories.add(payload.buffer)
      splitter.push(payload, (packet) => void packets.push(packet))
    })
    const receive = (payload: Buffer) => {
      const packet = send(payload)
      decipher.decrypt(packet, 0, packet.length)
      takeBack(packet)
    }
    const sftpPacket = (length: number) => {
      const packet = randomBytes(length)
      packet.writeUInt32BE(length - 4)
      return packet
    }
    const large = sftpPacket(200 * 1024)
    for (let at = 0; at < large.length; at += 32 * 1024) receive(large.subarray(at, at + 32 * 1024))
    assert.ok(memories.size <= 2, `${memories.size} pieces of memory for a packet in parts`)
    const small = [sftpPacket(32 * 1024), sftpPacket(32 * 1024)]
    for (const packet of small) receive(packet)
    for (const [at, packet] of [large, ...small].entries()) assert.ok(packets[at]?.equals(packet.subarray(4)))
  },
)

test('small packets and those of other ciphers are left to Node', { skip }, () => {
  const gcm = line('aes128-gcm@openssh.com', () => {})
  const ctr = line('aes128-ctr', () => {})
  const before = new Set<ArrayBufferLike>()
  for (const packet of [gcm.send(randomBytes(100)), ctr.send(randomBytes(LARGE))]) {
    takeBack(packet)
    before.add(packet.buffer)
  }
  assert.ok(!before.has(gcm.send(randomBytes(LARGE)).buffer))
})

test('where the keys change, the rest is left for the new ones', { skip }, () => {
  let packets = 0
  const { sent, send, decipher } = line('aes128-gcm@openssh.com', () => (++packets === 2 ? false : undefined))
  for (const length of [10, 20, 30]) send(randomBytes(length))
  const [first, second] = sent
  const wire = Buffer.concat([Buffer.alloc(3), ...sent])
  const next = 3 + (first?.length ?? 0) + (second?.length ?? 0)
  assert.equal(decipher.decrypt(wire, 3, wire.length), next)
  assert.equal(packets, 2)
})

test('a length that no packet has, and a changed octet, are refused', { skip }, () => {
  const fresh = () => line('aes128-gcm@openssh.com', () => assert.fail('taken'))
  for (const length of [0, 15, 17, 40_000, 0xffffffff]) {
    const head = Buffer.alloc(4)
    head.writeUInt32BE(length)
    assert.throws(() => fresh().decipher.decrypt(head, 0, 4), /Bad packet length/)
  }
  const { send, decipher } = fresh()
  const packet = send(randomBytes(LARGE))
  packet[1000] = (packet[1000] ?? 0) ^ 1
  assert.throws(() => decipher.decrypt(packet, 0, packet.length))
})
