// The keys of the house are gone from the data folder of a platform that has begun: nobody makes another master key.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { startNode } from '../../src/main.ts'
import { launch } from '../crash/node-process.ts'
import { closeAfter, postgres, startTestNode, tempFolder, testOnBoth } from '../support/harness.ts'

const { skip = false } = postgres

async function run(settings: Record<string, string>, ...args: string[]) {
  const child = launch(settings, args)
  let [said, complained] = ['', '']
  child.stdout?.on('data', (piece) => (said += String(piece)))
  child.stderr?.on('data', (piece) => (complained += String(piece)))
  const exit = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { exit, said, complained }
}

testOnBoth('without its master key a platform is refused, and doctor makes none', async (t, database) => {
  const node = await startTestNode(t, { database })
  await node.stop()
  const [dataDir, aside] = [node.dataDir, await tempFolder(t)]
  const settings = {
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_LOG_LEVEL: 'silent',
    ...(node.databaseUrl && { ESCLUSA_DATABASE_URL: node.databaseUrl }),
  }
  for (const name of ['master-key', 'jwt-secret']) await rename(join(dataDir, name), join(aside, name))
  const missing = `master-key is missing in ${dataDir}: put it back from a backup, or set ESCLUSA_MASTER_KEY`
  await assert.rejects(startNode(readConfig(settings)), { code: 'bad_use', message: missing })
  const doctor = await run(settings, 'doctor')
  assert.equal(doctor.exit, 1, doctor.said)
  assert.ok(doctor.said.includes(`WRONG    keys: ${missing}`), doctor.said)
  assert.match(doctor.said, /WRONG +keys: jwt-secret is missing/)
  const command = await run(settings, 'user', 'list')
  assert.equal(command.exit, 2, command.complained)
  assert.equal(existsSync(join(dataDir, 'master-key')), false)
  assert.equal(existsSync(join(dataDir, 'jwt-secret')), false)
  await rename(join(aside, 'master-key'), join(dataDir, 'master-key'))
  const again = await startNode(readConfig(settings))
  closeAfter(t, () => again.stop())
  assert.equal(existsSync(join(dataDir, 'jwt-secret')), true, 'tokens and logins are all that ends')
  if (!node.databaseUrl) return
  // A node that joins with a folder of its own.
  const own = join(aside, 'own')
  const joining = { ...settings, ESCLUSA_DATA_DIR: own }
  await assert.rejects(startNode(readConfig(joining)), /^NodeError: master-key is missing in .*own/)
  await rm(own, { recursive: true, force: true })
})

testOnBoth(
  'with another master key a platform is refused, and only its export is left',
  async (t, database) => {
    const node = await startTestNode(t, { database })
    const settings = {
      ESCLUSA_DATA_DIR: database === postgres ? join(await tempFolder(t), 'own') : node.dataDir,
      ESCLUSA_PORT: '0',
      ESCLUSA_LOG_LEVEL: 'silent',
      ESCLUSA_MASTER_KEY: 'another key than that of the platform',
      ...(node.databaseUrl && { ESCLUSA_DATABASE_URL: node.databaseUrl }),
    }
    if (database !== postgres) await node.stop()
    const refusal = /no secret in the database opens with this master key/
    await assert.rejects(startNode(readConfig(settings)), { code: 'bad_use', message: refusal })
    const command = await run(settings, 'user', 'list')
    assert.equal(command.exit, 2, command.complained)
    assert.match(command.complained, refusal)
    const exported = await run(settings, 'export')
    assert.equal(exported.exit, 0, exported.complained)
    assert.match(exported.said, /^channels:/m)
    // Beside the key that they were sealed with it is a further one.
    const kept = (await readFile(join(node.dataDir, 'master-key'), 'utf8')).trim()
    const both = { ...settings, ESCLUSA_MASTER_KEY_OLD: kept }
    const again = await startNode(readConfig(both))
    closeAfter(t, () => again.stop())
  },
)

test(
  'where nothing is sealed yet, a node may join a platform on PostgreSQL with a key of its own',
  { skip },
  async (t) => {
    const node = await startTestNode(t, { database: postgres, empty: true })
    const settings = {
      ESCLUSA_DATA_DIR: join(await tempFolder(t), 'own'),
      ESCLUSA_PORT: '0',
      ESCLUSA_LOG_LEVEL: 'silent',
      ESCLUSA_DATABASE_URL: node.databaseUrl ?? '',
    }
    const joined = await startNode(readConfig(settings))
    closeAfter(t, () => joined.stop())
    assert.ok(existsSync(join(settings.ESCLUSA_DATA_DIR, 'master-key')))
  },
)
