// Remembers which final steps (rename, link) were asked for and not answered, per server, so that the next attempt of
// the same file knows that its temporary name may have become the real one. In memory and bounded: it covers broken
// lines, which are common; a crash of this node is covered by the modification time as far as it can be.

const MOST = 10_000

export class StepsInDoubt {
  readonly #steps = new Set<string>()

  add(peer: string, part: string): void {
    this.#steps.add(`${peer} ${part}`)
    if (this.#steps.size <= MOST) return
    const [oldest] = this.#steps
    if (oldest !== undefined) this.#steps.delete(oldest)
  }

  has(peer: string, part: string): boolean {
    return this.#steps.has(`${peer} ${part}`)
  }

  settle(peer: string, part: string): void {
    this.#steps.delete(`${peer} ${part}`)
  }
}
