import assert from 'node:assert/strict'
import { testOnBoth, withStore } from '../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../test/support/seed.ts'
import { newFile } from '../transfers/request.ts'
import {
  addHistory,
  channelsOfApplication,
  channelsOfContact,
  findChannel,
  findChannels,
  listChannels,
  lockChannel,
  openChannel,
  pageOfHistory,
  sealChannel,
  updateChannel,
} from './channels.ts'
import { putContact, putLocalEntity } from './contacts.ts'
import { newId } from './database/ids.ts'
import type { Store } from './database/store.ts'
import { removeChannels } from './channel-batches.ts'
import { makeSeal } from './seal.ts'
import { insertTransfer, moveTransfer } from './transfers/transfers.ts'

const CODE = 'BANCO-ACME-NOMINA'
const seal = makeSeal('0'.repeat(32))

async function withChannel(store: Store, ...codes: string[]): Promise<void> {
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    for (const code of [CODE, ...codes])
      await seedChannel(tx, seal, code, 'acme', { name: 'x', security: { localKey: 'the key' } })
  })
}

function rename(store: Store, name: (before: string) => string): Promise<void> {
  return store.write(async (tx) => {
    const channel = await lockChannel(tx, store.dialect, CODE)
    await updateChannel(tx, {
      ...channel,
      config: { ...channel.config, name: name(channel.config.name ?? '') },
    })
    await addHistory(tx, CODE, [{ at: Date.now(), event: 'CHANNEL_UPDATED' }])
  })
}

testOnBoth(
  'fifty updates at once all apply, one after another, each with its history entry',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannel(store)
    await Promise.all(Array.from({ length: 50 }, () => rename(store, (before) => `${before}+`)))
    assert.equal((await findChannel(store.db, CODE))?.config.name, `x${'+'.repeat(50)}`)
    assert.equal((await findChannel(store.db, CODE))?.revision, 51)
    assert.equal((await pageOfHistory(store.db, CODE, { offset: 0, size: 1 })).total, 51)
  },
)

testOnBoth(
  'updates, new transfers and moves of one channel at once do not stop each other',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannel(store)
    const candidate = { directory: 0, name: 'a', path: '/a', size: 1, modifiedAt: 1 }
    const files = [{ ...newFile(candidate, 0), keyDate: '20260101', keyTime: '0000000001' }]
    const lives = (['EMISION', 'RECEPCION'] as const).map(async (direction) => {
      for (let i = 0; i < 10; i++) {
        const id = newId(Date.now())
        const made = {
          id,
          channelCode: CODE,
          direction,
          type: 'MANUAL',
          requestedBy: null,
          retryOf: null,
          now: Date.now(),
          files,
        } as const
        await store.write((tx) => insertTransfer(tx, made))
        for (const [from, to] of [
          ['PENDING', 'IN_PROGRESS'],
          ['IN_PROGRESS', 'COMPLETED'],
        ] as const)
          await store.write(async (tx) => {
            assert.ok(await moveTransfer(tx, id, { from, to, now: Date.now() }))
            await addHistory(tx, CODE, [{ at: Date.now(), event: 'TRANSFER_STARTED' }])
          })
      }
    })
    await Promise.all([...lives, ...Array.from({ length: 30 }, () => rename(store, (before) => before))])
    assert.equal((await pageOfHistory(store.db, CODE, { offset: 0, size: 1 })).total, 1 + 40 + 30)
  },
)

testOnBoth('a writer reads what it wrote, at once, whoever reads beside it', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  for (let i = 0; i < 20; i++) {
    await store.write(async (tx) => {
      const channel = await lockChannel(tx, store.dialect, CODE)
      await updateChannel(tx, { ...channel, config: { ...channel.config, name: `name ${i}` } })
      // Another request, in the same turn of the event loop as the commit.
      await findChannel(store.db, CODE)
    })
    assert.equal((await findChannel(store.db, CODE))?.config.name, `name ${i}`)
  }
})

testOnBoth('a write that throws leaves nothing behind, and those beside it stay', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  const results = await Promise.allSettled([
    rename(store, (before) => `${before}1`),
    rename(store, () => {
      throw new Error('no')
    }),
    rename(store, (before) => `${before}2`),
  ])
  assert.deepEqual(
    results.map((one) => one.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.equal((await findChannel(store.db, CODE))?.config.name?.length, 3)
  assert.equal((await pageOfHistory(store.db, CODE, { offset: 0, size: 1 })).total, 3)
})

testOnBoth('history is newest first and any page is where it should be', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  await store.write((tx) =>
    addHistory(
      tx,
      CODE,
      Array.from({ length: 24 }, (_, at) => ({ at, event: 'KEY_RECEIVED', detail: String(at) })),
    ),
  )
  const page = async (offset: number, size: number) => {
    const { total, rows } = await pageOfHistory(store.db, CODE, { offset, size })
    assert.equal(total, 25)
    return rows.map((row) => row.detail ?? row.event)
  }
  assert.deepEqual(await page(0, 3), ['23', '22', '21'])
  assert.deepEqual(await page(22, 10), ['1', '0', 'CHANNEL_CREATED'])
  assert.deepEqual(await page(24, 1), ['CHANNEL_CREATED'])
  assert.deepEqual(await page(25, 10), [])
  assert.deepEqual(await page(2_147_483_646_000, 1000), [])
})

