import assert from 'node:assert/strict'
import { readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqlite, tempFolder, withStore } from '../../test/support/harness.ts'
import { writeBackup } from './write-backup.ts'

test('a backup to a place that cannot be written says which and why, and leaves nothing', async (t) => {
  const store = await withStore(t, sqlite)
  const folder = await tempFolder(t)
  await writeFile(join(folder, 'file'), '')
  const parts = { store, dataDir: await tempFolder(t), fileRoots: [], now: Date.now() }
  for (const [target, code] of [
    [join(folder, 'nowhere', 'x.tar.gz'), 'ENOENT'],
    [join(folder, 'file', 'x.tar.gz'), 'ENOTDIR'],
  ] as const)
    for (const passphrase of [undefined, 'a long passphrase'])
      await assert.rejects(writeBackup(target, { ...parts, passphrase }), {
        name: 'NodeError',
        message: `${target} cannot be written: ${code}`,
      })
  assert.deepEqual(await readdir(folder), ['file'])
})

test('a backup whose reading fails ends with that error, sealed or not', async (t) => {
  const store = await withStore(t, sqlite)
  const folder = await tempFolder(t)
  // A data folder without a database in it.
  const parts = { store, dataDir: await tempFolder(t), fileRoots: [], now: Date.now() }
  for (const passphrase of [undefined, 'a long passphrase'])
    await assert.rejects(writeBackup(join(folder, 'x.tar.gz'), { ...parts, passphrase }), /database/)
  assert.deepEqual(await readdir(folder), [])
})

test('a backup into the data folder is refused: the next one would hold it', async (t) => {
  const store = await withStore(t, sqlite)
  const dataDir = await tempFolder(t)
  const elsewhere = await tempFolder(t)
  await symlink(dataDir, join(elsewhere, 'link'))
  const parts = { store, dataDir, fileRoots: [], now: Date.now() }
  for (const target of [
    join(dataDir, 'x.tar.gz'),
    join(dataDir, 'backups', 'x'),
    join(elsewhere, 'link', 'x'),
  ])
    await assert.rejects(writeBackup(target, parts), /lies in the data folder/)
  assert.deepEqual(await readdir(dataDir), [])
})
