// Makes traces of transfers when they have ended, from what the database knows: whichever node takes the event of the
// end tells its trace, so each is told by one node, whoever ran the transfer.

import { setTimeout as delay } from 'node:timers/promises'
import type { EventRecord } from '../../domain/event.ts'
import { isOver } from '../../domain/transfer.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/database/store.ts'
import { eventsOfChannelSince } from '../../store/events/list.ts'
import { findTransfer } from '../../store/transfers/transfers.ts'
import { findTraceParent } from '../../store/watching/traces.ts'
import { TraceExporter } from './exporter.ts'
import { spansOf } from './spans.ts'

const ENDS = new Set<EventRecord['type']>(['transfer.completed', 'transfer.failed', 'transfer.cancelled'])
/** At once: what is read for traces must not hold up the telling of events. */
const MOST_WAITING = 1000

/** A stop waits no longer for a collector that does not answer. */
const STOP_MS = 3000

export type Tracer = { taken(events: readonly EventRecord[]): void; stop(): Promise<void> }

/** undefined: nobody asks for traces. */
export function makeTracer(endpoint: string | undefined, db: Db, log: Log): Tracer | undefined {
  if (endpoint === undefined) return undefined
  const exporter = new TraceExporter(endpoint, log)
  let waiting = 0
  let turn = Promise.resolve()
  return {
    taken: (events) => {
      for (const event of events) {
        if (!ENDS.has(event.type) || waiting >= MOST_WAITING) continue
        waiting++
        turn = turn
          .then(() => trace(exporter, db, event))
          .catch((thrown: unknown) => log.warn({ err: thrown }, 'a transfer could not be traced'))
          .finally(() => void waiting--)
      }
    },
    stop: async () => {
      const told = turn.then(() => exporter.flush())
      await Promise.race([told, delay(STOP_MS, undefined, { ref: false })])
    },
  }
}

async function trace(exporter: TraceExporter, db: Db, { data, contactId }: EventRecord): Promise<void> {
  const transfer = 'transferId' in data ? await findTransfer(db, data.transferId) : undefined
  if (!transfer || !isOver(transfer.state)) return
  const since = transfer.startedAt ?? transfer.requestedAt
  const fileEnds = new Map<string, number>()
  for (const event of await eventsOfChannelSince(db, transfer.channelCode, since))
    if ((event.type === 'file.sent' || event.type === 'file.received') && 'fileName' in event.data)
      if (event.data.transferId === transfer.id) fileEnds.set(event.data.fileName, event.at)
  const traceparent = await findTraceParent(db, transfer.id)
  const errorCode = 'errorCode' in data ? data.errorCode : undefined
  exporter.add(spansOf({ transfer, partner: contactId, errorCode, traceparent, fileEnds }))
}
