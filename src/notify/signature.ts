// Signatures by the Standard Webhooks scheme: over id, time and body, once per secret. A receiver that knows one of the
// secrets finds its signature among them, so a secret is changed by having both for a while.

import { createHmac, createPrivateKey, sign } from 'node:crypto'

const HMAC = 'whsec_'
const ED25519 = 'whsk_'
/** What stands before the 32 octets of an Ed25519 private key in PKCS #8. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

export type Signed = { id: string; timestamp: number; body: string }

/** The value of `webhook-signature`. `timestamp` is in seconds. */
export function signatureOf({ id, timestamp, body }: Signed, secrets: readonly string[]): string {
  const content = Buffer.from(`${id}.${timestamp}.${body}`)
  return secrets.map((secret) => signOne(content, secret)).join(' ')
}

function signOne(content: Buffer, secret: string): string {
  if (secret.startsWith(ED25519)) {
    const seed = Buffer.from(secret.slice(ED25519.length), 'base64').subarray(0, 32)
    const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
    return `v1a,${sign(null, content, key).toString('base64')}`
  }
  const key = Buffer.from(secret.slice(HMAC.length), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}
