// What is built is what its sources say: build/ runs while they are as they were, the sources themselves after any
// change of them; the data kernel in the repository is the one that its source makes.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { copyFile, mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fromRoot } from '../src/root.ts'
import { KERNEL_MODULE_PATH, kernelModule } from '../tools/data-kernel/write.ts'
import { tempFolder } from './support/harness.ts'

test('build/ runs until a source of it is newer or gone', async (t) => {
  const folder = await tempFolder(t)
  const at = (path: string) => join(folder, path)
  for (const name of ['bin', 'build', 'src/cli']) await mkdir(at(name), { recursive: true })
  await copyFile(fromRoot('bin/esclusa.js'), at('bin/esclusa.js'))
  await writeFile(at('package.json'), '{ "type": "module" }')
  await writeFile(at('src/cli/esclusa.ts'), `const what: string = 'sources'\nconsole.log(what)`)
  await writeFile(at('src/other.ts'), '')
  await writeFile(at('build/esclusa.js'), `console.log('build')`)
  const runs = () => execFileSync(process.execPath, [at('bin/esclusa.js')], { encoding: 'utf8' }).trim()
  const touch = (path: string, seconds: number) => utimes(at(path), seconds, seconds)

  assert.equal(runs(), 'sources', 'never built')
  await writeFile(at('build/sources.txt'), 'src/cli/esclusa.ts\nsrc/other.ts')
  for (const path of ['src/cli/esclusa.ts', 'src/other.ts']) await touch(path, 1000)
  await touch('build/sources.txt', 1001)
  assert.equal(runs(), 'build')
  await touch('src/other.ts', 1002)
  assert.equal(runs(), 'sources', 'one has changed')
  await touch('src/other.ts', 1000)
  assert.equal(runs(), 'build')
  await rm(at('src/other.ts'))
  assert.equal(runs(), 'sources', 'one is gone')
})

test('a node is started over with less memory for what is short-lived: the same process, its words and settings', async (t) => {
  const folder = await tempFolder(t)
  for (const name of ['bin', 'build']) await mkdir(join(folder, name))
  await copyFile(fromRoot('bin/esclusa.js'), join(folder, 'bin/esclusa.js'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(folder, 'build/esclusa.js'),
    `console.log(JSON.stringify([process.pid, process.execArgv, process.argv.slice(2), process.env.A_SETTING]))`,
  )
  const started = (args: string[], env: Record<string, string> = {}) => {
    const command = [join(folder, 'bin/esclusa.js'), ...args]
    const ran = spawnSync(process.execPath, command, { env: { ...env, HOME: folder }, encoding: 'utf8' })
    const [pid, ...said] = JSON.parse(ran.stdout) as [number, string[], string[], string | undefined]
    assert.deepEqual([pid, ran.stderr], [ran.pid, ''])
    return said
  }
  const words = ['serve', '--port', '0', 'a b']
  assert.deepEqual(started(words, { A_SETTING: 'it’s' }), [
    ['--max-semi-space-size=4', '--heap-growing-percent=60'],
    words,
    'it’s',
  ])
  // Whoever says it himself is heeded, and short commands are not worth it.
  const own = { NODE_OPTIONS: '--max-semi-space-size=16' }
  assert.deepEqual(started(words, own)[0], [])
  assert.deepEqual(started(['status'])[0], [])
})

test('npx, which installs the checkout into its cache, builds nothing anew', async (t) => {
  const built = () => statSync(fromRoot('build/sources.txt'), { throwIfNoEntry: false })?.mtimeMs
  const before = built()
  const env = { ...process.env, npm_config_cache: await tempFolder(t) }
  const said = execFileSync('npx', ['--offline', 'esclusa', '--version'], {
    cwd: fromRoot(''),
    env,
    stdio: 'pipe',
    encoding: 'utf8',
  })
  assert.match(said, /^\d+\.\d+\.\d+$/m)
  assert.equal(built(), before)
})

test('the data kernel is what its source assembles to (node tools/data-kernel/write.ts writes it)', async () => {
  assert.equal(await readFile(fromRoot(KERNEL_MODULE_PATH), 'utf8'), kernelModule())
})
