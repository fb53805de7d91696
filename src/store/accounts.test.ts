import assert from 'node:assert/strict'
import { testOnBoth, withStore } from '../../test/support/harness.ts'
import { accountOf } from '../../test/support/seed.ts'
import {
  accessVersion,
  findAccount,
  findAccountByEmail,
  hasAccounts,
  listAccounts,
  putAccount,
  removeAccount,
} from './accounts.ts'

testOnBoth(
  'an account is kept as it is given, found by its name exactly and by its address in any case',
  async (t, database) => {
    const store = await withStore(t, database)
    assert.equal(await hasAccounts(store.db), false)
    const ana = {
      ...accountOf('operator', null),
      username: 'ana',
      email: 'Ana.Ruiz@Banco.example',
      secondLastName: 'Gil',
    }
    await store.write((tx) => putAccount(tx, ana))
    assert.equal(await hasAccounts(store.db), true)
    const found = await findAccount(store.db, 'ana')
    assert.deepEqual(found, { ...ana, id: found?.id, loginVersion: 0 })
    assert.deepEqual(await findAccountByEmail(store.db, 'ANA.ruiz@banco.EXAMPLE'), found)
    for (const name of ['Ana', 'ana ', '', 'ana\0', 'eva'])
      assert.equal(await findAccount(store.db, name), undefined)
    assert.equal(await findAccountByEmail(store.db, 'ana\0@banco.example'), undefined)
  },
)

testOnBoth(
  'an account is replaced by its name, two cannot share an address, a removed one is gone',
  async (t, database) => {
    const store = await withStore(t, database)
    const ana = { ...accountOf('operator', null), username: 'ana', email: 'ana@banco.example' }
    await store.write((tx) => putAccount(tx, ana))
    await store.write((tx) => putAccount(tx, { ...ana, disabled: true, credentialVersion: 2 }))
    assert.equal((await findAccount(store.db, 'ana'))?.disabled, true)
    await assert.rejects(
      store.write((tx) => putAccount(tx, { ...ana, username: 'eva', email: 'ANA@banco.example' })),
    )
    assert.deepEqual(
      (await listAccounts(store.db)).map((one) => one.username),
      ['ana'],
    )
    await store.write((tx) => removeAccount(tx, 'ana'))
    assert.equal(await findAccount(store.db, 'ana'), undefined)
  },
)

testOnBoth('an account keeps its id through changes, and one made again has another', async (t, database) => {
  const store = await withStore(t, database)
  const ana = { ...accountOf('operator', null), username: 'ana' }
  const idOf = async () => (await findAccount(store.db, 'ana'))?.id
  const version = await accessVersion(store.db)
  await store.write((tx) => putAccount(tx, ana))
  const first = await idOf()
  await store.write((tx) => putAccount(tx, { ...ana, role: 'ROLE_ADMIN' }))
  assert.equal(await idOf(), first)
  await store.write((tx) => removeAccount(tx, 'ana'))
  await store.write((tx) => putAccount(tx, ana))
  assert.notEqual(await idOf(), first)
  assert.notEqual(await accessVersion(store.db), version)
})
