import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { chmod, mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import type { Directory } from '../contract/channel.ts'
import { findSendSet, groupMatcher, isSendable, outboundDirectoryOf } from './send-set.ts'

async function folderWith(t: TestContext, ...names: string[]): Promise<string> {
  const root = join(await tempFolder(t), 'root')
  await mkdir(root)
  for (const name of names) await put(join(root, name))
  return root
}

/** Old enough not to be looked at twice. */
async function put(path: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, path)
  await utimes(path, 1_700_000_000, 1_700_000_000)
}

async function names(root: string, ...directories: Directory[]): Promise<string[]> {
  const { files } = await findSendSet({ directories }, [root], Date.now())
  return files.map((file) => file.path.slice(root.length + 1))
}

test('a directory gives its regular files: not hidden, not partial, not locked, no links, no folders', async (t) => {
  const root = await folderWith(
    t,
    'b.txt',
    'a.txt',
    '.hidden',
    'x.part',
    'X.PART',
    'held.txt',
    'held.txt.lock',
    'h2.txt',
    'h2.txt.lck',
    'sub/deep.txt',
  )
  await symlink(join(root, 'a.txt'), join(root, 'link.txt'))
  assert.deepEqual(await names(root, { filePath: root }), ['a.txt', 'b.txt'])
  const { busy } = await findSendSet({ directories: [{ filePath: root }] }, [root], Date.now())
  assert.equal(busy, 2)
})

test('a file that is named is meant, whatever its name; a pattern finds hidden ones where it asks for them', async (t) => {
  const root = await folderWith(t, '.hidden', '.other', 'x.part', 'y.lck', 'plain.txt')
  for (const name of ['.hidden', 'x.part', 'y.lck'])
    assert.deepEqual(await names(root, { filePath: join(root, name) }), [name])
  assert.deepEqual(await names(root, { filePath: join(root, '.*') }), ['.hidden', '.other'])
  assert.deepEqual(await names(root, { filePath: join(root, '*') }), ['plain.txt'])
})

test('locks beside many files, in several folders, are found; a folder is no lock', async (t) => {
  const plain = Array.from({ length: 40 }, (_, number) => `f${String(number).padStart(2, '0')}.txt`)
  const held = ['held.txt', 'held.txt.lock', 'h2.txt', 'h2.txt.lck', 'free.txt']
  const all = [...plain, ...held].flatMap((name) => [`one/${name}`, `two/${name}`])
  const root = await folderWith(t, ...all)
  await mkdir(join(root, 'one', 'free.txt.lock'))
  const expected = ['free.txt', ...plain].sort()
  for (const directories of [
    [{ filePath: join(root, 'one') }, { filePath: join(root, 'two') }],
    [{ filePath: join(root, '*', '*.txt') }],
  ])
    assert.deepEqual(
      await names(root, ...directories),
      ['one', 'two'].flatMap((folder) => expected.map((name) => `${folder}/${name}`)),
    )
  const { busy } = await findSendSet({ directories: [{ filePath: join(root, 'one') }] }, [root], Date.now())
  assert.equal(busy, 2)
})

test('a file, a glob and several directories are taken together, each file once', async (t) => {
  const root = await folderWith(t, 'one/a.txt', 'one/b.dat', 'two/c.txt', 'alone.bin')
  assert.deepEqual(await names(root, { filePath: join(root, 'alone.bin') }), ['alone.bin'])
  assert.deepEqual(await names(root, { filePath: join(root, '*/*.txt') }), ['one/a.txt', 'two/c.txt'])
  assert.deepEqual(
    await names(root, { filePath: join(root, 'one') }, { filePath: join(root, 'one/*.txt') }),
    ['one/a.txt', 'one/b.dat'],
  )
  assert.deepEqual(await names(root, { direction: 'RECEPCION', filePath: join(root, 'one') }), [])
  assert.deepEqual(await names(root, { filePath: join(root, 'missing') }), [])
})

test('names that belong are those of the group', async (t) => {
  const root = await folderWith(t, 'NOM1.txt', 'NOM2.dat', 'FAC1.txt')
  assert.deepEqual(await names(root, { filePath: root, fileGroupsName: 'NOM*, *.xml' }), [
    'NOM1.txt',
    'NOM2.dat',
  ])
  const belongs = groupMatcher(' *.txt ,, FAC? ')
  assert.deepEqual(['a.txt', 'FAC1', 'FAC12', 'a.TXT'].map(belongs), [true, true, false, false])
  assert.ok(groupMatcher(undefined)('anything') && groupMatcher('')('anything'))
})

