// Octets of small files that came whole, from whichever session and for whichever channel, are written to the data folder by
// the dozen, and are durable with their names there when that is told. A thread of their own does it (copies.ts).
//
// State: files that wait, and how many orders are under way. While one is synced the next is gathered.

import { setImmediate as turnEnds } from 'node:timers/promises'
import { Copies } from '../../../files/small/copies.ts'
import type { EngineContext } from '../../engine-context.ts'

const MOST_TOGETHER = 64
const ORDERS_AT_ONCE = 2
/** Of all files that are in memory. What comes beyond goes to the disk as it comes. */
const MOST_OCTETS = 16 * 1024 * 1024

type Waiting = { octets: Uint8Array; path: string; answer: (sha256: string | undefined) => void }

export class WriteTogether {
  readonly #staging: EngineContext['staging']
  readonly #copies = new Copies()
  readonly #waiting: Waiting[] = []
  #orders = 0
  #octets = 0

  constructor({ staging }: Pick<EngineContext, 'staging'>) {
    this.#staging = staging
  }

  /** Room in memory for so many octets; to be given back. */
  takeRoom(octets: number): boolean {
    if (!this.#copies.isQuick || this.#octets + octets > MOST_OCTETS) return false
    this.#octets += octets
    return true
  }

  giveBack(octets: number): void {
    this.#octets -= octets
  }

  /** SHA-256 in hex. Undefined: it could not be written, and nothing of it is there. Never rejects. */
  write(octets: Uint8Array, path: string): Promise<string | undefined> {
    const { promise, resolve: answer } = Promise.withResolvers<string | undefined>()
    this.#waiting.push({ octets, path, answer })
    if (this.#orders < ORDERS_AT_ONCE) {
      this.#orders++
      void this.#drain()
    }
    return promise
  }

  async #drain(): Promise<void> {
    // Whatever else has come by now goes along.
    await turnEnds()
    while (this.#waiting.length > 0) await this.#writeSome(this.#waiting.splice(0, MOST_TOGETHER))
    this.#orders--
  }

  async ensureFolder(): Promise<void> {
    await this.#staging.incomingFolder()
  }

  async #writeSome(some: readonly Waiting[]): Promise<void> {
    const isThere = await this.ensureFolder().then(
      () => true,
      () => false,
    )
    const copied =
      isThere && this.#copies.isQuick
        ? await this.#copies.make(
            some.map(({ octets: from, path: to }) => ({ from, to })),
            true,
          )
        : []
    for (const [nth, { answer }] of some.entries()) answer(copied[nth]?.sha256)
  }
}