testOnBoth(
  'an entry of history that waited for its turn has no time before the one it follows',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannel(store)
    const start = Date.now() + 60_000
    const hour = 3_600_000
    // The second read its clock before the first. Before the last two, the clock was set back by an hour.
    for (const at of [start + 500, start + 200, start + 700, start - hour, start - hour + 1])
      await store.write((tx) => addHistory(tx, CODE, [{ at, event: 'CHANNEL_UPDATED' }]))
    const { rows } = await pageOfHistory(store.db, CODE, { offset: 0, size: 5 })
    assert.deepEqual(
      rows.map(({ at }) => at - start),
      [1 - hour, -hour, 700, 500, 500],
    )
  },
)

testOnBoth('many channels are found by code, unknown ones are left out', async (t, database) => {
  const store = await withStore(t, database)
  const codes = Array.from({ length: 1100 }, (_, i) => `BANCO-ACME-A${i}`)
  await withChannel(store, ...codes)
  const found = await findChannels(store.db, [...codes, 'BANCO-ACME-NONE'])
  assert.deepEqual(new Set(found.map((channel) => channel.code)), new Set(codes))
  assert.deepEqual(await findChannels(store.db, []), [])
  assert.equal((await listChannels(store.db)).length, 1101)
})

testOnBoth('the channels of a partner are read as they are now', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store, 'BANCO-ACME-OTHER')
  await store.write((tx) => putContact(tx, contactOf('nobody', 'NOBODY', [])))
  const names = async () => {
    const channels = await channelsOfContact(store.db, 'acme')
    return channels.map(({ code, config }) => `${code} ${config.name}`)
  }
  assert.deepEqual(await names(), [`${CODE} x`, 'BANCO-ACME-OTHER x'])
  await rename(store, () => 'y')
  assert.deepEqual(await names(), [`${CODE} y`, 'BANCO-ACME-OTHER x'])
  await store.write((tx) => removeChannels(tx, ['BANCO-ACME-OTHER'], { at: 1, detail: 'by test' }))
  assert.deepEqual(await names(), [`${CODE} y`])
  await store.write((tx) => seedChannel(tx, seal, 'BANCO-ACME-OTHER', 'acme', { name: 'z' }))
  assert.deepEqual(await names(), [`${CODE} y`, 'BANCO-ACME-OTHER z'])
  assert.deepEqual(await channelsOfContact(store.db, 'nobody'), [])
})

testOnBoth(
  'the channels of an application are those that go by its name, letter for letter',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannel(
      store,
      'BANCO-ACME-A_B',
      'BANCO-ACME-AxB',
      'BANCO-ACME-a_b',
      'BANCO-SUC-A_B',
      'BANCO-ACME-LONG',
    )
    const alias = async (code: string, name: string) =>
      store.write(async (tx) => {
        const channel = await lockChannel(tx, store.dialect, code)
        await updateChannel(tx, { ...channel, alias: name })
      })
    await alias('BANCO-ACME-LONG', 'NOMINA')
    await alias('BANCO-ACME-AxB', 'Z%\\')
    const codes = async (application: string, contactId = 'acme') => {
      const channels = await channelsOfApplication(store.db, contactId, application)
      return channels.map(({ code }) => code)
    }
    assert.deepEqual(await codes('A_B'), ['BANCO-ACME-A_B', 'BANCO-SUC-A_B'])
    assert.deepEqual(await codes('NOMINA'), ['BANCO-ACME-LONG', CODE])
    assert.deepEqual(await codes('LONG'), [], 'its alias stands in the place of its code')
    assert.deepEqual(await codes('AxB'), [])
    assert.deepEqual(await codes('Z%\\'), ['BANCO-ACME-AxB'])
    assert.deepEqual(await codes('A_B', 'another'), [])
    for (const odd of [
      '',
      '%',
      '_',
      '\\',
      'NOMINA\\',
      '\0',
      'NOMINA\0',
      '%NOMINA',
      'MINA',
      'é',
      '😀',
      `'; --`,
    ])
      assert.deepEqual(await codes(odd), [], JSON.stringify(odd))
  },
)

testOnBoth('a channel that is removed and made anew is read anew', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  assert.equal((await findChannel(store.db, CODE))?.config.name, 'x')
  await store.write((tx) => removeChannels(tx, [CODE], { at: 1, detail: 'by test' }))
  assert.equal(await findChannel(store.db, CODE), undefined)
  await store.write((tx) => seedChannel(tx, seal, CODE, 'acme', { name: 'y' }))
  assert.equal((await findChannel(store.db, CODE))?.config.name, 'y')
})

testOnBoth(
  'secrets lie sealed, open again, and keep their sealed form while they do not change',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannel(store)
    const record = await findChannel(store.db, CODE)
    assert.ok(record)
    assert.equal(record.config.security?.localKey, undefined)
    assert.ok(!JSON.stringify(record).includes('the key'))
    assert.equal(openChannel(seal, record).security?.localKey, 'the key')
    const same = sealChannel(seal, CODE, openChannel(seal, record), record)
    assert.deepEqual(same, { config: record.config, secrets: record.secrets })
    const changed = sealChannel(seal, CODE, { security: { localKey: 'another' } }, record)
    assert.notEqual(changed.secrets.localKey, record.secrets.localKey)
  },
)
