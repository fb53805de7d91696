// Something that happens beside a call of the file system, at a moment that no test could meet otherwise.

import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

/** `act` happens the moment after `call` was first asked about that path, or before it is: what it throws is the answer. */
export function meanwhile(
  t: TestContext,
  call: 'lstat' | 'rename' | 'stat',
  when: 'before' | 'after',
  { path, act }: { path: string; act: () => void },
): { done: () => boolean } {
  const real = fsPromises[call] as (...args: unknown[]) => Promise<unknown>
  let done = false
  const put = (value: unknown) => {
    Object.assign(fsPromises, { [call]: value })
    syncBuiltinESMExports()
  }
  put(async (...args: unknown[]) => {
    const now = !done && args[0] === path
    done ||= now
    if (now && when === 'before') act()
    try {
      return await real(...args)
    } finally {
      if (now && when === 'after') act()
    }
  })
  t.after(() => put(real))
  return { done: () => done }
}

export function diskFault(): never {
  throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
}
