// The stored events of one stream, each with its id, as fast as its reader takes them.

import { once } from 'node:events'
import type { PassThrough } from 'node:stream'
import { showEvent } from '../../domain/event.ts'
import type { EventRecord } from '../../domain/event.ts'
import type { Zone } from '../../domain/time.ts'
import type { EventFeed } from './event-feed.ts'

type Stored = { after: number | undefined; sees: (event: EventRecord) => boolean; zone: Zone }

/** From the one after `after` on, else from now on. Returns what ends it. */
export async function sendStored(
  feed: EventFeed,
  stream: PassThrough,
  { after, sees, zone }: Stored,
): Promise<() => void> {
  let [sending, again] = [false, false]
  let cursor: number | undefined
  const send = async () => {
    again = true
    if (sending || cursor === undefined) return
    sending = true
    while (again) {
      again = false
      for (let some = await feed.after(cursor); some.length > 0; some = await feed.after(cursor))
        for (const event of some) {
          if (stream.destroyed || stream.writableEnded) return
          // What is no longer kept cannot be sent: whoever asked for it must know.
          if (event.position > cursor + 1) stream.write('event: gap\ndata: {}\n\n')
          cursor = event.position
          if (sees(event) && !stream.write(textOf(event, zone))) await drained(stream)
        }
    }
    sending = false
  }
  const wake = () => void send().catch(() => stream.end())
  const leave = await feed.join(wake)
  cursor = after ?? feed.position
  wake()
  return leave
}

/** Takes its listeners away again: a slow reader would gather some with each full buffer. */
async function drained(stream: PassThrough): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  try {
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })])
  } finally {
    over.abort()
  }
}

function textOf(event: EventRecord, zone: Zone): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(showEvent(event, zone))}\n\n`
}
