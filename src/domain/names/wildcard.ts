// Matches names with * for anything and ? for one character, which may be a pair of surrogates. The time is at most name
// length times pattern length, and usually linear: it is enough to go back to the last *.

const STAR = 0x2a
const ANY_ONE = 0x3f

export function matchesWildcard(pattern: string, text: string): boolean {
  let [at, star, mark, inText] = [0, -1, 0, 0]
  while (inText < text.length) {
    const sign = pattern.codePointAt(at)
    const letter = text.codePointAt(inText)
    if (sign === STAR) {
      star = at++
      mark = inText
    } else if (sign !== undefined && (sign === ANY_ONE || sign === letter)) {
      at += unitsOf(sign)
      inText += unitsOf(letter)
    } else if (star >= 0) {
      at = star + 1
      mark += unitsOf(text.codePointAt(mark))
      inText = mark
    } else return false
  }
  while (pattern.codePointAt(at) === STAR) at++
  return at === pattern.length
}

function unitsOf(character: number | undefined): number {
  return character !== undefined && character > 0xffff ? 2 : 1
}
