// The kinds of field that RFC 5024 builds its commands from (5.3): each knows how to write itself, strictly, and how
// to read itself, as liberally as peers in the field need. A layout is a list of them; it gives both directions.
//
// A command is built and read as one string whose characters are its octets (latin1): a small file is mostly commands,
// and a Buffer for each of their fields took longer than all else about them.
//
// Reading never throws anything but a protocol fault: 06 for a bad value, 07 for a buffer that is too short.
import { NodeError } from '../../../../errors.ts'
import { fault } from './reasons.ts'

export class FieldReader {
  readonly #octets: string
  #at: number

  constructor(bytes: Uint8Array, at: number) {
    this.#octets = octetsOf(bytes)
    this.#at = at
  }

  get left(): number {
    return this.#octets.length - this.#at
  }

  take(length: number, field: string): string {
    if (this.left < length) throw fault('07', `the command ends before its field ${field}`)
    this.#at += length
    return this.#octets.slice(this.#at - length, this.#at)
  }

  takeBytes(length: number, field: string): Buffer {
    return Buffer.from(this.take(length, field), 'latin1')
  }
}

const octetsOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

export interface Field<Name extends string, Value> {
  readonly name: Name
  /** The value where an older level has no such field, or where a peer leaves out a tail that it may leave out. */
  readonly absent: Value
  /** Its octets, one character each. */
  write(value: Value): string
  read(from: FieldReader): Value
}

export type Layout = readonly Field<string, unknown>[]

export type ValuesOf<L extends Layout> = {
  -readonly [F in L[number] as F['name'] extends '' ? never : F['name']]: F extends Field<string, infer V>
    ? V
    : never
}

const PERMITTED = /^[A-Z0-9/\-.&() ]*$/
const PRINTABLE = /^[\x20-\x7e]*$/

/** Whether a text may travel in an X(width) field: the standard's characters, no lower case. */
export function fitsText(value: string, width: number): boolean {
  return value.length <= width && PERMITTED.test(value)
}

function unsendable(name: string, value: unknown, why: string): NodeError {
  return new NodeError('bad_use', `OFTP2 cannot send ${JSON.stringify(String(value))} as ${name}: ${why}`)
}

/** X(n), left-justified, blank-padded. `free`: sent as it was received, though outside the standard's characters. */
export function text<N extends string>(
  name: N,
  width: number,
  options: { free?: boolean } = {},
): Field<N, string> {
  const sendable = options.free === true ? PRINTABLE : PERMITTED
  return {
    name,
    absent: '',
    write(value) {
      if (value.length > width) throw unsendable(name, value, `at most ${width} characters`)
      if (!sendable.test(value)) throw unsendable(name, value, 'only A-Z 0-9 / - . & ( ) and space')
      return value.padEnd(width)
    },
    read(from) {
      const value = from.take(width, name)
      if (!PRINTABLE.test(value)) throw fault('06', `${name} holds characters that are not printable`)
      return value.trimEnd()
    },
  }
}

function readDigits(from: FieldReader, width: number, name: string): string {
  const value = from.take(width, name)
  if (!/^[0-9]+$/.test(value)) throw fault('06', `${name} is not a number`)
  return value
}

function writeDigits(value: number | bigint, width: number, name: string): string {
  const digits = value.toString()
  if (!/^[0-9]+$/.test(digits) || digits.length > width)
    throw unsendable(name, value, `at most ${width} digits`)
  return digits.padStart(width, '0')
}

/** 9(n) of at most 15 digits. */
export function number<N extends string>(name: N, width: number): Field<N, number> {
  return {
    name,
    absent: 0,
    write: (value) => writeDigits(value, width, name),
    read: (from) => Number(readDigits(from, width, name)),
  }
}

/** 9(n) that may pass 2^53: kept as a bigint so that no digit is lost. */
export function counter<N extends string>(name: N, width: number): Field<N, bigint> {
  return {
    name,
    absent: 0n,
    write: (value) => writeDigits(value, width, name),
    read: (from) => BigInt(readDigits(from, width, name)),
  }
}

/** 9(n) that is an estimate: a value too large for an older level is sent as the largest it can say. */
export function estimate<N extends string>(name: N, width: number): Field<N, number> {
  const largest = 10 ** width - 1
  return {
    name,
    absent: 0,
    write: (value) => writeDigits(Math.min(value, largest), width, name),
    read: (from) => Number(readDigits(from, width, name)),
  }
}

/** 9(n) whose digits are a code or a date: leading zeros belong to the value. */
export function digits<N extends string>(
  name: N,
  width: number,
  absent = '0'.repeat(width),
): Field<N, string> {
  return {
    name,
    absent,
    write(value) {
      if (!/^[0-9]*$/.test(value) || value.length !== width) throw unsendable(name, value, `${width} digits`)
      return value
    },
    read: (from) => readDigits(from, width, name),
  }
}

