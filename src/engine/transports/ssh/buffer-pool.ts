// Large pieces of memory that are used again: allocating them anew for every packet costs page faults and, worse,
// collections of garbage whose threads take the processor from the other end of a fast line.

export class BufferPool {
  readonly #smallest: number
  readonly #size: number
  readonly #mostFree: number
  readonly #free: ArrayBuffer[] = []
  readonly #lent = new WeakSet<ArrayBufferLike>()

  /** For lengths from `smallest` to `size`: less is cheap to allocate, and more is rare. */
  constructor({ smallest, size, mostFree }: { smallest: number; size: number; mostFree: number }) {
    this.#smallest = smallest
    this.#size = size
    this.#mostFree = mostFree
  }

  /** `length` octets, the pool's own where the length is; whatever was in them before may still be there. */
  lend(length: number): Buffer {
    if (length < this.#smallest || length > this.#size) return Buffer.allocUnsafe(length)
    const memory = this.#free.pop() ?? new ArrayBuffer(this.#size)
    this.#lent.add(memory)
    return Buffer.from(memory, 0, length)
  }

  /** Takes back what nobody looks at any more. Memory that is not this pool's, or is back already, is left alone. */
  giveBack(bytes: Uint8Array): void {
    const memory = bytes.buffer
    if (!(memory instanceof ArrayBuffer) || !this.#lent.delete(memory)) return
    if (this.#free.length < this.#mostFree) this.#free.push(memory)
  }
}
