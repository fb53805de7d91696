// Which octets of a file have passed, as sorted spans that do not touch. Files mostly pass in order, so there is
// nearly always one span; the number is bounded, since a client could write every other octet.

const MOST_SPANS = 1000

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
    const first = this.#firstEnding(from)
    let behind = first
    while ((this.#ranges[behind]?.[0] ?? Infinity) <= to) behind++
    if (behind === first && this.#ranges.length >= MOST_SPANS) return false
    const start = Math.min(from, this.#ranges[first]?.[0] ?? from)
    const end = Math.max(to, behind === first ? to : (this.#ranges[behind - 1]?.[1] ?? to))
    this.#ranges.splice(first, behind - first, [start, end])
    return true
  }

  /** The first span that ends at `position` or behind it; a client may write backwards, so it is not searched from the start. */
  #firstEnding(position: number): number {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ranges[middle]?.[1] ?? Infinity) < position) low = middle + 1
      else high = middle
    }
    return low
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
