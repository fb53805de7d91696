// The docs' tables and maps are those of the code, and no doc or source points outside the project.

import { Command } from 'commander'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addClientCommands } from '../src/cli/client/client-commands.ts'
import { addNodeCommands } from '../src/cli/node/node-commands.ts'
import { CLIENT_SETTINGS, SETTINGS } from '../src/config.ts'
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

test('every picture of the docs is shown by a page', () => {
  const pages = markdown.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
  const pictures = globSync('docs/screenshots/**/*.png', { cwd: ROOT })
  assert.ok(pictures.length > 0)
  assert.deepEqual(
    pictures.filter((picture) => !pages.includes(`${relative('docs', picture)})`)),
    [],
  )
})

const guides = markdown.filter((file) => file === 'README.md' || file.startsWith('docs/'))

test('every command and option that the docs name is there', () => {
  const program = new Command('esclusa')
  addNodeCommands(program)
  addClientCommands(program)
  for (const own of ['completion', 'help']) program.command(own)
  let found = 0
  const unknown = guides.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const lines = text.matchAll(/(?:`|^\$ |^|\| |\()(?:npx )?esclusa ([a-z][a-z-]*(?: [^`|\n)#;&]*)?)/gm)
    return [...lines].flatMap(([, line = '']) => {
      found++
      const words = line.split(/\s+/)
      let at: Command = program
      let nth = 0
      for (; nth < words.length; nth++) {
        const next = at.commands.find((one) => one.name() === words[nth])
        if (!next) break
        at = next
      }
      if (nth === 0) return [`${page}: esclusa ${line}`]
      const options = new Set([...at.options, ...(at.parent?.options ?? [])].map(({ long }) => long))
      const named = words.slice(nth).flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? [])
      return named.filter((one) => !options.has(one)).map((one) => `${page}: ${one} of esclusa ${line}`)
    })
  })
  assert.deepEqual(unknown, [])
  assert.ok(found > 100, 'the pattern finds the commands')
})

test('every setting that the docs name is there', () => {
  /** Of tests and of the recipes' own programs. */
  const others = /^ESCLUSA_(INTEROP_\w+|LONG|USER)$/
  const unknown = guides.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\bESCLUSA_[A-Z0-9_]+\b/g)]
      .map(([name]) => name)
      .filter((name) => !(name in SETTINGS) && !CLIENT_SETTINGS.has(name) && !others.test(name))
      .map((name) => `${page}: ${name}`),
  )
  assert.deepEqual(unknown, [])
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
