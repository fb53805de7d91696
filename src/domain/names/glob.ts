// Globs of file names: `*` any characters, `?` one, `[abc]` `[a-z]` `[!abc]` classes, `{a,b}` and `{1..9}` braces, `\` before a
// character that is meant as it stands. A `!` at the beginning turns the whole around.
//
// A partner chooses the names that are matched, so matching takes time in proportion to name and pattern, whatever they
// are: braces are spelled out beforehand (a bounded number of alternatives), and of the stars only the last one is ever
// gone back to. Nothing here needs Node: the console checks its form with the same rules.

/** More in all braces of one pattern is refused. */
const MOST_ALTERNATIVES = 64
const MOST_BRACES = 32
const LONGEST_GLOB = 255

export type NameTest = (name: string) => boolean

type Token = 'star' | ((character: string) => boolean)

/** What is wrong with a pattern, going on from its name; undefined when nothing is. */
export function globFault(glob: string): string | undefined {
  if (glob.length > LONGEST_GLOB) return `has a pattern of more than ${LONGEST_GLOB} characters`
  return shapeFault(glob)
}

/** The same for a path, of which each step may be a pattern. */
export function pathGlobFault(path: string): string | undefined {
  const shape = shapeFault(path)
  if (shape !== undefined) return shape
  // As it stands it is a matter of every path; here it is spelled by braces or by escapes.
  if (path.split('/').includes('..')) return undefined
  const steps = (alternatives(path) ?? []).flatMap((one) => one.split('/'))
  return steps.some((step) => unescaped(step) === '..') ? 'must not contain ..' : undefined
}

/** The name that a step without a pattern stands for. */
export function unescaped(step: string): string {
  return step.replaceAll(/\\(.)/g, '$1')
}

