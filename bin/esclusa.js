#!/usr/bin/env node
// The command `esclusa`. npm brings Node 24 along as a package, and a caller with an older one is handed over to it.
//
// That Node runs the TypeScript sources as they are. The installation also joins them into build/, which starts in less
// than half the time; it is what runs, unless something in src/ has been changed since.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
// What is short-lived in a thread may take 12 MiB before it is cleared away, and what has got old 0.6 times as much as lives.
// V8 would let them grow to 96 MiB and to three times. It takes this on the command line alone for the first thread, and
// what stands there counts for the others, whatever limit they are begun with.
const MEMORY = ['--max-semi-space-size=4', '--heap-growing-percent=60']
const command = [...MEMORY, fileURLToPath(import.meta.url), ...process.argv.slice(2)]

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Keeps compiled (and type-stripped) sources between runs: about half of the start. It is code that will be run, so
  // it lies in the user's own cache and never, as by default, in a folder that everybody may write. The variable is how
  // the engine's thread learns of it.
  const cache = process.env.NODE_COMPILE_CACHE || ownCache()
  if (cache) process.env.NODE_COMPILE_CACHE = cache
  // The same process, started over: within some 30 ms, so it is done for a node alone.
  const isSaid = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((one) =>
    one.includes('semi-space'),
  )
  if (process.argv[2] === 'serve' && !isSaid)
    process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...command], process.env)
  if (cache) module.enableCompileCache?.(cache)
  await import(isBuilt() ? '../build/esclusa.js' : '../src/cli/esclusa.ts')
} else {
  const own = `${root}node_modules/node-${process.platform}-${process.arch}/bin/node`
  if (!existsSync(own)) {
    console.error(
      `Esclusa needs Node 24 or later; this is ${process.version}. Install it anew with npm, or install Node 24.`,
    )
    process.exit(2)
  }
  // Whoever stops this process means the other one, which drains.
  const ran = spawn(own, command, { stdio: 'inherit' })
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
  for (const signal of signals) process.on(signal, () => ran.kill(signal))
  ran.on('error', (cause) => {
    console.error(`${own} could not be started: ${cause.message}`)
    process.exit(1)
  })
  ran.on('exit', (status, signal) => {
    if (signal === null) process.exit(status)
    // A shell stops its script at Ctrl-C only if the command ends by the signal too.
    for (const one of signals) process.removeAllListeners(one)
    process.kill(process.pid, signal)
  })
}

/** A user whom the machine does not know by name (a container's) may have no home: then every run compiles anew. */
function ownCache() {
  try {
    return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'esclusa')
  } catch {
    return undefined
  }
}

/** None of the sources that build/ was made of has changed or gone since. */
function isBuilt() {
  // A release has nothing else.
  if (!existsSync(`${root}src/cli`)) return true
  const made = statSync(`${root}build/sources.txt`, { throwIfNoEntry: false })?.mtimeMs
  if (made === undefined) return false
  const sources = readFileSync(`${root}build/sources.txt`, 'utf8').split('\n')
  return sources.every(
    (path) => (statSync(root + path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) <= made,
  )
}
