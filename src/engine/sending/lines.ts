// The lines to one partner, where a session carries one file at a time, and the transfers that share them. The first line
// is the session that all of them were lent. More are opened while many files wait, of one transfer or of many
// (extra-sessions.ts knows when that pays, and how many the partner allows).
//
// State: the transfers with files to send (`#parts`), the lines with what each is at, and whether more are to be tried for.
// Moves: a line that has room takes the next file of its transfer. After some files it looks which transfer the fewest lines
// work for, and goes on with that: a transfer of ten thousand files holds up nobody, and the partner gets a channel's
// files one after the other. A further line that has nothing to do is given back when nothing is under way on the others
// either: a partner that gets the turn sends its receipts, and those would hold up the last files. A further line that
// breaks, or that the partner turns away, hands its files to the others, and no more are opened until another transfer
// comes. If the first one breaks, that is the end of the attempt of each transfer that has a file to begin: those under way
// may finish. Likewise where it is cut in the middle of a file, once no other line is left. A file that fails for itself holds up no other.
// Callers: the session pool makes one for each session that it lends; send-files.ts has each transfer send its files.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { Session } from '../transports/transport.ts'

/** Files of a further line that are under way: what waits for one line would be faster over another. */
const FURTHER_AT_ONCE = 3

const LONGEST_REST_MS = 1000

/** Calls at once for further lines. */
const MOST_CALLS = 8

/** A line stays with a transfer for so many small files, or so many octets, while others wait. */
const STAY_FILES = 32
const STAY_OCTETS = 4 * 1024 * 1024

/** Nothing of another transfer waits behind a file that is bigger: another line may be free sooner. */
const QUICK_OCTETS = 1024 * 1024

/** A partner that answers faster: the work takes longer than the way. */
export const PROMPT_MS = 10

/** A further session. */
export type ExtraLine = {
  session: Session
  /** Closes it in order. `refused`: not a single file could be sent over it. */
  giveBack(refused: boolean): void
}

export type Waiting = {
  lines: number
  files: number
  octets: number
  answerMs: number | undefined
  /** Each line is busy with a big file, and a transfer has none that works for it. */
  stuck: boolean
}

export type MoreLines = {
  /** How many lines there should be, for what waits now. */
  wanted(waiting: Waiting): number
  /** `no room`: there may be some in a moment, when others of ours are closed. Never rejects. */
  open(): Promise<ExtraLine | 'no room' | 'refused'>
}

export type LineWork = {
  /** Files of the first line that are under way: one travels, the next are prepared, the last is recorded. */
  atOnce: number
  send(session: Session, file: TransferFileRecord): Promise<void>
  /** The file has not gone. Decides whether the attempt is over by it. */
  failed(file: TransferFileRecord, thrown: unknown, session: Session): void
  /** Aborted: no further file is to be begun. */
  over: AbortSignal
}

/** What one transfer has to send. */
type Part = {
  work: LineWork
  /** The last one is taken first. */
  files: TransferFileRecord[]
  octets: number
  underWay: number
  /** How many lines work for it, and since when the last of them does. */
  lines: number
  since: number
  done: () => void
}

type Line = {
  session: Session
  /** Left out for the first. */
  extra?: ExtraLine
  part: Part | undefined
  /** How much of its stay is left: 1 when it comes. */
  stay: number
  busy: number
  /** Files under way that take long. */
  long: number
  sent: number
  /** Nothing more goes over it. `cut`: in the middle of another file, which says nothing of the line. */
  broken?: { cut: boolean; thrown: unknown }
  rest?: NodeJS.Timeout
}

export class Lines {
  readonly #first: Line
  readonly #more: MoreLines | undefined
  readonly #parts = new Set<Part>()
  readonly #further = new Set<Line>()
  #trying: 'yes' | 'opening' | 'no' = 'yes'
  #asksAgain: NodeJS.Timeout | undefined
  #comings = 0

  constructor(first: Session, more?: MoreLines) {
    this.#first = lineOver(first)
    this.#more = more
  }

  /** Resolves when nothing of it is under way any more: all are sent, or the attempt is over. Never rejects. */
  async sendAll(files: readonly TransferFileRecord[], work: LineWork): Promise<void> {
    if (files.length === 0 || work.over.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const part: Part = {
      work,
      files: files.toReversed(),
      octets: files.reduce((sum, { size }) => sum + (size ?? 0), 0),
      underWay: 0,
      lines: 0,
      since: 0,
      done: resolve,
    }
    const over = () => this.#endIfDone(part)
    work.over.addEventListener('abort', over, { once: true })
    this.#parts.add(part)
    if (this.#trying === 'no') this.#trying = 'yes'
    this.#fillAll()
    this.#endIfDone(part)
    this.#consider()
    await promise
    work.over.removeEventListener('abort', over)
  }

  #fillAll(): void {
    for (const line of [this.#first, ...this.#further]) this.#fill(line)
  }

  #fill(line: Line): void {
    for (;;) {
      const part = line.broken ? undefined : this.#partFor(line)
      if (!part || line.busy >= atOnce(line, part) || (line.long > 0 && part !== line.part)) break
      clearTimeout(line.rest)
      this.#come(line, part)
      void this.#send(line, part)
    }
    if (line.busy > 0 || line.broken) return
    leavePart(line)
    if (line.extra) this.#rest(line, line.extra)
  }

  /** The transfer that the line goes on with, or is to come to: the one with the fewest other lines, for the longest time. */
  #partFor(line: Line): Part | undefined {
    if (line.part && isWaiting(line.part) && line.stay > 0) return line.part
    const others = (part: Part) => part.lines - (part === line.part ? 1 : 0)
    let next: Part | undefined
    for (const part of this.#parts) {
      if (!isWaiting(part)) continue
      const less = next ? others(part) - others(next) : -1
      if (!next || less < 0 || (less === 0 && part.since < next.since)) next = part
    }
    return next
  }

  #come(line: Line, part: Part): void {
    if (line.part === part && line.stay > 0) return
    leavePart(line)
    part.lines++
    part.since = ++this.#comings
    line.part = part
    line.stay = 1
  }

