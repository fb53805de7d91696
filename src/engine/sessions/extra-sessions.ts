// How many sessions a partner may have at once, beyond the one that all channels share. The contact's `sessions` says it;
// without that it is found by trying: the longer the partner takes to answer, the more lines are worth their calls. A
// partner that turns one away is not asked for more than it had then, for a while.

import type { Session } from '../transports/transport.ts'
import { PROMPT_MS } from '../sending/lines.ts'
import type { Waiting } from '../sending/lines.ts'

/** Where the contact says nothing. */
const MOST = 16
/** One line more for each of these that an answer takes. */
const ANSWER_MS = 6
/** Files that must wait for each line: a call costs as much as the answers to a few of them. */
const FILES_A_LINE = 16
/** Where the partner answers at once: files of several lines share its commits, and one travels while another is recorded. */
const FILES_A_PROMPT_LINE = 64
/** The octets of bigger files keep a line busy, not the answers to them. */
const SMALL_OCTETS = 4 * 1024 * 1024
const REMEMBERED_MS = 15 * 60_000

/** `allowed` is what the contact says. Never more than one line for each file that waits, beside those there are. */
export function linesWanted(allowed: number | undefined, waiting: Waiting): number {
  const { lines, files, octets, answerMs, stuck } = waiting
  if (allowed !== undefined) return Math.min(allowed, lines + files)
  if (stuck) return Math.min(MOST, lines + 1)
  if (answerMs === undefined || files === 0 || octets / files > SMALL_OCTETS) return lines
  const isPrompt = answerMs < PROMPT_MS
  const worth = lines + Math.floor(files / (isPrompt ? FILES_A_PROMPT_LINE : FILES_A_LINE))
  const most = isPrompt ? MOST : Math.min(MOST, 1 + Math.floor(answerMs / ANSWER_MS))
  return Math.max(lines, Math.min(most, worth))
}

export class ExtraSessions {
  readonly #now: () => number
  readonly #open = new Map<string, Set<Session>>()
  readonly #opening = new Map<string, number>()
  readonly #refused = new Map<string, { most: number; until: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Opens one more where there is room beside the `others` that are open. Room may come: what an earlier transfer had open may
   * still be closing.
   */
  async open(
    contactId: string,
    { allowed = MOST, others }: { allowed: number | undefined; others: number },
    call: () => Promise<Session>,
  ): Promise<Session | 'no room' | 'refused'> {
    const had = others + this.#count(contactId)
    if (had >= Math.min(allowed, this.#most(contactId))) return 'no room'
    this.#opening.set(contactId, (this.#opening.get(contactId) ?? 0) + 1)
    try {
      const session = await call()
      const some = this.#open.get(contactId) ?? new Set()
      this.#open.set(contactId, some.add(session))
      // Of several calls made at once one is turned away first, and others are still let in.
      const known = this.#refused.get(contactId)
      if (known) known.most = Math.max(known.most, others + some.size)
      session.ended.addEventListener('abort', () => this.#forget(contactId, session), { once: true })
      if (session.ended.aborted) this.#forget(contactId, session)
      return session
    } catch {
      this.refused(contactId, others)
      return 'refused'
    } finally {
      const left = (this.#opening.get(contactId) ?? 1) - 1
      if (left > 0) this.#opening.set(contactId, left)
      else this.#opening.delete(contactId)
    }
  }

  /** The partner turned a session away. What it has open now is what it takes, for a while. */
  refused(contactId: string, others: number): void {
    const most = Math.max(1, others + (this.#open.get(contactId)?.size ?? 0))
    this.#refused.set(contactId, { most, until: this.#now() + REMEMBERED_MS })
  }

  all(): Session[] {
    return [...this.#open.values()].flatMap((some) => [...some])
  }

  #most(contactId: string): number {
    const known = this.#refused.get(contactId)
    if (!known) return Infinity
    if (this.#now() < known.until) return known.most
    this.#refused.delete(contactId)
    return Infinity
  }

  #count(contactId: string): number {
    return (this.#open.get(contactId)?.size ?? 0) + (this.#opening.get(contactId) ?? 0)
  }

  #forget(contactId: string, session: Session): void {
    const some = this.#open.get(contactId)
    some?.delete(session)
    if (some?.size === 0) this.#open.delete(contactId)
  }
}
