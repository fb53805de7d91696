// Receptions that are acknowledged and still being finished (post-action, receipt), by partner. Whoever is about to send
// receipts waits a little for them.

const PATIENCE_MS = 10_000

export class FinishingReceptions {
  readonly #byContact = new Map<string, Set<Promise<unknown>>>()

  add(contactId: string, running: Promise<void>): void {
    const some = this.#byContact.get(contactId) ?? new Set()
    this.#byContact.set(contactId, some)
    const tracked = running
      .catch(() => {})
      .finally(() => {
        some.delete(tracked)
        if (some.size === 0 && this.#byContact.get(contactId) === some) this.#byContact.delete(contactId)
      })
    some.add(tracked)
  }

  /** Resolves when all of them are done, or after a while: a script may take long. */
  async settled(contactId: string): Promise<void> {
    const some = this.#byContact.get(contactId)
    if (!some) return
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)))
    await Promise.race([Promise.all(some), patience])
    clearTimeout(timer)
  }
}
