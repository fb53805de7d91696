// Folders that lie inside one another: a channel's path could reach the keys of the house, or plant a script.

import assert from 'node:assert/strict'
import { mkdir, readdir, rmdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { once } from 'node:events'
import { test } from 'node:test'
import { launch } from '../crash/node-process.ts'
import type { Settings } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import type { TestContext } from 'node:test'
import { callBank, deliver, startCalledBank } from './partner.ts'

/** What `esclusa serve` says, and its exit code; a node that starts after all is stopped. */
async function tryToServe(
  t: TestContext,
  settings: Settings,
): Promise<{ code: number | null; said: string }> {
  const node = launch({ ESCLUSA_PORT: '0', ESCLUSA_LOG_LEVEL: 'error', ...settings }, ['serve'])
  const gone = once(node, 'exit')
  closeAfter(t, async () => {
    node.kill('SIGKILL')
    await gone
  })
  let said = ''
  const ready = new Promise<void>((resolve) =>
    node.stderr?.on('data', (piece) => {
      said += String(piece)
      if (said.includes('ready at')) resolve()
    }),
  )
  node.stdout?.resume()
  await Promise.race([gone, ready])
  return { code: node.exitCode, said }
}

async function doctor(settings: Settings): Promise<string> {
  const child = launch({ ESCLUSA_PORT: '0', ...settings }, ['doctor'])
  let said = ''
  child.stdout?.on('data', (piece) => (said += String(piece)))
  child.stderr?.resume()
  await once(child, 'close')
  assert.equal(child.exitCode, 1)
  return said
}

test('a node whose file root holds its data folder, and so its keys, does not start', async (t) => {
  const home = await tempFolder(t)
  const settings = { ESCLUSA_DATA_DIR: join(home, 'data'), ESCLUSA_FILE_ROOTS: home }
  const { code, said } = await tryToServe(t, settings)
  assert.equal(code, 2, said)
  assert.match(
    said,
    /ESCLUSA_DATA_DIR .* and ESCLUSA_FILE_ROOTS .* overlap: the first lies inside the second/,
  )
  assert.match(await doctor(settings), /WRONG {4}folders: ESCLUSA_DATA_DIR .*ESCLUSA_FILE_ROOTS .*overlap/)
})

test('a link does not hide that a root leads into the data folder', async (t) => {
  const home = await tempFolder(t)
  const dataDir = join(home, 'data')
  await mkdir(join(dataDir, 'partial'), { recursive: true })
  await symlink(join(dataDir, 'partial'), join(home, 'looks-apart'))
  const settings = { ESCLUSA_DATA_DIR: dataDir, ESCLUSA_FILE_ROOTS: join(home, 'looks-apart') }
  const { code, said } = await tryToServe(t, settings)
  assert.equal(code, 2, said)
  assert.match(said, /looks-apart, which is .*partial/)
})

test('a folder whose files the node runs is none that channels may write to', async (t) => {
  const home = await tempFolder(t)
  const settings = {
    ESCLUSA_DATA_DIR: join(home, 'data'),
    ESCLUSA_FILE_ROOTS: join(home, 'files'),
    ESCLUSA_SCRIPT_ROOTS: join(home, 'files', 'scripts'),
  }
  const { code, said } = await tryToServe(t, settings)
  assert.equal(code, 2, said)
  assert.match(
    said,
    /ESCLUSA_FILE_ROOTS .* and ESCLUSA_SCRIPT_ROOTS .* overlap: the second lies inside the first/,
  )
})

test('the data folder’s own files, and folders side by side, are no overlap', async (t) => {
  const home = await tempFolder(t)
  const { said } = await tryToServe(t, {
    ESCLUSA_DATA_DIR: join(home, 'data'),
    ESCLUSA_FILE_ROOTS: `${join(home, 'data', 'files')}:${join(home, 'data-files')}`,
    ESCLUSA_SCRIPT_ROOTS: join(home, 'scripts'),
  })
  assert.match(said, /ready at/)
})

test('a link that takes the place of an inbound folder leads no received file out of the file roots', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { NOMINA: {} })
  const outside = await tempFolder(t)
  const inbound = join(bank.files, 'NOMINA', 'in')
  await rmdir(inbound)
  await symlink(outside, inbound)
  const partner = await callBank(t, bank.port)
  assert.ok(typeof partner !== 'string')
  assert.equal(await deliver(partner, 'NOMINA'), 'EFNA')
  assert.deepEqual(await readdir(outside), [])
  const ended = await waitFor('the reception to end', () =>
    bank.store.db
      .selectFrom('transfer')
      .select(['state', 'error_code'])
      .where('ended_at', 'is not', null)
      .executeTakeFirst(),
  )
  assert.deepEqual(ended, { state: 'FAILED', error_code: 'no_rights' })
})
