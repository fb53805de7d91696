// How the HTTP side, the engine and the other nodes of the platform tell each other news. On one node this goes by
// message to the engine's thread. On PostgreSQL it also goes by NOTIFY, and comes in by LISTEN. Correctness does not
// depend on it: a node that misses a message finds out from the database a moment later.

import type { ToEngine } from './engine/thread-messages.ts'
import type { TransferEvent } from './contract/event.ts'
import type { Wake } from './http/context.ts'
import type { EventHub } from './http/platform/events.ts'
import type { Log } from './log.ts'
import type { Store } from './store/database/store.ts'

export type Nodes = {
  wake(what: Wake): void
  /** Our engine says something of a transfer. */
  heard(event: TransferEvent): void
  /** Our engine has a file for a channel whose reception another node may have. */
  wanted(channelCode: string): void
  /** Our notifier has given events their place. */
  stored(): void
  close(): Promise<void>
}

type Word = { from: string; wake?: Wake; event?: TransferEvent; stored?: true; wanted?: string }

const CHANNEL = 'esclusa'
/** PostgreSQL takes at most 8000 octets. */
const LONGEST = 7000

type Parts = {
  store: Store
  log: Log
  owner: string
  tellEngine: (message: ToEngine) => void
  tellNotifier: () => void
  events: EventHub
}

export async function connectNodes(parts: Parts): Promise<Nodes> {
  const { store, log, owner, tellEngine, tellNotifier, events } = parts
  const tell = (what: Wake) => tellEngine(what.kind === 'cancelled' ? what : { kind: 'wake' })
  const spread = (word: Omit<Word, 'from'>) => {
    const text = JSON.stringify({ from: owner, ...word })
    if (!store.dialect.notify || Buffer.byteLength(text) > LONGEST) return
    store
      .notify(CHANNEL, text)
      .catch((thrown: unknown) => log.debug({ err: thrown }, 'other nodes could not be told'))
  }
  const stopListening = await store.listen?.(CHANNEL, (payload) => {
    const word = read(payload)
    if (word?.from === owner) return
    if (word?.event) {
      events.publish(word.event)
      if (freesChannel(word.event)) tellEngine({ kind: 'channel free', channelCode: word.event.channelCode })
    } else if (word?.wanted !== undefined) tellEngine({ kind: 'channel wanted', channelCode: word.wanted })
    else if (word?.stored) events.poke()
    else tell(word?.wake ?? { kind: 'due' })
  })
  return {
    wake: (what) => {
      tell(what)
      tellNotifier()
      spread({ wake: what })
    },
    heard: (event) => {
      events.publish(event)
      if (event.kind === 'state') tellNotifier()
      spread({ event })
    },
    wanted: (channelCode) => spread({ wanted: channelCode }),
    stored: () => {
      events.poke()
      spread({ stored: true })
    },
    close: async () => stopListening?.(),
  }
}

/** Or may have: one look too many does no harm. */
function freesChannel(event: TransferEvent): boolean {
  return event.kind === 'state' && event.direction === 'RECEPCION' && event.status !== 'IN_PROGRESS'
}

function read(payload: string): Word | undefined {
  try {
    return payload === '' ? undefined : (JSON.parse(payload) as Word) // said by spread() of another node
  } catch {
    return undefined
  }
}
