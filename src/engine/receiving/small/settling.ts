// Small files that are in place and acknowledged, and what is still to be made durable of them: their names, by one sync of
// their folder, and their last rows, by one commit for many of them.

import { dirname } from 'node:path'
import type { TransferFileRecord } from '../../../domain/transfer.ts'
import { syncFolder } from '../../../files/folder-sync.ts'
import type { RunningTransfer } from '../../running-transfer.ts'
import { recordPlaced } from '../place-file.ts'

const SETTLE_AFTER_MS = 25
const SETTLE_TOGETHER = 64

type Placed = { folder: string; settle: () => Promise<void>; settled: (end: Promise<void>) => void }

export class Settling {
  #waiting: Placed[] = []
  #timer: NodeJS.Timeout | undefined
  /** What is put in place from now on is settled at once: the reception ends. */
  #atOnce = false

  /** Resolves when the file's name is on the disk and its last row is written. */
  add(running: RunningTransfer, file: TransferFileRecord, received: string, owes: boolean): Promise<void> {
    const { promise, resolve: settled } = Promise.withResolvers<void>()
    const settle = () => recordPlaced(running, file, received, owes)
    this.#waiting.push({ folder: dirname(file.path), settle, settled })
    if (this.#atOnce || this.#waiting.length >= SETTLE_TOGETHER) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), SETTLE_AFTER_MS)
    return promise
  }

  close(): void {
    this.#atOnce = true
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const some = this.#waiting.splice(0)
    const folders = new Set(some.map(({ folder }) => folder))
    const synced = Promise.all([...folders].map((folder) => syncFolder(folder)))
    for (const { settle, settled } of some) settled(synced.then(settle))
  }
}
