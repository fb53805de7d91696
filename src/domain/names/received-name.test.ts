import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameFault } from './received-name.ts'

test('names that people give to files are taken', () => {
  for (const name of ['nomina.txt', 'año 2026.csv', 'a-b.c', 'données–été.xml', '給与.txt', 'x'.repeat(255)])
    assert.equal(nameFault(name), undefined, name)
})

test('names that hide a file, pass for an option, leave the folder or look like another are refused', () => {
  const faults: Record<string, RegExp> = {
    '': /plain name/,
    '..': /plain name/,
    'a/b': /plain name/,
    ['x'.repeat(256)]: /plain name/,
    '.': /dot/,
    '.bashrc': /dot/,
    '-rf': /hyphen/,
    'invoice\u202Etxt.exe': /cannot be seen/,
    'zero\u200Bwidth': /cannot be seen/,
    'line\nbreak': /cannot be seen/,
  }
  for (const [name, fault] of Object.entries(faults)) assert.match(nameFault(name) ?? '', fault, name)
})
