// Every release is kept as it left database and folders (test/fixtures/releases): the program of today opens them, sees
// all that was there, and goes on with what was under way.

import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { databases, startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { isPasswordHash } from '../../src/accounts/password.ts'
import { findContact, openProtocolSections } from '../../src/store/contacts.ts'
import { openChannel, findChannel } from '../../src/store/channels.ts'
import { ANA_PASSWORD, FIXTURE_ROOT, LOCAL_KEY } from './release-platform.ts'
import { takeAsBeta } from './take-as-beta.ts'

const RELEASES = fileURLToPath(new URL('../fixtures/releases/', import.meta.url))

/** Each channel has one transfer. */
const LEFT = {
  'BANCO-ACME-FACTURA': 'FAILED',
  'BANCO-ACME-NOMINA': 'COMPLETED',
  'BANCO-ACME-PEDIDO': 'COMPLETED',
  'BANCO-BETA-LIBRO': 'IN_PROGRESS',
  'BANCO-GAMMA-PAGOS': 'PENDING',
}

const HOUR_MS = 3_600_000

for (const version of readdirSync(RELEASES))
  for (const database of databases)
    test(
      `what ${version} left is opened and gone on with (${database.name})`,
      { skip: database.skip ?? false },
      async (t) => {
        const sftpPort = await freePort()
        const { root, node } = await openRelease(t, version, database, sftpPort)
        await isAllThere(node)
        await sendsOnlyWhatIsNew(node, root, version)
        await retries(node, root, version)
        await keepsPasswordsAsHashes(node)
        assert.equal(await takeAsBeta(sftpPort, '/LIBRO/out/ledger.txt'), `ledger.txt of ${version}\n`)
        await ended(node, 'BANCO-BETA-LIBRO', 'COMPLETED')
        const reset = await node.call('resetChannel', { code: 'BANCO-GAMMA-PAGOS', as: 'ana' })
        assert.equal(reset.status, 200)
        await ended(node, 'BANCO-GAMMA-PAGOS', 'CANCELLED')
      },
    )

async function openRelease(t: TestContext, version: string, database: TestDatabase, sftpPort: number) {
  const root = await tempFolder(t)
  execFileSync('tar', ['-xzf', join(RELEASES, version, `${database.name}.tar.gz`), '-C', root])
  const databaseUrl = await database.createEmpty(t)
  if (databaseUrl) await load(databaseUrl, readFileSync(join(root, 'dump.sql'), 'utf8'))
  await moveTo(root, databaseUrl)
  const node = await startTestNode(t, {
    empty: true,
    settings: {
      ESCLUSA_DATA_DIR: join(root, 'data'),
      ESCLUSA_FILE_ROOTS: join(root, 'files'),
      ESCLUSA_SFTP_PORT: String(sftpPort),
      ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
    },
  })
  return { root, node }
}

async function load(databaseUrl: string, dump: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(dump)
  await client.end()
}

/** It was made in another folder, at another time, by a node that is dead. */
async function moveTo(root: string, databaseUrl: string | undefined): Promise<void> {
  const moved = (column: string) => `${column} = replace(${column}, '${FIXTURE_ROOT}', '${root}')`
  const changes = [
    `update contact set ${moved('settings')}`,
    `update channel set ${moved('config')}`,
    `update transfer_file set ${moved('path')}, ${moved('staged_path')}, ${moved('path_post')}`,
    `update outbox_file set ${moved('path')}`,
    `update partial_file set ${moved('path')}`,
    `update transfer set due_at = 0, lease_until = 0, ${moved('snapshot')}`,
    `update transfer set receipts_until = ${Date.now() + HOUR_MS} where receipts_until is not null`,
    'update sign_of_life set alive_until = 0',
    'update partner_health set open_until = 0',
  ]
  if (databaseUrl) return load(databaseUrl, changes.join(';'))
  const file = new Database(join(root, 'data', 'esclusa.db'))
  file.exec(changes.join(';'))
  file.close()
}

async function isAllThere(node: TestNode): Promise<void> {
  const login = await node.call('loginV2', { as: null, body: { username: 'ana', password: ANA_PASSWORD } })
  assert.equal(login.status, 200)
  const { body } = await node.call('listChannels', { as: 'ana' })
  assert.equal(body.totalElements, Object.keys(LEFT).length)
  for (const [code, status] of Object.entries(LEFT)) {
    const { body: transfers } = await node.call('listTransfers', { as: 'ana', code })
    assert.deepEqual([code, transfers.totalElements, transfers.content[0].status], [code, 1, status])
  }
  const channel = await findChannel(node.store.db, 'BANCO-GAMMA-PAGOS')
  assert.ok(channel)
  assert.equal(openChannel(node.context.seal, channel).security?.localKey, LOCAL_KEY)
  const { body: history } = await node.call('channelHistory', {
    as: 'ana',
    code: 'BANCO-ACME-NOMINA',
    query: { size: 10 },
  })
  assert.deepEqual(
    history.content.map(({ event }: { event: string }) => event),
    ['TRANSFER_COMPLETED', 'TRANSFER_STARTED', 'TRANSFER_REQUESTED', 'CHANNEL_CREATED'],
  )
}

async function sendsOnlyWhatIsNew(node: TestNode, root: string, version: string): Promise<void> {
  const code = 'BANCO-ACME-NOMINA'
  assert.equal(
    (await node.call('sendTransfer', { as: 'ana', code })).status,
    409,
    'it was sent before the upgrade',
  )
  writeFileSync(join(root, 'files/out/bonus.txt'), 'new\n')
  const sent = await node.call('sendTransfer', { as: 'ana', code })
  assert.deepEqual(
    sent.body.files.map(({ fileName }: { fileName: string }) => fileName),
    ['bonus.txt'],
  )
  await ended(node, code, 'COMPLETED')
  assert.equal(readFileSync(join(root, 'acme/in/bonus.txt'), 'utf8'), 'new\n')
  assert.equal(readFileSync(join(root, 'files/in/orders.txt'), 'utf8'), `orders.txt of ${version}\n`)
}

async function keepsPasswordsAsHashes(node: TestNode): Promise<void> {
  await waitFor('the partner’s password to be a hash', async () => {
    const contact = await findContact(node.store.db, 'beta')
    assert.ok(contact)
    return isPasswordHash(openProtocolSections(node.context.seal, contact).access?.password ?? '')
  })
}

async function retries(node: TestNode, root: string, version: string): Promise<void> {
  const code = 'BANCO-ACME-FACTURA'
  rmSync(join(root, 'acme/in/invoices.txt'))
  assert.equal((await node.call('retryTransfer', { as: 'ana', code })).status, 200)
  await ended(node, code, 'COMPLETED')
  assert.equal(readFileSync(join(root, 'acme/in/invoices.txt'), 'utf8'), `invoices.txt of ${version}\n`)
}

async function ended(node: TestNode, code: string, status: string): Promise<void> {
  await waitFor(`the last transfer of ${code} to be ${status}`, async () => {
    const { body } = await node.call('listTransfers', { as: 'ana', code })
    return body.content[0].status === status
  })
}
