// Remembers the newest so many of what was set or read, by a text.

import { LRUCache } from 'lru-cache'

/** Takes memory as it fills. By its number alone the library takes all of it at once: a millisecond for 5,000. */
export function newest<V extends {}>(most: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: most, sizeCalculation: () => 1 })
}
