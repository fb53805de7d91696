import assert from 'node:assert/strict'
import { testOnBoth, withStore } from '../../test/support/harness.ts'
import { accountOf, contactOf, seedChannel } from '../../test/support/seed.ts'
import { lockChannel, updateChannel } from './channels.ts'
import {
  findContacts,
  listContacts,
  openProtocolSections,
  contactPlace,
  putContact,
  putLocalEntity,
  removeContact,
} from './contacts.ts'
import { channelAccessChanged, makeChannelAccess } from './channel-access.ts'
import type { Store } from './database/store.ts'
import { makeSeal } from './seal.ts'

const seal = makeSeal('0'.repeat(32))
const operator = accountOf('operator', null)
const admin = accountOf('admin', null)

async function fill(store: Store): Promise<void> {
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    for (const id of ['beta', 'acme']) await putContact(tx, contactOf(id, id.toUpperCase(), []))
    await seedChannel(tx, seal, 'BANCO-ACME-b', 'acme', {})
    await seedChannel(tx, seal, 'BANCO-ACME-B', 'acme', { users: ['eva'] })
    await seedChannel(tx, seal, 'BANCO-BETA-A', 'beta', { users: ['operator'] })
    await channelAccessChanged(tx)
  })
}

testOnBoth('each user sees the channels open to them, in the order of their codes', async (t, database) => {
  const store = await withStore(t, database)
  await fill(store)
  const directory = makeChannelAccess()
  assert.deepEqual((await directory(store.db, admin)).codes, ['BANCO-ACME-B', 'BANCO-ACME-b', 'BANCO-BETA-A'])
  const view = await directory(store.db, operator)
  assert.deepEqual(view.codes, ['BANCO-ACME-b', 'BANCO-BETA-A'])
  assert.deepEqual(view.codesByContact.get('acme'), ['BANCO-ACME-b'])
  assert.deepEqual(view.contactIds, ['acme', 'beta'])
})

testOnBoth('a change is seen at the next look, by every node', async (t, database) => {
  const store = await withStore(t, database)
  await fill(store)
  const nodes = [makeChannelAccess(), makeChannelAccess()]
  for (const directory of nodes) assert.equal((await directory(store.db, operator)).codes.length, 2)
  await store.write(async (tx) => {
    const channel = await lockChannel(tx, store.dialect, 'BANCO-ACME-B')
    await updateChannel(tx, { ...channel, config: { ...channel.config, users: [] } })
    await channelAccessChanged(tx)
  })
  for (const directory of nodes) assert.equal((await directory(store.db, operator)).codes.length, 3)
})

testOnBoth('contacts are kept with their sealed settings and found by id', async (t, database) => {
  const store = await withStore(t, database)
  const pointer = '/sftp/password'
  const acme = {
    ...contactOf('acme', 'ACME', []),
    settings: { sftp: { username: 'banco', hostKeys: ['SHA256:x'] } },
    secrets: { [pointer]: seal.seal(contactPlace('acme', pointer), 'hush') },
  }
  await store.write((tx) => putContact(tx, acme))
  assert.deepEqual(await findContacts(store.db, ['acme', 'none']), [acme])
  assert.deepEqual(openProtocolSections(seal, acme), {
    sftp: { username: 'banco', hostKeys: ['SHA256:x'], password: 'hush' },
  })
  assert.deepEqual(acme.settings, { sftp: { username: 'banco', hostKeys: ['SHA256:x'] } })
  await store.write((tx) => removeContact(tx, 'acme'))
  assert.deepEqual(await listContacts(store.db), [])
})
