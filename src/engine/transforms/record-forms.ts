// The four ways in which records lie in a stream, each able to find its records and to write them. Turning one local
// form into a canonical one (records.ts) is reading with one of these and writing with another.
//
// `find` looks at one block that starts somewhere in the stream and keeps no place of its own: a record that the block
// does not hold whole is asked for again with more bytes. What is held is bounded by the longest record allowed.

import { NodeError } from '../../errors.ts'
import type { Packer } from './step.ts'

/** What a 2-octet length can say. */
const MAX_VARIABLE_OCTETS = 65_535

/** Where a record lies in a block: its content, and where the next one begins. Reused from call to call. */
export type Span = { start: number; end: number; next: number }

export interface RecordForm {
  /** Sets `span` to the record that begins at `at`; false when it goes on after the block. */
  find(block: Buffer, at: number, span: Span, number: number): boolean
  /** What is left after the last whole record, if it can be one: sets `span`, or throws. */
  findLast(block: Buffer, at: number, span: Span, number: number): void
  write(block: Buffer, start: number, end: number, out: Packer, number: number): void
}

export function refuseRecord(number: number, what: string): NodeError {
  return new NodeError('file_refused', `record ${number}: ${what}`)
}

/** Octets of a delimiter: none, LF or CR LF in the alphabet of the file. */
export type Delimiter = Buffer

function nameOf(delimiter: Delimiter): string {
  return `${delimiter.length === 2 ? 'CR LF' : 'LF'} (${delimiter.toString('hex')})`
}

function writeDelimiter(delimiter: Delimiter, out: Packer): void {
  for (let i = 0; i < delimiter.length; i++) out.octet(delimiter[i]!)
}

/** Records of one length, each followed by the delimiter. */
export function fixedForm(length: number, delimiter: Delimiter): RecordForm {
  const whole = length + delimiter.length
  const [first, second] = delimiter
  const delimited = (block: Buffer, end: number): boolean =>
    (first === undefined || block[end] === first) && (second === undefined || block[end + 1] === second)
  return {
    find(block, at, span, number) {
      if (block.length - at < whole) return false
      span.start = at
      span.end = at + length
      span.next = at + whole
      if (delimited(block, span.end)) return true
      const early = block.subarray(at, span.next).indexOf(delimiter)
      const place =
        early < 0 ? `is missing after ${length} octets` : `stands after ${early} octets, not after ${length}`
      throw refuseRecord(number, `${nameOf(delimiter)} ${place}`)
    },
    findLast(block, at, _span, number) {
      const left = block.length - at
      if (left < length) throw refuseRecord(number, `the file ends after ${left} of ${length} octets`)
      throw refuseRecord(number, `the file ends without ${nameOf(delimiter)}`)
    },
    write(block, start, end, out, number) {
      if (end - start !== length) throw refuseRecord(number, `has ${end - start} octets, not ${length}`)
      out.add(block, start, end)
      writeDelimiter(delimiter, out)
    },
  }
}

/** Lines: whatever lies between delimiters. The last one may do without. `longest` 0 means any that V can carry. */
export function lineForm(longest: number, delimiter: Delimiter): RecordForm {
  const limit = longest === 0 ? MAX_VARIABLE_OCTETS : Math.min(longest, MAX_VARIABLE_OCTETS)
  const needle = delimiter.length === 1 ? delimiter[0]! : delimiter
  let searched: Buffer | undefined
  let found = Infinity
  const checkLength = (length: number, number: number): void => {
    if (length > limit) throw refuseRecord(number, `is longer than ${limit} octets`)
  }
  return {
    find(block, at, span, number) {
      const end = block.indexOf(needle, at)
      if (end < 0) {
        checkLength(block.length - at - delimiter.length, number)
        return false
      }
      checkLength(end - at, number)
      span.start = at
      span.end = end
      span.next = end + delimiter.length
      return true
    },
    findLast(block, at, span, number) {
      checkLength(block.length - at, number)
      span.start = at
      span.end = block.length
      span.next = block.length
    },
    write(block, start, end, out, number) {
      checkLength(end - start, number)
      // One search serves all records up to the next delimiter, which in a fit stream is all of the block.
      if (searched !== block || found < start) {
        searched = block
        found = block.indexOf(needle, start)
        if (found < 0) found = Infinity
      }
      if (found + delimiter.length <= end)
        throw refuseRecord(number, `holds ${nameOf(delimiter)}, which would split it in the delimited file`)
      out.add(block, start, end)
      writeDelimiter(delimiter, out)
    },
  }
}

/** Records behind a length: 2 octets without themselves, or a 4-octet descriptor word that counts itself. */
export function prefixedForm(longest: number, prefix: 2 | 4): RecordForm {
  const own = prefix === 4 ? 4 : 0
  const limit = Math.min(longest === 0 ? Infinity : longest, MAX_VARIABLE_OCTETS - own)
  const checkLength = (length: number, number: number): void => {
    if (length > limit) throw refuseRecord(number, `has ${length} octets, more than ${limit}`)
  }
  return {
    find(block, at, span, number) {
      if (block.length - at < prefix) return false
      const length = block[at]! * 256 + block[at + 1]! - own
      if (length < 0)
        throw refuseRecord(number, `its descriptor word says ${length + own}, less than its own 4`)
      if (prefix === 4 && (block[at + 2] !== 0 || block[at + 3] !== 0))
        throw refuseRecord(number, 'its descriptor word does not end in two zero octets (a spanned record?)')
      checkLength(length, number)
      span.start = at + prefix
      span.end = span.start + length
      span.next = span.end
      return span.end <= block.length
    },
    findLast(block, at, _span, number) {
      const left = block.length - at
      throw refuseRecord(number, `the file ends ${left} octets into it`)
    },
    write(block, start, end, out, number) {
      checkLength(end - start, number)
      const says = end - start + own
      out.octet(says >> 8)
      out.octet(says & 0xff)
      if (prefix === 4) {
        out.octet(0)
        out.octet(0)
      }
      out.add(block, start, end)
    },
  }
}
