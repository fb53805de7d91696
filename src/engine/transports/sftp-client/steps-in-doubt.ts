// Remembers which final steps (rename, link) were asked for and not answered. A file that is then gone under both its
// names counts as taken by the partner and is not sent twice. It is kept for each server, because a partner may have
// several addresses with a disk each. It is in memory and bounded: it covers broken lines, not a crash of this node.

const MOST = 10_000

export class StepsInDoubt {
  readonly #steps = new Set<string>()

  add(peer: string, name: string): void {
    this.#steps.add(`${peer} ${name}`)
    if (this.#steps.size <= MOST) return
    const [oldest] = this.#steps
    if (oldest !== undefined) this.#steps.delete(oldest)
  }

  has(peer: string, name: string): boolean {
    return this.#steps.has(`${peer} ${name}`)
  }

  settle(peer: string, name: string): void {
    this.#steps.delete(`${peer} ${name}`)
  }
}
