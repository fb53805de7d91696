// The inner loops of DATA (RFC 5024, 7): octets to sub-records and back, inside one block of memory.
//
// Two kernels keep the same promises: WebAssembly with 128-bit moves (kernel-wasm.ts), and plain JavaScript (kernel-reference.ts),
// which is what the tests compare with and what runs where WebAssembly cannot. Both may read and write up to 64 octets
// past the ends they are given: whoever lays out the memory leaves that slack. Register values live in its first
// 16 octets.

export const SLACK = 64
/** The first octets of the memory are the kernel's registers. */
export const RESERVED = 64

export const REGISTER = { source: 0, target: 1, recordFill: 2, records: 3 } as const

/** What a sub-record's end-of-record flag ends: the file (U, T), a record of exactly, or of at most, `length`. */
export const DECODE_MODE = { stream: 0, fixed: 1, variable: 2 } as const
export type DecodeMode = (typeof DECODE_MODE)[keyof typeof DECODE_MODE]

/** `ended`: in stream mode, behind a sub-record with the flag; there may be more behind it. */
export const DECODED = { all: 0, full: 1, malformed: 2, wrongLength: 3, ended: 4 } as const

type Encode = (source: number, sourceEnd: number, target: number, targetEnd: number, flag: number) => number
type Decode = (
  source: number,
  sourceEnd: number,
  target: number,
  targetEnd: number,
  mode: DecodeMode,
  length: number,
) => number

export interface Kernel {
  readonly memory: Uint8Array
  readonly registers: Int32Array
  /**
   * Writes the octets from `source` on as sub-records while both last; the last one of a finished run gets `flag`
   * (0x80 ends the record). Gives the new target position; the source position reached is in its register.
   * The run must not be empty.
   */
  readonly encodePlain: Encode
  /** The same with runs of three or more equal octets compressed. */
  readonly encodePacked: Encode
  /**
   * Reads sub-records up to `sourceEnd`, or until the target has no room for another. In variable mode each record is
   * left behind its 2-octet length: two octets in front of the target must be free. Gives a value of DECODED.
   */
  readonly decode: Decode
}
