// Events read: filtered, by pages, only those that the user may see.

import { EVENT_TYPES } from '../../contract/event-types.ts'
import { showEvent } from '../../domain/event.ts'
import type { EventRecord } from '../../domain/event.ts'
import { maySeeEvent } from '../../domain/event-access.ts'
import { matchesWildcard } from '../../domain/names/wildcard.ts'
import { NodeError } from '../../errors.ts'
import type { Account } from '../../store/accounts.ts'
import { positionOf } from '../../store/events/event-id.ts'
import type { Db } from '../../store/database/store.ts'
import { findEvents, placeAfter } from '../../store/events/list.ts'
import type { Context } from '../context.ts'
import { spanOf } from '../integration/transfers.ts'
import type { PlatformHandler } from '../platform/handler.ts'

const DEFAULT_SIZE = 50
/** Read at once; some of them the user may not see. */
const LOOK_AHEAD = 500
/** Looked at for one answer; `next` goes on from there. */
const MOST_LOOKS = 20

export const listEvents: PlatformHandler<'listEvents'> = async (context, { input, user }) => {
  const { type, channelCode, contactId, before, after, size = DEFAULT_SIZE } = input
  if (before !== undefined && after !== undefined)
    throw new NodeError('bad_request', 'query parameters before and after cannot stand together')
  const span = spanOf(input, context.zone)
  const types = type === undefined ? undefined : EVENT_TYPES.filter((one) => matchesWildcard(type, one))
  const filter = { types, channelCode, contactId, ...span }
  const order = after === undefined ? ('desc' as const) : ('asc' as const)
  const { db } = context.store
  let beyond = after === undefined ? positionAt(before, 'before') : await placeAt(db, after, 'after')
  const sees = await sightOf(context, user)
  const found: EventRecord[] = []
  let last: EventRecord | undefined
  for (let look = 0; look < MOST_LOOKS; look++) {
    const some = await findEvents(db, filter, { order, beyond, limit: LOOK_AHEAD })
    for (const event of some) {
      if (found.length >= size) break
      last = event
      if (sees(event)) found.push(event)
    }
    if (found.length >= size) break
    if (some.length < LOOK_AHEAD) return { content: found.map((event) => showEvent(event, context.zone)) }
    beyond = last?.position
  }
  return { content: found.map((event) => showEvent(event, context.zone)), ...(last && { next: last.id }) }
}

/** An event's id tells its position, also when the event is no longer kept. */
export function positionAt(id: string | undefined, parameter: string): number | undefined {
  if (id === undefined) return undefined
  const position = positionOf(id)
  if (position === undefined) throw new NodeError('bad_request', `${parameter} must be the id of an event`)
  return position
}

/** Where to go on after an event, `placeAfter`. */
export async function placeAt(db: Db, id: string, parameter: string): Promise<number> {
  positionAt(id, parameter)
  return placeAfter(db, id)
}

export async function sightOf(
  context: Context,
  user: Account,
): Promise<(event: Pick<EventRecord, 'type' | 'channelCode' | 'data'>) => boolean> {
  const codes = new Set((await context.channelAccess(context.store.db, user)).codes)
  return (event) => maySeeEvent(user, event, (code) => codes.has(code))
}
