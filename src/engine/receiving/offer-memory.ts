// What this node remembers of files offered to it, for as long as it runs. First, which files are on their way in: when
// one of them is offered again, its old session is dead and gives way, unless it is this node that fetches it. Second, which files it fetched and refused for
// good a moment ago: such a file must not fail again at every look at the partner's outbox.

import { newest } from '../../domain/newest.ts'
import { NodeError } from '../../errors.ts'
import { textOfKey } from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'

const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 600_000

type Open = { readonly isAlive: boolean; supersede(): Promise<void>; over: Promise<void> }

export class OfferMemory {
  readonly #open = new Map<string, Open>()
  readonly #refused = newest<{ times: number; until: number }>(10_000)

  openOf(key: FileKey): Open | undefined {
    return key.date === '' ? undefined : this.#open.get(textOfKey(key))
  }

  opened(key: FileKey, reception: Open): void {
    if (key.date === '') return
    const text = textOfKey(key)
    this.#open.set(text, reception)
    void reception.over.then(() => {
      if (this.#open.get(text) === reception) this.#open.delete(text)
    })
  }

  /** Faults that can pass are not remembered: the next look may succeed. */
  failed(key: FileKey, error: unknown, now: number): void {
    if (!(error instanceof NodeError) || error.retry || PASSING.has(error.code)) return
    const times = (this.#refused.get(textOfKey(key))?.times ?? 0) + 1
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (times - 1))
    this.#refused.set(textOfKey(key), { times, until: now + pause })
  }

  requireWorthTrying(key: FileKey, now: number): void {
    const refused = this.#refused.get(textOfKey(key))
    if (refused && refused.until > now)
      throw new NodeError('conflict', `${key.name} was refused a moment ago; it is looked at again later`)
  }
}

const PASSING: ReadonlySet<string> = new Set(['cancelled', 'lease_lost', 'file_changed', 'file_missing'])
