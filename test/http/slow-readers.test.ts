// Readers of the event stream that do not read: what the node keeps for them is bounded.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import type { TransferEvent } from '../../src/contract/event.ts'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { addPlatformRoutes } from '../../src/http/health-and-console.ts'
import { EventHub } from '../../src/http/platform/events.ts'
import { buildServer } from '../../src/http/server.ts'
import { closeAfter, startTestHttp, waitFor } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'

const MIB = 1024 * 1024
/** More than the system keeps for a connection, on both of its sides. */
const MUCH = 64 * MIB
const LONG = 'x'.repeat(16_000)

const subject = { transferId: 'one', channelCode: PLAIN, direction: 'EMISION', at: 1 } as const
const state: TransferEvent = { kind: 'state', ...subject, status: 'FAILED', error: LONG }
const progress: TransferEvent = {
  kind: 'progress',
  ...subject,
  fileName: LONG,
  fileBytes: 1,
  fileSize: 2,
  bytes: 1,
  totalBytes: 2,
  files: 0,
  totalFiles: 1,
  rate: 1,
}

async function openWithoutReading(t: TestContext) {
  const node = await startTestHttp(t)
  const app = buildServer(node.context, { log: pino({ level: 'silent' }) })
  const hub = new EventHub()
  addPlatformRoutes(app, node.context, hub)
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => {})
  closeAfter(t, async () => {
    socket.destroy()
    hub.close()
    await app.close()
  })
  const token = await node.token('admin')
  socket.write(`GET ${BASE_PATH}/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  await waitFor('the stream', () => hub.size === 1)
  /** Until so much was told, or the stream is gone. */
  const tell = async (event: TransferEvent, octets: number) => {
    for (let told = 0; told < octets && hub.size === 1; told += LONG.length) {
      hub.publish(event)
      await nextTurn()
    }
  }
  return { hub, socket, tell }
}

test('who does not read loses progress and keeps the stream', async (t) => {
  const { hub, socket, tell } = await openWithoutReading(t)
  await tell(progress, MUCH)
  assert.equal(hub.size, 1)
  let octets = 0
  let tail = ''
  socket.on('data', (chunk: Buffer) => {
    octets += chunk.length
    tail = (tail + chunk.toString()).slice(-2 * LONG.length)
  })
  // What was kept has come once this has: states are told in their order.
  hub.publish(state)
  await waitFor('the state', () => tail.includes('event: state'))
  assert.ok(octets < MUCH / 2, `${octets} octets were kept`)
})

test('who does not read and is too far behind with states is cut off', async (t) => {
  const { hub, tell } = await openWithoutReading(t)
  await tell(state, MUCH)
  await waitFor('the end of the stream', () => hub.size === 0, 10_000)
})