test('the directory of a path is one that would pick it up: the preferred one among several, else the first', () => {
  const directories: Directory[] = [
    { direction: 'RECEPCION', filePath: '/r/out' },
    { filePath: '/r/out/', fileGroupsName: '*.txt' },
    { filePath: '/r/o*/*.{txt,csv}' },
    { filePath: '/r/out/.named' },
    { filePath: '/r/x [1]' },
  ]
  const of = (path: string, preferred: number | null = null) => {
    const found = outboundDirectoryOf({ directories }, path, preferred)
    return found && directories.indexOf(found)
  }
  assert.equal(of('/r/out/a.txt'), 1)
  assert.equal(of('/r/out/a.txt', 2), 2)
  assert.equal(of('/r/out/a.txt', 0), 1)
  assert.equal(of('/r/out/a.csv', 1), 2)
  assert.equal(of('/r/out/.named'), 3)
  assert.equal(of('/r/x [1]/a.txt'), 4)
  for (const path of ['/r/out/a.dat', '/r/out/.a.txt', '/r/out/deep/a.txt', '/r/out', '/r/out2.txt'])
    assert.equal(of(path, 1), undefined, path)
})

test('a glob cannot climb out of the roots, by braces or by linked folders', async (t) => {
  const root = await folderWith(t, 'in/a.txt')
  await put(join(root, '..', 'outside', 'secret.txt'))
  await symlink(join(root, '..', 'outside'), join(root, 'door'))
  assert.deepEqual(await names(root, { filePath: join(root, '*/*.txt') }), ['in/a.txt'])
  assert.deepEqual(await names(root, { filePath: `${root}/{in,../outside}/*.txt` }), ['in/a.txt'])
  assert.deepEqual(await names(root, { filePath: `${root}/{door/secret.txt,in/a.txt}` }), ['in/a.txt'])
  await assert.rejects(names(root, { filePath: join(root, 'door') }), /leads out/)
})

test('a file that is still being written is left for later', async (t) => {
  const root = await folderWith(t, 'done.txt')
  const growing = join(root, 'growing.txt')
  await writeFile(growing, 'x')
  let size = 1
  const writer = setInterval(() => writeFileSync(growing, 'x'.repeat(size++)), 5)
  const { files, busy } = await findSendSet(
    { directories: [{ filePath: root }] },
    [root],
    Date.now(),
  ).finally(() => clearInterval(writer))
  assert.deepEqual(
    files.map((file) => file.name),
    ['done.txt'],
  )
  assert.equal(busy, 1)
})

test('a fresh file that does not change is taken', async (t) => {
  const root = await folderWith(t)
  await writeFile(join(root, 'fresh.txt'), 'x')
  assert.deepEqual(await names(root, { filePath: root }), ['fresh.txt'])
})

test('names that are not UTF-8 cannot be sent, and are counted', async (t) => {
  assert.equal(isSendable('caf\uFFFD.txt'), false)
  assert.equal(isSendable('café.txt'), true)
  const root = await folderWith(t)
  await writeFile(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9])]), 'x')
  const { files, unnamed } = await findSendSet({ directories: [{ filePath: root }] }, [root], Date.now())
  assert.deepEqual([files, unnamed], [[], 1])
})

test('what the node has no rights to look at is counted', async (t) => {
  const root = await folderWith(t)
  const listed = join(root, 'listed')
  await mkdir(listed)
  await writeFile(join(listed, 'a.txt'), 'x')
  for (const above of [root, dirname(root)]) await chmod(above, 0o755)
  await chmod(listed, 0o444)
  const isRoot = process.getuid?.() === 0
  // Root may look at everything.
  if (isRoot) process.seteuid?.(65_534)
  const looking = findSendSet({ directories: [{ filePath: listed }] }, [root], Date.now())
  const { files, hidden } = await looking.finally(() => {
    if (isRoot) process.seteuid?.(0)
  })
  await chmod(listed, 0o755)
  assert.deepEqual([files, hidden], [[], 1])
})

test('a directory may be a link inside the roots; a file may not, and that is said', async (t) => {
  const root = await folderWith(t, 'there/a.txt')
  await symlink('there', join(root, 'folder'))
  await symlink('there/a.txt', join(root, 'file'))
  assert.deepEqual(await names(root, { filePath: join(root, 'folder') }), ['folder/a.txt'])
  const filePath = join(root, 'file')
  const { files, places } = await findSendSet({ directories: [{ filePath }] }, [root], Date.now())
  assert.deepEqual([files, places], [[], [`${filePath}, which is a link`]])
})

test('a place that does not exist is told from one with nothing to send', async (t) => {
  const root = await folderWith(t)
  const placesOf = async (filePath: string) =>
    (await findSendSet({ directories: [{ filePath }] }, [root], Date.now())).places
  assert.deepEqual(await placesOf(root), [root])
  assert.deepEqual(await placesOf(join(root, '*.txt')), [join(root, '*.txt')])
  const gone = join(root, 'gone')
  assert.deepEqual(await placesOf(gone), [`${gone}, which does not exist`])
  assert.deepEqual(await placesOf(join(gone, '*.txt')), [
    `${join(gone, '*.txt')}, where ${gone} does not exist`,
  ])
})
