// What an installation builds: ssh2's native binding, the console and build/ (the sources joined). The tools for the
// last two are there for developers alone: without them (`npm ci --omit=dev`) what is already built stays as it is.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// `npx esclusa` in a checkout links the checkout into npm's cache, once, and npm then runs this script again: in the middle
// of what is built already, perhaps beside a node that runs from it.
if (process.env.npm_command === 'exec') process.exit()

const root = fileURLToPath(new URL('..', import.meta.url))

const run = (program, args) => {
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

run(process.execPath, ['tools/build-ssh2.mjs'])
if (existsSync(`${root}/node_modules/vite`)) {
  run('npm', ['run', 'build', '-w', '@esclusa/console'])
  run(process.execPath, ['tools/bundle.mjs'])
} else console.log('console and build/: the tools that make them are not installed; left as they are')
