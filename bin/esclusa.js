#!/usr/bin/env node
// The command `esclusa`. The sources are TypeScript that Node 24 runs as they are; npm brings that Node along as a
// package, and a caller with an older one is handed over to it.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const entry = new URL('../src/cli/esclusa.ts', import.meta.url)

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Keeps compiled (and type-stripped) sources between runs: about half of the start.
  module.enableCompileCache?.()
  await import(entry.href)
} else {
  const own = fileURLToPath(
    new URL(`../node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url),
  )
  if (!existsSync(own)) {
    console.error(
      `Esclusa needs Node 24 or later; this is ${process.version}. Run npm ci, or install Node 24.`,
    )
    process.exit(2)
  }
  const ran = spawnSync(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exit(ran.status ?? 1)
}
