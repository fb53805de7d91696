// A webhook receiver as a subscriber would write it: checks each signature with the Standard Webhooks library, and
// answers as the test tells it to.

import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { NodeEvent } from '../../src/contract/event-types.ts'
import { closeAfter } from '../support/harness.ts'

export const SECRET = `whsec_${Buffer.from('a secret that is 32 octets long!').toString('base64')}`

export type Heard = {
  event: NodeEvent
  id: string
  verified: boolean
  headers: IncomingHttpHeaders
  body: string
}

export type Answer = { status?: number; headers?: Record<string, string>; body?: string } | 'never'

export type Receiver = {
  url: string
  heard: Heard[]
  /** Decides each answer; 200 without it. */
  answer: (heard: Heard, nth: number) => Answer
}

export async function startReceiver(t: TestContext, secret = SECRET): Promise<Receiver> {
  const receiver: Receiver = { url: '', heard: [], answer: () => ({}) }
  const server = createServer((request, response) => void hear(request, response))
  async function hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += part as string
    const { headers } = request
    const heard = {
      event: JSON.parse(body) as NodeEvent,
      id: String(headers['webhook-id']),
      verified: verifies(secret, body, headers),
      headers,
      body,
    }
    receiver.heard.push(heard)
    const answer = receiver.answer(heard, receiver.heard.length)
    if (answer === 'never') return
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '')
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  closeAfter(t, async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return receiver
}

function verifies(secret: string, body: string, headers: IncomingHttpHeaders): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
