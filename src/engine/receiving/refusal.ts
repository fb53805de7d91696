// What the reason says for which a file or a reception does not come to its end.

import { NodeError } from '../../errors.ts'

/** The database does not answer, or the node stops: how far it got is to be seen later. */
export function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'unavailable'
}

/** Somebody else goes on with the transfer, or nobody needs to. */
export function isLeft(thrown: unknown): boolean {
  return thrown instanceof NodeError && LEFT.has(thrown.code)
}

const LEFT: ReadonlySet<string> = new Set(['cancelled', 'lease_lost', 'unavailable'])

/** The channel's reception cannot take the file now. */
export function isConflict(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'conflict'
}
