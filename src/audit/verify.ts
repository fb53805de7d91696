// Whether the trail is whole: walks the chain from its start and compares its end with what was signed. A head that was
// kept elsewhere (the data folder, a log) also finds a database that was put back to an earlier state.

import type { AuditRecord, SignedPoint } from '../store/audit.ts'
import { FIRST, FORGED, linkHash, pointText, textOf } from './chain.ts'
import type { Point } from './chain.ts'
import type { AuditKeys } from './keys.ts'

export type Trail = {
  /** In the order of their places. */
  chain: AsyncIterable<AuditRecord> | Iterable<AuditRecord>
  open: readonly AuditRecord[]
  start: SignedPoint | undefined
  last: SignedPoint | undefined
  /** Heads that were seen at some time, kept outside the database. */
  seen?: readonly Point[]
}

export type Verification = {
  whole: boolean
  entries: number
  open: number
  from: number
  to: number
  findings: string[]
}

const MOST_FINDINGS = 100

/** Far from the node there is no key for rows that are not in the chain yet; the chain is proven by its signed head. */
export type Checks = Pick<AuditKeys, 'isSigned'> & { isMac?: AuditKeys['isMac'] | undefined }

export async function verifyTrail(trail: Trail, keys: Checks): Promise<Verification> {
  const { start, last } = trail
  const findings: string[] = []
  const find = (what: string) => void (findings.length < MOST_FINDINGS && findings.push(what))
  for (const [name, point] of Object.entries({ start, last }) as [
    'start' | 'last',
    SignedPoint | undefined,
  ][])
    if (point && !keys.isSigned(pointText(name, point), point.signature))
      find(
        `the ${name === 'last' ? 'head' : 'start'} of the chain at ${point.seq} is not signed by this platform’s key`,
      )
  const walk = new Walk(start, trail.seen ?? [], find)
  for await (const row of trail.chain) walk.take(row)
  walk.end(last)
  for (const row of trail.open)
    if (keys.isMac && !keys.isMac(textOf(row), row.mac)) find(`entry ${row.id} was not written by the node`)
  return {
    whole: findings.length === 0,
    entries: walk.entries,
    open: trail.open.length,
    from: (start?.seq ?? 0) + 1,
    to: walk.seq,
    findings,
  }
}

class Walk {
  seq: number
  entries = 0
  #hash: string
  readonly #first: number
  readonly #seen: Map<number, string>
  readonly #find: (what: string) => void

  constructor(start: SignedPoint | undefined, seen: readonly Point[], find: (what: string) => void) {
    this.seq = this.#first = start?.seq ?? 0
    this.#hash = start?.hash ?? FIRST
    this.#find = find
    this.#seen = new Map(seen.map((point) => [point.seq, point.hash]))
    this.#compare()
  }

  take(row: AuditRecord): void {
    this.entries++
    const seq = row.seq ?? 0
    if (seq !== this.seq + 1)
      this.#find(
        seq > this.seq
          ? `${seq - this.seq - 1} entries are missing before place ${seq}`
          : `place ${seq} is taken twice`,
      )
    if (row.mac === FORGED)
      this.#find(`entry ${row.id} at place ${seq} was changed, or not written by the node`)
    const hash = linkHash(this.#hash, seq, row)
    if (hash !== row.hash) this.#find(`the chain breaks at place ${seq} (entry ${row.id})`)
    this.seq = seq
    // Goes on from what the row says: one break is one finding, not one for every row after it.
    this.#hash = row.hash ?? ''
    this.#compare()
  }

  #compare(): void {
    const seen = this.#seen.get(this.seq)
    if (seen !== undefined && seen !== this.#hash)
      this.#find(`place ${this.seq} had another hash when this node signed it`)
    this.#seen.delete(this.seq)
  }

  end(last: SignedPoint | undefined): void {
    if (last && last.seq > this.seq)
      this.#find(`the trail ends at place ${this.seq}; it was signed up to ${last.seq}`)
    if ((last?.seq ?? 0) < this.seq)
      this.#find(`the trail goes to place ${this.seq}, but is signed only up to ${last?.seq ?? 0}`)
    if (last?.seq === this.seq && last.hash !== this.#hash)
      this.#find(`the hash at place ${this.seq} is not the one that was signed`)
    for (const seq of this.#seen.keys())
      if (seq > this.#first)
        this.#find(`the trail ends at place ${this.seq}; this node has signed it up to ${seq}`)
  }
}
