// The node's own small files where the disk has no room for them. The tests are skipped, visibly, where none may be mounted.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { fillUp, remount, skipWithoutMount, smallDisk } from '../../test/support/small-disk.ts'
import { keepHead, keptHead } from '../audit/sealer.ts'
import { replaceText } from './replace-text.ts'
import { readSecrets } from './secrets.ts'

function openIn(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((one) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${one}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return [] // that of the listing itself
    }
  })
}

for (const [what, write, isThere] of [
  [
    'the head of the audit trail',
    (folder) => keepHead(folder, { seq: 7, hash: 'abc', at: 1 }),
    (folder) => keptHead(folder)?.seq === 7,
  ],
  [
    'a key that replaces another',
    (folder) => replaceText(join(folder, 'key'), 'new\n'),
    (folder) => readFileSync(join(folder, 'key'), 'utf8') === 'new\n',
  ],
  [
    'secrets that are made',
    (folder) => readSecrets({ dataDir: folder, jwtSecret: undefined, masterKey: undefined }),
    (folder) => readFileSync(join(folder, 'jwt-secret'), 'utf8').length > 64,
  ],
] as [string, (folder: string) => unknown, (folder: string) => boolean][])
  test(
    `on a full disk ${what} fails without an open file or a draft left, and is there when there is room`,
    {
      skip: skipWithoutMount,
    },
    async (t) => {
      const folder = join(await tempFolder(t), 'small')
      await smallDisk(t, folder)
      fillUp(folder)
      for (let nth = 0; nth < 3; nth++) assert.throws(() => write(folder), { code: 'ENOSPC' })
      assert.deepEqual(openIn(folder), [])
      assert.deepEqual(readdirSync(folder), ['fill'])
      remount(folder, 'size=2m')
      write(folder)
      assert.ok(isThere(folder))
    },
  )
