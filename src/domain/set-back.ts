// A clock that was set back by an hour would make whatever waits for its time wait that hour longer. It is noticed by the
// clock that nobody can set.

/** Less than this does not matter to anything that waits. */
const NOTICED_MS = 5000

/** How much clocks of nodes that work together may differ. */
export const CLOCKS_APART_MS = 60_000

/** A reading of the clock, between two of the one that nobody can set: a database may take a while to answer. */
export type Reading = { now: number; before: number; after: number }

export class SetBack {
  /** What the clock was surely ahead of the other one. */
  #ahead: number | undefined

  /**
   * Tells `act` by how much the clock was set back since the last look; undefined at the first look, when nobody knows
   * what it did before. What `act` could not do is told again at the next look.
   */
  async look(
    { now, before, after }: Reading,
    act: (back: number | undefined) => Promise<void>,
  ): Promise<void> {
    const back = this.#ahead === undefined ? undefined : this.#ahead - (now - before)
    if (back === undefined || back > NOTICED_MS) await act(back)
    this.#ahead = now - after
  }
}
