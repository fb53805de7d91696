import assert from 'node:assert/strict'
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder, waitFor } from '../../../test/support/harness.ts'
import { skipWithoutPrlimit, withNothingToOpen } from '../../../test/support/open-files.ts'
import { NodeError } from '../../errors.ts'
import { OUTPUT_LIMIT, ScriptError, runScript } from './scripts.ts'

const never = new AbortController().signal

async function scriptIn(t: TestContext, body: string): Promise<{ folder: string; path: string }> {
  const folder = await tempFolder(t)
  const path = join(folder, 'script')
  await writeFile(path, `#!/bin/sh\n${body}\n`)
  await chmod(path, 0o755)
  return { folder, path }
}

async function run(t: TestContext, body: string, change: Partial<Parameters<typeof runScript>[0]> = {}) {
  const { folder, path } = await scriptIn(t, body)
  return runScript({
    path,
    scriptRoots: [folder],
    args: [],
    variables: {},
    timeoutMs: 10_000,
    signal: never,
    ...change,
  })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('arguments reach the script as they are: no shell reads them', async (t) => {
  const args = ['$(touch /tmp/never)', '; rm -rf x', 'a b', '*', "it's", 'line\nbreak']
  assert.equal(await run(t, 'printf "%s|" "$@"', { args }), args.map((one) => `${one}|`).join(''))
})

test('the environment is cleared but for a path, a language and what describes the transfer', async (t) => {
  process.env.ESCLUSA_SCRIPT_TEST_SECRET = 'leaked'
  t.after(() => delete process.env.ESCLUSA_SCRIPT_TEST_SECRET)
  const said = await run(t, 'exec env', { variables: { ESCLUSA_FILE: '/x' } })
  const names = said
    .trim()
    .split('\n')
    .map((line) => line.replace(/=.*/, ''))
  assert.deepEqual(names.filter((name) => name !== '_' && name !== 'PWD' && name !== 'SHLVL').sort(), [
    'ESCLUSA_FILE',
    'LANG',
    'PATH',
  ])
})

test('both outputs are kept, to their end and up to the limit', async (t) => {
  assert.equal(await run(t, 'echo out; echo err >&2'), 'out\nerr\n')
  const long = await run(
    t,
    'i=0; while [ $i -lt 3000 ]; do echo "0123456789 0123456789 0123456789"; i=$((i+1)); done',
  )
  assert.equal(long.length, OUTPUT_LIMIT)
  assert.equal(await run(t, String.raw`printf 'a\0b'`), 'a\uFFFDb')
})

test('a non-zero exit, a signal and a script that is no program fail with what was said', async (t) => {
  await assert.rejects(run(t, 'echo why; exit 7'), (thrown) => {
    assert.ok(thrown instanceof ScriptError)
    assert.match(thrown.message, /exited with 7: why$/)
    assert.equal(thrown.output, 'why\n')
    return thrown.code === 'script_failed'
  })
  await assert.rejects(run(t, 'kill -TERM $$'), { code: 'script_failed', message: /ended by SIGTERM/ })
  const { folder, path } = await scriptIn(t, '')
  await chmod(path, 0o644)
  const script = { path, scriptRoots: [folder], args: [], variables: {}, timeoutMs: 1000, signal: never }
  await assert.rejects(runScript(script), { code: 'script_failed', message: /could not be run/ })
})

test('at the time limit the whole process group is killed', async (t) => {
  const folder = await tempFolder(t)
  const pidFile = join(folder, 'pid')
  await assert.rejects(run(t, `sleep 300 & echo $! > ${pidFile}; echo begun; wait`, { timeoutMs: 500 }), {
    code: 'script_failed',
    message: /took longer than 0\.5 seconds: begun/,
  })
  const pid = Number(await readFile(pidFile, 'utf8'))
  await waitFor('the sleeper is gone', () => !isRunning(pid))
})

test('what a script leaves behind in its group ends with it', async (t) => {
  const folder = await tempFolder(t)
  const pidFile = join(folder, 'pid')
  await run(t, `sleep 300 & echo $! > ${pidFile}; exit 0`)
  const pid = Number(await readFile(pidFile, 'utf8'))
  await waitFor('the sleeper is gone', () => !isRunning(pid))
})

test('a process that left the group and holds the pipes does not hold up the transfer', async (t) => {
  const folder = await tempFolder(t)
  const pidFile = join(folder, 'pid')
  assert.equal(
    await run(
      t,
      `echo said; setsid sh -c 'echo $$ > ${pidFile}; exec sleep 300' &\nwhile [ ! -s ${pidFile} ]; do :; done`,
    ),
    'said\n',
  )
  const pid = Number(await readFile(pidFile, 'utf8'))
  assert.ok(isRunning(pid))
  process.kill(pid, 'SIGKILL')
})

test('a reset kills the script at once and is the error', async (t) => {
  const stop = new AbortController()
  const folder = await tempFolder(t)
  const pidFile = join(folder, 'pid')
  const running = run(t, `sleep 300 & echo $! > ${pidFile}; wait`, { signal: stop.signal })
  // The shell makes the file before it writes the number.
  const pid = await waitFor('it runs', async () => Number(await readFile(pidFile, 'utf8').catch(() => '')))
  stop.abort(new NodeError('cancelled', 'reset'))
  await assert.rejects(running, { code: 'cancelled' })
  await waitFor('the sleeper is gone', () => !isRunning(pid))
})

test('a script outside the roots, or a link that leads out of them, is refused', async (t) => {
  const { folder, path } = await scriptIn(t, 'echo no')
  const other = await tempFolder(t)
  const script = { args: [], variables: {}, timeoutMs: 1000, signal: never }
  await assert.rejects(runScript({ ...script, path, scriptRoots: [other] }), { code: 'no_rights' })
  await symlink(path, join(other, 'link'))
  await assert.rejects(runScript({ ...script, path: join(other, 'link'), scriptRoots: [other] }), {
    code: 'no_rights',
  })
  assert.equal(
    await runScript({ ...script, path: join(other, 'link'), scriptRoots: [other, folder] }),
    'no\n',
  )
})

test(
  'a script that cannot be started because too much is open did not refuse anything: it is tried again',
  { skip: skipWithoutPrlimit },
  async (t) => {
    const { folder, path } = await scriptIn(t, 'echo yes')
    const script = {
      path,
      scriptRoots: [folder],
      args: [],
      variables: {},
      timeoutMs: 10_000,
      signal: never,
    }
    const told = { code: 'disk_fault', retry: true, message: /raise the node’s limit of open files/ }
    await withNothingToOpen(() => assert.rejects(runScript(script), told))
    assert.equal(await runScript(script), 'yes\n')
  },
)
