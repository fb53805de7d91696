// `esclusa serve` as a process: how it ends when it cannot start, and how it is stopped.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { request } from '../../../test/support/call.ts'
import { closeAfter, tempFolder, waitFor } from '../../../test/support/harness.ts'
import { readConfig } from '../../config.ts'
import { BASE_PATH } from '../../contract/operations.ts'
import { startNode } from '../../main.ts'

const BINARY = fileURLToPath(new URL('../../../bin/esclusa.js', import.meta.url))
const LIMIT = { timeout: 60_000 }

function serve(t: TestContext, settings: Record<string, string>) {
  const node = spawn(process.execPath, [BINARY, 'serve'], {
    env: { PATH: process.env.PATH ?? '', ...settings },
  })
  let [log, said] = ['', '']
  node.stdout.on('data', (chunk) => (log += chunk))
  node.stderr.on('data', (chunk) => (said += chunk))
  const ended = once(node, 'close').then(([exit, signal]: unknown[]) => ({ exit, signal, log, said }))
  closeAfter(t, async () => {
    node.kill('SIGKILL')
    await ended
  })
  return { node, ended, said: () => said }
}

async function takenPort(t: TestContext): Promise<string> {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  closeAfter(t, async () => void holder.close())
  return String((holder.address() as AddressInfo).port)
}

test(
  'a node that cannot listen ends with exit 2 and the settings, and its administrator is shown later',
  LIMIT,
  async (t) => {
    const dataDir = join(await tempFolder(t), 'data')
    const port = await takenPort(t)
    const { exit, said } = await serve(t, { ESCLUSA_DATA_DIR: dataDir, ESCLUSA_PORT: port }).ended
    assert.equal(exit, 2, said)
    assert.ok(
      said.startsWith(`esclusa: cannot listen on 127.0.0.1:${port} (ESCLUSA_HOST, ESCLUSA_PORT): `),
      said,
    )
    const password = (await readFile(join(dataDir, 'first-password'), 'utf8')).trim()
    const settings = { ESCLUSA_DATA_DIR: dataDir, ESCLUSA_PORT: '0', ESCLUSA_LOG_LEVEL: 'silent' }
    const node = await startNode(readConfig(settings))
    closeAfter(t, () => node.stop())
    assert.deepEqual(node.firstAdmin, {
      username: 'admin',
      password,
      code: (await readFile(join(dataDir, 'first-run-code'), 'utf8')).trim(),
    })
    const session = await request(`${node.url}${BASE_PATH}/platform/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password }),
    })
    assert.equal(session.status, 200, session.text)
    const { db } = node.context.store
    const trail = await db.selectFrom('audit').select('action').orderBy('at').execute()
    const count = (action: string) => trail.filter((entry) => entry.action === action).length
    assert.deepEqual([count('NODE_STARTED'), count('NODE_STOPPED'), count('USER_CREATED')], [2, 1, 1])
  },
)

test(
  'a partner listener that cannot listen, or TLS files that are not there, end the node the same way',
  LIMIT,
  async (t) => {
    const settings = async () => ({
      ESCLUSA_DATA_DIR: join(await tempFolder(t), 'data'),
      ESCLUSA_PORT: '0',
    })
    const [oftp2, sftp, files] = await Promise.all([
      serve(t, { ...(await settings()), ESCLUSA_OFTP2_PORT: await takenPort(t) }).ended,
      serve(t, { ...(await settings()), ESCLUSA_SFTP_PORT: await takenPort(t) }).ended,
      serve(t, { ...(await settings()), ESCLUSA_TLS_CERT: '/no/cert', ESCLUSA_TLS_KEY: '/no/key' }).ended,
    ])
    for (const [{ said, exit }, setting] of [
      [oftp2, 'ESCLUSA_OFTP2_PORT'],
      [sftp, 'ESCLUSA_SFTP_PORT'],
    ] as const) {
      assert.match(said, /^esclusa: cannot listen .*EADDRINUSE/)
      assert.match(said, new RegExp(`\\(ESCLUSA_LISTEN_HOST, ${setting}\\)$`, 'm'))
      assert.equal(exit, 2)
    }
    assert.match(files.said, /^esclusa: settings ESCLUSA_TLS_CERT and ESCLUSA_TLS_KEY must name files/)
    assert.equal(files.exit, 2)
  },
)

test('a closed terminal (SIGHUP) drains the node like SIGTERM', LIMIT, async (t) => {
  const dataDir = join(await tempFolder(t), 'data')
  const { node, ended, said } = serve(t, { ESCLUSA_DATA_DIR: dataDir, ESCLUSA_PORT: '0' })
  await waitFor('the node', () => said().includes('is ready'))
  node.kill('SIGHUP')
  const { exit, signal, log } = await ended
  assert.deepEqual({ exit, signal }, { exit: 0, signal: null })
  assert.match(log, /"msg":"draining"[^]*"msg":"stopped"/)
})
