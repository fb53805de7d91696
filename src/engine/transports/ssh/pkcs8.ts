// Private keys in PKCS #8, as OpenSSL and most programs but OpenSSH write them, in a form that the SSH library reads.

import { createPrivateKey, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { messageOf, NodeError } from '../../../errors.ts'

const PKCS8 = /-----BEGIN (ENCRYPTED )?PRIVATE KEY-----/

/** Anything else is given back as it is. */
export function fromPkcs8(pem: string, passphrase: string | undefined): string {
  const [found, encrypted] = PKCS8.exec(pem) ?? []
  if (found === undefined) return pem
  if (encrypted !== undefined && passphrase === undefined)
    throw new NodeError('bad_use', 'the private key is encrypted, and sftp.passphrase is not set')
  const key = open(pem, passphrase)
  if (key.asymmetricKeyType === 'rsa') return key.export({ type: 'pkcs1', format: 'pem' }).toString()
  if (key.asymmetricKeyType === 'ec') return key.export({ type: 'sec1', format: 'pem' }).toString()
  if (key.asymmetricKeyType === 'ed25519') return ed25519InOpenSsh(key)
  throw new NodeError('bad_use', `the private key is of a type that is not for SSH: ${key.asymmetricKeyType}`)
}

function open(pem: string, passphrase: string | undefined): KeyObject {
  try {
    return createPrivateKey(passphrase === undefined ? pem : { key: pem, passphrase })
  } catch (error) {
    throw new NodeError('bad_use', `the private key cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function u32(value: number): Buffer {
  const octets = Buffer.alloc(4)
  octets.writeUInt32BE(value)
  return octets
}

function field(...parts: (Buffer | string)[]): Buffer {
  const octets = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([u32(octets.length), octets])
}

/** OpenSSH's own form (PROTOCOL.key) is the only one in which the library reads such a key. */
function ed25519InOpenSsh(key: KeyObject): string {
  const { d = '', x = '' } = key.export({ format: 'jwk' })
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]
  const shown = Buffer.concat([field('ssh-ed25519'), field(point)])
  const check = randomBytes(4)
  const hidden = Buffer.concat([check, check, shown, field(seed, point), field('')])
  const padding = Buffer.from([1, 2, 3, 4, 5, 6, 7]).subarray(0, -hidden.length & 7)
  const none = [field('none'), field('none'), field(''), u32(1)]
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...none,
    field(shown),
    field(hidden, padding),
  ])
  const label = 'OPENSSH PRIVATE KEY'
  return `-----BEGIN ${label}-----\n${whole.toString('base64')}\n-----END ${label}-----\n`
}
