// The part of ssh2's lib/protocol/crypto.js that packet-memory.ts stands on. It is no public interface of ssh2, so there
// are no types of it; these were written from version 1.17.0.

export interface Cipher {
  /** Room for a packet: its length, how much padding, then the payload from the sixth octet on. */
  allocPacket(payloadLength: number): Buffer
  /** Encrypts where it lies, and hands the packet to `onWrite`. */
  encrypt(packet: Buffer): void
}

export interface Decipher {
  /** Takes what arrived, from `at` to `end`; returns where to go on when the keys change in between. */
  decrypt(data: Buffer, at: number, end: number): number | undefined
}

export interface CipherInfo {
  sslName: string
  keyLen: number
  ivLen: number
  authLen: number
}

type MacInfo = { len: number }

export interface CipherConfig {
  outbound: {
    seqno: number
    onWrite: (packet: Buffer) => void
    cipherInfo: CipherInfo
    cipherKey: Buffer
    cipherIV: Buffer
    macInfo: MacInfo | undefined
    macKey: Buffer
  }
  inbound: {
    seqno: number
    /** `false` ends the reading here, for a change of keys. */
    onPayload: (payload: Buffer) => false | void
    decipherInfo: CipherInfo
    decipherKey: Buffer
    decipherIV: Buffer
    macInfo: MacInfo | undefined
    macKey: Buffer
  }
}

export interface CipherFactories {
  createCipher(this: void, config: CipherConfig): Cipher
  createDecipher(this: void, config: CipherConfig): Decipher
}

export interface CipherModule extends CipherFactories {
  bindingAvailable: boolean
  CIPHER_INFO: Record<string, CipherInfo>
  MAC_INFO: Record<string, MacInfo>
}

/** Both ends of a line under the same keys: what goes out at one is what the other can read. */
export function lineConfig(
  { CIPHER_INFO, MAC_INFO }: CipherModule,
  name: string,
  ends: { onWrite: (packet: Buffer) => void; onPayload: (payload: Buffer) => false | void },
): CipherConfig {
  const info = CIPHER_INFO[name]
  if (info === undefined) throw new Error(`ssh2 has no cipher ${name}`)
  const macInfo = info.authLen > 0 ? undefined : MAC_INFO['hmac-sha2-256-etm@openssh.com']
  // Each a copy of its own: ssh2 counts on in the vector.
  const octets = (length: number) => Buffer.alloc(length, name)
  const macKey = octets(macInfo?.len ?? 0)
  return {
    outbound: {
      seqno: 0,
      onWrite: ends.onWrite,
      cipherInfo: info,
      cipherKey: octets(info.keyLen),
      cipherIV: octets(info.ivLen),
      macInfo,
      macKey,
    },
    inbound: {
      seqno: 0,
      onPayload: ends.onPayload,
      decipherInfo: info,
      decipherKey: octets(info.keyLen),
      decipherIV: octets(info.ivLen),
      macInfo,
      macKey,
    },
  }
}
