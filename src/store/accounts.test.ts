import assert from 'node:assert/strict'
import { testOnBoth, withStore } from '../../test/support/harness.ts'
import { accountOf } from '../../test/support/seed.ts'
import {
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
    assert.deepEqual(await findAccount(store.db, 'ana'), ana)
    assert.deepEqual(await findAccountByEmail(store.db, 'ANA.ruiz@banco.EXAMPLE'), ana)
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