function shapeFault(glob: string): string | undefined {
  if (/(?<!\\)[?*+@!]\(/.test(glob))
    return `has "${/[?*+@!]\(/.exec(glob)?.[0]}" in a pattern, which knows *, ?, [ ] and { } alone; write \\( for the character`
  if (glob.includes('[:')) return 'has a named class in a pattern, such as [:alpha:]: write its characters'
  return alternatives(glob) === undefined
    ? `has more than ${MOST_ALTERNATIVES} alternatives in the braces of a pattern`
    : undefined
}

/** The patterns of a list: commas inside braces separate alternatives, others patterns. */
export function splitGlobs(globs: string): string[] {
  return topLevel(globs)
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

export function hasGlob(step: string): boolean {
  return /[*?[{]/.test(step)
}

/** A pattern over the limits, set before there were any, matches nothing. */
export function compileGlob(glob: string): NameTest {
  const negated = glob.startsWith('!')
  const tests = (alternatives(negated ? glob.slice(1) : glob) ?? []).map(tokensOf)
  if (tests.length === 0) return () => false
  return (name) => {
    const characters = Array.from(name)
    return tests.some((tokens) => matches(tokens, characters)) !== negated
  }
}

/** One step of a path whose braces are spelled out: a name that begins with a dot must be asked for with one. */
export function compileStep(step: string): NameTest {
  const tokens = tokensOf(step)
  const hidden = step.startsWith('.') || step.startsWith('\\.')
  return (name) => (hidden || !name.startsWith('.')) && matches(tokens, Array.from(name))
}

function matches(tokens: readonly Token[], characters: readonly string[]): boolean {
  let token = 0
  let star = -1
  let from = 0
  for (let at = 0; at < characters.length;) {
    const test = tokens[token]
    if (test === 'star') {
      star = token++
      from = at
    } else if (test?.(characters[at] ?? '')) {
      token++
      at++
    } else if (star >= 0) {
      token = star + 1
      at = ++from
    } else return false
  }
  while (tokens[token] === 'star') token++
  return token === tokens.length
}

function tokensOf(glob: string): Token[] {
  const tokens: Token[] = []
  const characters = Array.from(glob)
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ''
    const set = character === '[' ? classAt(characters, at) : undefined
    if (set) {
      tokens.push(set.test)
      at = set.end
    } else if (character === '*') {
      if (tokens.at(-1) !== 'star') tokens.push('star')
    } else if (character === '?') tokens.push(() => true)
    else {
      const plain = character === '\\' ? (characters[++at] ?? '\\') : character
      tokens.push((one) => one === plain)
    }
  }
  return tokens
}

/** A bracket that is not closed stands for itself; one right after the opening belongs to the class. */
function classAt(
  characters: readonly string[],
  start: number,
): { test: (one: string) => boolean; end: number } | undefined {
  const negated = characters[start + 1] === '!' || characters[start + 1] === '^'
  const first = start + (negated ? 2 : 1)
  let end = first + (characters[first] === '\\' ? 2 : 1)
  while (end < characters.length && characters[end] !== ']') end += characters[end] === '\\' ? 2 : 1
  if (end >= characters.length) return undefined
  const inside = characters.slice(first, end)
  const ranges: [number, number][] = []
  for (let at = 0; at < inside.length; at++) {
    if (inside[at] === '\\' && at + 1 < inside.length) at++
    const isRange = inside[at + 1] === '-' && at + 2 < inside.length
    const from = codeOf(inside[at])
    ranges.push([from, isRange ? codeOf(inside[at + 2]) : from])
    if (isRange) at += 2
  }
  const test = (one: string) => {
    const code = codeOf(one)
    return ranges.some(([from, to]) => from <= code && code <= to) !== negated
  }
  return { test, end }
}

function codeOf(character: string | undefined): number {
  return character?.codePointAt(0) ?? -1
}

/** The pattern with its braces spelled out; undefined where there would be too many. */
export function alternatives(glob: string): string[] | undefined {
  if ((glob.match(/\{/g)?.length ?? 0) > MOST_BRACES) return undefined
  let found = ['']
  for (let at = 0; at < glob.length; at++) {
    const end = glob[at] === '{' ? closingBrace(glob, at) : undefined
    const options = end === undefined ? undefined : optionsOf(glob.slice(at + 1, end))
    if (options === 'too many') return undefined
    const pieces = options ?? [glob[at] === '\\' ? glob.slice(at, at + 2) : (glob[at] ?? '')]
    if (found.length * pieces.length > MOST_ALTERNATIVES) return undefined
    found = found.flatMap((before) => pieces.map((piece) => before + piece))
    at = options ? (end ?? at) : at + (glob[at] === '\\' ? 1 : 0)
  }
  return found
}

/** What stands between two braces, spelled out; undefined where they stand for themselves. */
function optionsOf(inside: string): string[] | 'too many' | undefined {
  const range = rangeOf(inside)
  if (range) return range.length > MOST_ALTERNATIVES ? 'too many' : range
  const parts = topLevel(inside)
  if (parts.length < 2) return undefined
  const spelled: string[] = []
  for (const part of parts) {
    const options = alternatives(part)
    if (!options || spelled.length + options.length > MOST_ALTERNATIVES) return 'too many'
    spelled.push(...options)
  }
  return spelled
}

function rangeOf(inside: string): string[] | undefined {
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(inside)
  const letters = /^([A-Za-z])\.\.([A-Za-z])$/.exec(inside)
  if (!numbers && !letters) return undefined
  const read = (text: string | undefined) => (numbers ? Number(text) : codeOf(text))
  const [first, last] = [read((numbers ?? letters)?.[1]), read((numbers ?? letters)?.[2])]
  const count = Math.min(Math.abs(last - first), MOST_ALTERNATIVES) + 1
  return Array.from({ length: count }, (_, at) => {
    const value = first + Math.sign(last - first) * at
    return numbers ? String(value) : String.fromCodePoint(value)
  })
}

/** Cut at the commas that stand in no braces. */
function topLevel(inside: string): string[] {
  const parts = ['']
  for (let at = 0; at < inside.length; at++) {
    const end = inside[at] === '{' ? closingBrace(inside, at) : undefined
    const piece = inside[at] === '\\' ? inside.slice(at, at + 2) : inside.slice(at, (end ?? at) + 1)
    if (piece === ',') parts.push('')
    else parts[parts.length - 1] += piece
    at += piece.length - 1
  }
  return parts
}

/** Where the brace that opens at `start` is closed; undefined if it is not. */
function closingBrace(glob: string, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < glob.length; at++) {
    if (glob[at] === '\\') at++
    else if (glob[at] === '{') depth++
    else if (glob[at] === '}' && --depth === 0) return at
  }
  return undefined
}
