// Finds the files that a glob in a path names, step by step, and no more: a folder is read once for each step that is a
// pattern, links are not followed by a pattern, folders that begin with a dot only where the pattern does. What is looked
// at in all is bounded, so that no pattern keeps a thread busy for long.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { alternatives, compileStep, hasGlob, unescaped } from '../domain/names/glob.ts'
import type { NameTest } from '../domain/names/glob.ts'
import { NodeError, systemCode } from '../errors.ts'

/** Names of folders and files looked at for one pattern. */
const MOST_ENTRIES = 1_000_000
const DEEPEST = 64

type Step = { name: string } | { test: NameTest } | 'any depth'

/** `glob` is relative to `base`; `isAllowed` is asked for each folder before it is read. */
export async function globWalk(
  base: string,
  glob: string,
  isAllowed: (folder: string) => boolean,
): Promise<string[]> {
  const found = new Set<string>()
  const walk = { left: MOST_ENTRIES, isAllowed, found, glob }
  for (const one of alternatives(glob) ?? []) {
    const steps = one.split('/').filter((step) => step !== '' && step !== '.')
    // Refused when it is set; what was set before leads nowhere.
    if (steps.some((step) => unescaped(step) === '..')) continue
    await descend(walk, base, steps.map(stepOf), 0)
  }
  return [...found]
}

function stepOf(step: string): Step {
  if (step === '**') return 'any depth'
  return hasGlob(step) ? { test: compileStep(step) } : { name: unescaped(step) }
}

type Walk = { left: number; isAllowed: (folder: string) => boolean; found: Set<string>; glob: string }

async function descend(walk: Walk, folder: string, steps: readonly Step[], depth: number): Promise<void> {
  const [step, ...rest] = steps
  if (step === undefined || depth > DEEPEST) return
  if (typeof step === 'object' && 'name' in step) return enter(walk, join(folder, step.name), rest, depth)
  if (!walk.isAllowed(folder)) return
  // Any depth is also none.
  if (step === 'any depth' && rest.length > 0) await descend(walk, folder, rest, depth)
  for (const { name, isFolder } of await entriesOf(walk, folder)) {
    const path = join(folder, name)
    if (step === 'any depth') {
      if (name.startsWith('.')) continue
      if (isFolder) await descend(walk, path, steps, depth + 1)
      else if (rest.length === 0) walk.found.add(path)
    } else if (step.test(name) && (isFolder || rest.length === 0)) await enter(walk, path, rest, depth)
  }
}

async function enter(walk: Walk, path: string, rest: readonly Step[], depth: number): Promise<void> {
  if (rest.length > 0) return descend(walk, path, rest, depth + 1)
  if (walk.isAllowed(join(path, '..'))) walk.found.add(path)
}

async function entriesOf(walk: Walk, folder: string): Promise<{ name: string; isFolder: boolean }[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    walk.left -= entries.length
    if (walk.left < 0)
      throw new NodeError(
        'conflict',
        `${walk.glob} would look at more than ${MOST_ENTRIES} names: narrow the pattern`,
      )
    return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
  } catch (thrown) {
    if (thrown instanceof NodeError) throw thrown
    const code = systemCode(thrown)
    // A folder that went meanwhile, a file where a folder was asked for, or one that is not ours to read.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return []
    throw new NodeError('conflict', `${folder} cannot be read (${code ?? 'error'})`, { cause: thrown })
  }
}
