// A key of the house that may be exchanged while programs use it: what is new is made with the current one, what is old
// is still read with the older ones until they are gone.

export type KeyRing = {
  current(): string
  older(): readonly string[]
  /** Looks at once whether it was exchanged. Without being asked a ring looks about once a second. */
  refresh(): void
}

export function fixedKey(key: string, older: readonly string[] = []): KeyRing {
  return { current: () => key, older: () => older, refresh: () => {} }
}

export function asRing(key: string | KeyRing): KeyRing {
  return typeof key === 'string' ? fixedKey(key) : key
}

/** What is made of a ring's keys, made anew only when they have changed. The current one comes first. */
export function derived<T>(ring: KeyRing, make: (key: string) => T): () => readonly [T, ...T[]] {
  let keys: readonly string[] = []
  let made: readonly [T, ...T[]] | undefined
  return () => {
    const now = [ring.current(), ...ring.older()]
    if (made && now.length === keys.length && now.every((key, index) => key === keys[index])) return made
    keys = now
    made = [make(ring.current()), ...ring.older().map(make)]
    return made
  }
}
