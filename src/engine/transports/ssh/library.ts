// ssh2, loaded here alone and once per thread, with the memory of packets used again where that is wanted and holds
// (packet-memory.ts). The library as it comes is always there to fall back to; a line for the log says when it is.

import { createRequire } from 'node:module'

import { messageOf } from '../../../errors.ts'

import { WRITTEN_FOR, installPacketMemory } from './packet-memory.ts'
import type { CipherModule } from './ssh2-ciphers.ts'

export interface SshLibrary {
  readonly ssh2: typeof import('ssh2')
  /** Its ciphers keep nothing of what they are handed, and large packets may be taken back. */
  readonly packetMemory: boolean
  /** What was wanted and is not so; for the log. */
  readonly notes: readonly string[]
}

let loaded: (SshLibrary & { wanted: boolean }) | undefined

/** The first call decides for the thread: a node that wants something else than the default says so before all others. */
export function loadSsh(settings?: { packetMemory: boolean }): SshLibrary {
  loaded ??= load(settings?.packetMemory ?? true)
  if (settings !== undefined && settings.packetMemory !== loaded.wanted)
    throw new Error('ssh2 is already loaded with another setting for its packet memory')
  return loaded
}

function load(wanted: boolean): SshLibrary & { wanted: boolean } {
  const require = createRequire(import.meta.url)
  const refused = wanted ? swapCiphers(require) : undefined
  // ssh2 takes its ciphers' functions when it is loaded: whatever is put in their place is there by now.
  const ssh2 = require('ssh2') as typeof import('ssh2') // the package’s own types
  const notes = refused === undefined ? [] : [noteOn(refused, require)]
  return { ssh2, packetMemory: wanted && refused === undefined, notes, wanted }
}

function swapCiphers(require: NodeJS.Require): string | undefined {
  try {
    if (require.cache[require.resolve('ssh2')] !== undefined) return 'somebody else has loaded ssh2 before'
    return installPacketMemory(require('ssh2/lib/protocol/crypto.js') as CipherModule)
  } catch (thrown) {
    return messageOf(thrown)
  }
}

function noteOn(refused: string, require: NodeJS.Require): string {
  const { version } = require('ssh2/package.json') as { version: string }
  return `SFTP works with the SSH library as it comes and is slower with large files, because its packet memory cannot be used again: ${refused}. This is ssh2 ${version}; the swap was written for ${WRITTEN_FOR}. ESCLUSA_SSH_PACKET_MEMORY=off ends this message`
}
