// What somebody typed into a search, word by word.

/** Lower case, as the texts are that they are looked for in. */
export function wordsOf(search: string): string[] {
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}
