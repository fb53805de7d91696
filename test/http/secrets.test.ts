// Secrets at rest and in the log: a node that has seen many requests, failures among them, leaves no secret in its
// database files and neither secrets nor people's data in its log.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { operations } from '../../src/contract/operations.ts'
import type { OperationName } from '../../src/contract/operations.ts'
import { readSecrets } from '../../src/files/secrets.ts'
import { makeTokens } from '../../src/accounts/token.ts'
import { listAccounts } from '../../src/store/accounts.ts'
import type { Account } from '../../src/store/accounts.ts'
import { caller } from '../support/call.ts'
import { closeAfter, startTestHttp, tempFolder, testOnBoth } from '../support/harness.ts'
import { everyRow } from '../support/rows.ts'
import { CLOSED, FULL, PASSWORD, PERSON, PLAIN, SECRETS, USERNAMES } from '../support/seed.ts'

const NEW_SECRETS = { localKey: 'freshly-set-local-key', remoteKey: 'freshly-set-remote-key' }

/** Text that must not be found: the values, and the inner lines of the keys (a whole PEM may be broken up). */
function forbidden(): string[] {
  const lines = [SECRETS.rsaLocalKey, SECRETS.rsaRemoteKey].flatMap((pem) =>
    pem.split('\n').filter((line) => line.length > 40 && !line.startsWith('--')),
  )
  return [PASSWORD, SECRETS.localKey, SECRETS.remoteKey, ...Object.values(NEW_SECRETS), ...lines]
}

function assertNone(haystack: Buffer | string, needles: readonly string[], where: string): void {
  for (const needle of needles)
    assert.ok(!haystack.includes(needle), `${where} holds "${needle.slice(0, 30)}…"`)
}

testOnBoth('no row holds a secret or a password', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await node.call('updateChannel', { code: FULL, body: { security: NEW_SECRETS } })
  const rows = JSON.stringify(await everyRow(node.store))
  assertNone(rows, forbidden(), 'a row')
  const { body } = await node.call('channelConfiguration', { code: FULL })
  assert.equal(body[0].security.localKey, NEW_SECRETS.localKey)
})

/** A node process on a platform that was seeded before; what it writes to its log is gathered. */
async function startProcess(t: TestContext) {
  const dataDir = await tempFolder(t)
  const accounts = await seed(t, dataDir)
  const bin = new URL('../../bin/esclusa.js', import.meta.url).pathname
  const env = {
    PATH: process.env.PATH,
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_LOG_LEVEL: 'trace',
  }
  const child = spawn(process.execPath, [bin, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  closeAfter(t, async () => {
    child.kill('SIGTERM')
    await exited
  })
  const log: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => log.push(line))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line)
      const found = /ready at (\S+)/.exec(line)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the node ended with ${code}: ${log.join('\n')}`)))
  })
  return { dataDir, url, log, accounts, stop: async () => (child.kill('SIGTERM'), await exited) }
}

async function seed(t: TestContext, dataDir: string): Promise<readonly Account[]> {
  const seeded = await startTestHttp(t, { settings: { ESCLUSA_DATA_DIR: dataDir } })
  const accounts = await listAccounts(seeded.store.db)
  await seeded.store.close()
  return accounts
}

test('the files and the log of a node that went through many requests hold no secret and no person', async (t) => {
  const node = await startProcess(t)
  const { jwtSecret, masterKey } = readSecrets(readConfig({ ESCLUSA_DATA_DIR: node.dataDir }))
  const tokens = makeTokens(jwtSecret)
  const made: string[] = []
  const call = caller(node.url, (username) => {
    const account = node.accounts.find((one) => one.username === username)
    assert.ok(account)
    const { token } = tokens.make(account, Date.now())
    made.push(token)
    return Promise.resolve(token)
  })
  for (const name of Object.keys(operations) as OperationName[])
    for (const as of [...USERNAMES, null])
      for (const code of [FULL, PLAIN, CLOSED, 'NO-SUCH-ONE', 'bad'])
        for (const body of operations[name].method === 'GET'
          ? [undefined]
          : [undefined, {}, { security: { ...SECRETS, rsaLocalKey: 'not a key' } }])
          await call(name, {
            as,
            code,
            transferId: 'x',
            body,
            query: name === 'listContacts' ? { size: 10 } : {},
          })
  assert.equal((await call('updateChannel', { code: FULL, body: { security: NEW_SECRETS } })).status, 200)
  for (const password of ['wrong password', PASSWORD]) {
    const login = await call('loginV2', { as: null, body: { username: 'operator', password } })
    if (login.status === 200) made.push(login.body.token, login.body.refresh_token)
  }
  assert.ok((await call('listContacts', { query: { size: 10 } })).text.includes(PERSON.email ?? ''))
  const files = await readdir(node.dataDir)
  assert.ok(files.includes('esclusa.db') && files.includes('esclusa.db-wal'))
  const secrets = [...forbidden(), jwtSecret, masterKey, ...made.map((token) => token.split('.')[2] ?? token)]
  for (const file of files.filter((one) => one.startsWith('esclusa.db')))
    assertNone(await readFile(join(node.dataDir, file)), secrets, file)
  await node.stop()
  assert.ok(node.log.length > 0)
  const people = Object.entries(PERSON)
    .filter(([field]) => field !== 'id')
    .map(([, value]) => value)
  assertNone(node.log.join('\n'), [...secrets, ...people, 'wrong password'], 'the log')
})

test('the key the interface was given is the key it gives back', async (t) => {
  const node = await startTestHttp(t)
  const { body } = await node.call('channelConfiguration', { code: FULL })
  assert.equal(createPublicKey(body[0].security.rsaRemoteKey).asymmetricKeyType, 'rsa')
  assert.equal(body[0].security.rsaLocalKey, SECRETS.rsaLocalKey)
})
