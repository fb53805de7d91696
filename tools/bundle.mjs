// Joins the sources and their plain JavaScript dependencies into a few files in build/. A start from the sources
// resolves and reads many hundreds of modules, more than half of its time; `bin/esclusa.js` runs build/ for as long as
// nothing in src/ is newer than it. Nothing is minified: a stack trace can be read.

import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

rmSync(`${root}/build`, { recursive: true, force: true })
const bundle = await rolldown({
  cwd: root,
  input: { esclusa: 'src/cli/esclusa.ts', thread: 'src/engine/thread.ts' },
  platform: 'node',
  // Native code and what finds its own files by their place.
  external: [/^node:/, 'better-sqlite3', 'ssh2', /^ssh2\//, 'pg', 'pino'],
})
const { output } = await bundle.write({ dir: 'build', format: 'esm' })
await bundle.close()
console.log(`build/: ${output.length} files`)
