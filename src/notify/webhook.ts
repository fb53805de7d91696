// One event posted to one endpoint. Redirections are not followed: where events go is decided by whoever set it.

import type { lookup as lookUp } from 'node:dns'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { NodeEvent } from '../contract/event-types.ts'
import type { Networks } from '../domain/network/networks.ts'
import { messageOf } from '../errors.ts'
import type { Try } from '../store/events/deliveries.ts'
import { guardedLookup, requireAllowed } from './guarded-lookup.ts'
import { signatureOf } from './signature.ts'
import { untilAborted } from './until-aborted.ts'

const TIME_LIMIT_MS = 15_000
const ANSWER_KEPT = 1024
/** After it comes another protocol, and nothing of this answer. */
const SWITCHING = 101

export type Post = {
  url: string
  secrets: readonly string[]
  event: NodeEvent
  now: number
  signal: AbortSignal
}

export type Posted = Try & {
  verdict: 'delivered' | 'failed' | 'gone'
  /** How long the endpoint asks to be left alone. */
  retryAfterMs?: number
}

export type Poster = { post(what: Post): Promise<Posted>; close(): void }

/** Connections are kept open between posts and used again. */
export function makePoster(
  open: Networks,
  userAgent: string,
  { resolve, limitMs = TIME_LIMIT_MS }: { resolve?: typeof lookUp; limitMs?: number | undefined } = {},
): Poster {
  const options = {
    keepAlive: true,
    keepAliveMsecs: 10_000,
    maxSockets: 16,
    maxFreeSockets: 4,
    timeout: 60_000,
  }
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  const lookup = guardedLookup(open, resolve)
  return {
    post: async (what) => {
      const began = performance.now()
      const signal = AbortSignal.any([what.signal, AbortSignal.timeout(limitMs)])
      const took = () => ({ at: what.now, tookMs: Math.round(performance.now() - began) })
      try {
        const url = new URL(what.url)
        requireAllowed(url.hostname, open)
        const body = JSON.stringify(what.event)
        const timestamp = Math.floor(what.now / 1000)
        const { id } = what.event
        const secure = url.protocol === 'https:'
        const call = (secure ? httpsRequest : httpRequest)(url, {
          method: 'POST',
          agent: secure ? agents.https : agents.http,
          lookup,
          signal,
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': userAgent,
            'webhook-id': id,
            'webhook-timestamp': timestamp,
            'webhook-signature': signatureOf({ id, timestamp, body }, what.secrets),
          },
        })
        return { ...(await untilAborted(signal, answerTo(call, body))), ...took() }
      } catch (thrown) {
        what.signal.throwIfAborted()
        const late = signal.aborted && `no answer within ${limitMs / 1000} s`
        return { verdict: 'failed', error: late || messageOf(thrown), ...took() }
      }
    },
    close: () => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

async function answerTo(call: ClientRequest, body: string): Promise<Omit<Posted, 'at' | 'tookMs'>> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  call.once('response', resolve)
  // With nobody who listens for it, the connection of an upgrade goes without an answer and without an error.
  call.once('upgrade', (response, socket) => {
    socket.destroy()
    resolve(response)
  })
  call.once('error', reject)
  call.once('close', () => reject(new Error('the connection was closed without an answer')))
  call.end(body)
  const response = await promise
  const status = response.statusCode ?? 0
  const answer = status === SWITCHING ? '' : await firstOf(response)
  const verdict = status >= 200 && status < 300 ? 'delivered' : status === 410 ? 'gone' : 'failed'
  const seconds = Number(response.headers['retry-after'] ?? Number.NaN)
  return {
    verdict,
    status,
    ...(answer !== '' && { answer }),
    ...(verdict === 'failed' && { error: wordsFor(status) }),
    ...(seconds > 0 && { retryAfterMs: seconds * 1000 }),
  }
}

function wordsFor(status: number): string {
  return status >= 300 && status < 400
    ? `answered ${status}: redirections are not followed`
    : `answered ${status}`
}

/** The first kilobyte as text; a longer answer is cut off, and its connection with it. */
async function firstOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response) {
    parts.push(part as Buffer)
    length += (part as Buffer).length
    if (length > 64 * ANSWER_KEPT) break
  }
  const text = Buffer.concat(parts).subarray(0, ANSWER_KEPT).toString('utf8')
  return text.replaceAll('\0', '').replace(/\uFFFD+$/, '')
}
