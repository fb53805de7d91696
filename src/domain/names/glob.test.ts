import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import picomatch from 'picomatch'
import { alternatives, compileGlob, compileStep, globFault, pathGlobFault, splitGlobs } from './glob.ts'

const fits = (glob: string, name: string) => compileGlob(glob)(name)

test('stars, question marks, classes and braces mean what they do in a shell', () => {
  const table: [glob: string, yes: string[], no: string[]][] = [
    ['*.txt', ['a.txt', '.txt', '.a.txt', 'ñ.txt'], ['a.txt.gz', 'a.TXT', 'txt']],
    ['FAC?', ['FAC1', 'FACñ', 'FAC😀'], ['FAC', 'FAC12']],
    ['[a-c]1', ['a1', 'b1'], ['d1', '1', 'ab1']],
    ['[!a-c]1', ['d1', '-1'], ['a1']],
    ['[^a]', ['b'], ['a']],
    ['[]a]', [']', 'a'], ['b', '[]a]']],
    ['[a-]', ['a', '-'], ['b']],
    ['[\\]]', [']'], ['\\']],
    ['a[', ['a['], ['a']],
    ['{a,b{1,2}}.x', ['a.x', 'b1.x', 'b2.x'], ['b.x', 'a,b.x']],
    ['a{,b}', ['a', 'ab'], ['a,b']],
    ['{a}', ['{a}'], ['a']],
    ['{a', ['{a'], ['a']],
    ['{8..11}', ['8', '9', '10', '11'], ['7', '12', '8..11']],
    ['{a..c}', ['a', 'b', 'c'], ['d']],
    ['\\*\\?', ['*?'], ['ab']],
    ['!*.tmp', ['a.txt'], ['a.tmp']],
    ['a(1).txt', ['a(1).txt'], ['a1.txt']],
    ['**', ['x'], []],
  ]
  for (const [glob, yes, no] of table) {
    for (const name of yes) assert.equal(fits(glob, name), true, `${glob} ${name}`)
    for (const name of no) assert.equal(fits(glob, name), false, `${glob} ${name}`)
  }
})

test('a step of a path matches hidden names only where it begins with a dot itself', () => {
  assert.equal(compileStep('*')('.ssh'), false)
  assert.equal(compileStep('?ssh')('.ssh'), false)
  assert.equal(compileStep('.*')('.ssh'), true)
  assert.equal(compileStep('*')('ssh'), true)
})

test('any pattern of our own kind says what picomatch says of any name', () => {
  const atom = fc.constantFrom('*', '?', 'a', 'b', '.', '_', '[ab]', '[a-c]', '[^a]', '{a,b}', '{a,*b}', '-')
  const globs = fc.array(atom, { minLength: 1, maxLength: 7 }).map((atoms) => atoms.join(''))
  const names = fc
    .array(fc.constantFrom('a', 'b', 'c', '.', '_', '-'), { minLength: 1, maxLength: 8 })
    .map((letters) => letters.join(''))
    .filter((name) => name !== '.' && name !== '..')
  fc.assert(
    fc.property(globs, names, (glob, name) => {
      // Its short cut for `*.*` wants something after the dot; a shell does not, nor does its long way.
      const theirs = picomatch(glob, { dot: true, fastpaths: false })
      assert.equal(fits(glob, name), theirs(name), `${glob} on ${name}`)
    }),
    { numRuns: 3000 },
  )
})

test('no name takes long, whatever the pattern', () => {
  const name = '_'.repeat(255)
  const globs = [
    `${'*_'.repeat(127)}x`,
    `${'*?'.repeat(127)}x`,
    `{${Array.from({ length: 60 }, (_, at) => `${'*_'.repeat(40)}${at}`).join(',')}}`,
  ]
  for (const glob of globs) {
    const test = compileGlob(glob)
    // To go back over every star would take longer than any test may.
    assert.equal(test(name), false)
  }
})

test('a pattern that could cost too much is refused with the reason, and matches nothing where it stands already', () => {
  const bomb = '{a,b}'.repeat(7)
  assert.match(globFault(bomb) ?? '', /more than 64 alternatives/)
  assert.match(globFault('{1..1000000}') ?? '', /more than 64 alternatives/)
  assert.match(globFault('{'.repeat(40)) ?? '', /alternatives/)
  assert.match(globFault('a'.repeat(256)) ?? '', /more than 255 characters/)
  assert.match(globFault('+(a|b)*') ?? '', /knows \*, \?, \[ \] and \{ \} alone/)
  assert.match(globFault('[[:alpha:]]') ?? '', /named class/)
  for (const glob of ['*.txt', '{a,b}'.repeat(6), 'a(1)', '\\*(1)', '[!a]*', '!*.tmp'])
    assert.equal(globFault(glob), undefined, glob)
  assert.equal(fits(bomb, 'abababa'), false)
  assert.equal(alternatives(bomb), undefined)
})

test('braces of a path cannot spell a way up', () => {
  assert.equal(pathGlobFault('/files/{..,x}/*'), 'must not contain ..')
  assert.equal(pathGlobFault('/files/a/{../b,x}/*'), 'must not contain ..')
  assert.equal(pathGlobFault('/files/a*/\\.\\./b/*'), 'must not contain ..')
  assert.equal(pathGlobFault('/files/{.,x}{.,y}/*'), 'must not contain ..')
  assert.equal(pathGlobFault('/files/{a,b..c}/*'), undefined)
})

test('a list of patterns is cut at the commas outside of braces', () => {
  assert.deepEqual(splitGlobs(' *.txt ,, FAC? ,{a,b}.x'), ['*.txt', 'FAC?', '{a,b}.x'])
  assert.deepEqual(splitGlobs('{a,b'), ['{a', 'b'])
  assert.deepEqual(splitGlobs(''), [])
})

test('no text at all makes the matcher throw or take long', () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 })
  const special = fc
    .array(fc.constantFrom('{', '}', '[', ']', ',', '*', '?', '\\', '!', '-', '..', 'a', '('), {
      maxLength: 40,
    })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(text, special), text, (glob, name) => {
      globFault(glob)
      pathGlobFault(glob)
      compileGlob(glob)(name)
      compileStep(glob)(name)
      splitGlobs(glob)
    }),
    { numRuns: 2000 },
  )
})
