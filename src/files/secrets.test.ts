import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { readSecrets } from './secrets.ts'

const NONE = { jwtSecret: undefined, masterKey: undefined }

function valuesOf({ jwtSecret, masterKey, jwt, master }: ReturnType<typeof readSecrets>) {
  return { jwtSecret, masterKey, current: [jwt.current(), master.current()] }
}

test('secrets are generated once, kept for the owner alone, long enough, and read again', async (t) => {
  const dataDir = join(await tempFolder(t), 'data')
  const first = readSecrets({ dataDir, ...NONE })
  assert.ok(Buffer.byteLength(first.jwtSecret) >= 64)
  assert.ok(Buffer.byteLength(first.masterKey) >= 32)
  assert.notEqual(first.jwtSecret, first.masterKey)
  assert.deepEqual(valuesOf(first).current, [first.jwtSecret, first.masterKey])
  assert.deepEqual(valuesOf(readSecrets({ dataDir, ...NONE })), valuesOf(first))
  assert.deepEqual((await readdir(dataDir)).sort(), ['jwt-secret', 'master-key'])
  for (const name of ['jwt-secret', 'master-key'])
    assert.equal((await stat(join(dataDir, name))).mode & 0o777, 0o600)
  assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
})

test('secrets of the settings are used as they are and never written down', async (t) => {
  const dataDir = await tempFolder(t)
  const given = { jwtSecret: 'j'.repeat(64), masterKey: 'm'.repeat(32) }
  const current = [given.jwtSecret, given.masterKey]
  assert.deepEqual(valuesOf(readSecrets({ dataDir, ...given })), { ...given, current })
  assert.deepEqual(await readdir(dataDir), [])
})
