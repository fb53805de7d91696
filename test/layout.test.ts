// How the tree is laid out, beyond who imports whom (imports.test.ts).

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')

/** The product's own files: no tests. */
function productFiles(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: ROOT, exclude: (path) => /node_modules|\/dist(\/|$)/.test(path) })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !path.includes('.test.'))
    .toSorted()
}

test('the files that the runner of the tests starts first are there', () => {
  const named = readFileSync(join(ROOT, 'tools/longest-tests.txt'), 'utf8').trim().split('\n')
  const gone = named.map((line) => line.split(' ')[1] ?? '').filter((path) => !existsSync(join(ROOT, path)))
  assert.deepEqual(gone, [])
})

test('all the SQL stands in the store', () => {
  const query =
    /\.(selectFrom|selectNoFrom|updateTable|insertInto|deleteFrom|mergeInto|replaceInto)\(|\bsql(<[^`]*>)?`|\bsql\.raw\(|from 'kysely'|import\('kysely'\)/
  const files = productFiles('src/**/*.ts')
  const having = files.filter((path) => query.test(readFileSync(join(ROOT, path), 'utf8')))
  assert.ok(having.length > 10, 'the pattern finds the queries of the store')
  assert.deepEqual(
    having.filter((path) => !path.startsWith('src/store/')),
    [],
  )
})

test('what the console takes of the node’s sources is contract, domain and json.ts, and runs in a browser', () => {
  const seen = new Set<string>()
  const walk = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    const text = readFileSync(join(ROOT, path), 'utf8')
    for (const [, type, to = ''] of text.matchAll(/^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'/gm))
      if (type === undefined) {
        assert.ok(!to.startsWith('node:'), `${path} imports ${to}`)
        if (to.startsWith('.')) walk(relative(ROOT, resolve(ROOT, dirname(path), to)))
      }
  }
  for (const path of productFiles('console/src/**/*.{ts,tsx}')) walk(path)
  const taken = [...seen].filter((path) => path.startsWith('src/'))
  assert.ok(taken.includes('src/domain/channel-rules.ts'))
  assert.deepEqual(
    taken.filter((path) => !/^src\/(contract\/|domain\/|json\.ts$)/.test(path)),
    [],
  )
})

test('the engine names no protocol outside its transports and the file that puts them together', () => {
  const names =
    /oftp2?|sftp|'folder'|\bESID\b|\bSFID\b|\bEFNA\b|\bEERP\b|fileReason|\bsuites?\b|suiteOf|SUITE_/i
  const general = productFiles('src/engine/**/*.ts').filter(
    (path) =>
      !path.startsWith('src/engine/transports/') &&
      // What assembles the protocols, what one of them has done with keys, and tests of connections, each step by its protocol.
      !path.startsWith('src/engine/probing/') &&
      path !== 'src/engine/sessions/protocols.ts' &&
      path !== 'src/engine/sessions/session-crypto.ts',
  )
  assert.ok(general.length > 50)
  const naming = general.filter((path) => names.test(withoutComments(readFileSync(join(ROOT, path), 'utf8'))))
  assert.deepEqual(naming, [])
})

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}

const MOST_FILES = 20
const MOST_LINES = 400

test('folders of src have about 20 product files at the most, product files 400 lines', () => {
  const crowded = Map.groupBy(productFiles('src/**/*.ts'), dirname)
  assert.deepEqual(
    [...crowded].filter(([, files]) => files.length > MOST_FILES).map(([folder]) => folder),
    [],
  )
  const long = productFiles('{src,console/src,sdk}/**/*.{ts,tsx}').filter(
    (path) => readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n').length > MOST_LINES,
  )
  assert.deepEqual(long, [])
})

type Package = { dependencies?: Record<string, string>; devDependencies?: Record<string, string> }

/** Started by their command, not imported. */
const PROGRAMS = new Set(['oxfmt', 'oxlint', 'oxlint-tsgolint', 'typescript'])

test('every package that is declared is used, by the workspace that declares it', () => {
  const textOf = (...patterns: string[]) =>
    globSync(patterns, { cwd: ROOT, exclude: (path) => /node_modules|\/dist(\/|$)/.test(path) })
      .map((path) => readFileSync(join(ROOT, path), 'utf8'))
      .join('\n')
  const unused = (names: Record<string, string> = {}, text: string) =>
    Object.keys(names).filter(
      (name) =>
        !name.startsWith('@types/') &&
        !PROGRAMS.has(name) &&
        !new RegExp(`['"/]${name.replace('/', '\\/')}['"/]`).test(text),
    )
  const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Package
  const root = read('package.json')
  const product = textOf('src/**/*.ts', 'bin/*', 'tools/**/*.mjs')
  assert.deepEqual(unused(root.dependencies, product), [])
  assert.deepEqual(unused(root.devDependencies, product + textOf('{test,bench,tools}/**/*.ts')), [])
  const console = read('console/package.json')
  assert.deepEqual(
    unused(
      console.devDependencies,
      textOf('console/**/*.{ts,tsx,css,json}').replaceAll(/^ {4}"[^"]+": "\d[^"]*",?$/gm, ''),
    ),
    [],
  )
  const sdk = read('sdk/package.json')
  assert.deepEqual(sdk.dependencies, undefined, 'the client needs nothing')
  assert.deepEqual(unused(sdk.devDependencies, textOf('sdk/*.ts', 'src/contract/*.ts', 'tools/sdk/*.ts')), [])
})

test('the console imports only what it declares', () => {
  const { devDependencies = {} } = JSON.parse(
    readFileSync(join(ROOT, 'console/package.json'), 'utf8'),
  ) as Package
  const imported = productFiles('console/src/**/*.{ts,tsx}').flatMap((path) =>
    [
      ...readFileSync(join(ROOT, path), 'utf8').matchAll(/^import\s[^'"]*?'((?:@[\w-]+\/)?[\w-]+)[^']*'/gm),
    ].map(([, name = '']) => name),
  )
  assert.ok(imported.includes('react'))
  assert.deepEqual(
    [...new Set(imported)].filter((name) => !(name in devDependencies)),
    [],
  )
})
