// Large pieces of memory that are used again: allocating them anew for every packet costs page faults and, worse,
// collections of garbage whose threads take the processor from the other end of a fast line.

export class BufferPool {
  readonly #size: number
  readonly #mostFree: number
  readonly #free: ArrayBuffer[] = []
  readonly #lent = new WeakSet<ArrayBufferLike>()

  constructor(size: number, mostFree: number) {
    this.#size = size
    this.#mostFree = mostFree
  }

  /** `length` octets, at most the pool's size; whatever was in them before may still be there. */
  lend(length: number): Buffer {
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
