// `kill -9` at random moments of backup, restore, rotation and migration: nothing is lost, and each can be run again.
// ESCLUSA_LONG=1 runs 100 rounds of each; ESCLUSA_SEED repeats a run's moments.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setScene } from '../backup/scene.ts'
import type { Scene } from '../backup/scene.ts'
import { esclusa, launch } from '../crash/node-process.ts'
import type { Settings } from '../crash/node-process.ts'
import { seededRandom } from '../crash/random.ts'
import { LONG, SEED } from '../crash/trial.ts'
import { tempFolder, testOnBoth } from '../support/harness.ts'

const ROUNDS = LONG ? 100 : 2
const random = seededRandom(SEED)

/** Starts a command and kills it at some moment of the time that it takes. */
async function killed(settings: Settings, longestMs: number, ...args: string[]): Promise<void> {
  const child = launch(settings, args)
  const gone = once(child, 'close')
  await Promise.race([gone, delay(random.between(50, longestMs))])
  child.kill('SIGKILL')
  await gone
}

/** How long a command takes here and now. */
async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const began = Date.now()
  await run()
  return Date.now() - began
}

async function killsRestores(scene: Scene, file: string, exported: string): Promise<void> {
  const restore = () => scene.run('restore', file, '--replace')
  const takesMs = await timeOf(restore)
  for (let round = 0; round < ROUNDS; round++) {
    await killed(scene.settings, takesMs, 'restore', file, '--replace')
    await restore()
    assert.equal(await scene.run('export', '--secrets'), exported, `round ${round}, seed ${SEED}`)
  }
}

testOnBoth('a backup, a restore and a new master key that are killed lose nothing', async (t, database) => {
  t.diagnostic(`seed ${SEED}, ${ROUNDS} rounds`)
  const scene = await setScene(t, database)
  const exported = await scene.run('export', '--secrets')
  const file = scene.at('backup.tar.gz')
  const takesMs = await timeOf(() => scene.run('backup', file))
  for (let round = 0; round < ROUNDS; round++) {
    await rm(file, { force: true })
    await killed(scene.settings, takesMs, 'backup', file)
    if (!existsSync(file)) await scene.run('backup', file)
    await scene.run('backup', 'verify', file)
  }
  await killsRestores(scene, file, exported)
  for (let round = 0; round < ROUNDS; round++) {
    await killed(scene.settings, takesMs, 'keys', 'rotate-master')
    assert.equal(await scene.run('export', '--secrets'), exported, `round ${round}, seed ${SEED}`)
  }
  await scene.run('keys', 'rotate-master')
  assert.equal(await scene.run('export', '--secrets'), exported, `seed ${SEED}`)
})

test('a migration that is killed is made by the next start', async (t) => {
  const archive = fileURLToPath(new URL('../fixtures/releases/0.1.0/sqlite.tar.gz', import.meta.url))
  for (let round = 0; round < ROUNDS; round++) {
    const root = await tempFolder(t)
    execFileSync('tar', ['-xzf', archive, '-C', root])
    const settings = { ESCLUSA_DATA_DIR: join(root, 'data') }
    await killed(settings, 1500, 'user', 'list')
    assert.match(await esclusa(settings, 'user', 'list'), /^ana /m, `round ${round}, seed ${SEED}`)
  }
})
