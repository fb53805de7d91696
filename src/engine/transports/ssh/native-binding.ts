// Whether ssh2 found its native crypto. Without it everything works, several times slower and without a word from the
// library, so the node says it when it loads it. The answer is the library's own, not a guess from files on disk.

import { createRequire } from 'node:module'

import { loadSsh } from './library.ts'

export interface NativeBinding {
  loaded: boolean
  /** One line for the log when it is not loaded. */
  advice: string
}

export function nativeBinding(): NativeBinding {
  // First: it must be the one to load the library.
  loadSsh()
  const loaded = saysItself()
  const advice = loaded
    ? ''
    : `SFTP runs without its native crypto binding and will be several times slower: run "node tools/build-ssh2.mjs" (it needs a C++ compiler, make and python3), then restart`
  return { loaded, advice }
}

function saysItself(): boolean {
  try {
    const library: unknown = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js')
    return typeof library === 'object' && library !== null && 'bindingAvailable' in library
      ? library.bindingAvailable === true
      : false
  } catch {
    // Another version of it, laid out otherwise.
    return false
  }
}
