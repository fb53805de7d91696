// Joins the sources and their plain JavaScript dependencies into a few files in build/. A start from the sources
// resolves and reads many hundreds of modules, more than half of its time; `bin/esclusa.js` runs build/ for as long as
// nothing in src/ is newer than it. Nothing is minified: a stack trace can be read. `node tools/bundle.mjs FOLDER` writes
// to another place, beside a checkout that is in use.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = resolve(process.argv[2] ?? `${root}build`)

// Native code, what finds its own files by their place, and what is loaded at the first request (lazy-schemas.ts). A
// release carries these packages as they are.
const notJoined = JSON.parse(readFileSync(`${root}tools/not-joined.json`, 'utf8'))

/** An `import` of node:http reads all it exports, and with that loads Node's WebSocket and fetch: a tenth of a start. */
const httpAlone = {
  name: 'http-alone',
  resolveId: (id) => (id === 'node:http' || id === 'http' ? '\0http.cjs' : undefined),
  load: (id) => (id === '\0http.cjs' ? `module.exports = process.getBuiltinModule('node:http')` : undefined),
}

const bundle = await rolldown({
  cwd: root,
  plugins: [httpAlone],
  input: {
    esclusa: 'src/cli/esclusa.ts',
    worker: 'src/engine/worker.ts',
    'hash-worker': 'src/engine/staging/hash-worker.ts',
    'copy-worker': 'src/files/small/copy-worker.ts',
  },
  platform: 'node',
  // Where a package has modules too, only what is used of it is joined.
  resolve: { mainFields: ['module', 'main'] },
  external: [/^node:(?!http$)/, /^ssh2\//, ...notJoined],
})
const { output } = await bundle.generate({ format: 'esm' })
await bundle.close()
mkdirSync(out, { recursive: true })
for (const { fileName, ...piece } of output) put(fileName, piece.type === 'chunk' ? piece.code : piece.source)
// What it was made of: bin/esclusa.js looks whether any of it has changed.
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
const sources = modules.filter((path) => path.startsWith(root) && !path.includes('node_modules'))
put('sources.txt', sources.map((path) => path.slice(root.length)).join('\n'))
const kept = new Set(['sources.txt', ...output.map(({ fileName }) => fileName)])
for (const name of readdirSync(out)) if (!kept.has(name)) rmSync(join(out, name), { recursive: true })
console.log(`${out}: ${output.length} files`)

/** A node that runs from here loads pieces when it first needs them: it finds the old file or the new one, never half. */
function put(name, content) {
  writeFileSync(join(out, `${name}.new`), content)
  renameSync(join(out, `${name}.new`), join(out, name))
}
