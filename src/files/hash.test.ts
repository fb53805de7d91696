import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { hashFile } from './hash.ts'

test('the hash of a file is SHA-256 of its bytes, also over several pieces', async (t) => {
  const path = join(await tempFolder(t), 'x')
  for (const size of [0, 1, 700_001]) {
    await writeFile(path, Buffer.alloc(size, 7))
    assert.equal(
      await hashFile(path),
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    )
  }
  await assert.rejects(
    hashFile(`${path}-missing`),
    (thrown) => (thrown as { code?: string }).code === 'file_missing',
  )
})
