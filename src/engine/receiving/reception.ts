// One reception under way: a transfer with the files that a partner brings for one channel, one after the other or
// several at once. It knows which files are still coming, what is still being done with those that came, and which one
// was refused first. It writes nothing: receptions.ts begins and ends it, incoming-file.ts carries its files.
//
// State: open (takes the next file), closing (takes none; what is under way is brought to its end), quiet (nothing under
// way any more: it can be ended).
// Moves: open -> closing by `close`: the partner gave the turn, ended its session, brought nothing for a while or broke
// off in a file; or a file waits that does not belong to it. closing -> quiet with the last file and the last action.

import { NodeError } from '../../errors.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { makeProgress } from '../events.ts'
import type { ProgressMeter } from '../events.ts'
import type { Reach } from '../transports/transport.ts'
import { Settling } from './small/settling.ts'
import { isUnavailable, waitsForDisk } from './refusal.ts'

/** A partner that brings nothing for so long has brought what it had. */
const IDLE_MS = 2000
/** What comes after these goes into the next transfer: a transfer is read as a whole. */
const MOST_FILES = 100_000

/** A file that is on its way in as part of it. */
export type OpenFile = { stopped(reason: unknown): void }

export type Terms = {
  /** The channel's configuration that it began with. A file that comes under another one does not belong to it. */
  snapshot: string
  openedBy: Reach['openedBy']
}

export class Reception {
  readonly running: RunningTransfer
  readonly quiet: Promise<void>
  readonly progress: ProgressMeter
  /** Its small files that are in place and wait for their last row. Each is under way until then. */
  readonly settling = new Settling()
  /** Undefined: somebody asked for it and fetches; it takes whatever comes for the channel until it is closed. */
  readonly #terms: Terms | undefined
  readonly #resolveQuiet: () => void
  readonly #totals: { totalBytes: number; totalFiles: number }
  #state: 'open' | 'closing' | 'quiet' = 'open'
  readonly #files = new Set<OpenFile>()
  readonly #sessions = new Set<Reach>()
  #next: number
  #idle: NodeJS.Timeout | undefined
  #acting: Promise<void> = Promise.resolve()
  #actions = 0
  #refused: { reason: unknown } | undefined
  #postponed: unknown
  readonly #leaving = new AbortController()
  encrypted: boolean

  constructor(running: RunningTransfer, terms: Terms | undefined, encrypted: boolean) {
    this.running = running
    this.#terms = terms
    this.encrypted = encrypted
    const { transfer, context, signal } = running
    this.#next = transfer.files.reduce((most, { index }) => Math.max(most, index + 1), 0)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.quiet = promise
    this.#resolveQuiet = resolve
    const subject = {
      transferId: transfer.id,
      channelCode: transfer.channelCode,
      direction: 'RECEPCION' as const,
      totalBytes: 0,
      totalFiles: 0,
      filesDone: 0,
      bytesDone: 0,
      startAt: new Map<number, number>(),
      grows: true,
    }
    this.#totals = subject
    this.progress = makeProgress(context.publish, subject, (octets) => context.counted('RECEPCION', octets))
    const stop = () => {
      this.close()
      for (const file of this.#files) file.stopped(signal.reason)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }

  /** Nothing comes any more; at the most, something is still being done with what came. */
  get isEnding(): boolean {
    return this.#state !== 'open' && this.#files.size === 0
  }

  get isFetch(): boolean {
    return this.#terms === undefined
  }

  /** Why it is to end FAILED; undefined: every file came. */
  get refused(): { reason: unknown } | undefined {
    const { signal } = this.running
    return signal.aborted ? { reason: signal.reason as unknown } : this.#refused
  }

  /** Why it is not over with its last file: one waits for the disk that it is to be moved to. */
  get postponed(): unknown {
    return this.refused ? undefined : this.#postponed
  }

  takes(terms: Terms): boolean {
    if (this.#state !== 'open' || this.running.signal.aborted) return false
    if (!this.#terms) return true
    const same = terms.snapshot === this.#terms.snapshot && terms.openedBy === this.#terms.openedBy
    return same && this.#next < MOST_FILES
  }

  /** The index of one more file. To be called right after `takes`. Each file that entered leaves once. */
  enter(file: OpenFile, from: Reach, size: number): number {
    clearTimeout(this.#idle)
    this.#files.add(file)
    this.#sessions.add(from)
    this.#totals.totalFiles++
    this.#totals.totalBytes += size
    return this.#next++
  }

  /** The file is in place, refused or gone. */
  leave(file: OpenFile): void {
    if (!this.#files.delete(file)) return
    this.#settle()
  }

  /** It takes no more files, and this one is the last under way. */
  endsWithout(file: OpenFile): boolean {
    return this.#state === 'closing' && this.#files.size === 1 && this.#files.has(file) && this.#actions === 0
  }

  /** A file does not get to its place. Those that came stay; the transfer ends FAILED, by the first one's reason. */
  refuse(reason: unknown): void {
    this.#refused ??= { reason }
  }

  /** Does something with a file that is in place. Actions run one after the other, as scripts expect it. */
  act(action: () => Promise<void>): Promise<void> {
    this.#actions++
    this.#acting = this.#acting
      .then(action)
      .catch((thrown: unknown) => {
        if (waitsForDisk(thrown) === undefined) this.refuse(thrown)
        else this.#postponed ??= thrown
      })
      .finally(() => {
        this.#actions--
        this.#settle()
      })
    return this.#acting
  }

  /** The partner has given the turn in that session, or ended it. */
  sessionDone(from: Reach): void {
    if (this.#terms && this.#sessions.delete(from) && this.#sessions.size === 0) this.close()
  }

  /** A file waits that cannot become part of it, or the node stops. A fetch goes on: its end is near. */
  letGo(): void {
    if (this.#terms) this.close()
  }

  /** The transfer is left as it is, for whoever claims it next. */
  leaveToNext(cause: unknown): void {
    const told = isUnavailable(cause)
    this.#leaving.abort(
      told ? cause : new NodeError('unavailable', 'a received file could not be recorded', { cause }),
    )
    this.close()
  }

  /** Aborted when it is left. A fetch ends with it: closed, it would stand in the way of its own files. */
  get leaving(): AbortSignal {
    return this.#leaving.signal
  }

  close(): void {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    this.settling.close()
    this.#settle()
  }

  #settle(): void {
    clearTimeout(this.#idle)
    if (this.#files.size > 0) return
    if (this.#state === 'open') {
      const { stopping, receptionIdleMs = IDLE_MS } = this.running.context
      // It keeps no process alive that has nothing else to do.
      if (this.#terms)
        this.#idle = setTimeout(() => this.close(), stopping.aborted ? 0 : receptionIdleMs).unref()
    } else if (this.#state === 'closing' && this.#actions === 0) {
      this.#state = 'quiet'
      this.#resolveQuiet()
    }
  }
}
