// Others with an account on the node's machine: what the node makes is its own, also in a data folder that was there
// before and under a lax umask; and its first password is in no log.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/store/database/open.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import { freePort } from '../support/sftp/openssh.ts'

const COMMAND = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))

test('nothing that a node makes can be read by other users of the machine, a database that was there included', async (t) => {
  const dataDir = join(await tempFolder(t), 'data')
  await mkdir(dataDir, { mode: 0o755 })
  const before = await openStore({ dataDir })
  await before.close()
  await chmod(join(dataDir, 'esclusa.db'), 0o644)
  await writeFile(join(dataDir, 'jwt-secret'), `${'s'.repeat(80)}\n`, { mode: 0o644 })
  const { said } = await serve(t, dataDir)
  const found = await readdir(dataDir, { recursive: true })
  assert.ok(found.includes('esclusa.db-wal') && found.includes('master-key'), found.join())
  const open: string[] = []
  for (const name of found) if (((await stat(join(dataDir, name))).mode & 0o077) !== 0) open.push(name)
  assert.deepEqual(open, [], 'open to others')
  // Standard error of a service is a log that is kept.
  const password = (await readFile(join(dataDir, 'first-password'), 'utf8')).trim()
  assert.ok(password.length >= 16)
  assert.ok(!said().includes(password), 'the first password was printed')
  assert.match(said(), /password {2}in .*first-password/)
})

test('compiled code is kept with the user, not where everybody may put some', async (t) => {
  const [home, everybodys] = [await tempFolder(t), await tempFolder(t)]
  const { PATH = '' } = process.env
  const env = { PATH, HOME: home, TMPDIR: everybodys }
  assert.equal(spawnSync(process.execPath, [COMMAND, '--version'], { env }).status, 0)
  assert.deepEqual(await readdir(everybodys), [])
  assert.deepEqual(await readdir(join(home, '.cache')), ['esclusa'])
})

async function serve(t: Parameters<typeof tempFolder>[0], dataDir: string): Promise<{ said: () => string }> {
  const env = {
    PATH: process.env.PATH ?? '',
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_SFTP_PORT: String(await freePort()),
    ESCLUSA_OFTP2_TLS_PORT: String(await freePort()),
  }
  const node = spawn('/bin/sh', ['-c', `umask 022; exec "${process.execPath}" "${COMMAND}" serve`], { env })
  const gone = once(node, 'exit')
  closeAfter(t, async () => {
    node.kill('SIGKILL')
    await gone
  })
  let said = ''
  for (const stream of [node.stdout, node.stderr]) stream.on('data', (piece) => (said += String(piece)))
  await waitFor('the node is ready', () => said.includes('What next'))
  return { said: () => said }
}
