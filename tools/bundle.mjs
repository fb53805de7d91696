// Joins the sources and their plain JavaScript dependencies into a few files in build/. A start from the sources
// resolves and reads many hundreds of modules, more than half of its time; `bin/esclusa.js` runs build/ for as long as
// nothing in src/ is newer than it. Nothing is minified: a stack trace can be read.

import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

rmSync(`${root}build`, { recursive: true, force: true })
const bundle = await rolldown({
  cwd: root,
  input: { esclusa: 'src/cli/esclusa.ts', worker: 'src/engine/worker.ts' },
  platform: 'node',
  // Native code, what finds its own files by their place, and what is loaded at the first request (lazy-schemas.ts).
  external: [
    /^node:/,
    'better-sqlite3',
    'ssh2',
    /^ssh2\//,
    'pg',
    'pino',
    '@fastify/ajv-compiler',
    '@fastify/fast-json-stringify-compiler',
  ],
})
const { output } = await bundle.write({ dir: 'build', format: 'esm' })
await bundle.close()
// What it was made of: bin/esclusa.js looks whether any of it has changed.
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
const sources = modules.filter((path) => path.startsWith(root) && !path.includes('node_modules'))
writeFileSync(`${root}build/sources.txt`, sources.map((path) => path.slice(root.length)).join('\n'))
console.log(`build/: ${output.length} files`)
