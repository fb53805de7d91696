// Connections of strangers that led nowhere, per address and in all. What a stranger can make a node compute before it has
// shown anything (the key exchange of SSH, the handshake of TLS) costs up to 30 ms of the engine's thread, so the tries
// are what has to be bounded. Each bucket is full at first, a try takes one drop, time refills it, and a try that led to a
// sign-in puts its drop back.

type Bucket = { drops: number; at: number }
type Size = { drops: number; perSecond: number }

const PER_ADDRESS: Size = { drops: 60, perSecond: 2 }
const IN_ALL: Size = { drops: 120, perSecond: 10 }
/** Addresses remembered; those that are full again are forgotten first. */
const MOST_ADDRESSES = 4096

export class Tries {
  readonly #now: () => number
  readonly #all: Bucket
  readonly #addresses = new Map<string, Bucket>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#all = { drops: IN_ALL.drops, at: now() }
  }

  /** Whether one more try of that address may go on. */
  take(network: string): boolean {
    const now = this.#now()
    const bucket = this.#addresses.get(network) ?? { drops: PER_ADDRESS.drops, at: now }
    refill(bucket, PER_ADDRESS, now)
    refill(this.#all, IN_ALL, now)
    if (bucket.drops < 1 || this.#all.drops < 1) return false
    bucket.drops--
    this.#all.drops--
    this.#addresses.set(network, bucket)
    if (this.#addresses.size > MOST_ADDRESSES) this.#forget(now)
    return true
  }

  giveBack(network: string): void {
    const bucket = this.#addresses.get(network)
    if (bucket) bucket.drops = Math.min(PER_ADDRESS.drops, bucket.drops + 1)
    this.#all.drops = Math.min(IN_ALL.drops, this.#all.drops + 1)
  }

  #forget(now: number): void {
    for (const [network, bucket] of this.#addresses) {
      refill(bucket, PER_ADDRESS, now)
      if (bucket.drops >= PER_ADDRESS.drops) this.#addresses.delete(network)
    }
    // All of them busy: the bound in all holds them then, and the oldest is forgotten.
    for (const network of this.#addresses.keys()) {
      if (this.#addresses.size <= MOST_ADDRESSES) return
      this.#addresses.delete(network)
    }
  }
}

function refill(bucket: Bucket, { drops, perSecond }: Size, now: number): void {
  bucket.drops = Math.min(drops, bucket.drops + ((now - bucket.at) / 1000) * perSecond)
  bucket.at = now
}