  async #send(line: Line, part: Part): Promise<void> {
    const file = part.files.pop()
    if (!file) return
    const size = file.size ?? 0
    part.octets -= size
    part.underWay++
    line.busy++
    if (size > QUICK_OCTETS) line.long++
    line.stay -= Math.max(1 / STAY_FILES, size / STAY_OCTETS)
    try {
      await part.work.send(line.session, file)
      line.sent++
    } catch (thrown) {
      if (isOfTheLine(line, part, thrown)) {
        line.broken ??= { cut: wasCut(thrown), thrown }
        if (!line.broken.cut) this.#trying = 'no'
        part.files.push(file)
        part.octets += size
      } else part.work.failed(file, thrown, line.session)
    }
    part.underWay--
    line.busy--
    if (size > QUICK_OCTETS) line.long--
    if (line.broken) this.#leave(line)
    else this.#fill(line)
    this.#endIfDone(part)
    this.#consider()
  }

  /** A broken line: the others take what it handed back. */
  #leave(line: Line): void {
    if (line.busy === 0 && this.#further.delete(line)) {
      leavePart(line)
      line.extra?.giveBack(line.sent === 0 && line.broken?.cut === false)
    }
    this.#fillAll()
    for (const part of this.#parts) this.#endIfDone(part)
  }

  #endIfDone(part: Part): void {
    if (part.underWay > 0) return
    const [file] = part.files
    const { broken, session } = this.#first
    // Not before its own files have told what became of them: one of them may be what the session was cut for.
    if (broken && file && isWaiting(part) && this.#further.size === 0)
      part.work.failed(file, broken.thrown, session)
    if (isWaiting(part) || !this.#parts.delete(part)) return
    part.done()
    if (this.#parts.size > 0) return
    for (const line of this.#further)
      if (line.busy === 0 && !line.broken && line.extra) this.#giveBack(line, line.extra)
  }

  /** Unless the others take long. */
  #rest(line: Line, extra: ExtraLine): void {
    clearTimeout(line.rest)
    if (this.#parts.size === 0) this.#giveBack(line, extra)
    else line.rest = setTimeout(() => this.#giveBack(line, extra), LONGEST_REST_MS)
  }

  #giveBack(line: Line, extra: ExtraLine): void {
    clearTimeout(line.rest)
    if (this.#further.delete(line)) extra.giveBack(false)
  }

  /**
   * Begins to open what pays: the second line alone, and each time that all are let in as many again. A partner that has room
   * for few turns few away, and never has more than some callers at its door who have not yet said who they are.
   */
  #consider(): void {
    const more = this.#more
    const parts = [...this.#parts].filter(isWaiting)
    if (!more || this.#trying !== 'yes' || parts.length === 0 || this.#first.session.ended.aborted) return
    const lines = 1 + this.#further.size
    const missing =
      more.wanted({
        lines,
        files: parts.reduce((sum, { files }) => sum + files.length, 0),
        octets: parts.reduce((sum, { octets }) => sum + octets, 0),
        answerMs: this.#first.session.answerMs,
        stuck:
          parts.some((part) => part.lines === 0) &&
          [this.#first, ...this.#further].every(({ long }) => long > 0),
      }) - lines
    if (missing <= 0) return
    this.#trying = 'opening'
    const opening = Array.from({ length: Math.min(missing, lines, MOST_CALLS) }, () =>
      more.open().then((line) => (typeof line === 'string' ? line : this.#use(line))),
    )
    void Promise.all(opening).then((answers) => {
      if (this.#trying !== 'opening') return
      this.#trying = answers.includes('refused') ? 'no' : 'yes'
      if (!answers.includes('no room')) return this.#consider()
      // The next file asks again; it may be long until then.
      if (this.#asksAgain) return
      this.#asksAgain = setTimeout(() => {
        this.#asksAgain = undefined
        this.#consider()
      }, LONGEST_REST_MS).unref()
    })
  }

  #use(extra: ExtraLine): void {
    const line = lineOver(extra.session, extra)
    this.#further.add(line)
    this.#fill(line)
  }
}

function lineOver(session: Session, extra?: ExtraLine): Line {
  return { session, ...(extra && { extra }), part: undefined, stay: 0, busy: 0, long: 0, sent: 0 }
}

function leavePart(line: Line): void {
  if (line.part) line.part.lines--
  line.part = undefined
}

function atOnce({ extra }: Line, { work }: Part): number {
  return extra ? Math.min(FURTHER_AT_ONCE, work.atOnce) : work.atOnce
}

function isWaiting({ files, work }: Part): boolean {
  return files.length > 0 && !work.over.aborted
}

/**
 * The others may have more luck with the file. What is wrong with the file itself they will find, too. The first line is nobody's
 * to leave, unless it was cut.
 */
function isOfTheLine({ extra, session, sent }: Line, { work }: Part, thrown: unknown): boolean {
  if (work.over.aborted || !(thrown instanceof NodeError)) return false
  if (session.ended.aborted && wasCut(thrown)) return true
  return extra !== undefined && (thrown.retry || (session.ended.aborted && sent === 0))
}

/** In the middle of another file: it was reset, or changed, and the protocol has no other way to stop it. */
function wasCut(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'cancelled'
}
