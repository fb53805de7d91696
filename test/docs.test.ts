// The docs' tables and maps are those of the code, and no doc or source points outside the project.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generated } from '../tools/docs.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

for (const [file, make] of Object.entries(generated))
  test(`docs/${file} is what the code says (node tools/docs.ts writes it)`, () => {
    assert.equal(readFileSync(join(ROOT, 'docs', file), 'utf8'), make())
  })

const markdown = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter(Boolean)

test('every relative link in the docs leads to a file of the project', () => {
  const broken = markdown.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map((match) => match[1] ?? '')
      .filter((link) => !existsSync(join(ROOT, dirname(file), link)))
      .map((link) => `${file}: ${link}`)
  })
  assert.deepEqual(broken, [])
})

/** Folders that hold files, with those around them. */
function foldersOf(root: string): string[] {
  const files = globSync(`${root}/**/*`, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile())
  const folders = new Set<string>()
  for (const { parentPath } of files)
    for (let at = relative(ROOT, parentPath); at !== '.' && !folders.has(at); at = dirname(at))
      folders.add(at)
  return [...folders].toSorted()
}

/** What git leaves out lies at the top too, but is nobody's work. */
function topFolders(): string[] {
  const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')
  return readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .filter((name) => !ignored.some((line) => line.replaceAll('/', '') === name))
}

/** The tree of docs/architecture.md: paths of folders and files, by their indentation. */
function mapped(): string[] {
  const [, tree = ''] = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').split('```\n')
  const trail: string[] = []
  return tree
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', name] = /^( *)(\S+)/.exec(line) ?? []
      if (name === undefined) return []
      const depth = indent.length / 2
      trail.splice(depth, trail.length, name)
      return [trail.join('')]
    })
    .filter((path) => path !== 'build/')
}

test('the map in docs/architecture.md has every folder, and no other', () => {
  const real = new Set([...topFolders(), ...foldersOf('src')].map((path) => `${path}/`))
  const inMap = mapped()
  assert.deepEqual(
    inMap.filter((path) => path.endsWith('/')).toSorted(),
    [...real].toSorted(),
    'docs/architecture.md against the tree',
  )
  const files = inMap.filter((path) => !path.endsWith('/'))
  assert.deepEqual(
    files.toSorted(),
    globSync('src/*.ts', { cwd: ROOT })
      .filter((path) => !path.includes('.test.'))
      .toSorted(),
    'the files at the top of src',
  )
})

test('what README, architecture and glossary name by path is there', () => {
  const missing = ['README.md', 'docs/architecture.md', 'docs/glossary.md'].flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const named = [...text.matchAll(/`((?:src|sdk|console|test|bench|tools|bin|docs)\b[\w./-]*)`/g)].map(
      ([, path = '']) => path,
    )
    assert.ok(page !== 'README.md' || named.length > 5)
    return named.filter((path) => !existsSync(join(ROOT, path))).map((path) => `${page}: ${path}`)
  })
  assert.deepEqual(missing, [])
  const [, map = ''] = readFileSync(join(ROOT, 'README.md'), 'utf8').split('## Map')
  const named = [
    ...foldersOf('src').filter((path) => path.split('/').length === 2),
    ...topFolders().filter((path) => path !== 'src'),
  ]
  assert.deepEqual(
    named.filter((path) => !map.includes(`\`${path}\``)),
    [],
    'README has every folder of the first two levels in its map',
  )
})
