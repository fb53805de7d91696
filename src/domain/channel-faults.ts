// What a node finds wrong with a channel: the rules of channel-rules.ts, with the node's own roots and its check of
// keys.

import { createPrivateKey, createPublicKey } from 'node:crypto'
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
  return keyFault(() => createPrivateKey(pem), 'a private key in PEM form', leastBits)
}

/** createPublicKey would also accept a private key and take its public half. */
function publicKeyFault(pem: string, leastBits: number): string | undefined {
  const wanted = 'a certificate or public key in PEM form'
  return pem.includes('PRIVATE KEY')
    ? `is not ${wanted}`
    : keyFault(() => createPublicKey(pem), wanted, leastBits)
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
