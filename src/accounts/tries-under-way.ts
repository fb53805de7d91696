// Tries of this process that are being checked, or are reading the counts, by scope. So many tries at once can be held to
// what one after another may do, and whoever read counts that have just changed reads them again.

export class TriesUnderWay {
  readonly #scopes = new Map<string, { checking: number; looking: number; ended: number }>()
  #waiting: (() => void)[] = []

  checking(key: string): number {
    return this.#scopes.get(key)?.checking ?? 0
  }

  /** The answer tells whether anything ended since. */
  look(keys: readonly string[]): () => boolean {
    const seen = keys.map((key) => {
      const scope = this.#of(key)
      scope.looking++
      return { scope, ended: scope.ended }
    })
    return () => seen.every(({ scope, ended }) => scope.ended === ended)
  }

  looked(keys: readonly string[]): void {
    for (const key of keys) this.#of(key).looking--
    this.#forget(keys)
  }

  begin(keys: readonly string[]): void {
    for (const key of keys) this.#of(key).checking++
  }

  end(keys: readonly string[]): void {
    for (const key of keys) {
      const scope = this.#of(key)
      scope.checking--
      scope.ended++
    }
    this.#forget(keys)
    const woken = this.#waiting
    this.#waiting = []
    for (const wake of woken) wake()
  }

  nextEnd(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #of(key: string) {
    let scope = this.#scopes.get(key)
    if (!scope) this.#scopes.set(key, (scope = { checking: 0, looking: 0, ended: 0 }))
    return scope
  }

  #forget(keys: readonly string[]): void {
    for (const key of keys) {
      const scope = this.#scopes.get(key)
      if (scope?.checking === 0 && scope.looking === 0) this.#scopes.delete(key)
    }
  }
}
