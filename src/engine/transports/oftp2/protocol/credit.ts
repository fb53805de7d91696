// OFTP2's credit (RFC 5024, 4.4.1 and 5.3.7): how many DATA exchange buffers may still travel before the listener must
// say CDT. Both ends count: the speaker so that it stops in time, the listener so that it notices who does not.
//
// `left` is the only state. It is full when a file begins (SFPA), each DATA buffer spends one, and CDT makes it full
// again. What was not spent does not add up.

export class Credit {
  left = 0

  /** At the beginning of a file, and with each CDT. `agreed` is what the two SSIDs settled. */
  renew(agreed: number): void {
    this.left = agreed
  }

  /** False, and nothing is spent, where there is not enough left. */
  spend(buffers: number): boolean {
    if (buffers > this.left) return false
    this.left -= buffers
    return true
  }
}
