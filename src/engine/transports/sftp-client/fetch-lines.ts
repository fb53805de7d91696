// The connections that one fetch goes over. A file that was read and is not wanted here, or not yet, stays open: to a server
// that hands files over, a file that was read and closed has been taken. What is open ends with its connection, and a server
// lets only so many files be open on one. So after some of them the files behind go over a further connection.
//
// State: the connection that the next file goes over, with what is under way on it and what it leaves open. The first one is
// the session's own: it stays open, and what it leaves open counts in later fetches too.
// Moves: `use` lends the connection for one file. Where it has left too much open, the next file waits for a new one, and
// the old one is hung up when nothing is under way on it any more. OpenSSH hands nothing over: there files are closed.

import { NodeError } from '../../../errors.ts'

import { isOpenSsh } from './remote.ts'
import type { Remote } from './remote.ts'
import type { Opened } from './side-lines.ts'

export const FILES_AT_ONCE = 32
/** Servers let 256 files be open and more. Beside these others are under way, coming and going. */
const MOST_LEFT_OPEN = 150
/** Kept free of what a server says it allows: for the files of a fetch that are under way, and a folder being listed. */
const BESIDE = FILES_AT_ONCE + 1

/** Leaves an open file to the end of its connection. */
export type Leave = (handle: Buffer) => void

interface Calls {
  /** Undefined: the partner allows one connection and no more. */
  open: (() => Promise<Opened>) | undefined
  hangUp(opened: Opened): Promise<void>
}

export class FetchLine {
  readonly remote: Remote
  /** Undefined: the session's own. */
  readonly opened: Opened | undefined
  readonly #most: number
  underWay = 0
  #leftOpen = 0

  constructor(remote: Remote, opened?: Opened) {
    this.remote = remote
    this.opened = opened
    this.#most = Math.max(1, Math.min(MOST_LEFT_OPEN, remote.limits.openFiles - BESIDE))
  }

  /** It leaves so much open that it takes no further file. */
  get isFull(): boolean {
    return this.#leftOpen >= this.#most
  }

  leave(handle: Buffer): void {
    if (isOpenSsh(this.remote)) this.remote.closeLater(handle)
    else this.#leftOpen++
  }
}

export class FetchLines {
  readonly #calls: Calls
  readonly #hangingUp: Promise<void>[] = []
  #line: FetchLine
  #opening: Promise<void> | undefined

  constructor(first: FetchLine, calls: Calls) {
    this.#calls = calls
    this.#line = first
  }

  async use(work: (remote: Remote, leave: Leave) => Promise<void>): Promise<void> {
    // Those who wait come together, and it may be full again for the last of them.
    while (this.#line.isFull) await (this.#opening ??= this.#openNext())
    const line = this.#line
    line.underWay++
    try {
      await work(line.remote, (handle) => line.leave(handle))
    } finally {
      line.underWay--
      if (line.isFull && line.underWay === 0) this.#hangUp(line)
    }
  }

  /** Nothing is under way any more. Resolves when all but the session's own are closed. */
  async end(): Promise<void> {
    if (!this.#line.isFull) this.#hangUp(this.#line)
    await Promise.all(this.#hangingUp)
  }

  /** Where it fails it stays so: whoever comes next hears of it, and the partner is not called for each file. */
  async #openNext(): Promise<void> {
    if (!this.#calls.open)
      throw new NodeError(
        'remote_refused',
        'too many files that were not taken over are still open at the partner’s, and it allows one connection',
      )
    const opened = await this.#calls.open()
    this.#line = new FetchLine(opened.remote, opened)
    this.#opening = undefined
  }

  #hangUp({ opened }: FetchLine): void {
    if (opened) this.#hangingUp.push(this.#calls.hangUp(opened).catch(() => {}))
  }
}
