// The keys of the house are exchanged beside a running node: it goes on with the new ones, and nothing is lost.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { isPasswordHash } from '../../src/accounts/password.ts'
import { makeAuditKeys } from '../../src/audit/keys.ts'
import { verifyAudit } from '../../src/audit/read-trail.ts'
import { fixedKey } from '../../src/domain/key-ring.ts'
import { keepOld, oldKeys } from '../../src/files/key-file.ts'
import { makeLog } from '../../src/log.ts'
import { findChannel, openChannel } from '../../src/store/channels.ts'
import { findContact, openProtocolSections, putContact } from '../../src/store/contacts.ts'
import { insertKeyProposal, listKeyProposals } from '../../src/store/keys/proposals.ts'
import { makeSeal } from '../../src/store/seal.ts'
import { livingOwners } from '../../src/store/transfers/signs-of-life.ts'
import { hashAccessTask } from '../../src/upkeep/hash-access.ts'
import { proposedKeysTask } from '../../src/upkeep/proposed-keys.ts'
import { KEPT_MS, resealTask } from '../../src/upkeep/reseal.ts'
import { attempt } from '../../src/upkeep/upkeep.ts'
import { esclusa, launch, NodeProcess } from '../crash/node-process.ts'
import {
  closeAfter,
  postgres,
  startTestHttp,
  startTestNode,
  tempFolder,
  testOnBoth,
  waitFor,
} from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { FULL, SECRETS } from '../support/seed.ts'

const settingsOf = ({ dataDir, databaseUrl }: TestNode) => ({
  ESCLUSA_DATA_DIR: dataDir,
  ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
})

async function secretOf(node: TestNode, seal = node.context.seal): Promise<string | undefined> {
  const channel = await findChannel(node.store.db, FULL)
  assert.ok(channel)
  return openChannel(seal, channel).security?.localKey
}

const keyFileOf = ({ dataDir }: TestNode) => join(dataDir, 'master-key')
const read = (path: string) => readFileSync(path, 'utf8').trim()

testOnBoth('a new master key seals everything, beside a node that goes on with it', async (t, database) => {
  const node = await startTestNode(t, { database })
  const settings = settingsOf(node)
  const before = read(keyFileOf(node))
  const said = await esclusa(settings, 'keys', 'rotate-master')
  assert.match(said, /^\+ a new master key\n~ 1 rows sealed with the new master key$/m)
  const now = read(keyFileOf(node))
  assert.notEqual(now, before)
  assert.equal(await secretOf(node), SECRETS.localKey, 'the node opens what was sealed with the new key')
  assert.equal(await secretOf(node, makeSeal(now)), SECRETS.localKey)
  await assert.rejects(secretOf(node, makeSeal(before)), /does not open/)
  // The node writes to the trail with the new key as well; what the old one signed is signed anew.
  await node.call('loginV2', { as: null, body: { username: 'nobody', password: 'x' } })
  await waitFor('the trail to be sealed', async () => {
    const verified = await verifyAudit(node.store.db, makeAuditKeys(now), [])
    return verified.open === 0 && verified.entries > 2
  })
  const { findings } = await verifyAudit(node.store.db, makeAuditKeys(now), [])
  assert.deepEqual(findings, [])
})

test(
  'no new master key beside a node that takes its own from another folder or from a setting',
  { skip: postgres.skip ?? false },
  async (t) => {
    const node = await startTestNode(t, { database: postgres })
    const settings = settingsOf(node)
    const before = read(keyFileOf(node))
    const apart = {
      ESCLUSA_DATA_DIR: await tempFolder(t),
      ESCLUSA_MASTER_KEY: before,
      ESCLUSA_DATABASE_URL: node.databaseUrl ?? '',
      ESCLUSA_PORT: '0',
    }
    const other = await NodeProcess.start(apart)
    closeAfter(t, () => other.kill())
    await waitFor(
      'both to be at work',
      async () => (await livingOwners(node.store.db, Date.now())).size === 2,
    )
    await assert.rejects(
      esclusa(settings, 'keys', 'rotate-master'),
      new RegExp(`take their master key from elsewhere.*-${other.pid}-.*copy master-key and master-key.old`),
    )
    assert.equal(read(keyFileOf(node)), before)
    const { stderr } = launch(settings, ['keys', 'rotate-jwt'])
    assert.ok(stderr)
    assert.match(
      await text(stderr),
      new RegExp(`go on with the one before: [^,]*-${other.pid}-[^,]*; copy jwt-secret`),
    )
    await other.stop()
    assert.match(await esclusa(settings, 'keys', 'rotate-master'), /^\+ a new master key$/m)
  },
)

