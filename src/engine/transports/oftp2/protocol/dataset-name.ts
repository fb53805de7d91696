// Names of files on the wire (RFC 5024, 1.5.2): the dataset name, 26 characters out of a small set, made from the real
// name; and the real name itself, which travels in the file's description.
import { createHash } from 'node:crypto'
import { cutUtf8 } from './fields.ts'

const WIDTH = 26
const MARK = 8

/**
 * The dataset name of a file: the real one in upper case, other characters as `-`. One that is too long keeps its
 * beginning and gets eight characters of its hash. Deterministic, and a dataset name is its own dataset name.
 */
export function datasetName(name: string): string {
  const plain = name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .replace(/[^A-Z0-9/\-.&()]/g, '-')
  if (plain.length <= WIDTH) return plain === '' ? '-' : plain
  const mark = createHash('sha256').update(name, 'utf8').digest('hex').slice(0, MARK).toUpperCase()
  return `${plain.slice(0, WIDTH - MARK - 1)}-${mark}`
}

const LONGEST = 255
const EXTENSION = /\.[^\s.]{1,32}$/u

/** A name too long for a file system loses of its middle: what a file is, and where it belongs, is told by its extension. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= LONGEST) return name
  const [extension = ''] = EXTENSION.exec(name) ?? []
  const stem = name.slice(0, name.length - extension.length)
  return cutUtf8(stem, LONGEST - Buffer.byteLength(extension)) + extension
}

/** A name that can stand alone in a directory: no path, no control characters, at most 255 octets; '' if none is left. */
function bareName(text: string): string {
  const base = text.slice(Math.max(text.lastIndexOf('/'), text.lastIndexOf('\\')) + 1)
  const clean = shortened(base.replace(/[\p{Cc}\u2028\u2029]/gu, '').trim())
  return clean === '.' || clean === '..' ? '' : clean
}

/** The real name of an offered file: its description, or the dataset name where that says nothing usable. */
export function realName(description: string, dataset: string): string {
  // U+FFFD stands for octets that were not UTF-8: whatever the partner meant, it is not a name.
  const described = description.includes('\uFFFD') ? '' : bareName(description)
  if (described !== '') return described
  const named = bareName(dataset.replaceAll('/', '-'))
  return named === '' ? 'UNNAMED' : named
}
