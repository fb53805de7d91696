// What packet-memory.ts takes for granted of ssh2, tried out before the first connection: known packets through pooled
// and plain ciphers crosswise, cut anywhere, read into one place that is overwritten, out of memory that is used again.
// Throws what does not hold.

import { lineConfig } from './ssh2-ciphers.ts'
import type { CipherFactories, CipherModule } from './ssh2-ciphers.ts'

export interface ProofParts {
  plain: CipherFactories
  pooled: CipherFactories
  takeBack: (packet: Uint8Array) => void
}

const GCM = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com']
/** Stands for those that are not pooled. */
const OTHER = 'aes128-ctr'
const LARGE = 32 * 1024 + 9
const LENGTHS = [1, LARGE, 17, LARGE]
const CUTS = [1, 3, 20_000, 5, 40_000, 16]

export function provePacketMemory(ciphers: CipherModule, parts: ProofParts): void {
  for (const name of [...GCM, OTHER]) {
    const { plain, pooled } = parts
    proveRoundTrip(ciphers, name, { from: pooled, to: plain, ...parts })
    proveRoundTrip(ciphers, name, { from: plain, to: pooled, ...parts })
    proveKeyChange(ciphers, name, parts)
  }
  for (const name of GCM) {
    proveReuse(ciphers, name, parts)
    proveRefusal(ciphers, name, parts)
  }
}

function assertThat(holds: boolean, says: string, name: string): asserts holds {
  if (!holds) throw new Error(`${says} (${name})`)
}

const PATTERN = Buffer.from(Array.from({ length: 251 }, (_, at) => (at * 31) & 255))

/** Octets that differ from packet to packet, and from each block of a cipher to the next. */
function knownOctets(length: number, seed: number): Buffer {
  return Buffer.alloc(length, PATTERN.subarray(seed))
}

function makeLine(
  ciphers: CipherModule,
  name: string,
  { from, to }: { from: CipherFactories; to: CipherFactories },
  onPayload: (payload: Buffer) => false | void,
) {
  const written: Buffer[] = []
  const config = lineConfig(ciphers, name, { onWrite: (packet) => void written.push(packet), onPayload })
  const [cipher, decipher] = [from.createCipher(config), to.createDecipher(config)]
  const send = (payload: Buffer): Buffer => {
    const packet = cipher.allocPacket(payload.length)
    packet.set(payload, 5)
    cipher.encrypt(packet)
    const [sent] = written.splice(0)
    assertThat(sent !== undefined, 'a packet is not written in the turn that encrypts it', name)
    assertThat(sent.buffer === packet.buffer, 'a packet is not encrypted where it lies', name)
    return sent
  }
  return { send, decipher }
}

type RoundTrip = ProofParts & { from: CipherFactories; to: CipherFactories }

function proveRoundTrip(ciphers: CipherModule, name: string, parts: RoundTrip): void {
  const payloads = LENGTHS.map(knownOctets)
  const received: Buffer[] = []
  const { send, decipher } = makeLine(ciphers, name, parts, (payload) => void received.push(payload))
  const wire: Buffer[] = []
  for (const payload of payloads) {
    const packet = send(payload)
    wire.push(Buffer.from(packet))
    // Whatever is sent is overwritten at once: the cipher must not look at it again.
    packet.fill(0)
    parts.takeBack(packet)
  }
  const place = Buffer.alloc(64 * 1024)
  const all = Buffer.concat(wire)
  const overwrites = parts.to === parts.pooled
  for (let at = 0, turn = 0; at < all.length; turn++) {
    const length = Math.min(all.length - at, CUTS[turn % CUTS.length] ?? 1)
    const chunk = overwrites ? place : Buffer.alloc(place.length)
    all.copy(chunk, 7, at, at + length)
    const next = decipher.decrypt(chunk, 7, 7 + length)
    assertThat(next === undefined, 'a decipher stops where nobody asked it to', name)
    place.fill(0)
    at += length
  }
  const same = payloads.every((payload, at) => received[at]?.equals(payload) === true)
  assertThat(same && received.length === payloads.length, 'known packets do not come back as they were', name)
  for (const payload of received) parts.takeBack(payload)
}

/** Large packets lie in the same memory again once they are back, and not before. */
function proveReuse(ciphers: CipherModule, name: string, { pooled, takeBack }: ProofParts): void {
  const received: Buffer[] = []
  const ends = { from: pooled, to: pooled }
  const { send, decipher } = makeLine(ciphers, name, ends, (payload) => void received.push(payload))
  const [first, second] = [send(knownOctets(LARGE, 1)), send(knownOctets(LARGE, 2))]
  assertThat(first.buffer !== second.buffer, 'two packets on their way share their memory', name)
  for (const packet of [first, second]) decipher.decrypt(packet, 0, packet.length)
  const [one, two] = received
  assertThat(one !== undefined && two !== undefined, 'a packet is not decrypted when it is whole', name)
  assertThat(one.buffer !== two.buffer, 'two packets that were received share their memory', name)
  const memories = new Set([first, second, one, two].map((packet) => packet.buffer))
  for (const packet of [first, second, one, two]) takeBack(packet)
  one.fill(0)
  const third = send(knownOctets(LARGE, 3))
  decipher.decrypt(third, 0, third.length)
  const three = received[2]
  assertThat(three?.equals(knownOctets(LARGE, 3)) === true, 'memory that is back is still looked at', name)
  const reused = memories.has(third.buffer) && memories.has(three.buffer)
  assertThat(reused, 'a packet is not decrypted where it lies', name)
  takeBack(third)
  takeBack(three)
}

function proveKeyChange(ciphers: CipherModule, name: string, { pooled }: ProofParts): void {
  let packets = 0
  const ends = { from: pooled, to: pooled }
  const { send, decipher } = makeLine(ciphers, name, ends, () => (++packets === 2 ? false : undefined))
  const wire = [10, 20, 30].map((length) => Buffer.from(send(knownOctets(length, length))))
  const all = Buffer.concat([Buffer.alloc(3), ...wire])
  const border = 3 + (wire[0]?.length ?? 0) + (wire[1]?.length ?? 0)
  const holds = decipher.decrypt(all, 3, all.length) === border && packets === 2
  assertThat(holds, 'a change of keys is not met where it is', name)
}

function proveRefusal(ciphers: CipherModule, name: string, { pooled }: ProofParts): void {
  let taken = 0
  const ends = { from: pooled, to: pooled }
  const { send, decipher } = makeLine(ciphers, name, ends, () => void taken++)
  const packet = send(knownOctets(LARGE, 4))
  packet[1000] = (packet[1000] ?? 0) ^ 1
  let refused = false
  try {
    decipher.decrypt(packet, 0, packet.length)
  } catch {
    refused = true
  }
  assertThat(refused && taken === 0, 'a changed packet is not refused', name)
}
