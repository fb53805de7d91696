// What the benchmarks of transports share: an engine that does as little as sshd, and a stopwatch.

import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { SessionHost } from '../src/engine/transports/transport.ts'

/** As little as an engine can do with a file, which is what sshd does: open, write, close. */
export function offerPlainly(folder: string): SessionHost['offer'] {
  return async ({ name }) => {
    const file = await open(join(folder, name), 'w')
    return {
      position: 0,
      read: async () => 0,
      truncate: (length) => file.truncate(length),
      write: async (chunk, position) => void (await file.write(chunk, 0, chunk.length, position)),
      complete: () => file.close(),
      abandon: () => file.close(),
    }
  }
}

/** Seconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}
