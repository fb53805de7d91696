// The docs' tables are those of the code, and no doc or source points outside the project.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
