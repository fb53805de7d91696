import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { testOnBoth, withStore } from '../../../test/support/harness.ts'
import type { TestDatabase } from '../../../test/support/harness.ts'
import { contactOf, plainChannel, seedChannel } from '../../../test/support/seed.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES, TRANSFER_TYPES } from '../../contract/transfer.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import { newFile } from '../../transfers/request.ts'
import { putContact, putLocalEntity } from '../contacts.ts'
import type { Store } from '../database/store.ts'
import { newId } from '../database/ids.ts'
import { makeSeal } from '../seal.ts'
import { fillAllNameKeys, fillNameKeys } from './file-names.ts'
import { everyTransfer, namePattern, searchTransfers } from './transfer-search.ts'
import type { TransferFilter } from './transfer-search.ts'
import { insertTransfer, moveTransfer } from './transfers.ts'

type Made = {
  id: string
  code: string
  direction: TransferDirection
  state: TransferStatus
  type: TransferType
  at: number
  names: string[]
}

const CODES = Array.from({ length: 45 }, (_, index) => `BANCO-ACME-A${index}`)
/** One active transfer per channel and direction: those get channels of their own. */
const BUSY = Array.from({ length: 10 }, (_, index) => `BANCO-ACME-B${index}`)
const FIRST_AT = Date.UTC(2026, 0, 1)
const pick = <T>(all: readonly T[], number: number): T => all[number % all.length] as T
const nameOf = (number: number) => `${pick(['NOMINA', 'Factura', 'ÑANDÚ', 'pago_%'], number)}-${number}.txt`

function isActive(state: TransferStatus): boolean {
  return state === 'PENDING' || state === 'IN_PROGRESS'
}

async function insert(store: Store, number: number): Promise<Made> {
  const at = FIRST_AT + number * 60_000
  const state = pick(TRANSFER_STATUSES, number >> 1)
  const made: Made = {
    id: newId(at),
    code: isActive(state) ? pick(BUSY, number >> 1) : pick(CODES, number * 7),
    direction: pick(TRANSFER_DIRECTIONS, number),
    state,
    type: pick(TRANSFER_TYPES, number >> 2),
    at,
    names: Array.from({ length: 1 + (number % 3) }, (_, index) => nameOf(number + index)),
  }
  const files = made.names.map((name, index) => {
    const hash = String(number % 10).repeat(64)
    const file = { directory: 0, name, path: `/${name}`, size: 10, modifiedAt: 0 }
    return { ...newFile(file, index), hash, keyDate: '20260101', keyTime: '0000000001' }
  })
  await store.write(async (tx) => {
    const { id, direction, type } = made
    await insertTransfer(tx, {
      id,
      channelCode: made.code,
      direction,
      type,
      requestedBy: null,
      retryOf: null,
      now: at,
      files,
    })
    if (state === 'PENDING') return
    if (state !== 'CANCELLED') await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: at })
    if (state === 'IN_PROGRESS') return
    await moveTransfer(tx, id, {
      from: state === 'CANCELLED' ? 'PENDING' : 'IN_PROGRESS',
      to: state,
      now: at + 1,
    })
  })
  return made
}

async function filled(
  t: TestContext,
  database: TestDatabase,
  count: number,
): Promise<{ store: Store; all: Made[] }> {
  const store = await withStore(t, database)
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    for (const code of [...CODES, ...BUSY])
      await seedChannel(tx, makeSeal('0'.repeat(32)), code, 'acme', plainChannel('/x'))
  })
  const all: Made[] = []
  const taken = new Set<string>()
  for (let number = 0; all.length < count; number++) {
    const place = `${pick(BUSY, number >> 1)} ${pick(TRANSFER_DIRECTIONS, number)}`
    const active = isActive(pick(TRANSFER_STATUSES, number >> 1))
    if (active && taken.has(place)) continue
    if (active) taken.add(place)
    all.push(await insert(store, number))
  }
  return { store, all }
}

function naive(all: readonly Made[], filter: TransferFilter): string[] {
  const fitting = all.filter(
    (one) =>
      (!filter.states || filter.states.includes(one.state)) &&
      (!filter.directions || filter.directions.includes(one.direction)) &&
      (!filter.types || filter.types.includes(one.type)) &&
      (!filter.codes || filter.codes.has(one.code)) &&
      (filter.from === undefined || one.at >= filter.from) &&
      (filter.before === undefined || one.at < filter.before) &&
      (!filter.fileName || one.names.some((name) => filter.fileName?.fits(name))),
  )
  return fitting.map(({ id }) => id).reverse()
}

