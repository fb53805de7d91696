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
  for (const steps of spelledOut(glob)) await descend(walk, base, steps, 0)
  return [...found]
}

/** Whether the walk finds a file of that path, which is relative to the same base; by the text alone. */
export function globTest(glob: string): NameTest {
  const patterns = spelledOut(glob)
  return (path) => {
    const names = path.split('/')
    return patterns.some((steps) => leads(steps, names))
  }
}

function spelledOut(glob: string): Step[][] {
  return (alternatives(glob) ?? []).flatMap((one) => {
    const steps = one.split('/').filter((step) => step !== '' && step !== '.')
    // Refused when it is set; what was set before leads nowhere.
    return steps.some((step) => unescaped(step) === '..') ? [] : [steps.map(stepOf)]
  })
}

/** Keeps all steps that may be next, so that it takes time in proportion to both, however many stand for any depth. */
function leads(steps: readonly Step[], names: readonly string[]): boolean {
  let next = new Set<number>()
  const mayBe = (nth: number, among: Set<number>): void => {
    among.add(nth)
    // Any depth is also none.
    if (steps[nth] === 'any depth' && nth + 1 < steps.length) mayBe(nth + 1, among)
  }
  mayBe(0, next)
  for (const name of names) {
    const after = new Set<number>()
    for (const nth of next) {
      const step = steps[nth]
      if (step === undefined) continue
      if (step === 'any depth') {
        if (name.startsWith('.')) continue
        mayBe(nth, after)
        if (nth + 1 === steps.length) after.add(nth + 1)
      } else if ('name' in step ? step.name === name : step.test(name)) mayBe(nth + 1, after)
    }
    next = after
  }
  return next.has(steps.length)
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
