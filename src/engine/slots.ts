// Places to work in: at most `size` files move at once, and they are handed out in the order they were asked for, one
// file at a time. So a transfer of ten thousand files takes its turn between the others. A place held for long (one
// huge file) no longer counts, up to a bound: it must not hold up everybody else.

export type Slots = {
  /** Resolves with the function that gives the place back. */
  take(signal: AbortSignal): Promise<() => void>
}

const LONG_MS = 5000
const EXTRA = 8

export function makeSlots(size: number): Slots {
  let free = size
  let lent = 0
  const queue: { grant: () => void; signal: AbortSignal }[] = []
  function next() {
    while (free > 0 && queue.length > 0) {
      const waiting = queue.shift()
      if (!waiting || waiting.signal.aborted) continue
      free--
      waiting.grant()
    }
  }
  function hold(): () => void {
    let state: 'counted' | 'lent' | 'given back' = 'counted'
    const timer = setTimeout(() => {
      if (state !== 'counted' || lent >= size * EXTRA) return
      state = 'lent'
      lent++
      free++
      next()
    }, LONG_MS)
    timer.unref()
    return () => {
      if (state === 'given back') return
      clearTimeout(timer)
      if (state === 'lent') lent--
      else free++
      state = 'given back'
      next()
    }
  }
  return {
    take: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        const aborted = () => reject(signal.reason as Error)
        signal.addEventListener('abort', aborted, { once: true })
        queue.push({
          signal,
          grant: () => {
            signal.removeEventListener('abort', aborted)
            resolve(hold())
          },
        })
        next()
      }),
  }
}
