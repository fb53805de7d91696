// The stored events, followed for the event streams of this node. One reader looks at the table for all of them: when
// it is told that there is something new, and by its clock. It keeps the newest events; a stream that is farther behind
// reads the table itself, at its own pace.
//
// State: the last position that was read, undefined while there is no stream; the newest events up to it, without a gap.

import type { EventRecord } from '../../domain/event.ts'
import { eventsAfter, eventSpan } from '../../store/events/list.ts'
import type { Store } from '../../store/database/store.ts'

const LOOK_MS = 1000
const AT_ONCE = 500
const KEPT = 1000

export class EventFeed {
  readonly #store: Store
  readonly #streams = new Set<() => void>()
  #position: number | undefined
  #newest: EventRecord[] = []
  #looking = false
  #again = false
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** The last position that there is for streams. */
  get position(): number {
    return this.#position ?? 0
  }

  /** There may be something new. */
  poke(): void {
    if (this.#streams.size === 0) return
    this.#again = true
    if (!this.#looking) void this.#look()
  }

  async #look(): Promise<void> {
    this.#looking = true
    while (this.#again && this.#position !== undefined) {
      this.#again = false
      // Where the database does not answer, the next look goes on from the same place.
      const from: number = this.#position
      const some = await eventsAfter(this.#store.db, from, AT_ONCE).catch(() => [])
      // All streams have left meanwhile: those that come now begin anew.
      if (this.#position !== from) continue
      this.#position = some.at(-1)?.position ?? from
      this.#newest = [...this.#newest, ...some].slice(-KEPT)
      if (some.length > 0) for (const wake of this.#streams) wake()
      if (some.length === AT_ONCE) this.#again = true
    }
    this.#looking = false
  }

  /** `wake` is called whenever the position has grown. */
  async join(wake: () => void): Promise<() => void> {
    if (this.#timer === undefined) {
      const { last } = await eventSpan(this.#store.db)
      this.#position ??= last
      this.#timer ??= setInterval(() => this.poke(), LOOK_MS)
    }
    this.#streams.add(wake)
    return () => this.#leave(wake)
  }

  #leave(wake: () => void): void {
    this.#streams.delete(wake)
    if (this.#streams.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#position = undefined
    this.#newest = []
  }

  /** Some of the events after that position, oldest first; none when there are no more. */
  async after(position: number): Promise<readonly EventRecord[]> {
    if (position >= this.position) return []
    const [first] = this.#newest
    if (first && first.position <= position + 1)
      return this.#newest.slice(position + 1 - first.position, position + 1 - first.position + AT_ONCE)
    return eventsAfter(this.#store.db, position, AT_ONCE)
  }
}
