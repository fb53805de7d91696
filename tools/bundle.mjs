// Joins the sources and their plain JavaScript dependencies into a few files in build/. A start from the sources
// resolves and reads many hundreds of modules, more than half of its time; `bin/esclusa.js` runs build/ for as long as
// nothing in src/ is newer than it. Nothing is minified: a stack trace can be read. `node tools/bundle.mjs FOLDER` writes
// to another place, beside a checkout that is in use.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = resolve(process.argv[2] ?? `${root}build`)

// Native code, what finds its own files by their place, and what is loaded at the first request (lazy-schemas.ts). A
// release carries these packages as they are.
const notJoined = JSON.parse(readFileSync(`${root}tools/not-joined.json`, 'utf8'))

rmSync(out, { recursive: true, force: true })
const bundle = await rolldown({
  cwd: root,
  input: {
    esclusa: 'src/cli/esclusa.ts',
    worker: 'src/engine/worker.ts',
    'hash-worker': 'src/engine/staging/hash-worker.ts',
  },
  platform: 'node',
  external: [/^node:/, /^ssh2\//, ...notJoined],
})
const { output } = await bundle.write({ dir: out, format: 'esm' })
await bundle.close()
// What it was made of: bin/esclusa.js looks whether any of it has changed.
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
const sources = modules.filter((path) => path.startsWith(root) && !path.includes('node_modules'))
writeFileSync(`${out}/sources.txt`, sources.map((path) => path.slice(root.length)).join('\n'))
console.log(`${out}: ${output.length} files`)
