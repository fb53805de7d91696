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

/** What the partner is told of a file that is here, and whose reception somebody else goes on with: to ask again later. */
export function leftToNext(name: string, reason: unknown): unknown {
  if (isLeft(reason)) return reason
  return new NodeError('unavailable', `${name} is here, but that could not be recorded`, { cause: reason })
}
