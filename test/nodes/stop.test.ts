import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startTestNode } from '../harness.ts'

test('a connection on which nothing was asked does not hold up the end of a node', async (t) => {
  const node = await startTestNode(t, { empty: true })
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  // Answered on another connection: the server knows of both.
  assert.equal((await fetch(`${node.url}/healthz`)).status, 200)
  const closed = once(socket, 'close')
  const began = Date.now()
  await node.stop()
  assert.ok(Date.now() - began < 30_000, `stopped after ${Date.now() - began} ms`)
  socket.resume()
  await closed
})
