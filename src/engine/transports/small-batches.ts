// Small files of one transfer by the dozen, each step for all of them. For files that travel as they lie and under keys that
// nobody has tried before, so there is nothing to look for at the partner's end. What does not go this way is pushed as
// any other file, and tells its own fault then: whatever `prepare` and `place` leave behind, a push goes on from it.

import type { Expected } from '../../files/unchanged.ts'
import type { FileKey } from './file-key.ts'

export type SmallFile = {
  readonly transferId: string
  readonly attempt: number
  readonly application: string
  readonly key: FileKey
  readonly name: string
  readonly path: string
  readonly expected: Expected
}

/** Of one file. Each step is the engine's to ask for, in this order. */
export type PreparedFile = {
  sha256: string
  /**
   * Gives it its real name; to be called when it is noted that the partner may see it, or where there are `marks`. Refused: it
   * has not got it, and never will from this call. Whatever is not placed is to be pushed.
   */
  place(): Promise<'placed' | 'refused' | 'unknown'>
  /** The engine has recorded that it arrived. Never throws. */
  settled(): void
  /** It is not placed after all. Never throws. */
  drop(): void
}

export interface SmallBatches {
  /** What is prepared together has no more octets than that, where they are kept in memory. */
  readonly mostOctets?: number
  /**
   * What is prepared lies under names that stay until it is settled or dropped. By them a later attempt sees what was placed,
   * whatever the engine has written of it, and keeps an earlier one from placing anything.
   */
  readonly marks?: true
  /**
   * Reads, checks and hashes them, and makes them durable where the partner does not see them. Undefined: to be pushed.
   * Rejects where the session has ended, or the signal says so.
   */
  prepare(files: readonly SmallFile[], signal: AbortSignal): Promise<(PreparedFile | undefined)[]>
  /** The names given so far are durable when it resolves. */
  synced(): Promise<void>
}
