import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { tempFolder } from '../../../test/support/harness.ts'
import { zoneOf } from '../../domain/time.ts'
import { deleteOriginal, moveOriginal } from './post-action.ts'
import type { Original } from './post-action.ts'

const NEXT = 'the next file'
const ROUNDS = 150

for (const action of ['deleted', 'moved'])
  test(`the owner’s next file stays, at whatever moment of the old one being ${action} it takes its name`, async (t) => {
    const root = await tempFolder(t)
    const [out, sent] = [join(root, 'out'), join(root, 'sent')]
    for (const folder of [out, sent]) await mkdir(folder)
    const to = { directory: sent, fileRoots: [root], rename: false, at: 0, zone: zoneOf('UTC') }
    const act = async (file: Original) => {
      if (action === 'deleted') await deleteOriginal(file)
      else await moveOriginal(file, to).catch(unlessChanged)
    }
    for (let round = 0; round < ROUNDS; round++) {
      const [path, next] = [join(out, `${round}`), join(root, `next${round}`)]
      await writeFile(path, 'old')
      await utimes(path, 1000, 1000)
      await writeFile(next, NEXT)
      const acting = act({ path, size: 3, modifiedAt: 1_000_000, hash: null })
      for (let turns = round % 50; turns > 0; turns--) await turn()
      renameSync(next, path)
      await acting
      assert.ok(existsSync(path), `round ${round}: removed without being sent`)
      assert.equal(readFileSync(path, 'utf8'), NEXT)
      const moved = join(sent, `${round}`)
      if (existsSync(moved)) assert.equal(readFileSync(moved, 'utf8'), 'old')
    }
  })

test('a file that is gone was moved only if what lies at the target is that file', async (t) => {
  const root = await tempFolder(t)
  const [out, done] = [join(root, 'out'), join(root, 'done')]
  for (const folder of [out, done]) await mkdir(folder)
  const path = join(out, 'm1.txt')
  const hash = createHash('sha256').update('today').digest('hex')
  const file = { path, size: 5, modifiedAt: 1_000_000, hash }
  const to = { directory: done, fileRoots: [root], rename: false, at: 0, zone: zoneOf('UTC') }
  const put = async () => {
    await writeFile(path, 'today')
    await utimes(path, 1000, 1000)
  }
  await writeFile(join(done, 'm1.txt'), 'other')
  await put()
  await assert.rejects(moveOriginal(file, to), { code: 'name_taken' })
  renameSync(path, join(root, 'aside'))
  await assert.rejects(moveOriginal(file, to), { code: 'file_missing' })
  await assert.rejects(moveOriginal(file, { ...to, rename: true }), { code: 'file_missing' })
  // What an earlier try moved is found, under a stamp too.
  await put()
  const moved = await moveOriginal(file, { ...to, rename: true })
  assert.ok(moved !== null && moved !== join(done, 'm1.txt'))
  assert.equal(await moveOriginal(file, { ...to, rename: true }), moved)
  renameSync(moved, join(done, 'm1.txt'))
  assert.equal(await moveOriginal(file, to), join(done, 'm1.txt'))
})

function unlessChanged(thrown: unknown): void {
  if ((thrown as { code?: string }).code !== 'file_changed') throw thrown
}
