// The end of a node: what must not hold it up, and what must not cut it short.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { openStore } from '../../src/store/database/open.ts'
import { launch } from '../crash/node-process.ts'
import { closeAfter, startTestNode, tempFolder } from '../support/harness.ts'

test(
  'a connection on which nothing was asked does not hold up the end of a node',
  { timeout: 30_000 },
  async (t) => {
    const node = await startTestNode(t, { empty: true })
    const socket = connect(Number(new URL(node.url).port), '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    // Answered on another connection: the server knows of both.
    assert.equal((await fetch(`${node.url}/healthz`)).status, 200)
    const closed = once(socket, 'close')
    await node.stop()
    socket.resume()
    await closed
  },
)

test('a node that is stopped before it is ready is drained, and leaves no sign of life', async (t) => {
  const dataDir = await tempFolder(t)
  const node = launch({ ESCLUSA_DATA_DIR: dataDir, ESCLUSA_PORT: '0' }, ['serve'])
  const gone = once(node, 'exit')
  closeAfter(t, async () => {
    node.kill('SIGKILL')
    await gone
  })
  assert.ok(node.stdout)
  // Its first line of log: the listener is open, the engine is not up.
  await once(node.stdout, 'data')
  node.kill('SIGTERM')
  node.stdout.resume()
  await gone
  assert.deepEqual([node.exitCode, node.signalCode], [0, null])
  const store = await openStore({ dataDir, databaseUrl: undefined })
  closeAfter(t, () => store.close())
  assert.deepEqual(await store.db.selectFrom('sign_of_life').selectAll().execute(), [])
})
