// Takes what has happened: each new event gets its place, a delivery for every subscription that is told of it, and is
// counted where it is expected. All in one transaction, so each of the three happens once.

import type { Zone } from '../domain/time.ts'
import { hears } from '../domain/event.ts'
import type { EventRecord } from '../domain/event.ts'
import { channelCodesByContact } from '../store/channels.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { addDeliveries } from '../store/events/deliveries.ts'
import type { NewDelivery } from '../store/events/deliveries.ts'
import { hasNewEvents, sequenceEvents } from '../store/events/sequence.ts'
import { listSubscriptions } from '../store/events/subscriptions.ts'
import { countFiles } from './expectations/count-files.ts'

const AT_ONCE = 500

/** How many there were. `taken` hears of those whose place is certain. */
export async function takeEvents(
  store: Store,
  zone: Zone,
  now: number,
  taken?: (events: readonly EventRecord[]) => void,
): Promise<number> {
  let count = 0
  while (await hasNewEvents(store.db)) {
    const some = await store.write((tx) => takeSome(tx, store, zone, now))
    count += some.length
    taken?.(some)
    if (some.length < AT_ONCE) break
  }
  return count
}

export async function takeSome(tx: Tx, store: Store, zone: Zone, now: number): Promise<EventRecord[]> {
  const events = await sequenceEvents(tx, store.dialect, { now, limit: AT_ONCE })
  if (events.length === 0) return events
  await fanOut(tx, events, now)
  await countFiles(tx, events, zone, now)
  return events
}

async function fanOut(tx: Tx, events: readonly EventRecord[], now: number): Promise<void> {
  const subscriptions = (await listSubscriptions(tx)).filter(({ state }) => state === 'ON')
  if (subscriptions.length === 0) return
  // Only a subscription that names channels asks whose an event of a partner is.
  const contacts = events.flatMap((event) => (event.channelCode === null ? (event.contactId ?? []) : []))
  const codes = contacts.length > 0 ? await channelCodesByContact(tx, contacts) : new Map<string, string[]>()
  const made = events.flatMap((event) =>
    subscriptions.flatMap(({ id, settings }): NewDelivery[] =>
      hears({ id, ...settings }, event, (contact) => codes.get(contact) ?? [])
        ? [{ subscriptionId: id, event }]
        : [],
    ),
  )
  await addDeliveries(tx, made, now)
}
