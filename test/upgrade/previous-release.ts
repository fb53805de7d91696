// The program of the release before, out of the project's own history.

import { execFileSync, spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { tempFolder } from '../support/harness.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** 0.1.0 */
const COMMIT = '55825530d41afa5b2c9d29a6157f19759e8c4c2c'

export const skipWithoutHistory =
  spawnSync('git', ['cat-file', '-e', COMMIT], { cwd: ROOT }).status === 0
    ? false
    : 'SKIPPED: the release before is not in this checkout’s history'

/** Its command. It runs with the packages of today, which it was not locked to; that they fit is part of the test. */
export async function previousRelease(t: TestContext): Promise<string> {
  const folder = await tempFolder(t)
  const archive = execFileSync('git', ['archive', COMMIT, 'bin', 'src', 'sdk', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'bin', 'esclusa.js')
}
