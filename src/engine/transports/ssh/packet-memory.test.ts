// Packets through ssh2's own ciphers with our memory behind them: nothing of what the socket read is kept, nothing of
// what was lent is overwritten too early, and large ones come from the same memory again.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import './library.ts'
import { nativeBinding } from './native-binding.ts'
import { takeBack } from './packet-memory.ts'
import type { Cipher, Decipher } from './packet-memory.ts'
import { PacketSplitter } from './packet-splitter.ts'

interface Protocol {
  CIPHER_INFO: Record<string, { keyLen: number; ivLen: number; authLen: number }>
  MAC_INFO: Record<string, { len: number }>
  createCipher(config: unknown): Cipher & { encrypt(packet: Buffer): void }
  createDecipher(config: unknown): Decipher
}
const protocol = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js') as Protocol
const skip = nativeBinding().loaded ? false : nativeBinding().advice
const LARGE = 32 * 1024 + 9

/** Both ends of a line with fresh keys; `take` gets what the receiving one makes of the packets. */
function line(name: string, take: (payload: Buffer) => false | void) {
  const info = protocol.CIPHER_INFO[name] ?? assert.fail(name)
  const mac = info.authLen > 0 ? undefined : protocol.MAC_INFO['hmac-sha2-256-etm@openssh.com']
  const [key, iv, macKey] = [randomBytes(info.keyLen), randomBytes(info.ivLen), randomBytes(mac?.len ?? 0)]
  const sent: Buffer[] = []
  const outbound = {
    seqno: 0,
    onWrite: (packet: Buffer) => sent.push(packet),
    cipherInfo: info,
    cipherKey: Buffer.from(key),
    cipherIV: Buffer.from(iv),
    macInfo: mac,
    macKey,
  }
  const inbound = {
    seqno: 0,
    onPayload: take,
    decipherInfo: info,
    decipherKey: key,
    decipherIV: iv,
    macInfo: mac,
    macKey,
  }
  const cipher = protocol.createCipher({ inbound, outbound })
  return {
    sent,
    send(payload: Uint8Array) {
      const packet = cipher.allocPacket(payload.length)
      packet.set(payload, 5)
      cipher.encrypt(packet)
      return packet
    },
    decipher: protocol.createDecipher({ inbound, outbound }),
  }
}

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

test('the library is not used when somebody else has loaded it', () => {
  const script = `import 'ssh2'; await import(${JSON.stringify(import.meta.resolve('./library.ts'))})`
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  assert.match(run.stderr, /ssh2 was loaded by somebody else/)
  assert.notEqual(run.status, 0)
})

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
