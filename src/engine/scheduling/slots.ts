// Places to work in. At most `size` big files move at once, or many small ones: those wait for the disk and the database
// and hardly need the processor. Places are handed out in the order they were asked for, one for each file, so a
// transfer of ten thousand files takes its turn between the others. A place held for long, by one huge file, no longer
// counts, up to a bound: it must not hold up everybody else.

export type Slots = {
  /** Resolves with the function that gives the place back. `size`: the file's octets, or a dozen small files. */
  take(signal: AbortSignal, size: number | 'dozen'): Promise<() => void>
}

const LONG_MS = 5000
const EXTRA = 8
/** A place is shared by this many small files. */
const SHARES = 16
const SMALL = 1024 * 1024
/** Of a dozen small files that make each step together: while some are copied, others are recorded. */
const DOZEN_SHARES = 8

type Waiting = { shares: number; grant: () => void; signal: AbortSignal }

export function makeSlots(size: number): Slots {
  let free = size * SHARES
  let lent = 0
  const queue: Waiting[] = []
  function next() {
    for (;;) {
      const first = queue[0]
      if (!first || (!first.signal.aborted && free < first.shares)) return
      queue.shift()
      if (first.signal.aborted) continue
      free -= first.shares
      first.grant()
    }
  }
  function hold(shares: number): () => void {
    let state: 'counted' | 'lent' | 'given back' = 'counted'
    const timer = setTimeout(() => {
      if (state !== 'counted' || lent + shares > size * EXTRA * SHARES) return
      state = 'lent'
      lent += shares
      free += shares
      next()
    }, LONG_MS)
    timer.unref()
    return () => {
      if (state === 'given back') return
      clearTimeout(timer)
      if (state === 'lent') lent -= shares
      else free += shares
      state = 'given back'
      next()
    }
  }
  return {
    take: (signal, size) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        const shares = sharesOf(size)
        const aborted = () => reject(signal.reason as Error)
        signal.addEventListener('abort', aborted, { once: true })
        queue.push({
          shares,
          signal,
          grant: () => {
            signal.removeEventListener('abort', aborted)
            resolve(hold(shares))
          },
        })
        next()
      }),
  }
}

function sharesOf(size: number | 'dozen'): number {
  if (size === 'dozen') return DOZEN_SHARES
  return size < SMALL ? 1 : SHARES
}
