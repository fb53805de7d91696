// Who may see which events: nothing that the interface would not show the same user.

import type { EventType } from '../contract/event-types.ts'
import { channelsIn } from './event.ts'
import type { EventRecord } from './event.ts'
import { hasAuth, isAdministrator } from './user.ts'
import type { User } from './user.ts'

/** The flag that a kind of events needs, beside the channel's being open to the user. */
const NEEDS = {
  key: 'svcFF',
  partner: 'contactChannels',
  login: 'administration',
  node: 'administration',
  subscription: 'administration',
} as const

export function maySeeEvent(
  user: User,
  event: Pick<EventRecord, 'type' | 'channelCode' | 'data'>,
  reaches: (code: string) => boolean,
): boolean {
  const kind = kindOf(event.type)
  if (event.type === 'file.quarantined') {
    if (!hasAuth(user, 'controlatorFF')) return false
  } else if (kind in NEEDS) {
    if (!hasAuth(user, NEEDS[kind as keyof typeof NEEDS])) return false
  } else if (kind !== 'channel' && user.role === 'ROLE_CONTROLATOR') return false
  // A channel that is gone is open to nobody but administrators.
  const codes = event.channelCode === null ? channelsIn(event) : [event.channelCode]
  return codes.length === 0 || codes.some(reaches) || isAdministrator(user)
}

function kindOf(type: EventType): string {
  return type.slice(0, type.indexOf('.'))
}
