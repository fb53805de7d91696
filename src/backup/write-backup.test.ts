import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqlite, tempFolder, withStore } from '../../test/support/harness.ts'
import { openStore } from '../store/database/open.ts'
import { verifyBackup } from './verify-backup.ts'
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

test('of two backups to one name at once one is made, whole, and what killed ones left is removed', async (t) => {
  const dataDir = await tempFolder(t)
  const store = await openStore({ dataDir })
  t.after(() => store.close())
  await writeFile(join(dataDir, 'big'), randomBytes(8_000_000))
  const folder = await tempFolder(t)
  const target = join(folder, 'x.tar.gz')
  const now = Date.now()
  const [old, young] = ['.w.tar.gz.making-0123abcd.db', '.x.tar.gz.making-0123abcd']
  for (const name of [old, young]) await writeFile(join(folder, name), '')
  await utimes(join(folder, old), 0, now / 1000 - 2 * 86_400)
  const parts = { store, dataDir, fileRoots: [], now }
  const made = await Promise.allSettled([writeBackup(target, parts), writeBackup(target, parts)])
  assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const refused = made.find((one) => one.status === 'rejected')
  assert.match(String(refused?.reason), /exists already/)
  await verifyBackup(target, undefined)
  assert.deepEqual((await readdir(folder)).sort(), [young, 'x.tar.gz'])
})
