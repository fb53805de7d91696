// Loaded first by each process of tests (tools/test.ts starts them with `--import` of this file).

import { registerHooks } from 'node:module'

// What a process says has left it before it goes on. Without this, --test-force-exit ends it with the results of its last
// tests still in its memory where the runner is too busy to read: they were missing, and nobody knew.
process.stdout._handle?.setBlocking?.(true)

// Kysely in one file, which the runner makes: its 255 modules take a fifth of a second to load, more than many a test file.
const kysely = new URL('../node_modules/.cache/kysely.js', import.meta.url).href

registerHooks({
  resolve: (name, context, next) =>
    name === 'kysely' ? { url: kysely, shortCircuit: true } : next(name, context),
})
