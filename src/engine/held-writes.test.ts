import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sqlite, testOnBoth, withStore } from '../../test/support/harness.ts'
import type { TestDatabase } from '../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../test/support/seed.ts'
import { NodeError } from '../errors.ts'
import { putContact, putLocalEntity } from '../store/contacts.ts'
import { newId } from '../store/database/ids.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { makeSeal } from '../store/seal.ts'
import { claimNew } from '../store/transfers/claims.ts'
import type { Held } from '../store/transfers/leases.ts'
import { sentHashes, rememberSent } from '../store/transfers/sent-files.ts'
import { insertTransfer, moveTransfer } from '../store/transfers/transfers.ts'
import { writeHeld } from './held-writes.ts'

const CODE = 'BANCO-ACME-NOMINA'
const STEPS = Array.from({ length: 20 }, (_, nth) => String.fromCharCode(97 + nth))

/** A transfer that this node has, and how often it has written since. */
async function withHeld(t: TestContext, database: TestDatabase) {
  const opened = await withStore(t, database)
  const held: Held = { id: newId(1000), fence: 1 }
  const made = { channelCode: CODE, direction: 'EMISION', type: 'MANUAL', requestedBy: 'ana' } as const
  await opened.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    await seedChannel(tx, makeSeal('0'.repeat(32)), CODE, 'acme', {})
    await insertTransfer(tx, { ...made, id: held.id, now: 1000, retryOf: null, files: [] })
    await claimNew(tx, held, { owner: 'me', until: 9e15 })
    await moveTransfer(tx, held.id, { from: 'PENDING', to: 'IN_PROGRESS', now: 1000, fence: 1 })
  })
  let writes = 0
  const store: Store = {
    ...opened,
    write: (change) => {
      writes++
      return opened.write(change)
    },
  }
  return { store, held, writes: () => writes }
}

const note = (hash: string) => (tx: Tx) => rememberSent(tx, { channelCode: CODE, name: 'a', hash, size: 1 })
const noted = async (store: Store) => (await sentHashes(store.db, CODE, 'a', 1)).toSorted()

testOnBoth(
  'what is written of a transfer in one moment shares one transaction; one that cannot be takes no other with it',
  async (t, database) => {
    const { store, held, writes } = await withHeld(t, database)
    const hashes = ['1', '2', '3', '4', '5', '6']
    await Promise.all(hashes.map((hash) => writeHeld(store, held, note(hash))))
    assert.equal(writes(), 1)
    assert.deepEqual(await noted(store), hashes)

    const fails = async (tx: Tx) => {
      await note('half')(tx)
      throw new NodeError('duplicate_file', 'this one')
    }
    // One that the database refuses, and one that still has steps to take when the others have failed.
    const refused = async (tx: Tx) => {
      await note('again')(tx)
      const again = { channel_code: CODE, name: 'a', hash: 'again', size: 1 }
      await tx.insertInto('sent_file').values(again).execute()
    }
    let tries = 0
    const steps = async (tx: Tx) => {
      tries++
      for (const step of STEPS) await note(`try ${tries} ${step}`)(tx)
    }
    const changes = [note('A'), steps, fails, refused, note('B')]
    const ends = await Promise.allSettled(changes.map((change) => writeHeld(store, held, change)))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    const written = [...hashes, 'A', 'B', ...STEPS.map((step) => `try 2 ${step}`)]
    assert.deepEqual(await noted(store), written)

    // Another node has taken it: nothing is written any more.
    await store.write((tx) => claimNew(tx, { ...held, fence: 2 }, { owner: 'other', until: 9e15 }))
    for (const end of await Promise.allSettled(
      ['C', 'D'].map((hash) => writeHeld(store, held, note(hash))),
    )) {
      assert.equal(end.status, 'rejected')
      assert.equal((end.reason as NodeError).code, 'lease_lost')
    }
    assert.deepEqual(await noted(store), written)
  },
)

test('a transaction does not grow with what waits for it', async (t) => {
  const { store, held, writes } = await withHeld(t, sqlite)
  const hashes = Array.from({ length: 300 }, (_, nth) => String(nth))
  await Promise.all(hashes.map((hash) => writeHeld(store, held, note(hash))))
  assert.equal(writes(), 3)
  assert.deepEqual(await noted(store), hashes.toSorted())
})

test('where SQLite rolls back by itself nothing is written outside a transaction', async (t) => {
  const { store, held } = await withHeld(t, sqlite)
  await writeHeld(store, held, note('taken'))
  // As it does when the disk is full.
  const rollsBack = async (tx: Tx) => {
    await sql`insert or rollback into sent_file (channel_code, name, hash, size)
      values (${CODE}, 'a', 'taken', 1)`.execute(tx)
  }
  let tries = 0
  const steps = async (tx: Tx) => {
    tries++
    for (const step of STEPS) await note(`try ${tries} ${step}`)(tx)
  }
  const ends = await Promise.allSettled(
    [note('A'), rollsBack, steps].map((change) => writeHeld(store, held, change)),
  )
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await noted(store), ['A', 'taken', ...STEPS.map((step) => `try ${tries} ${step}`)])
})