// The door alone, here and in the last test: a whole node does these tasks itself after its first two seconds.
testOnBoth(
  'upkeep finishes what a rotation has left, and puts the old key away after a day',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const before = read(keyFileOf(node))
    const ring = fixedKey('a new master key that is long enough', [before])
    const seal = makeSeal(ring)
    let clock = Date.now()
    const log = makeLog('silent', 'test')
    const parts = { store: node.store, seal, master: ring, log, owner: 'test', now: () => clock }
    const task = resealTask({ ...parts, auditKeys: makeAuditKeys(ring), keyFile: keyFileOf(node) })
    keepOld(keyFileOf(node), [{ key: before, since: clock, until: Number.MAX_SAFE_INTEGER }])
    await attempt(parts, task)
    assert.equal(await secretOf(node, makeSeal(ring.current())), SECRETS.localKey)
    assert.equal(oldKeys(keyFileOf(node)).length, 1, 'a node may not have heard yet')
    clock += KEPT_MS + 1
    await attempt(parts, task)
    assert.deepEqual(oldKeys(keyFileOf(node)), [])
  },
)

testOnBoth('a new secret for tokens lets the old ones live out, or ends them', async (t, database) => {
  const node = await startTestNode(t, { database })
  const settings = settingsOf(node)
  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await node.call('listChannels', { as: null, headers })).status
  }
  const first = await node.token('operator')
  assert.equal(await statusWith(first), 200)
  await esclusa(settings, 'keys', 'rotate-jwt')
  const second = (await esclusa(settings, 'token', 'create', '--user', 'operator')).trim()
  await waitFor('the node to know the new secret', async () => (await statusWith(second)) === 200)
  assert.equal(await statusWith(first), 200, 'it lives out')
  await esclusa(settings, 'keys', 'rotate-jwt', '--end-tokens')
  await waitFor('the token of the secret before to end', async () => (await statusWith(second)) === 401)
  assert.equal(await statusWith(first), 401, 'and those before it')
})

testOnBoth('a partner’s password becomes a hash once no older node is at work', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const { seal } = node.context
  const contact = await findContact(node.store.db, 'acme')
  assert.ok(contact)
  const password = 'secret-at-our-server'
  const sealed = seal.seal('contact acme /access/password', password)
  const partner = {
    ...contact,
    settings: { access: { username: 'acme' } },
    secrets: { '/access/password': sealed },
  }
  await node.store.write((tx) => putContact(tx, partner))
  const log = makeLog('silent', 'test')
  const now = () => Date.now()
  const parts = { store: node.store, seal, log, owner: 'test', now }
  // A node of the version before knows no hashes.
  await node.store.write((tx) =>
    tx
      .insertInto('sign_of_life')
      .values({ owner: 'old', alive_until: Date.now() + 60_000, version: null })
      .execute(),
  )
  const kept = async () => {
    const found = await findContact(node.store.db, 'acme')
    assert.ok(found)
    return openProtocolSections(seal, found).access?.password ?? ''
  }
  await attempt(parts, { ...hashAccessTask(parts), name: 'first' })
  assert.equal(await kept(), password)
  await node.store.write((tx) => tx.deleteFrom('sign_of_life').where('owner', '=', 'old').execute())
  await attempt(parts, { ...hashAccessTask(parts), name: 'second' })
  assert.ok(isPasswordHash(await kept()))
})

testOnBoth(
  'a private key that was kept with the key that its owner proposed is taken out',
  async (t, database) => {
    const { store } = await startTestHttp(t, { database })
    const { certificatePem, privateKeyPem, publicKeyPem } = await makeTestKey('partner')
    const cut = privateKeyPem.slice(0, 300)
    const kept = {
      'in front': [`text\n${privateKeyPem}${certificatePem}`, `text\n${certificatePem}`],
      behind: [`${certificatePem}${privateKeyPem}`, certificatePem],
      'without an end': [`${cut}\n${certificatePem}${cut}`, certificatePem],
      'none of them': [publicKeyPem, publicKeyPem],
    } as const
    for (const [id, [pem]] of Object.entries(kept))
      await store.write((tx) =>
        insertKeyProposal(tx, {
          id,
          contactId: 'acme',
          channelCode: FULL,
          pem,
          fingerprint: id,
          receivedAt: 1,
        }),
      )
    const parts = { store, log: makeLog('silent', 'test'), owner: 'test', now: () => Date.now() }
    await attempt(parts, proposedKeysTask(parts))
    for (const { id, pem } of await listKeyProposals(store.db))
      assert.equal(pem, kept[id as keyof typeof kept][1], id)
  },
)
