// Whether ssh2 found its native crypto. Without it everything works, several times slower and without a word from the
// library, so the node says it at start. The answer is the library's own, not a guess from files on disk.

import { createRequire } from 'node:module'
// First: it must be the one to load the library.
import './library.ts'

export interface NativeBinding {
  loaded: boolean
  /** One line for the log when it is not loaded. */
  advice: string
}

export function nativeBinding(): NativeBinding {
  const library: unknown = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js')
  const loaded =
    typeof library === 'object' &&
    library !== null &&
    'bindingAvailable' in library &&
    library.bindingAvailable === true
  const advice = loaded
    ? ''
    : `SFTP runs without its native crypto binding and will be several times slower: run "node tools/build-ssh2.mjs" (it needs a C++ compiler, make and python3), then restart`
  return { loaded, advice }
}
