// A node that is asked to stop in its very first moments is drained like any other.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { closeAfter, tempFolder } from '../harness.ts'
import { launch } from './node-process.ts'

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
