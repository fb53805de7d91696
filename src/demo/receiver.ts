// What a subscriber would write to hear of the demo's events: checks the signature by the Standard Webhooks scheme and
// prints a line per event.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { NodeEvent } from '../contract/event-types.ts'

/** Events are small; more than this is not one of ours. */
const MOST_OCTETS = 64 * 1024

export function startReceiver(port: number, secret: string, print: (line: string) => void): Promise<Server> {
  const server = createServer((request, response) => {
    hear(request)
      .then((body) => {
        const known = isSigned(body, request.headers, secret)
        if (known) print(lineOf(JSON.parse(body) as NodeEvent)) // signed by our own node
        response.writeHead(known ? 204 : 401).end()
      })
      .catch(() => response.destroy())
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

async function hear(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of request.setEncoding('utf8')) {
    body += part as string
    if (body.length > MOST_OCTETS) throw new Error('too long')
  }
  return body
}

function isSigned(body: string, headers: IncomingHttpHeaders, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  const right = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`)
  const given = String(headers['webhook-signature']).split(' ').map(Buffer.from)
  return given.some((one) => one.length === right.length && timingSafeEqual(one, right))
}

function lineOf({ type, timestamp, channel = '', data }: NodeEvent): string {
  const { expectation, fileName, error, count, atLeast } = data
  const said = [
    expectation ?? fileName,
    error,
    atLeast === undefined ? undefined : `${String(count)} of ${String(atLeast)}`,
  ]
  const details = said.filter((one) => one !== undefined).join(', ')
  return `  heard ${timestamp.slice(11, 19)}  ${type.padEnd(20)} ${channel}  ${details}`
}
