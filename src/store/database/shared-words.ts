// Numbers that all threads of this process see. Threads inherit what stands under the name when they are started: the first
// one makes it.

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

export function sharedWords(name: string, count: number): Int32Array<SharedArrayBuffer> {
  const known = getEnvironmentData(name)
  const memory =
    known instanceof SharedArrayBuffer ? known : new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT)
  if (memory !== known) setEnvironmentData(name, memory)
  return new Int32Array(memory)
}
