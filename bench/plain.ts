// What the benchmarks of transports share: ends that do no more with a file than OpenSSH's do, and a stopwatch.
//
// OpenSSH opens, reads, writes and closes in the thread that talks; so do these. The engine has threads for that, which
// take part of its work off the line's thread and cost a small file more than the disk does: neither is the transport's.

import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileOf } from '../test/support/transport-ends.ts'
import type { SessionHost, Source, WireFile } from '../src/engine/transports/transport.ts'

/** Open, write, close: all that sshd does. */
export function offerPlainly(folder: string): SessionHost['offer'] {
  return async ({ name }) => {
    const file = openSync(join(folder, name), 'w')
    const close = async () => closeSync(file)
    return {
      position: 0,
      read: async () => 0,
      truncate: async (length) => ftruncateSync(file, length),
      write: async (chunk, position) => void writeSync(file, chunk, 0, chunk.length, position),
      rename: async () => {},
      complete: close,
      abandon: close,
    }
  }
}

export function openPlainly(path: string): Source & { close(): Promise<void> } {
  const file = openSync(path, 'r')
  return {
    size: fstatSync(file).size,
    read: async (into, position) => readSync(file, into, 0, into.length, position),
    close: async () => closeSync(file),
  }
}

/** A file as it lies there, to be pushed. */
export async function withFile<T>(
  path: string,
  { name, application }: { name: string; application: string },
  use: (file: WireFile) => Promise<T>,
): Promise<T> {
  const source = openPlainly(path)
  try {
    return await use(fileOf(name, source, { application }))
  } finally {
    await source.close()
  }
}

/** Seconds of the best of some rounds each, taken in turns so that a busy moment hits all of them. */
export async function bestOf(
  rounds: number,
  runs: Record<string, () => Promise<unknown>>,
  reset: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const best: Record<string, number> = {}
  for (let round = 0; round < rounds; round++)
    for (const [name, run] of Object.entries(runs)) {
      await reset()
      const began = performance.now()
      await run()
      best[name] = Math.min(best[name] ?? Infinity, (performance.now() - began) / 1000)
    }
  return best
}
