// The shape all transforms share: bytes in, bytes out, pulled by whoever writes them down. A step holds one block or
// so, whatever the size of the file; back-pressure is the pull itself.
//
// Ownership: a chunk that was yielded belongs to whoever pulled it and is never written to again by its maker; a step
// never writes into the chunks it was given, but may hand on parts of them uncopied.

export type Step = (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

/** Big enough that the cost per chunk vanishes, small enough to stay in a core's cache. */
export const BLOCK_OCTETS = 64 * 1024

/** A piece this long is handed on as it lies; below it, copying is cheaper than one more chunk down the line. */
const UNCOPIED_OCTETS = 16 * 1024

export function runSteps(
  source: AsyncIterable<Uint8Array>,
  steps: readonly Step[],
): AsyncIterable<Uint8Array> {
  return steps.reduce((sofar, step) => step(sofar), source)
}

export const passThrough: Step = (source) => source

/** The same memory seen as a Buffer: its search and copy are native. */
export function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

/** The same bytes in blocks of at least `least` octets (but for the last); long chunks pass as they are. */
export async function* blocks(
  source: AsyncIterable<Uint8Array>,
  least: number = BLOCK_OCTETS,
): AsyncGenerator<Buffer> {
  let block: Buffer | undefined
  let used = 0
  for await (const chunk of source) {
    let rest = asBuffer(chunk)
    while (rest.length > 0) {
      if (used === 0 && rest.length >= least) {
        yield rest
        break
      }
      block ??= Buffer.allocUnsafeSlow(least)
      const copied = rest.copy(block, used)
      used += copied
      rest = rest.subarray(copied)
      if (used === least) {
        yield block
        block = undefined
        used = 0
      }
    }
  }
  if (block !== undefined && used > 0) yield block.subarray(0, used)
}

/** All of it in one buffer: for messages known to be small, never for files. */
export async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

/** Gathers many short pieces into blocks, so that a step that cuts finely still yields few chunks. */
export class Packer {
  #block = Buffer.allocUnsafeSlow(BLOCK_OCTETS)
  #used = 0
  #full: Buffer[] = []

  /** Adds `from[start..end)`. */
  add(from: Buffer, start: number = 0, end: number = from.length): void {
    const length = end - start
    if (length > BLOCK_OCTETS - this.#used) {
      if (length >= UNCOPIED_OCTETS) {
        this.#seal()
        this.#full.push(from.subarray(start, end))
        return
      }
      this.#seal()
    }
    from.copy(this.#block, this.#used, start, end)
    this.#used += length
  }

  octet(value: number): void {
    if (this.#used === BLOCK_OCTETS) this.#seal()
    this.#block[this.#used++] = value
  }

  get ready(): boolean {
    return this.#full.length > 0
  }

  /** The blocks that are full; they are the caller's from now on. */
  drain(): Buffer[] {
    const full = this.#full
    this.#full = []
    return full
  }

  /** Everything that is left. */
  finish(): Buffer[] {
    this.#seal()
    return this.drain()
  }

  #seal(): void {
    if (this.#used === 0) return
    this.#full.push(this.#block.subarray(0, this.#used))
    this.#block = Buffer.allocUnsafeSlow(BLOCK_OCTETS)
    this.#used = 0
  }
}
