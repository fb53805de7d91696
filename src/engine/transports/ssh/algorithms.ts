// What this node accepts on an SSH line, in both roles, best first.
//
// Off on purpose: anything with SHA-1 (ssh-rsa, hmac-sha1, the old groups), CBC, and chacha20-poly1305, which is safe
// only when both ends speak strict key exchange, something the library does not let us insist on. AES-GCM leads
// because it is the cheapest for both ends; CTR with SHA-2 stays for servers that are ten years old.

import type { Algorithms } from 'ssh2'

const KEX = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
  'diffie-hellman-group-exchange-sha256',
  'diffie-hellman-group14-sha256',
  'diffie-hellman-group16-sha512',
  'diffie-hellman-group18-sha512',
] as const

const HOST_KEY = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const

const CIPHER = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes256-ctr', 'aes128-ctr'] as const

const MAC = [
  'hmac-sha2-256-etm@openssh.com',
  'hmac-sha2-512-etm@openssh.com',
  'hmac-sha2-256',
  'hmac-sha2-512',
] as const

/**
 * Methods that only a client of the library can do (group exchange), or that cost a listener 64 ms for anybody who asks
 * (group 18; whoever knows it knows group 16, too).
 */
const NOT_WHEN_CALLED: ReadonlySet<string> = new Set([
  'diffie-hellman-group-exchange-sha256',
  'diffie-hellman-group18-sha512',
])

/** What a listener announces: all of it can be done, and at a bounded cost. */
export function listenerAlgorithms(): Algorithms {
  return { ...lineAlgorithms(false), kex: KEX.filter((method) => !NOT_WHEN_CALLED.has(method)) }
}

/** `compression` true offers zlib first and still takes a peer that has none. */
export function lineAlgorithms(compression: boolean): Algorithms {
  return {
    kex: [...KEX],
    serverHostKey: [...HOST_KEY],
    cipher: [...CIPHER],
    hmac: [...MAC],
    compress: compression ? ['zlib@openssh.com', 'none'] : ['none'],
  }
}
