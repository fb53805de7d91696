// `kill -9` at random moments of backup, restore, rotation, migration and archiving: nothing is lost, and each can be run
// again. ESCLUSA_LONG=1 runs 100 rounds of each on both databases; ESCLUSA_SEED repeats a run's moments.

import assert from 'node:assert/strict'
import { execFileSync, fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { Client } from 'pg'
import { makeTokens } from '../../src/accounts/token.ts'
import { readSecrets } from '../../src/files/secrets.ts'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import { SALARIES, setScene } from '../backup/scene.ts'
import type { Scene } from '../backup/scene.ts'
import { esclusa, launch } from '../crash/node-process.ts'
import type { Settings } from '../crash/node-process.ts'
import { seededRandom } from '../crash/random.ts'
import { LONG, SEED } from '../crash/trial.ts'
import { addCompleted } from '../support/completed-transfer.ts'
import { closeAfter, tempFolder, testOnBoth } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'

const ROUNDS = LONG ? 100 : 2
/** Where a round costs more than it shows when it is one of two. */
const FEWER = LONG ? 100 : 1
const random = seededRandom(SEED)

/** Starts a command and kills it at some moment of the time that it takes. */
function killed(settings: Settings, longestMs: number, ...args: string[]): Promise<void> {
  return killedAt(launch(settings, args), random.between(50, longestMs))
}

async function killedAt(child: ChildProcess, ms: number): Promise<void> {
  const gone = once(child, 'close')
  await Promise.race([gone, delay(ms)])
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
  await killsTokenSecrets(scene, takesMs)
})

/** Tokens made before live out, whenever the exchange of their secret was killed. */
async function killsTokenSecrets({ settings }: Scene, takesMs: number): Promise<void> {
  const config = { dataDir: settings.ESCLUSA_DATA_DIR ?? '', jwtSecret: undefined, masterKey: undefined }
  const ana = { id: 'a', username: 'ana', credentialVersion: 1, loginVersion: 1 }
  for (let round = 0; round < FEWER; round++) {
    const { token } = makeTokens(readSecrets(config).jwt).make(ana, Date.now())
    await killed(settings, takesMs, 'keys', 'rotate-jwt')
    const { sub } = makeTokens(readSecrets(config).jwt).read(token, Date.now())
    assert.equal(sub, 'ana', `round ${round}, seed ${SEED}`)
  }
}

testOnBoth('a migration that is killed is made by the next start', async (t, database) => {
  const archive = fileURLToPath(
    new URL(`../fixtures/releases/0.1.0/${database.name}.tar.gz`, import.meta.url),
  )
  for (let round = 0; round < FEWER; round++) {
    const root = await tempFolder(t)
    execFileSync('tar', ['-xzf', archive, '-C', root])
    const databaseUrl = await database.createEmpty(t)
    if (databaseUrl) await load(databaseUrl, readFileSync(join(root, 'dump.sql'), 'utf8'))
    const settings = {
      ESCLUSA_DATA_DIR: join(root, 'data'),
      ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
    }
    await killed(settings, 1500, 'user', 'list')
    assert.match(await esclusa(settings, 'user', 'list'), /^ana /m, `round ${round}, seed ${SEED}`)
  }
})

async function load(databaseUrl: string, dump: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(dump)
  await client.end()
}

testOnBoth('archiving that is killed has every row once', async (t, database) => {
  const { store, dataDir, databaseUrl } = await archivingScene(t, database)
  const archiveDir = join(dataDir, 'archive')
  await mkdir(archiveDir)
  const start = () =>
    fork(new URL('archive-child.ts', import.meta.url), [dataDir, databaseUrl ?? '', archiveDir])
  const toItsEnd = async () => {
    const [code] = (await once(start(), 'close')) as [number]
    assert.equal(code, 0)
  }
  const ids: string[] = []
  ids.push(...(await addOld(store, ids.length)))
  const takesMs = await timeOf(toItsEnd)
  for (let round = 0; round < FEWER; round++) {
    ids.push(...(await addOld(store, ids.length)))
    await killedAt(start(), random.between(50, takesMs))
  }
  await toItsEnd()
  const left = await store.db.selectFrom('transfer').select('id').execute()
  assert.deepEqual(left, [], `seed ${SEED}`)
  const lines = readdirSync(archiveDir).flatMap((name) =>
    gunzipSync(readFileSync(join(archiveDir, name)))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; id?: string }),
  )
  const archived = lines.filter(({ kind }) => kind === 'transfer').map(({ id }) => id ?? '')
  assert.deepEqual(archived.toSorted(), ids.toSorted(), `seed ${SEED}`)
  const entries = lines.filter(({ kind }) => kind === 'history').length
  assert.equal(entries, ids.length, `seed ${SEED}`)
})

async function archivingScene(t: TestContext, database: TestDatabase) {
  const scene = await setScene(t, database)
  const dataDir = scene.settings.ESCLUSA_DATA_DIR ?? ''
  const databaseUrl = scene.settings.ESCLUSA_DATABASE_URL
  const store = await openStore({ dataDir, databaseUrl })
  closeAfter(t, () => store.close())
  // Making the channels has left entries in their histories.
  await store.db.deleteFrom('history').execute()
  return { store, dataDir, databaseUrl }
}

/** More than go at once; of ten days ago, each later than the one before. */
async function addOld(store: Store, before: number): Promise<string[]> {
  const ids: string[] = []
  await store.write(async (tx) => {
    for (let nth = 0; nth < 130; nth++) {
      const at = Date.now() - 10 * 86_400_000 + (before + nth) * 1000
      ids.push(await addCompleted(tx, SALARIES, { name: `f${nth}`, at, tookMs: 1 }))
    }
  })
  return ids
}
