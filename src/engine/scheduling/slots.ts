// Places to work in. At most `size` big files move at once, or many small ones: those wait for the disk and the database
// and hardly need the processor. One place for each file, so a transfer of ten thousand files takes its turn between the
// others. A place that becomes free goes to the partner that holds the fewest, whoever asked first: files to a slow partner
// hold theirs for long, and many of them must not hold up those to others. Files to one partner go in the order they
// asked. Two are handed out beyond those there are, up to a bound: to a partner that holds none, whose others may hang, and
// beside one that is held for long, by one huge file. Neither must hold up everybody else.

export type Slots = {
  /** Resolves with the function that gives the place back. `size`: the file's octets, or a dozen small files. */
  take(signal: AbortSignal, partner: string, size: number | 'dozen'): Promise<() => void>
}

const LONG_MS = 5000
const EXTRA = 8
/** A place is shared by this many small files. */
const SHARES = 16
const SMALL = 1024 * 1024
/** Of a dozen small files that make each step together: while some are copied, others are recorded. */
const DOZEN_SHARES = 8

type Waiting = { shares: number; grant: () => void; signal: AbortSignal }
/** `turn`: when it was last given a place. */
type Partner = { queue: Waiting[]; holds: number; turn: number }

export function makeSlots(size: number): Slots {
  let free = size * SHARES
  let lent = 0
  let turns = 0
  const partners = new Map<string, Partner>()
  /** The partner whose file is next. */
  function mostDue(): Partner | undefined {
    let due: Partner | undefined
    for (const [id, one] of partners) {
      while (one.queue[0]?.signal.aborted) one.queue.shift()
      if (one.queue.length === 0 && one.holds === 0) partners.delete(id)
      if (one.queue.length === 0) continue
      if (!due || one.holds < due.holds || (one.holds === due.holds && one.turn < due.turn)) due = one
    }
    return due
  }
  function fits(shares: number, { holds }: Partner): boolean {
    return free >= shares || (holds === 0 && free - shares >= -size * EXTRA * SHARES)
  }
  function next() {
    for (;;) {
      const partner = mostDue()
      const first = partner?.queue[0]
      if (!partner || !first || !fits(first.shares, partner)) return
      partner.queue.shift()
      partner.holds += first.shares
      partner.turn = ++turns
      free -= first.shares
      first.grant()
    }
  }
  function partnerOf(id: string): Partner {
    const known = partners.get(id)
    if (known) return known
    const fresh = { queue: [], holds: 0, turn: 0 }
    partners.set(id, fresh)
    return fresh
  }
  function hold(partner: Partner, shares: number): () => void {
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
      partner.holds -= shares
      next()
    }
  }
  return {
    take: (signal, id, size) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error)
        const shares = sharesOf(size)
        const aborted = () => reject(signal.reason as Error)
        signal.addEventListener('abort', aborted, { once: true })
        const partner = partnerOf(id)
        partner.queue.push({
          shares,
          signal,
          grant: () => {
            signal.removeEventListener('abort', aborted)
            resolve(hold(partner, shares))
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
