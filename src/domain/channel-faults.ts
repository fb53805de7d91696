// All that a node finds wrong with a channel: the rules of channel-rules.ts, with its own roots and its own reading of
// keys.

import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { Channel } from '../contract/channel.ts'
import { ruleFaults, valueRuleFaults } from './channel-rules.ts'
import type { Fault, NodeKnowledge, Roots, RuleFault } from './channel-rules.ts'

export function channelFaults(channel: Channel, roots: Roots): Fault[] {
  return ruleFaults(channel, knowledge(roots)).map(plain)
}

/** Faults of values taken one by one: wrong in any channel, whatever else it holds. */
export function valueFaults(channel: Channel, roots: Roots): Fault[] {
  return valueRuleFaults(channel, knowledge(roots)).map(plain)
}

function knowledge({ fileRoots, scriptRoots }: Roots): NodeKnowledge {
  return { fileRoots, scriptRoots, isPrivateKey, isPublicKey }
}

function plain({ pointer, message }: RuleFault): Fault {
  return { pointer, message }
}

function isPrivateKey(pem: string): boolean {
  return parses(() => createPrivateKey(pem))
}

/** createPublicKey would take a private key too, and make its public half. */
function isPublicKey(pem: string): boolean {
  return !pem.includes('PRIVATE KEY') && parses(() => createPublicKey(pem))
}

function parses(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
