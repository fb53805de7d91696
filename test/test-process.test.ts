import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { tempFolder } from './support/harness.ts'

const TESTS = 2000

test('all results of a process of tests are heard, however late they are read', async (t) => {
  const file = join(await tempFolder(t), 'many.mjs')
  await writeFile(
    file,
    `import test from 'node:test'\nfor (let i = 0; i < ${TESTS}; i++) test('one', () => {})\n`,
  )
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  const start = fileURLToPath(new URL('../tools/test-process.mjs', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--test-force-exit', '--test-reporter=tap', `--import=${start}`, file],
    { env, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let heard = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard += text
    // A reader that is always behind: what it has not taken fills the pipe.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  })
  await once(child, 'close')
  assert.equal(heard.match(/^ok /gm)?.length, TESTS)
})
