// What the reason says for which a file or a reception does not come to its end.

import { NodeError, messageOf, toNodeError } from '../../errors.ts'
import { namesOneFile } from '../transports/transport.ts'
import type { Offer } from '../transports/transport.ts'

/** The database does not answer, or the node stops: how far it got is to be seen later. */
export function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'unavailable'
}

/** Somebody else goes on with the transfer, or nobody needs to. */
export function isLeft(thrown: unknown): boolean {
  return thrown instanceof NodeError && LEFT.has(thrown.code)
}

const LEFT: ReadonlySet<string> = new Set(['cancelled', 'lease_lost', 'unavailable'])

/** Why, if a file that is here waits for its disk. */
export function waitsForDisk(thrown: unknown): string | undefined {
  if (!(thrown instanceof NodeError) || !isUnavailable(thrown) || thrown.cause === undefined) return undefined
  const { code, message } = toNodeError(thrown.cause)
  return code === 'disk_fault' || code === 'no_space' ? `${thrown.message}: ${message}` : undefined
}

/** The channel's reception cannot take the file now. */
export function isConflict(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'conflict'
}

/**
 * A whole file has waited too long for its channel, whose reception may wait for a disk. A partner that hands it over is told
 * to try again later, whatever its protocol makes of a conflict. Of what this node fetches the others go on.
 */
export function waitedTooLong(thrown: unknown, { name, fetched }: Pick<Offer, 'name' | 'fetched'>): unknown {
  if (fetched || !isConflict(thrown)) return thrown
  return new NodeError('unavailable', `${name} cannot be taken now: ${messageOf(thrown)}`, { cause: thrown })
}

/** What the partner is told of a file that is here, and whose reception somebody else goes on with: to ask again later. */
export function leftToNext(name: string, reason: unknown): unknown {
  if (isLeft(reason)) return reason
  return new NodeError('unavailable', `${name} is here, but that could not be recorded`, { cause: reason })
}

/**
 * A partner that names its files by their names alone (SFTP) would bring the file again and meet its own. So once it is in
 * place such a partner is told that it is here, unless it was reset: octets and row are durable, and whoever claims the
 * transfer next does the rest. Other partners hear `told`, offer it again by its key, and are told then.
 */
export function throwUnlessTaken(told: unknown, key: { date: string }, placed: boolean): void {
  const isReset = told instanceof NodeError && told.code === 'cancelled'
  if (!placed || namesOneFile(key) || isReset) throw told
}
