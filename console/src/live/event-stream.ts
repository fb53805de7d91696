// The node's event stream, read with fetch: it says when the node refuses, which the browser's EventSource does not. It
// is opened again whenever it breaks, at growing intervals, until it is stopped or the node refuses.

import type { NodeEvent } from '../../../src/contract/event-types.ts'
import type { TransferEvent } from '../../../src/contract/event.ts'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { consoleHeaders } from '../session/console-client.ts'

export type StreamState = 'connecting' | 'open' | 'refused'

/** Stored events come too; they say by their type what happened. */
export type HeardEvent = TransferEvent | NodeEvent

type Listener = {
  /** Of the page that listens. */
  username: string
  heard(event: HeardEvent): void
  changed(state: StreamState): void
  /** Whether the node answered, each time that it was tried or heard. */
  answered(does: boolean): void
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000
/** The node sends something every 15 seconds. A stream that is silent for longer is dead. */
const SILENCE_MS = 45_000

export async function followEvents(listener: Listener, signal: AbortSignal): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS
  while (!signal.aborted) {
    listener.changed('connecting')
    const outcome = await readOnce(listener, signal)
    if (outcome === 'failed' && !signal.aborted) listener.answered(false)
    if (outcome === 'refused') {
      listener.changed('refused')
      return
    }
    pauseMs = outcome === 'ended' ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2)
    await pause(pauseMs, signal)
  }
}

async function readOnce(listener: Listener, signal: AbortSignal): Promise<'refused' | 'ended' | 'failed'> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const response = await fetch(`${BASE_PATH}/events`, {
      headers: consoleHeaders(listener.username),
      signal: AbortSignal.any([signal, silence.signal]),
    })
    if (response.status === 401 || response.status === 403) return 'refused'
    if (!response.ok || !response.body) return 'failed'
    listener.changed('open')
    listener.answered(true)
    const parse = makeParser(listener.heard)
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return 'ended'
      listener.answered(true)
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      parse(value)
    }
  } catch {
    return 'failed'
  } finally {
    clearTimeout(timer)
  }
}

/** Server-sent events: one field per line, an empty line ends an event. Only `data` is used here. */
export function makeParser(heard: (event: HeardEvent) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    rest += text
    const events = rest.split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
      if (data.length > 0) heard(JSON.parse(data.join('\n')) as HeardEvent) // written by the node from its schema
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