testOnBoth(
  'whatever is asked for, all that fit are found, in order and page by page',
  async (t, database) => {
    const { store, all } = await filled(t, database, 230)
    const filters: TransferFilter[] = [
      {},
      ...TRANSFER_STATUSES.map((state) => ({ states: [state] })),
      ...TRANSFER_TYPES.map((type) => ({ types: [type], directions: ['EMISION' as const] })),
      { states: ['FAILED'], directions: ['RECEPCION'], types: ['RETRY'] },
      { codes: new Set(CODES.slice(3, 5)) },
      { codes: new Set(CODES.slice(3, 5)), states: ['COMPLETED'] },
      { codes: new Set(CODES.slice(0, 43)) },
      { codes: new Set() },
      { from: FIRST_AT + 50 * 60_000, before: FIRST_AT + 90 * 60_000 },
      { from: FIRST_AT + 50 * 60_000, codes: new Set(CODES.slice(0, 9)) },
      { fileName: namePattern('nomina-1*') },
      { fileName: namePattern('NOMINA-1?.TXT') },
      { fileName: namePattern('ñandú*') },
      { fileName: namePattern('ura-') },
      { fileName: namePattern('pago_%-3*'), states: ['COMPLETED'] },
      { fileName: namePattern('*.doc') },
    ]
    for (const filter of filters) {
      const expected = naive(all, filter)
      const shown = JSON.stringify({ ...filter, codes: filter.codes?.size, name: filter.fileName?.beginning })
      const whole = { order: 'newest', offset: 0, size: 1000, ahead: 0 } as const
      const found = await searchTransfers(store.db, filter, whole)
      assert.deepEqual(
        found.page.map(({ id }) => id),
        expected,
        shown,
      )
      assert.deepEqual([found.count, found.more, found.stoppedAt], [expected.length, false, undefined])
      const oldest = await searchTransfers(store.db, filter, { ...whole, order: 'oldest' })
      assert.deepEqual(
        oldest.page.map(({ id }) => id),
        expected.toReversed(),
        shown,
      )
      const third = await searchTransfers(store.db, filter, {
        order: 'newest',
        offset: 20,
        size: 10,
        ahead: 30,
      })
      assert.deepEqual(
        third.page.map(({ id }) => id),
        expected.slice(20, 30),
        shown,
      )
      assert.equal(third.count, Math.min(60, expected.length))
      assert.equal(third.more, expected.length > 60)
      const every: string[] = []
      for await (const group of everyTransfer(store.db, filter, 'newest'))
        every.push(...group.map(({ id }) => id))
      assert.deepEqual(every, expected, shown)
    }
    const byHash = await searchTransfers(
      store.db,
      { hash: '3'.repeat(64) },
      { order: 'newest', offset: 0, size: 1000, ahead: 0 },
    )
    assert.equal(byHash.count, all.filter(({ names }) => names[0]?.match(/-\d*3\.txt$/)).length)
  },
)

testOnBoth(
  'names of files that came before the search are filled in, a group at a time',
  async (t, database) => {
    const { store, all } = await filled(t, database, 12)
    const find = async () =>
      (
        await searchTransfers(
          store.db,
          { fileName: namePattern('nomina*') },
          { order: 'newest', offset: 0, size: 99, ahead: 0 },
        )
      ).count
    await store.write((tx) => tx.updateTable('transfer_file').set({ name_key: null }).execute())
    assert.equal(await find(), 0)
    await fillAllNameKeys(store, new AbortController().signal)
    assert.equal(await find(), naive(all, { fileName: namePattern('nomina*') }).length)
    assert.equal(await fillNameKeys(store), false)
  },
)

test('a pattern with * or ? is the whole name, any other text a part of it, and case is ignored', () => {
  const fits = (pattern: string, name: string) => namePattern(pattern).fits(name)
  assert.ok(fits('omi', 'NOMINA.txt'))
  assert.ok(!fits('omi*', 'NOMINA.txt'))
  assert.ok(fits('n*.TXT', 'NOMINA.txt'))
  assert.ok(fits('nomin?.txt', 'NOMINA.txt'))
  assert.ok(!fits('nomin?', 'NOMINA.txt'))
  assert.ok(fits('a.b*', 'a.bc'))
  assert.ok(!fits('a.b*', 'axbc'))
  assert.ok(fits('ÑA*', 'ñandú'))
  assert.ok(fits('?.txt', '📄.txt'))
  assert.ok(!fits('??.txt', '📄.txt'))
  assert.ok(fits('*\n?', 'a\n📄'))
  assert.equal(namePattern('nom?na*').beginning, 'nom')
  assert.equal(namePattern('nomina').beginning, '')
})

test('a pattern of many stars and question marks comes to an end, whatever the name', () => {
  // An expression that goes back and forth would not, within a day.
  assert.equal(namePattern(`${'*?'.repeat(40)}!`).fits('n'.repeat(250)), false)
})
