// Matches names with * for anything and ? for one character. The time is at most name length times pattern length, and
// usually linear: it is enough to go back to the last *.

export function matchesWildcard(pattern: string, text: string): boolean {
  let [at, star, mark, inText] = [0, -1, 0, 0]
  while (inText < text.length) {
    const sign = pattern[at]
    if (sign === '*') {
      star = at++
      mark = inText
    } else if (sign !== undefined && (sign === '?' || sign === text[inText])) {
      at++
      inText++
    } else if (star >= 0) {
      at = star + 1
      inText = ++mark
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
