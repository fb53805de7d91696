// The end of a node: what must not hold it up, and what must not cut it short.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/store/database/open.ts'
import { launch } from '../crash/node-process.ts'
import { closeAfter, startTestNode, tempFolder, waitFor } from '../support/harness.ts'

/** A node in a process of its own. */
function serve(t: TestContext, dataDir: string) {
  const node = launch({ ESCLUSA_DATA_DIR: dataDir, ESCLUSA_PORT: '0' }, ['serve'])
  const gone = once(node, 'exit')
  closeAfter(t, async () => {
    node.kill('SIGKILL')
    await gone
  })
  const { stdout } = node
  assert.ok(stdout)
  return { node, gone, stdout }
}

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

test('a request that was begun before a node stops is answered', { timeout: 30_000 }, async (t) => {
  const node = await startTestNode(t, { empty: true })
  const port = Number(new URL(node.url).port)
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  t.after(() => socket.destroy())
  socket.write('GET /healthz HTTP/1.1\r\n')
  // Answered on another connection: the server has read both.
  assert.equal((await fetch(`${node.url}/healthz`)).status, 200)
  const stopped = node.stop()
  await waitFor('the listener to be closed', async () => {
    const other = connect(port, '127.0.0.1')
    const refused = await Promise.race([once(other, 'connect'), once(other, 'error')]).then(
      () => false,
      () => true,
    )
    other.destroy()
    return refused
  })
  socket.write('Host: here\r\nConnection: close\r\n\r\n')
  const answer = (await socket.toArray()).join('')
  assert.match(answer, /^HTTP\/1\.1 200 /)
  await stopped
})

test('a node that is stopped before it is ready is drained, and leaves no sign of life', async (t) => {
  const dataDir = await tempFolder(t)
  const { node, gone, stdout } = serve(t, dataDir)
  // Its first line of log: the listener is open, the engine is not up.
  await once(stdout, 'data')
  node.kill('SIGTERM')
  stdout.resume()
  await gone
  assert.deepEqual([node.exitCode, node.signalCode], [0, null])
  const store = await openStore({ dataDir, databaseUrl: undefined })
  closeAfter(t, () => store.close())
  assert.deepEqual(await store.db.selectFrom('sign_of_life').selectAll().execute(), [])
})

test('a Ctrl-C that comes twice does not cut the drain short', async (t) => {
  const dataDir = await tempFolder(t)
  const { node, gone, stdout } = serve(t, dataDir)
  for await (const line of createInterface(stdout)) {
    if (line.includes('"msg":"ready"')) node.kill('SIGINT')
    if (line.includes('"msg":"draining"')) node.kill('SIGINT')
  }
  await gone
  assert.deepEqual([node.exitCode, node.signalCode], [0, null])
})

const ownNode = new URL(
  `../../node_modules/node-${process.platform}-${process.arch}/bin/node`,
  import.meta.url,
)

test(
  'a command that an older Node hands over ends by the signal that ended it',
  { skip: existsSync(ownNode) ? false : 'npm has brought no Node along' },
  async (t) => {
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`
    const command = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))
    // A node that never answers.
    const silent = createServer().listen(0, '127.0.0.1')
    closeAfter(t, async () => {
      silent.closeAllConnections()
      silent.close()
    })
    await once(silent, 'listening')
    const asked = once(silent, 'request')
    const child = spawn(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(older)}`, command, 'channels'],
      {
        env: {
          PATH: process.env['PATH'],
          HOME: process.env['HOME'],
          ESCLUSA_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
          ESCLUSA_TOKEN: 'any',
        },
        stdio: 'ignore',
      },
    )
    const gone = once(child, 'exit')
    closeAfter(t, async () => {
      child.kill('SIGKILL')
      await gone
    })
    await asked
    child.kill('SIGINT')
    assert.deepEqual(await gone, [null, 'SIGINT'])
  },
)
