// Local record forms to canonical wire forms and back.
//
//   local file                                      canonical form                             kind
//   BINARIO   any bytes                             the same bytes                             U
//   FIJO      registerLength octets + delimiter     records back to back                       F
//   VARIABLE  line + delimiter, or RDW + record     2-octet length (without itself) + record   V
//   HIBRIDO   text lines                            text, lines end in CR LF                   T
//
// What comes back exactly: BINARIO, FIJO, VARIABLE with descriptor words (NINGUNO) and HIBRIDO always; VARIABLE lines
// but for a last line without delimiter, which is a record and gets one. A canonical text that has bare LF lines loses
// that difference in a UNIX file; a V record that holds the delimiter itself, or is no registerLength long in F, is
// refused instead of written wrongly. HIBRIDO with NINGUNO is carried as it stands.
//
// Order with translation: out toCanonical, then translateCanonical; in translateCanonical, then fromCanonical. So
// delimiters are always looked for as the local alphabet has them (`newline`), and length prefixes are never
// translated. On transports without records the whole local file is translated instead, delimiters and all.

import { NodeError } from '../../errors.ts'
import { translate, translateInto, translationTable, type Alphabet, type Translation } from './alphabet.ts'
import { fixedForm, lineForm, prefixedForm, type RecordForm } from './record-forms.ts'
import { LengthWalk, RecordWalk } from './record-walk.ts'
import { dosLines, unixLines } from './text-lines.ts'
import { blocks, Packer, passThrough, type Step } from './step.ts'

export type FileFormat = 'BINARIO' | 'FIJO' | 'VARIABLE' | 'HIBRIDO'
export type Delimitator = 'NINGUNO' | 'DOS' | 'UNIX'
export type Newline = { cr: number; lf: number }

export type RecordOptions = {
  fileFormat: FileFormat
  delimitator: Delimitator
  registerLength: number
  /** The line end of the local file's alphabet; ASCII when absent. */
  newline?: Newline
}

export type CanonicalKind = 'U' | 'F' | 'V' | 'T'

/** The EBCDIC one is CR NL: what the translation tables turn into CR LF. */
export const NEWLINES: Record<Alphabet, Newline> = {
  ASCII: { cr: 0x0d, lf: 0x0a },
  EBCDIC: { cr: 0x0d, lf: 0x15 },
}

const KINDS: Record<FileFormat, CanonicalKind> = { BINARIO: 'U', FIJO: 'F', VARIABLE: 'V', HIBRIDO: 'T' }

/** FIJO records are held whole to check their delimiters; this bounds the memory a setting can ask for. */
const MAX_FIXED_OCTETS = 1024 * 1024

export function canonicalKind(fileFormat: FileFormat): CanonicalKind {
  return KINDS[fileFormat]
}

export function toCanonical(options: RecordOptions): Step {
  if (options.fileFormat === 'HIBRIDO' && options.delimitator === 'UNIX') return dosLines(newlineOf(options))
  return hasOwnForm(options) ? recode(options, localForm, canonicalForm) : checkRecords(options)
}

export function fromCanonical(options: RecordOptions): Step {
  if (options.fileFormat === 'HIBRIDO' && options.delimitator === 'UNIX') return unixLines(newlineOf(options))
  return hasOwnForm(options) ? recode(options, canonicalForm, localForm) : checkRecords(options)
}

/** Lets a local file through untouched, and fails at the first octet that does not fit its format. */
export function checkRecords(options: RecordOptions): Step {
  if (options.fileFormat === 'BINARIO' || options.fileFormat === 'HIBRIDO') return passThrough
  if (options.fileFormat === 'FIJO') fixedLength(options.registerLength)
  const form = localForm(options)
  return form === undefined ? passThrough : checkForm(form)
}

/** Translates the content of canonical records and leaves the lengths of V alone. */
export function translateCanonical(options: Translation & { kind: CanonicalKind }): Step {
  if (options.kind !== 'V' || options.from === options.to) return translate(options)
  const table = translationTable(options)
  return async function* translatedRecords(source) {
    const lengths = new LengthWalk()
    for await (const block of blocks(source)) {
      const out = Buffer.allocUnsafeSlow(block.length)
      // Everything at full speed first, then the lengths as they were.
      translateInto(out, block, table)
      lengths.restore(block, out)
      yield out
    }
    lengths.end()
  }
}

const NO_DELIMITER = Buffer.alloc(0)

function newlineOf({ newline }: { newline?: Newline }): Newline {
  return newline ?? NEWLINES.ASCII
}

/** Whether the local bytes differ from the canonical ones in more than line ends. */
function hasOwnForm({ fileFormat, delimitator }: RecordOptions): boolean {
  return fileFormat === 'VARIABLE' || (fileFormat === 'FIJO' && delimitator !== 'NINGUNO')
}

function localForm(options: RecordOptions): RecordForm | undefined {
  const { cr, lf } = newlineOf(options)
  const delimiter = { NINGUNO: NO_DELIMITER, DOS: Buffer.from([cr, lf]), UNIX: Buffer.from([lf]) }[
    options.delimitator
  ]
  if (options.fileFormat === 'FIJO') return fixedForm(fixedLength(options.registerLength), delimiter)
  if (options.fileFormat !== 'VARIABLE') return undefined
  if (options.delimitator === 'NINGUNO') return prefixedForm(options.registerLength, 4)
  return lineForm(options.registerLength, delimiter)
}

function canonicalForm(options: RecordOptions): RecordForm | undefined {
  if (options.fileFormat === 'FIJO') return fixedForm(fixedLength(options.registerLength), NO_DELIMITER)
  return options.fileFormat === 'VARIABLE' ? prefixedForm(options.registerLength, 2) : undefined
}

function fixedLength(length: number): number {
  if (Number.isInteger(length) && length > 0 && length <= MAX_FIXED_OCTETS) return length
  throw new NodeError('bad_use', `FIJO needs a registerLength from 1 to ${MAX_FIXED_OCTETS}, not ${length}`)
}

type FormOf = (options: RecordOptions) => RecordForm | undefined

function recode(options: RecordOptions, readForm: FormOf, writeForm: FormOf): Step {
  if (options.fileFormat === 'FIJO') fixedLength(options.registerLength)
  return async function* recoded(source) {
    // Forms remember where they searched last, so every stream gets its own.
    const read = readForm(options)
    const write = writeForm(options)
    if (read === undefined || write === undefined) {
      yield* source
      return
    }
    const out = new Packer()
    const walk = new RecordWalk(read)
    const put = (data: Buffer, start: number, end: number): void =>
      write.write(data, start, end, out, walk.records)
    for await (const block of blocks(source)) {
      walk.take(block, put)
      if (out.ready) yield* out.drain()
    }
    walk.end(put)
    yield* out.finish()
  }
}

function checkForm(form: RecordForm): Step {
  return async function* checked(source) {
    const walk = new RecordWalk(form)
    for await (const block of blocks(source)) {
      walk.take(block, ignore)
      yield block
    }
    walk.end(ignore)
  }
}

function ignore(): void {}
