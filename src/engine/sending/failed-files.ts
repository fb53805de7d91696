// The files of one attempt that did not go, and what the attempt comes to by them.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError, naming } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'

/** Faults that are the file's own, however many files have them. */
const OWN: ReadonlySet<ErrorCode> = new Set([
  'file_missing',
  'file_changed',
  'duplicate_file',
  'name_taken',
  'no_rights',
])
/** Faults of one file, which say nothing of the next. Whoever refuses (remote_refused) may mean the session. */
const OF_THE_FILE: ReadonlySet<ErrorCode> = new Set([
  ...OWN,
  'file_refused',
  'remote_refused',
  // Before it is sent or after: the script has looked at this file.
  'script_failed',
  // A disk that cannot read one file, or write its wire form, may well do so with the next.
  'disk_fault',
  // A large file that a quota has no room for says nothing of a small one.
  'no_space',
])
/** So many without a single one that went: it may not be the files, and the partner need not hear of all the others. */
const FIRST_REFUSED = 10
/** So many without room, and none that went in between: the disk is full for small ones too. */
const WITHOUT_ROOM = 10

/** Our own database's full disk concerns every file. Of all that have no room it alone says when to ask again. */
function isOfTheFile({ code, retryAfterSeconds }: NodeError): boolean {
  return OF_THE_FILE.has(code) && retryAfterSeconds === undefined
}

export class FailedFiles {
  readonly #over = new AbortController()
  readonly #cut = new AbortController()
  #first: NodeError | undefined
  #count = 0
  #doubtful = 0
  #gone = false
  #withoutRoom = 0

  /** Aborted: no further file is to be begun. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Aborted: those under way are not to go on either. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  oneHasGone(): void {
    this.#gone = true
    this.#withoutRoom = 0
  }

  /** `lineEnded`: what the file failed by may be the end of its session. */
  add({ name }: Pick<TransferFileRecord, 'name'>, thrown: unknown, lineEnded = false): void {
    const error = naming(thrown, name)
    if (!(error instanceof NodeError) || !isOfTheFile(error) || lineEnded) {
      this.#over.abort(error)
      return this.#cut.abort(error)
    }
    this.#first ??= error
    this.#count += 1
    if (!OWN.has(error.code)) this.#doubtful += 1
    if (error.code === 'no_space') this.#withoutRoom += 1
    if ((this.#doubtful >= FIRST_REFUSED && !this.#gone) || this.#withoutRoom >= WITHOUT_ROOM)
      this.#over.abort(this.#error())
  }

  /** What the files that did not go come to. Throws what has ended the whole attempt. */
  failure(): NodeError | undefined {
    this.#over.signal.throwIfAborted()
    return this.#error()
  }

  #error(): NodeError | undefined {
    if (!this.#first || this.#count === 1) return this.#first
    const { code, message } = this.#first
    return new NodeError(code, `${message} (and ${this.#count - 1} more files)`, { cause: this.#first })
  }
}
