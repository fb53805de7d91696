// The places at a listener, and who gets one. Strangers can open as many connections as they like, so a connection costs
// a place from its first octet on, and only proof keeps it:
//
// waiting    has shown nothing yet; must sign in within `signInMs`, whatever octets it sends    -> admitted, proven, gone
// admitted   let in, though its channels asked for no proof                                    -> gone
// proven     has shown a secret                                                                -> gone
//
// An address (an IPv6 address by its /64) has few waiting connections at once, and few tries in a row that lead nowhere.
// Addresses that have proven themselves before are known: `reserved` places are kept for them, and tries are not counted.
// Where all places for strangers are taken, the one that has been waiting longest makes room for the next.

import { callersNetwork } from '../../domain/network/networks.ts'
import { Tries } from './tries.ts'

export interface PlaceLimits {
  places: number
  /** Of them, those for addresses that have proven themselves before. */
  reserved: number
  /** Connections of one address that have not signed in; a known one may have four times as many. */
  waitingPerAddress: number
  /** From the first octet to the end of the sign-in. */
  signInMs: number
  /** Sessions of one partner at the same time. */
  perContact: number
}

export interface Place {
  /** Signed in. False: the partner has all the places it may have. */
  admitted(contactId: string, proven: boolean): boolean
  /** The connection is gone. */
  leave(): void
}

type Taken = {
  network: string
  known: boolean
  state: 'waiting' | 'admitted' | 'proven'
  contactId: string | undefined
  timer: NodeJS.Timeout | undefined
  end: (why: 'late' | 'crowded') => void
}

export class CallerPlaces {
  readonly #limits: PlaceLimits
  readonly #isKnown: (address: string) => boolean
  /** In the order in which they came. */
  readonly #taken = new Set<Taken>()
  readonly #tries = new Tries()

  constructor(limits: PlaceLimits, isKnown: (address: string) => boolean) {
    this.#limits = limits
    this.#isKnown = isKnown
  }

  /** A place, or undefined: nobody is to be kept waiting there. `end` must end the connection, and may be called once. */
  enter(address: string, end: (why: 'late' | 'crowded') => void): Place | undefined {
    const network = callersNetwork(address)
    const known = this.#isKnown(address)
    if (!this.#hasRoom(network, known)) return undefined
    const taken: Taken = { network, known, state: 'waiting', contactId: undefined, timer: undefined, end }
    taken.timer = setTimeout(() => this.#end(taken, 'late'), this.#limits.signInMs)
    this.#taken.add(taken)
    return {
      admitted: (contactId, proven) => this.#admit(taken, contactId, proven),
      leave: () => this.#free(taken),
    }
  }

  #hasRoom(network: string, known: boolean): boolean {
    const { places, reserved, waitingPerAddress } = this.#limits
    const waitingThere = this.#waiting((one) => one.network === network)
    if (known) {
      // Partners may share their address with others: there, too, whoever waits longest goes.
      if (waitingThere.length >= 4 * waitingPerAddress) this.#crowdOut(waitingThere)
      if (this.#taken.size < places) return true
      return this.#crowdOut(this.#waiting((one) => !one.known)) || this.#crowdOut(this.#waiting(() => true))
    }
    if (waitingThere.length >= waitingPerAddress || !this.#tries.take(network)) return false
    const strangers = [...this.#taken].filter((one) => !one.known && one.state !== 'proven')
    if (strangers.length < places - reserved && this.#taken.size < places) return true
    return this.#crowdOut(strangers.filter((one) => one.state === 'waiting'))
  }

  #waiting(which: (one: Taken) => boolean): Taken[] {
    return [...this.#taken].filter((one) => one.state === 'waiting' && which(one))
  }

  #crowdOut([longest]: readonly Taken[]): boolean {
    if (longest === undefined) return false
    this.#end(longest, 'crowded')
    return true
  }

  #end(taken: Taken, why: 'late' | 'crowded'): void {
    this.#free(taken)
    taken.end(why)
  }

  #admit(taken: Taken, contactId: string, proven: boolean): boolean {
    if (!this.#taken.has(taken)) return false
    const others = [...this.#taken].filter((one) => one.contactId === contactId)
    if (others.length >= this.#limits.perContact) return false
    clearTimeout(taken.timer)
    if (!taken.known) this.#tries.giveBack(taken.network)
    taken.contactId = contactId
    taken.state = proven ? 'proven' : 'admitted'
    return true
  }

  #free(taken: Taken): void {
    clearTimeout(taken.timer)
    this.#taken.delete(taken)
  }
}
