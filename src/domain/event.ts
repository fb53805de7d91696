// An event that has its place among the others, and how it is shown.

import type { EventData, EventType, NodeEvent } from '../contract/event-types.ts'
import { showTime } from './time.ts'
import type { Zone } from './time.ts'
import { matchesWildcard } from './names/wildcard.ts'

export type EventRecord = {
  position: number
  id: string
  at: number
  type: EventType
  channelCode: string | null
  contactId: string | null
  data: EventData
}

export function showEvent(event: EventRecord, zone: Zone): NodeEvent {
  return {
    id: event.id,
    type: event.type,
    timestamp: showTime(event.at, zone),
    ...(event.channelCode !== null && { channel: event.channelCode }),
    ...(event.contactId !== null && { contact: event.contactId }),
    data: { ...event.data },
  }
}

export type Interest = { id: string; events: readonly string[]; channels?: readonly string[] | undefined }

/**
 * Whether a subscription is told of an event. If it names channels, an event of a partner counts if one of the partner's
 * channels is among them. An event of neither (a node's, say) does not count then.
 */
export function hears(
  { id, events, channels }: Interest,
  event: Pick<EventRecord, 'type' | 'channelCode' | 'contactId' | 'data'>,
  channelsOf: (contactId: string) => readonly string[],
): boolean {
  if (event.type === 'subscription.test')
    return 'subscription' in event.data && event.data.subscription === id
  if (!events.some((pattern) => matchesWildcard(pattern, event.type))) return false
  if (channels === undefined) return true
  const codes =
    event.channelCode === null
      ? event.contactId === null
        ? []
        : channelsOf(event.contactId)
      : [event.channelCode]
  return codes.some((code) => channels.some((pattern) => matchesWildcard(pattern, code)))
}
