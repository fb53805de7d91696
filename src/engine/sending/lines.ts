// The lines that the files of one transfer go over, where a session carries one file at a time. The first is the session
// that the transfer was given. More are opened while many files wait (extra-sessions.ts knows when that pays, and how many
// the partner allows).
//
// State: the files that nobody has taken yet, how many lines there are, and whether more are to be tried for.
// Moves: a line takes the next file until none is left, and is given back when none is under way on the others either: a
// partner that gets the turn sends its receipts, and those would hold up the last files. A further line that breaks, or that the
// partner turns away, hands its file to the others, and no more are opened. If the first one breaks, that is the end of
// the attempt: files under way may finish, none is begun. A file that fails for itself holds up no other.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { Session } from '../transports/transport.ts'

/** Files of a further line that are under way: what waits for one line would be faster over another. */
const FURTHER_AT_ONCE = 3

const LONGEST_REST_MS = 1000

/** A partner that answers faster: the work takes longer than the way. */
export const PROMPT_MS = 10

/** A session for one transfer alone. */
export type Line = {
  session: Session
  /** Closes it in order. `refused`: not a single file could be sent over it. */
  giveBack(refused: boolean): void
}

export type Waiting = { lines: number; files: number; octets: number; answerMs: number | undefined }

export type MoreLines = {
  /** How many lines there should be, for what waits now. */
  wanted(waiting: Waiting): number
  /** `no room`: there may be some in a moment, when others of ours are closed. Never rejects. */
  open(): Promise<Line | 'no room' | 'refused'>
}

export type LineWork = {
  /** Files of the first line that are under way: one travels, the next are prepared, the last is recorded. */
  atOnce: number
  send(session: Session, file: TransferFileRecord): Promise<void>
  /** The file has not gone. Decides whether the attempt is over by it (isOver). */
  failed(file: TransferFileRecord, thrown: unknown, session: Session): void
  /** No further file is to be begun. */
  isOver(): boolean
}

export class Lines {
  readonly #first: Session
  readonly #more: MoreLines | undefined
  readonly #work: LineWork
  /** The last one is taken first. */
  readonly #files: TransferFileRecord[]
  #octets: number
  #open = 1
  #trying: 'yes' | 'opening' | 'no'
  readonly #further: Promise<void>[] = []
  readonly #resting = new Set<() => void>()

  constructor(
    files: readonly TransferFileRecord[],
    first: Session,
    more: MoreLines | undefined,
    work: LineWork,
  ) {
    this.#files = files.toReversed()
    this.#octets = files.reduce((sum, { size }) => sum + (size ?? 0), 0)
    this.#first = first
    this.#more = more
    this.#work = work
    this.#trying = more ? 'yes' : 'no'
  }

  /** Resolves when nothing is under way any more: all are sent, or the attempt is over. Never rejects. */
  async sendAll(): Promise<void> {
    this.#consider()
    // A line that broke may hand its file back after the first has found nothing more to do.
    while (this.#files.length > 0 && !this.#work.isOver()) {
      const count = Math.min(this.#work.atOnce, this.#files.length)
      await Promise.all(Array.from({ length: count }, () => this.#sendOverFirst()))
      while (this.#further.length > 0) await Promise.all(this.#further.splice(0))
    }
    this.#trying = 'no'
    for (const giveBack of this.#resting) giveBack()
  }

  /** Unless the others take long. */
  #giveBackSoon(line: Line): void {
    const giveBack = () => {
      clearTimeout(timer)
      this.#resting.delete(giveBack)
      line.giveBack(false)
    }
    const timer = setTimeout(giveBack, LONGEST_REST_MS)
    this.#resting.add(giveBack)
  }

  #take(): TransferFileRecord | undefined {
    const file = this.#work.isOver() ? undefined : this.#files.pop()
    if (file) this.#octets -= file.size ?? 0
    return file
  }

  #handBack(file: TransferFileRecord): void {
    this.#files.push(file)
    this.#octets += file.size ?? 0
  }

  async #sendOverFirst(): Promise<void> {
    for (let file = this.#take(); file; file = this.#take()) {
      try {
        await this.#work.send(this.#first, file)
      } catch (thrown) {
        this.#work.failed(file, thrown, this.#first)
      }
      this.#consider()
    }
  }

  /** Begins to open what pays. The second line is tried alone; where it is let in, the others follow together. */
  #consider(): void {
    const more = this.#more
    if (!more || this.#trying !== 'yes' || this.#work.isOver()) return
    const { answerMs } = this.#first
    const waiting = { lines: this.#open, files: this.#files.length, octets: this.#octets, answerMs }
    const missing = more.wanted(waiting) - this.#open
    if (missing <= 0) return
    this.#trying = 'opening'
    const opening = Array.from({ length: this.#open === 1 ? 1 : missing }, () =>
      more.open().then((line) => (typeof line === 'string' ? line : this.#use(line))),
    )
    void Promise.all(opening).then((lines) => {
      if (this.#trying !== 'opening') return
      this.#trying = lines.includes('refused') ? 'no' : 'yes'
      // Where there is no room, the next file asks again.
      if (!lines.includes('no room')) this.#consider()
    })
  }

  #use(line: Line): Line {
    if (this.#files.length > 0 && !this.#work.isOver()) this.#further.push(this.#sendOver(line))
    else line.giveBack(false)
    return line
  }

  async #sendOver(line: Line): Promise<void> {
    const state = { sent: 0, broken: false }
    this.#open++
    const atOnce = Math.min(FURTHER_AT_ONCE, this.#work.atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => this.#workOn(line.session, state)))
    this.#open--
    if (state.broken) this.#trying = 'no'
    if (state.broken) line.giveBack(state.sent === 0)
    else this.#giveBackSoon(line)
  }

  async #workOn(session: Session, state: { sent: number; broken: boolean }): Promise<void> {
    while (!state.broken) {
      const file = this.#take()
      if (!file) return
      try {
        await this.#work.send(session, file)
        state.sent++
      } catch (thrown) {
        if (!this.#isOfTheLine(session, thrown, state.sent)) {
          this.#work.failed(file, thrown, session)
          continue
        }
        state.broken = true
        this.#handBack(file)
      }
    }
  }

  /** The others may have more luck with the file. What is wrong with the file itself they will find, too. */
  #isOfTheLine({ ended }: Session, thrown: unknown, sent: number): boolean {
    if (this.#work.isOver() || !(thrown instanceof NodeError)) return false
    return thrown.retry || (ended.aborted && sent === 0)
  }
}
