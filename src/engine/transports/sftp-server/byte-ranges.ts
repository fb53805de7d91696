// Which octets of a file have passed, as sorted spans that do not touch. Files mostly pass in order, so there is
// nearly always one span; the number is bounded, since a client could write every other octet.

const MOST_SPANS = 10_000

export class ByteRanges {
  #ranges: [from: number, to: number][] = []

  /** Returns false when the picture is too scattered to keep; the octets are then not counted. */
  add(from: number, to: number): boolean {
    if (to <= from) return true
    const last = this.#ranges.at(-1)
    if (last === undefined || from > last[1]) {
      if (this.#ranges.length >= MOST_SPANS) return false
      this.#ranges.push([from, to])
      return true
    }
    if (from >= last[0]) {
      last[1] = Math.max(last[1], to)
      return true
    }
    return this.#merge(from, to)
  }

  #merge(from: number, to: number): boolean {
    const before = this.#ranges.filter((span) => span[1] < from)
    const after = this.#ranges.filter((span) => span[0] > to)
    const touching = this.#ranges.slice(before.length, this.#ranges.length - after.length)
    if (touching.length === 0 && this.#ranges.length >= MOST_SPANS) return false
    const start = Math.min(from, touching[0]?.[0] ?? from)
    const end = Math.max(to, touching.at(-1)?.[1] ?? to)
    this.#ranges = [...before, [start, end], ...after]
    return true
  }

  addAll(other: ByteRanges): void {
    for (const [from, to] of other.#ranges) this.add(from, to)
  }

  cut(length: number): void {
    this.#ranges = this.#ranges.filter((span) => span[0] < length)
    const last = this.#ranges.at(-1)
    if (last !== undefined) last[1] = Math.min(last[1], length)
  }

  /** Octets from the start without a gap. */
  get prefix(): number {
    const first = this.#ranges[0]
    return first !== undefined && first[0] === 0 ? first[1] : 0
  }

  /** The end of the last span. */
  get end(): number {
    return this.#ranges.at(-1)?.[1] ?? 0
  }

  covers(from: number, to: number): boolean {
    return to <= from || this.#ranges.some((span) => span[0] <= from && span[1] >= to)
  }
}
