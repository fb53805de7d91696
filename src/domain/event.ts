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
  // Not every reader may know of all the channels.
  const { channels: _channels, ...data } = event.data as EventData & { channels?: unknown }
  return {
    id: event.id,
    type: event.type,
    timestamp: showTime(event.at, zone),
    ...(event.channelCode !== null && { channel: event.channelCode }),
    ...(event.contactId !== null && { contact: event.contactId }),
    data,
  }
}

/** The channels that an event of several is about; never shown. */
export function channelsIn({ data }: Pick<EventRecord, 'data'>): readonly string[] {
  return 'channels' in data ? (data.channels as string[]) : [] // written by outbox.ts alone
}

export type Interest = { id: string; events: readonly string[]; channels?: readonly string[] | undefined }

/**
 * Whether a subscription is told of an event. If it names channels, an event of a partner counts if one of the partner's
 * channels is among them, and one of several channels if one of those is. An event of none (a node's, say) does not
 * count then.
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
  return codesOf(event, channelsOf).some((code) => channels.some((pattern) => matchesWildcard(pattern, code)))
}

function codesOf(
  event: Pick<EventRecord, 'channelCode' | 'contactId' | 'data'>,
  channelsOf: (contactId: string) => readonly string[],
): readonly string[] {
  if (event.channelCode !== null) return [event.channelCode]
  const several = channelsIn(event)
  return several.length > 0 || event.contactId === null ? several : channelsOf(event.contactId)
}
