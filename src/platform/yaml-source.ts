// A YAML text with the positions of its parts, so that every fault can be shown by line and column. The parser's own
// messages quote the text around a fault, which may be a password. So faults are worded here, by the parser's code.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from 'yaml'
import type { Document, Node, Pair, YAMLMap } from 'yaml'

export type YamlSource = {
  value: unknown
  faults: { offset: number; message: string }[]
  /** Offset of what the pointer names, or of the nearest part around it. With `onKey`, the offset of its key. */
  offsetOf(pointer: string, onKey?: boolean): number
  /** `line:col`, both from 1. */
  position(offset: number): string
}

/** Enough for people who repeat themselves often, too few for a file that expands without end. */
const MOST_ALIASES = 100_000

/** Text that readers of YAML 1.1 would take for something else (no, 02:30, 0b11) stands in quotes too. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' })
}

export function parseYaml(text: string): YamlSource {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    merge: true,
  })
  const faults = [...document.errors, ...document.warnings].map((error) => ({
    offset: error.pos[0],
    message: wordsFor(error.code),
  }))
  // The parser would go through the whole text again for each alias.
  const anchors = new Set<string>()
  visit(document, {
    Node: (_, node) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor)
      } else if (!anchors.has(node.source))
        faults.push({ offset: node.range?.[0] ?? 0, message: wordsFor('BAD_ALIAS') })
    },
  })
  return {
    value: faults.length > 0 ? undefined : toValue(document, faults),
    faults,
    offsetOf: (pointer, onKey = false) => find(document, pointer, onKey),
    position: (offset) => {
      const { line, col } = lines.linePos(offset)
      return `${Math.max(line, 1)}:${Math.max(col, 1)}`
    },
  }
}

function toValue(document: Document, faults: YamlSource['faults']): unknown {
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES })
  } catch {
    faults.push({ offset: 0, message: 'has aliases that expand to too much, or into themselves' })
    return undefined
  }
}

const WORDS: Record<string, string> = {
  BAD_ALIAS: 'text that starts with * is an alias, and there is no such anchor: put the text in quotes',
  BAD_DQ_ESCAPE: 'an escape (\\) in double quotes that YAML does not know: use single quotes',
  BAD_INDENT: 'the indentation is wrong here',
  BAD_SCALAR_START: 'text cannot start with this character: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a second “: ” on one line: put the text in quotes, or the value on a line of its own',
  BLOCK_IN_FLOW: 'a block list or mapping cannot stand inside { } or [ ]',
  DUPLICATE_KEY: 'this key is there twice',
  MISSING_CHAR: 'a character is missing here: a colon, a comma, a quote or a closing bracket',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line: is a colon missing?',
  MULTIPLE_DOCS: 'the file must be one YAML document',
  NON_STRING_KEY: 'keys must be text',
  TAB_AS_INDENT: 'tabs cannot indent YAML: use spaces',
  TAG_RESOLVE_FAILED: 'text that starts with ! is a tag, which is not known here: put the text in quotes',
  UNEXPECTED_TOKEN: 'something stands here that YAML does not expect',
}

function wordsFor(code: string): string {
  return WORDS[code] ?? `is not well-formed YAML (${code})`
}

function find(document: Document, pointer: string, onKey: boolean): number {
  const steps = pointer.split('/').slice(1).map(unescape)
  let node: unknown = document.contents
  let offset = 0
  for (const [index, step] of steps.entries()) {
    node = resolved(node, document)
    if (isMap(node)) {
      const pair = pairOf(node, step, document)
      if (!pair) return offset
      offset = startOf(pair.key) ?? offset
      if (onKey && index === steps.length - 1) return offset
      node = pair.value
    } else if (isSeq(node)) node = node.items[Number(step)]
    else return offset
    offset = startOf(node) ?? offset
  }
  return offset
}

function unescape(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

function resolved(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node
}

function pairOf(map: YAMLMap, key: string, document: Document): Pair | undefined {
  const own = map.items.find((pair) => keyOf(pair) === key)
  if (own) return own
  for (const merged of map.items.filter((pair) => keyOf(pair) === '<<')) {
    const from = resolved(merged.value, document)
    const found = isMap(from) ? pairOf(from, key, document) : undefined
    if (found) return found
  }
  return undefined
}

function keyOf(pair: Pair): unknown {
  // The key of a merge is a symbol, named after what was written.
  if (!isScalar(pair.key)) return undefined
  return typeof pair.key.value === 'symbol' ? pair.key.value.description : pair.key.value
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0]
}
