// What a node finds wrong with a channel: the rules of channel-rules.ts, with the node's own roots and its check of
// keys.

import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Channel } from '../contract/channel.ts'
import { ruleFaults, valueRuleFaults } from './channel-rules.ts'
import type { Fault, NodeKnowledge, Roots, RuleFault } from './channel-rules.ts'

export function channelFaults(channel: Channel, roots: Roots): Fault[] {
  return ruleFaults(channel, knowledge(roots)).map(plain)
}

/** Faults of single values: wrong in any channel, whatever its other fields are. */
export function valueFaults(channel: Channel, roots: Roots): Fault[] {
  return valueRuleFaults(channel, knowledge(roots)).map(plain)
}

function knowledge(roots: Roots): NodeKnowledge {
  const { leastRsaBits = LEAST_RSA_BITS } = roots
  return {
    ...roots,
    privateKeyFault: (pem) => privateKeyFault(pem, leastRsaBits),
    publicKeyFault: (pem) => publicKeyFault(pem, leastRsaBits),
  }
}

function plain({ pointer, message }: RuleFault): Fault {
  return { pointer, message }
}

function privateKeyFault(pem: string, leastBits: number): string | undefined {
  const wanted = 'a private key in PEM form'
  const fault = keyFault(() => createPrivateKey(pem), wanted, leastBits)
  if (fault === undefined) return certificateFault(pem) ?? strangersFault(pem)
  return PASSPHRASE.test(pem) ? `${fault} without a passphrase: openssl pkey takes it away` : fault
}

const PASSPHRASE = /-----BEGIN (ENCRYPTED PRIVATE KEY-----|[A-Z ]*PRIVATE KEY-----\s+Proc-Type: 4,ENCRYPTED)/

/** The partner would be shown a certificate whose key we do not have. */
function strangersFault(pem: string): string | undefined {
  const certificates = certificatesIn(pem)
  const key = createPrivateKey(pem)
  return certificates.length === 0 ||
    certificates.some((one) => new X509Certificate(one).checkPrivateKey(key))
    ? undefined
    : 'holds no certificate that belongs to its private key'
}

/** What is wrong with the certificates beside a key. Readers take those that are called so and pass over the rest. */
export function certificateFault(text: string): string | undefined {
  const pem = underNewLabel(text)
  const labels = [...pem.matchAll(/-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----/g)].map(([, label]) => label)
  const other = labels.find((label) => label !== 'CERTIFICATE')
  if (other !== undefined) return `holds a block ${other}: openssl x509 makes a CERTIFICATE of it`
  const certificates = certificatesIn(pem)
  const readable = certificates.length === labels.length && certificates.every(isCertificate)
  return readable ? undefined : 'holds a certificate that cannot be read'
}

/** A label that programs wrote long ago, and readers know. */
function underNewLabel(pem: string): string {
  return pem.replaceAll(/-----(BEGIN|END) X509 CERTIFICATE-----/g, '-----$1 CERTIFICATE-----')
}

/** Those that readers of keys take, under the label of today. */
export function certificatesIn(given: string): string[] {
  const pem = underNewLabel(given)
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

/** createPublicKey would also accept a private key and take its public half. */
function publicKeyFault(pem: string, leastBits: number): string | undefined {
  const wanted = 'a certificate or public key in PEM form'
  return pem.includes('PRIVATE KEY')
    ? `is not ${wanted}`
    : (keyFault(() => createPublicKey(pem), wanted, leastBits) ?? certificateFault(pem))
}

/** A shorter RSA key can be factored. Then anybody who has its public half can sign as its owner. */
const LEAST_RSA_BITS = 2048

function keyFault(read: () => KeyObject, wanted: string, leastBits: number): string | undefined {
  let key: KeyObject
  try {
    key = read()
  } catch {
    return `is not ${wanted}`
  }
  const { asymmetricKeyType: kind } = key
  if (kind !== 'rsa')
    return `is ${kind === undefined ? 'no RSA key' : `of type ${kind}`}: RSA keys alone are supported`
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return bits >= leastBits ? undefined : `is an RSA key of ${bits} bits: at least ${leastBits} are needed`
}
