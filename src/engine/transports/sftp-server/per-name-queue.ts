// Keeps work on the same name in the order it came, over all connections of a partner, while work on different names
// goes on side by side. A client may send a rename behind a close without waiting for the answer.

export class PerNameQueue {
  readonly #last = new Map<string, Promise<void>>()

  async take<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = names.flatMap((name) => this.#last.get(name) ?? [])
    const run = before.length === 0 ? work() : Promise.all(before).then(work)
    const settled = run.then(
      () => {},
      () => {},
    )
    for (const name of names) this.#last.set(name, settled)
    try {
      return await run
    } finally {
      for (const name of names) if (this.#last.get(name) === settled) this.#last.delete(name)
    }
  }
}
