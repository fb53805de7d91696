// The data kernel in plain JavaScript: what the WebAssembly one is tested against, and its stand-in where that cannot
// be made. One octet at a time, written to be read.
import type { Kernel } from './kernel.ts'
import { DECODE_MODE, DECODED, REGISTER } from './kernel.ts'

const EOR = 0x80
const COMPRESSED = 0x40
const LONGEST = 63

export function referenceKernel(size: number): Kernel {
  const buffer = new ArrayBuffer(size)
  const memory = new Uint8Array(buffer)
  const registers = new Int32Array(buffer, 0, 4)

  function runAt(source: number, sourceEnd: number): number {
    let end = source + 1
    while (end < sourceEnd && end - source < LONGEST && memory[end] === memory[source]) end += 1
    return end - source
  }

  /** Octets from `source` on before the next run of three. */
  function literalAt(source: number, sourceEnd: number): number {
    let end = source + 1
    while (end < sourceEnd && end - source < LONGEST) {
      const begins = memory[end] === memory[end + 1] && memory[end] === memory[end + 2]
      if (begins && end + 3 <= sourceEnd) break
      end += 1
    }
    return end - source
  }

  function encode(packed: boolean) {
    return (source: number, sourceEnd: number, target: number, targetEnd: number, flag: number): number => {
      let head = -1
      let from = source
      let to = target
      while (from < sourceEnd && targetEnd - to >= 2) {
        head = to
        const run = packed ? runAt(from, sourceEnd) : 0
        if (run >= 3) {
          memory[to] = COMPRESSED | run
          memory[to + 1] = memory[from] ?? 0
          from += run
          to += 2
          continue
        }
        const longest = packed ? literalAt(from, sourceEnd) : Math.min(LONGEST, sourceEnd - from)
        const count = Math.min(longest, targetEnd - to - 1)
        memory[to] = count
        memory.copyWithin(to + 1, from, from + count)
        from += count
        to += 1 + count
      }
      if (from === sourceEnd && head >= 0) memory[head] = (memory[head] ?? 0) | flag
      registers[REGISTER.source] = from
      return to
    }
  }

  function decode(
    source: number,
    sourceEnd: number,
    target: number,
    targetEnd: number,
    mode: number,
    length: number,
  ): number {
    let from = source
    let to = target
    let fill = registers[REGISTER.recordFill] ?? 0
    let records = registers[REGISTER.records] ?? 0
    const leave = (status: number): number => {
      registers.set([from, to, fill, records])
      return status
    }
    while (from < sourceEnd) {
      if (to + 66 > targetEnd) return leave(DECODED.full)
      const head = memory[from] ?? 0
      const count = head & LONGEST
      from += 1
      if ((head & COMPRESSED) !== 0) {
        if (from >= sourceEnd) return leave(DECODED.malformed)
        memory.fill(memory[from] ?? 0, to, to + count)
        from += 1
      } else {
        if (from + count > sourceEnd) return leave(DECODED.malformed)
        memory.copyWithin(to, from, from + count)
        from += count
      }
      to += count
      if (mode === DECODE_MODE.stream) {
        if ((head & EOR) === 0) continue
        return leave(DECODED.ended)
      }
      fill += count
      if (fill > length) return leave(DECODED.wrongLength)
      if ((head & EOR) === 0) continue
      if (mode === DECODE_MODE.fixed) {
        if (fill !== length) return leave(DECODED.wrongLength)
      } else {
        memory[to - fill - 2] = fill >> 8
        memory[to - fill - 1] = fill
        to += 2
      }
      records += 1
      fill = 0
    }
    return leave(DECODED.all)
  }

  return { memory, registers, encodePlain: encode(false), encodePacked: encode(true), decode }
}
