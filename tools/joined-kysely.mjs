// Kysely in one file for processes of tests, which the runner starts with `--import` of this file: its 255 modules take
// a fifth of a second to load, more than many a test file. tools/test.ts joins them at each run.

import { registerHooks } from 'node:module'

const url = new URL('../node_modules/.cache/kysely.js', import.meta.url).href

registerHooks({
  resolve: (name, context, next) => (name === 'kysely' ? { url, shortCircuit: true } : next(name, context)),
})
