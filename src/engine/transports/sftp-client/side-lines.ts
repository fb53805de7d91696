// Further connections to the partner's server, for the octets of one big file. OpenSSH lets 2 MiB travel on a connection
// before it answers, so on a long line most of the time goes by waiting. Several connections write different parts of the
// same temporary file at once.
//
// State: the lines that are open or being opened, and whether the server has turned one away.
// Moves: `carry` opens what pays for a file and opens the file over each line as it comes. A line that breaks is dropped:
// whoever wrote over it writes the same octets again over the first one. `rest` closes all when nothing is under way.
// Only for OpenSSH, which is known to take a file from several connections. One that turns a line away is not asked again
// in this session. Nothing depends on a side line: they fail silently.

import type { Line } from './line.ts'
import { isOpenSsh } from './remote.ts'
import type { Remote } from './remote.ts'

/** An open file at the partner's end, over one line. */
export interface Way {
  remote: Remote
  handle: Buffer
}

export interface Opened {
  line: Line
  remote: Remote
}

/** A file that travels over side lines too. */
export interface Carried {
  /** Grows while lines are opened. Those that broke are taken out by whoever writes. */
  readonly ways: Way[]
  /** Nothing more goes over them. Resolves when the file is closed there; rejects where the server says it could not be. */
  close(): Promise<void>
}

/** With the first one. */
const MOST = 5
const FAR_MS = 25
/** One line more for each of these that an answer takes. */
const LINE_MS = 20
/** Less is there before the lines are. */
const BIG = 24 * 1024 * 1024

interface Calls {
  open(signal: AbortSignal): Promise<Opened>
  hangUp(opened: Opened): Promise<void>
  /** With the first one; undefined: to be found by trying. */
  allowed: number | undefined
}

export class SideLines {
  readonly #first: Remote
  readonly #calls: Calls
  readonly #open = new Set<Opened>()
  readonly #opening = new Set<Promise<Opened | undefined>>()
  #over = new AbortController()
  #refused = false

  constructor(first: Remote, calls: Calls) {
    this.#first = first
    this.#calls = calls
  }

  /** Undefined where it is not worth it. `openFile` opens the same file, which is there, over another line. */
  carry(octets: number, openFile: (remote: Remote) => Promise<Buffer>): Carried | undefined {
    const wanted = this.#wanted(octets)
    if (wanted === 0) return undefined
    const ways: Way[] = []
    const joining: Promise<void>[] = []
    let over = false
    const join = async (remote: Remote) => {
      const handle = await openFile(remote)
      if (over) remote.closeLater(handle)
      else ways.push({ remote, handle })
    }
    const use = (remote: Remote) => void joining.push(join(remote).catch(() => {}))
    for (const { remote } of this.#living()) use(remote)
    for (const one of this.#opening) void one.then((opened) => opened && !over && use(opened.remote))
    const missing = wanted - this.#living().length - this.#opening.size
    for (let more = 0; more < missing; more++)
      void this.#openOne().then((opened) => opened && !over && use(opened.remote))
    return {
      ways,
      close: async () => {
        over = true
        const closing = ways.splice(0).map(({ remote, handle }) =>
          remote.close(handle).catch((error: unknown) => {
            if (!remote.requests.ended.aborted) throw error
          }),
        )
        await Promise.all(closing)
      },
    }
  }

  /** Nothing is under way: they are closed. Resolves when they are. */
  async rest(): Promise<void> {
    const closing = [...this.#open].map((opened) => this.#calls.hangUp(opened))
    for (const opening of this.#opening) closing.push(this.#closeOpening(opening))
    this.#open.clear()
    this.#over.abort()
    this.#over = new AbortController()
    await Promise.all(closing)
  }

  async #closeOpening(opening: Promise<Opened | undefined>): Promise<void> {
    const opened = await opening
    if (!opened) return
    this.#open.delete(opened)
    await this.#calls.hangUp(opened)
  }

  #wanted(octets: number): number {
    const { roundTripMs } = this.#first
    if (this.#refused || !isOpenSsh(this.#first) || octets < BIG || roundTripMs < FAR_MS) return 0
    return Math.min(this.#calls.allowed ?? MOST, 1 + Math.floor(roundTripMs / LINE_MS), MOST) - 1
  }

  #living(): Opened[] {
    for (const opened of this.#open) if (opened.remote.requests.ended.aborted) this.#open.delete(opened)
    return [...this.#open]
  }

  #openOne(): Promise<Opened | undefined> {
    const { signal } = this.#over
    const opening = this.#calls
      .open(signal)
      .then(
        (opened) => {
          this.#open.add(opened)
          return opened
        },
        () => {
          if (!signal.aborted) this.#refused = true
          return undefined
        },
      )
      .finally(() => this.#opening.delete(opening))
    this.#opening.add(opening)
    return opening
  }
}
