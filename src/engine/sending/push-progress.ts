// What becomes of a push's progress: it is shown, restart points are kept, and the moment before the file becomes
// visible at the partner's end is written down.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { ProgressMeter } from '../events.ts'
import type { Outgoing } from '../staging/read-ahead.ts'
import { restartPoints } from '../staging/restart-points.ts'
import type { PushProgress } from '../transports/transport.ts'
import { noteEncryption } from '../staging/note-encryption.ts'
import { directoryOf, isNotPlaced, wantsReceipt } from './emission.ts'
import type { Emission } from './emission.ts'
import { record } from './file-record.ts'

export function watchPush(
  emission: Emission,
  file: TransferFileRecord,
  source: Outgoing,
  progress: ProgressMeter,
): PushProgress & {
  /** The push has failed. */
  broken: (thrown: unknown) => Promise<void>
  /** The file has gone, whether or not its octets were told one by one. */
  travelled: () => Promise<void>
  settled: () => Promise<void>
} {
  const { octets: every, pauseMs } = restartPoints(emission.plan, directoryOf(emission, file))
  let kept = file.position
  let keptAt = -Infinity
  let latest = file.position
  /** Once the row says that the file may be visible, no restart point may overwrite that. */
  let maybeVisible = file.maybeVisible
  let writing = false
  let keeping: Promise<void> = Promise.resolve()
  /** The push has failed: what it got to is kept, however soon after the last point. */
  let over = false
  const isDue = () =>
    !maybeVisible && latest - kept >= every && (over || performance.now() - keptAt >= pauseMs)
  // The last point before a break may come while an earlier one is still being written. It is kept afterwards.
  const keep = async () => {
    while (isDue()) {
      kept = latest - (latest % every)
      keptAt = performance.now()
      // A lost restart point costs time, never a byte. A lost lease is found by the next write that matters.
      await record(emission, file, { phase: 'STAGED', position: kept }).catch(() => {})
    }
    writing = false
  }
  const keepSoon = () => {
    if (writing) return
    writing = true
    keeping = keep()
  }
  const { session, plan } = emission
  const isEncrypted = session.encrypted || plan.encryptFiles
  let noting: Promise<void> | undefined
  const noteLine = () => (noting ??= isEncrypted ? noteEncryption(emission) : Promise.resolve())
  return {
    receiptDigest: (digest, part) => source.hashAlso(digest, part),
    moved: (position) => {
      // A lost lease is found by the next write that matters.
      if (noting === undefined && position > file.position) noteLine().catch(() => {})
      progress.moved({ index: file.index, name: file.name, size: source.size }, position)
    },
    safe: (position) => {
      if (position < source.size) latest = position
      keepSoon()
    },
    placing: async (sha256) => {
      await keeping
      maybeVisible = true
      const wireHash = await source.receiptHash()
      if (sha256 !== undefined && emission.plan.verifyHash) requireSameHash(file, sha256, wireHash)
      const receipt = wantsReceipt(emission) ? ({ receipt: 'AWAITED' } as const) : {}
      const noted = { phase: 'STAGED', maybeVisible: true, wireHash, position: source.size } as const
      await record(emission, file, { ...noted, ...receipt })
    },
    broken: async (thrown) => {
      over = true
      keepSoon()
      // Must not be lost: a later attempt would take it that the file may be there. If it cannot be written, that is
      // what the attempt fails by, and not the refusal.
      if (isNotPlaced(thrown)) await record(emission, file, NOT_PLACED)
    },
    travelled: noteLine,
    settled: async () => {
      await keeping
      await noting?.catch(() => {})
    },
  }
}

/** The partner has dropped all of it. No hash either: one in a STAGED row means the same as `maybeVisible`. */
export const NOT_PLACED = { position: 0, maybeVisible: false, wireHash: null, receipt: 'NONE' } as const

export function requireSameHash({ name }: TransferFileRecord, there: string | undefined, sent: string): void {
  if (there !== sent)
    throw new NodeError(
      'hash_mismatch',
      `${name}: the partner’s end has SHA-256 ${there ?? 'unknown'}, sent was ${sent}`,
    )
}
