// What becomes of a push's progress: it is shown, restart points are kept, and the moment before the file becomes
// visible at the partner's end is written down.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { ProgressMeter } from '../events.ts'
import type { FileSource } from '../staging/file-source.ts'
import { restartEvery } from '../staging/restart-points.ts'
import type { PushProgress } from '../transports/transport.ts'
import { noteEncryption } from '../staging/note-encryption.ts'
import { directoryOf, wantsReceipt } from './emission.ts'
import type { Emission } from './emission.ts'
import { record } from './file-record.ts'

export function watchPush(
  emission: Emission,
  file: TransferFileRecord,
  source: FileSource,
  progress: ProgressMeter,
): PushProgress & {
  /** The file has gone, whether or not its octets were told one by one. */
  travelled: () => Promise<void>
  settled: () => Promise<void>
} {
  const every = restartEvery(emission.plan, directoryOf(emission, file))
  let kept = file.position
  let latest = file.position
  /** Once the row says that the file may be visible, no restart point may overwrite that. */
  let maybeVisible = file.maybeVisible
  let writing = false
  let keeping: Promise<void> = Promise.resolve()
  const isDue = () => !maybeVisible && latest - kept >= every
  // The last point before a break may come while an earlier one is still being written. It is kept afterwards.
  const keep = async () => {
    while (isDue()) {
      kept = latest - (latest % every)
      // A lost restart point costs time, never a byte. A lost lease is found by the next write that matters.
      await record(emission, file, { phase: 'STAGED', position: kept }).catch(() => {})
    }
    writing = false
  }
  const { session, plan } = emission
  const isEncrypted = session.encrypted || plan.encryptFiles
  let noting: Promise<void> | undefined
  const note = () => (noting ??= isEncrypted ? noteEncryption(emission) : Promise.resolve())
  return {
    receiptDigest: (digest) => source.hashAlso(digest),
    moved: (position) => {
      // A lost lease is found by the next write that matters.
      if (noting === undefined && position > file.position) note().catch(() => {})
      progress.moved({ index: file.index, name: file.name, size: source.size }, position)
    },
    safe: (position) => {
      if (position < source.size) latest = position
      if (writing) return
      writing = true
      keeping = keep()
    },
    placing: async (sha256) => {
      await keeping
      maybeVisible = true
      const wireHash = await source.receiptHash()
      if (sha256 !== undefined && emission.plan.verifyHash) requireSameHash(file, sha256, wireHash)
      const receipt = wantsReceipt(emission) ? ({ receipt: 'AWAITED' } as const) : {}
      await record(emission, file, {
        phase: 'STAGED',
        position: source.size,
        maybeVisible: true,
        wireHash,
        ...receipt,
      })
    },
    travelled: note,
    settled: async () => {
      await keeping
      await noting?.catch(() => {})
    },
  }
}

export function requireSameHash({ name }: TransferFileRecord, there: string | undefined, sent: string): void {
  if (there !== sent)
    throw new NodeError(
      'hash_mismatch',
      `${name}: the partner’s end has SHA-256 ${there ?? 'unknown'}, sent was ${sent}`,
    )
}
