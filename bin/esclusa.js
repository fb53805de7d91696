#!/usr/bin/env node
// The command `esclusa`. npm brings Node 24 along as a package, and a caller with an older one is handed over to it.
//
// That Node runs the TypeScript sources as they are. The installation also joins them into build/, which starts in less
// than half the time; it is what runs, unless something in src/ has been changed since.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Keeps compiled (and type-stripped) sources between runs: about half of the start.
  module.enableCompileCache?.()
  await import(isBuilt() ? '../build/esclusa.js' : '../src/cli/esclusa.ts')
} else {
  const own = join(root, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  if (!existsSync(own)) {
    console.error(
      `Esclusa needs Node 24 or later; this is ${process.version}. Run npm ci, or install Node 24.`,
    )
    process.exit(2)
  }
  const ran = spawnSync(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exit(ran.status ?? 1)
}

/** Nothing in src/ is newer than build/: it holds these very sources. Folders count too, for files that went away. */
function isBuilt() {
  const built = statSync(join(root, 'build/esclusa.js'), { throwIfNoEntry: false })
  if (!built) return false
  const sources = ['src', 'sdk'].flatMap((place) =>
    [place].concat(readdirSync(join(root, place), { recursive: true }).map((name) => join(place, name))),
  )
  return sources.every((name) => statSync(join(root, name)).mtimeMs <= built.mtimeMs)
}
