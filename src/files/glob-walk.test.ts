import assert from 'node:assert/strict'
import { globSync, statSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { globTest, globWalk } from './glob-walk.ts'

const FILES = [
  'a.txt',
  'b.csv',
  'in/a.txt',
  'in/deep/a.txt',
  'in/deep/er/c.txt',
  'out/a.txt',
  '.hid/a.txt',
  '.a.txt',
]
const GLOBS = [
  '*',
  '*.txt',
  '*/a.txt',
  '*/*',
  '{in,out}/*.txt',
  '{in/deep,out}/a.txt',
  '[io]*/a.txt',
  'in/**/a.txt',
  '**/*.txt',
  'in/**',
  '**/deep/**/*.txt',
  '.*/a.txt',
  '.*',
  'in/./a.*',
  'nothing/*',
  'a.txt/*',
  '?n/deep/*',
  'in//a.*',
]

test('the walk finds the files that the platform’s own glob finds', async (t) => {
  const root = await tempFolder(t)
  for (const file of FILES) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), 'x')
  }
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true
  for (const glob of GLOBS) {
    const expected = globSync(glob, { cwd: root }).map((path) => join(root, path))
    const found = await globWalk(root, glob, () => true)
    assert.deepEqual(found.filter(isFile).sort(), expected.filter(isFile).sort(), glob)
    const told = FILES.filter(globTest(glob)).map((path) => join(root, path))
    assert.deepEqual(told.sort(), found.filter(isFile).sort(), `by the text: ${glob}`)
  }
})

test('many steps of any depth take no longer by the text than the path is long', () => {
  const matches = globTest(`${'**/*a*/'.repeat(30)}b`)
  assert.equal(matches(`${'a/'.repeat(60)}c`), false)
  assert.equal(matches(`${'a/'.repeat(60)}b`), true)
})

test('a pattern follows no links, climbs nowhere and reads no folder that it may not', async (t) => {
  const root = await tempFolder(t)
  await mkdir(join(root, 'mine'))
  await mkdir(join(root, 'theirs'))
  await writeFile(join(root, 'mine', 'a.txt'), 'x')
  await writeFile(join(root, 'theirs', 'secret.txt'), 'x')
  await symlink(join(root, 'theirs'), join(root, 'mine', 'link'))
  const mine = (glob: string) => globWalk(join(root, 'mine'), glob, () => true)
  assert.deepEqual(await mine('*/*.txt'), [])
  assert.deepEqual(await mine('**/*.txt'), [join(root, 'mine', 'a.txt')])
  for (const glob of ['{..,x}/theirs/*', '{.,x}{.,y}/theirs/*', 'l*/\\.\\./theirs/*', '*/../theirs/*'])
    assert.deepEqual(await mine(glob), [], glob)
  const read: string[] = []
  const only = await globWalk(root, '*/*.txt', (folder) => {
    read.push(folder)
    return !folder.endsWith('theirs')
  })
  assert.deepEqual(only, [join(root, 'mine', 'a.txt')])
  assert.ok(read.includes(join(root, 'theirs')))
})
