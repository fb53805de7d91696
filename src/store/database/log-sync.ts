// The sync that makes a commit durable on SQLite, in a thread of the disk's: the thread that commits goes on meanwhile.
//
// With synchronous=FULL SQLite syncs its log (the -wal file) inside `commit`. That held up the thread, and the database's
// lock, for two milliseconds a commit, and the sync was of the file's times too, for which the file system writes its own
// journal. Here SQLite only writes the log, and whoever committed waits for `sync`. The log is read up to its last whole
// commit, so what is lost by a power failure is the newest of it, and nobody was answered about that.
//
// What this changes: others can read a commit a moment before it is durable. Whoever acts on what it read writes first, and
// the sync of that write covers all that was committed before it.

import { closeSync, openSync } from 'node:fs'
import { NodeError, messageOf } from '../../errors.ts'

export class LogSync {
  readonly #path: string
  readonly #syncFile: (file: number) => Promise<void>
  #file: number | undefined
  #running: Promise<void> = Promise.resolve()
  #failure: NodeError | undefined

  constructor(path: string, syncFile: (file: number) => Promise<void>) {
    this.#path = path
    this.#syncFile = syncFile
  }

  /** Resolves when what was committed before this call is on the disk. To be called once at a time. */
  sync(): Promise<void> {
    return (this.#running = this.#sync())
  }

  /** Throws where a sync has failed: what is committed after that might not last. */
  requireWell(): void {
    if (this.#failure) throw this.#failure
  }

  async #sync(): Promise<void> {
    try {
      // SQLite makes the log with the first commit, and keeps it as long as a connection is open.
      await this.#syncFile((this.#file ??= openSync(this.#path, 'r')))
    } catch (thrown) {
      // What a failed sync should have written is forgotten by the system: a later one would succeed without it.
      this.#failure = new NodeError(
        'unavailable',
        `the disk did not take what was written to ${this.#path}: ${messageOf(thrown)}; restart the node when the disk is in order`,
        { cause: thrown },
      )
      throw this.#failure
    }
  }

  async close(): Promise<void> {
    await this.#running.catch(() => {}) // whoever committed hears of it
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
