// Hands spans to a collector by OTLP over HTTP, as JSON. Traces are for looking at: what a collector does not take is
// dropped, and nothing waits for it.

import { messageOf } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { VERSION } from '../../root.ts'
import type { Span } from './spans.ts'

const AT_ONCE = 500
/** Kept at the most while the collector does not take any. */
const MOST = 5000
const WITHIN_MS = 1000
const TIME_LIMIT_MS = 10_000
const COMPLAIN_EVERY_MS = 60_000

export class TraceExporter {
  readonly #url: string
  readonly #log: Log
  #waiting: Span[] = []
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #complainedAt = -Infinity

  constructor(endpoint: string, log: Log) {
    this.#url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
    this.#log = log
  }

  add(spans: readonly Span[]): void {
    this.#waiting.push(...spans)
    const over = this.#waiting.length - MOST
    if (over > 0) {
      this.#waiting.splice(0, over)
      this.#complain(`${over} spans were dropped: the collector is too slow`)
    }
    this.#timer ??= setTimeout(() => void this.flush(), WITHIN_MS)
  }

  /** Resolves when all that waits was taken or dropped. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return (this.#sending ??= this.#send().finally(() => (this.#sending = undefined)))
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) await this.#post(this.#waiting.splice(0, AT_ONCE))
  }

  async #post(spans: readonly Span[]): Promise<void> {
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(requestOf(spans)),
        signal: AbortSignal.timeout(TIME_LIMIT_MS),
        redirect: 'error',
      })
      await answer.body?.cancel()
      if (!answer.ok) this.#complain(`answered ${answer.status}`)
    } catch (thrown) {
      this.#complain(messageOf(thrown))
    }
  }

  #complain(why: string): void {
    if (performance.now() - this.#complainedAt < COMPLAIN_EVERY_MS) return
    this.#complainedAt = performance.now()
    this.#log.warn({ why }, 'traces could not be handed to the collector')
  }
}

function requestOf(spans: readonly Span[]) {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  const resource = { attributes: [text('service.name', 'esclusa'), text('service.version', VERSION)] }
  return {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'esclusa', version: VERSION }, spans }] }],
  }
}