/** YYMMDD of levels 1.2 and 1.3 for a CCYYMMDD: years from 70 on are taken as 19yy. */
export function shortDate<N extends string>(name: N): Field<N, string> {
  return {
    name,
    absent: '00000000',
    write(value) {
      if (!/^[0-9]{8}$/.test(value)) throw unsendable(name, value, '8 digits')
      return value.slice(2)
    },
    read(from) {
      const value = readDigits(from, 6, name)
      return (Number(value.slice(0, 2)) >= 70 ? '19' : '20') + value
    },
  }
}

/** HHMMSS of levels 1.2 and 1.3 for a HHMMSScccc: the counter does not travel. */
export function shortTime<N extends string>(name: N): Field<N, string> {
  return {
    name,
    absent: '0000000000',
    write(value) {
      if (!/^[0-9]{10}$/.test(value)) throw unsendable(name, value, '10 digits')
      return value.slice(0, 6)
    },
    read: (from) => readDigits(from, 6, name) + '0000',
  }
}

/** One character out of a closed set; a blank is read as `absent`, which older peers mean by it. */
export function choice<N extends string, const C extends string>(
  name: N,
  all: readonly C[],
  absent: C,
): Field<N, C> {
  return {
    name,
    absent,
    write(value) {
      if (!all.includes(value)) throw unsendable(name, value, `one of ${all.join(' ')}`)
      return value
    },
    read(from) {
      const value = from.take(1, name)
      if (value === ' ') return absent
      const found = all.find((one) => one === value)
      if (found === undefined) throw fault('06', `${name} is none of ${all.join(' ')}`)
      return found
    },
  }
}

/** The first octets of `value` that are whole UTF-8 characters and no more than `limit`. */
export function cutUtf8(value: string, limit: number): string {
  const bytes = Buffer.from(value, 'utf8')
  if (bytes.length <= limit) return value
  let end = limit
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/** T(n) behind its 9(3) length: UTF-8 of at most 999 octets. Bytes that are not UTF-8 are read with U+FFFD. */
export function utf8<N extends string>(name: N): Field<N, string> {
  return {
    name,
    absent: '',
    write(value) {
      const octets = Buffer.from(cutUtf8(value, 999), 'utf8').toString('latin1')
      return String(octets.length).padStart(3, '0') + octets
    },
    read(from) {
      const length = Number(readDigits(from, 3, `${name} length`))
      return from.takeBytes(length, name).toString('utf8')
    },
  }
}

/** U(n) behind its U(2) length. `optional`: a peer may end the command before it. */
export function binary<N extends string>(
  name: N,
  options: { optional?: boolean } = {},
): Field<N, Uint8Array> {
  return {
    name,
    absent: new Uint8Array(0),
    write(value) {
      if (value.length > 65535) throw unsendable(name, `${value.length} octets`, 'at most 65535')
      return String.fromCharCode(value.length >> 8, value.length & 0xff) + octetsOf(value)
    },
    read(from) {
      if (options.optional === true && from.left === 0) return new Uint8Array(0)
      const length = from.takeBytes(2, `${name} length`).readUInt16BE()
      return Uint8Array.from(from.takeBytes(length, name))
    },
  }
}

/** U(n) of fixed length. */
export function octets<N extends string>(name: N, width: number): Field<N, Uint8Array> {
  return {
    name,
    absent: new Uint8Array(width),
    write(value) {
      if (value.length !== width) throw unsendable(name, `${value.length} octets`, `${width} octets`)
      return octetsOf(value)
    },
    read: (from) => Uint8Array.from(from.takeBytes(width, name)),
  }
}

/** All that is left of the buffer. */
export function rest<N extends string>(name: N): Field<N, Uint8Array> {
  return {
    name,
    absent: new Uint8Array(0),
    write: octetsOf,
    read: (from) => from.takeBytes(from.left, name),
  }
}

/** Blanks when sent, ignored when read. */
export function reserved(width: number): Field<'', null> {
  return {
    name: '',
    absent: null,
    write: () => ' '.repeat(width),
    read: (from) => (from.take(width, 'reserved'), null),
  }
}

/** Octets that are always the same. */
export function fixed(value: string): Field<'', null> {
  return {
    name: '',
    absent: null,
    write: () => value,
    read(from) {
      const got = from.take(value.length, 'fixed text')
      if (got.trimEnd() !== value.trimEnd()) throw fault('06', 'the command’s fixed text is another one')
      return null
    },
  }
}

/** Carriage return; 0x8D is the same with the parity bit of old lines. */
export function carriageReturn(): Field<'', null> {
  return {
    name: '',
    absent: null,
    write: () => '\r',
    read(from) {
      const got = from.take(1, 'carriage return')
      if (got !== '\r' && got !== '\x8d') throw fault('06', 'the command does not end with a carriage return')
      return null
    },
  }
}
