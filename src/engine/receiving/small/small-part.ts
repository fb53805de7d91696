// The octets of a small file on its way in: in memory until it is whole, then on the disk together with those of others
// (write-together.ts), so that they cost it no moment of their own.
//
// What comes out of order or is more than was announced, what there is no room for, and what is kept of a file that breaks off
// goes the usual way (part-file.ts), with what is here of it.
//
// State: the octets; or, from then on, the part that the usual way goes into. Moves: open -> writing -> closed, by `finish`;
// from open also to the usual part, which then says what happens; `close` ends it wherever it is.

import { NodeError } from '../../../errors.ts'
import type { RestartPoints } from '../../staging/restart-points.ts'
import { PartFile } from '../part-file.ts'
import type { Checkpoint, Part, Whole } from '../part-file.ts'
import type { WriteTogether } from './write-together.ts'

type Terms = { every: RestartPoints; checkpoint: Checkpoint }

/** `quick`: the most that a small file may have. Undefined: it is none. */
export async function openPart(
  path: string,
  together: WriteTogether,
  { quick, position, every, checkpoint }: Terms & { quick: number | undefined; position: number },
): Promise<Part> {
  if (quick === undefined) return PartFile.open(path, position, every, checkpoint)
  return new SmallPart(path, together, { most: quick, every, checkpoint })
}

export class SmallPart implements Part {
  readonly path: string
  readonly #together: WriteTogether
  readonly #most: number
  readonly #open: () => Promise<PartFile>
  readonly #checkpoint: Checkpoint
  /** Undefined: no octet came, or they are not needed here any more. */
  #octets: Buffer | undefined
  #size = 0
  #state: 'open' | 'closed' = 'open'
  #writing: Promise<string | undefined> | undefined
  #usual: Promise<PartFile> | undefined

  /** `most`: so many octets were announced. */
  constructor(path: string, together: WriteTogether, { most, every, checkpoint }: Terms & { most: number }) {
    this.path = path
    this.#together = together
    this.#most = most
    this.#open = async () => {
      await together.ensureFolder()
      return PartFile.open(path, 0, every, checkpoint)
    }
    this.#checkpoint = checkpoint
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    if (this.#usual) return (await this.#usual).read(into, position)
    this.#requireOpen()
    return this.#octets?.subarray(0, this.#size).copy(into, 0, position) ?? 0
  }

  async truncate(length: number): Promise<void> {
    if (this.#usual || length > this.#size) return (await this.#goUsual()).truncate(length)
    this.#requireOpen()
    this.#size = length
  }

  async write(chunk: Uint8Array, position: number): Promise<void> {
    if (!this.#usual) this.#requireOpen()
    if (this.#usual || !this.#fits(chunk, position)) return (await this.#goUsual()).write(chunk, position)
    this.#octets?.set(chunk, position)
    this.#size = position + chunk.length
  }

  #fits(chunk: Uint8Array, position: number): boolean {
    if (position !== this.#size || position + chunk.length > this.#most) return false
    if (!this.#octets && !this.#together.takeRoom(this.#most)) return false
    this.#octets ??= Buffer.allocUnsafe(this.#most)
    return true
  }

  #requireOpen(): void {
    if (this.#state === 'closed') throw new NodeError('connection_lost', 'the received file is closed')
  }

  #goUsual(): Promise<PartFile> {
    return (this.#usual ??= this.#move())
  }

  async #move(): Promise<PartFile> {
    const part = await this.#open()
    try {
      const octets = this.#octets?.subarray(0, this.#size)
      if (octets && octets.length > 0) await part.write(octets, 0)
    } catch (thrown) {
      await part.close()
      throw thrown
    } finally {
      this.#forget()
    }
    return part
  }

  #forget(): void {
    if (this.#octets) this.#together.giveBack(this.#most)
    this.#octets = undefined
  }

  async finish(): Promise<Whole> {
    if (this.#usual) return (await this.#usual).finish()
    this.#requireOpen()
    const octets = (this.#octets ?? Buffer.alloc(0)).subarray(0, this.#size)
    const sha256 = await (this.#writing = this.#together.write(octets, this.path))
    this.#requireOpen()
    // Why it could not be written is found out there.
    if (sha256 === undefined) return (await this.#goUsual()).finish()
    this.#forget()
    return { size: this.#size, sha256 }
  }

  async keepAll(): Promise<void> {
    if ((await this.#writing) !== undefined) return this.#checkpoint(this.#size)
    if (this.#usual || this.#size > 0) await (await this.#goUsual()).keepAll()
  }

  /** Nothing is written when it resolves. */
  async close(): Promise<void> {
    this.#state = 'closed'
    await this.#writing
    await this.#usual?.then(
      (part) => part.close(),
      () => {}, // whoever wrote has heard of it
    )
    this.#forget()
  }
}
