import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { tempFolder } from '../../../../test/support/harness.ts'
import { fillUp, remount, skipWithoutMount, smallDisk } from '../../../../test/support/small-disk.ts'
import { hostKeyIn } from './host-key.ts'

test('processes that start together on one data folder all show the host key of the first', async (t) => {
  const folder = await tempFolder(t)
  const module = JSON.stringify(new URL('host-key.ts', import.meta.url).href)
  const program = `import { hostKeyIn } from ${module}
    process.stdout.write(hostKeyIn(${JSON.stringify(folder)}))`
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  const start = () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env })
  const shown = await Promise.all([start(), start(), start()])
  assert.deepEqual(readdirSync(folder), ['sftp-host-key.pem'])
  const key = readFileSync(join(folder, 'sftp-host-key.pem'), 'utf8')
  assert.deepEqual(
    shown.map(({ stdout }) => stdout),
    [key, key, key],
  )
})

test(
  'on a full disk no half host key is left, and one is made when there is room',
  {
    skip: skipWithoutMount,
  },
  async (t) => {
    const folder = join(await tempFolder(t), 'small')
    await smallDisk(t, folder)
    fillUp(folder)
    assert.throws(() => hostKeyIn(folder), { code: 'ENOSPC' })
    assert.deepEqual(readdirSync(folder), ['fill'])
    remount(folder, 'size=2m')
    const key = hostKeyIn(folder)
    assert.match(key, /^-----BEGIN RSA PRIVATE KEY-----/)
    assert.equal(hostKeyIn(folder), key)
  },
)
