import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { testOnBoth, withStore } from '../../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../../test/support/seed.ts'
import type { TransferStatus } from '../../contract/transfer.ts'
import { PARKED } from '../../domain/transfer.ts'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { newFile } from '../../transfers/request.ts'
import { putContact, putLocalEntity } from '../contacts.ts'
import { newId } from '../database/ids.ts'
import type { Store } from '../database/store.ts'
import { makeSeal } from '../seal.ts'
import { claimDue, claimForChannels } from './claims.ts'
import { letGo, parkClaim, requireHeld, setSnapshot } from './leases.ts'
import { recordLateReceipt } from './receipts.ts'
import { activeTransfers, findTransfer, insertTransfer, moveTransfer } from './transfers.ts'
import type { Move, NewTransfer } from './transfers.ts'
import { oldTransfers, removeTransfers } from '../retention/old-transfers.ts'
import { pageOfTransfers } from './transfer-pages.ts'

const CODE = 'BANCO-ACME-NOMINA'
const OTHER = 'BANCO-ACME-OTRA'

async function withChannels(store: Store): Promise<void> {
  const seal = makeSeal('0'.repeat(32))
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    for (const code of [CODE, OTHER]) await seedChannel(tx, seal, code, 'acme', {})
  })
}

function fileOf(index: number, name = `file${index}.txt`): TransferFileRecord {
  const candidate = { directory: 0, name, path: `/srv/${name}`, size: 10 + index, modifiedAt: 1 }
  return { ...newFile(candidate, index), keyDate: '20260101', keyTime: '0000000001' }
}

function insert(store: Store, now: number, more: Partial<NewTransfer> = {}): Promise<string> {
  const id = more.id ?? newId(now)
  const made = {
    channelCode: CODE,
    direction: 'EMISION',
    type: 'MANUAL',
    requestedBy: 'ana',
    retryOf: null,
    files: [],
    ...more,
  }
  return store.write(async (tx) => {
    await insertTransfer(tx, { ...(made as NewTransfer), id, now })
    return id
  })
}

function move(
  store: Store,
  id: string,
  from: TransferStatus,
  to: TransferStatus,
  now: number,
  more: Partial<Move> = {},
) {
  return store.write((tx) => moveTransfer(tx, id, { from, to, now, ...more }))
}

testOnBoth('a transfer is PENDING with its files when it is made', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  const id = await insert(store, 1000, { files: [fileOf(0), fileOf(1)] })
  const transfer = await findTransfer(store.db, id)
  assert.equal(transfer?.state, 'PENDING')
  assert.deepEqual(transfer?.files, [fileOf(0), fileOf(1)])
  assert.deepEqual([transfer?.requestedAt, transfer?.startedAt, transfer?.endedAt], [1000, null, null])
  assert.equal(await findTransfer(store.db, 'none'), undefined)
  assert.equal(await findTransfer(store.db, 'nul\0'), undefined)
})

testOnBoth(
  'the database itself allows one active transfer per channel and direction',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannels(store)
    const tries = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => insert(store, 1000 + i)))
    const refused = tries.filter((one) => one.status === 'rejected')
    assert.equal(refused.length, 19)
    for (const { reason } of refused)
      assert.ok(reason instanceof NodeError && reason.code === 'conflict', String(reason))
    assert.equal((await pageOfTransfers(store.db, CODE, { offset: 0, size: 100 })).total, 1)
    await insert(store, 2000, { direction: 'RECEPCION' })
    await insert(store, 2000, { channelCode: OTHER })
    const [emission] = (await activeTransfers(store.db, CODE)).filter((one) => one.direction === 'EMISION')
    await move(store, emission?.id ?? '', 'PENDING', 'CANCELLED', 3000)
    await insert(store, 4000)
  },
)

testOnBoth('a list shows what a late receipt adds to the error of a failure', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  const id = await insert(store, 1000, { files: [{ ...fileOf(0), receipt: 'AWAITED' }] })
  await move(store, id, 'PENDING', 'IN_PROGRESS', 2000)
  const failure = { message: 'no receipt came', code: 'receipt_late' }
  await move(store, id, 'IN_PROGRESS', 'FAILED', 3000, { error: failure })
  const listed = async () =>
    (await pageOfTransfers(store.db, CODE, { offset: 0, size: 1 })).transfers[0]?.error
  assert.equal(await listed(), failure.message)
  const error = `${failure.message}; one came later`
  const late = { transferId: id, index: 0, error, settled: 0 }
  await store.write((tx) => recordLateReceipt(tx, late, { state: 'POSITIVE', reason: null }, 4000))
  assert.equal((await findTransfer(store.db, id))?.error, error)
  assert.equal(await listed(), error)
})

testOnBoth('a transfer does not end before it began', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  // A reset read its clock, and waited while the transfer started.
  const reset = await insert(store, 1000)
  await move(store, reset, 'PENDING', 'IN_PROGRESS', 2000)
  await move(store, reset, 'IN_PROGRESS', 'CANCELLED', 1500)
  assert.equal((await findTransfer(store.db, reset))?.endedAt, 2000)
  const waiting = await insert(store, 3000)
  await move(store, waiting, 'PENDING', 'CANCELLED', 3500)
  assert.equal((await findTransfer(store.db, waiting))?.endedAt, 3500)
})

testOnBoth('a move happens once, from the state it names, under the fence it shows', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  const id = await insert(store, 1000)
  assert.equal(await move(store, id, 'IN_PROGRESS', 'COMPLETED', 2000), false)
  const starts = await Promise.all(
    Array.from({ length: 10 }, () => move(store, id, 'PENDING', 'IN_PROGRESS', 2000)),
  )
  assert.equal(starts.filter(Boolean).length, 1)
  assert.equal((await pageOfTransfers(store.db, CODE, { offset: 0, size: 9 })).transfers[0]?.id, id)
  assert.equal(await move(store, id, 'IN_PROGRESS', 'COMPLETED', 3000, { fence: 7 }), false)
  assert.equal(
    await move(store, id, 'IN_PROGRESS', 'FAILED', 3000, {
      fence: 0,
      error: { message: 'no', code: 'timed_out' },
    }),
    true,
  )
  assert.equal(await move(store, id, 'IN_PROGRESS', 'COMPLETED', 4000), false)
  assert.equal(await move(store, 'none', 'PENDING', 'IN_PROGRESS', 4000), false)
  await assert.rejects(move(store, id, 'FAILED', 'PENDING', 5000), /cannot go from FAILED/)
  const transfer = await findTransfer(store.db, id)
  assert.deepEqual(
    [transfer?.state, transfer?.error, transfer?.startedAt, transfer?.endedAt],
    ['FAILED', 'no', 2000, 3000],
  )
})

testOnBoth('a page shows each transfer with its own files, as they are now', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    ids.unshift(await insert(store, 1000 + i, { files: [fileOf(0, `a${i}`), fileOf(1, `b${i}`)] }))
    await move(store, ids[0] ?? '', 'PENDING', i === 4 ? 'IN_PROGRESS' : 'CANCELLED', 2000 + i)
  }
  const read = async () => (await pageOfTransfers(store.db, CODE, { offset: 0, size: 10 })).transfers
  const transfers = await read()
  assert.deepEqual(
    transfers.map((one) => one.id),
    ids,
  )
  for (const [index, one] of transfers.entries())
    assert.deepEqual(
      one.files.map((file) => file.name),
      [`a${4 - index}`, `b${4 - index}`],
    )
  assert.deepEqual(await read(), transfers)
  await move(store, ids[0] ?? '', 'IN_PROGRESS', 'COMPLETED', 9000)
  assert.equal((await read())[0]?.state, 'COMPLETED')
})

// The model: a plain list sorted by (listed time, id), counted and cut as a person would.

type Step = {
  kind: 'insert' | 'start' | 'end' | 'back' | 'cancel' | 'prune'
  at: number
  which: number
  way: 'EMISION' | 'RECEPCION'
}
type Row = {
  id: string
  listedAt: number
  started: boolean
  endedAt?: number
  state: TransferStatus
  way: string
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('insert', 'insert', 'start', 'end', 'back', 'cancel', 'prune'),
    at: fc.integer({ min: 0, max: 40 }),
    which: fc.nat(),
    way: fc.constantFrom('EMISION', 'RECEPCION'),
  }),
  { minLength: 5, maxLength: 60 },
)

async function applyStep(store: Store, model: Row[], step: Step): Promise<void> {
  const active = model.filter((row) => row.state === 'PENDING' || row.state === 'IN_PROGRESS')
  if (step.kind === 'insert') {
    if (active.some((row) => row.way === step.way)) return
    const id = await insert(store, step.at, { direction: step.way })
    model.push({ id, listedAt: step.at, started: false, state: 'PENDING', way: step.way })
    return
  }
  if (step.kind === 'prune') {
    const old = await oldTransfers(store.db, CODE, step.at, 3)
    const ids = new Set(old.map(({ id }) => id))
    // Those that an archive has, or just the oldest.
    const only = step.which % 2 === 0 ? ids : undefined
    const gone = await store.write((tx) => removeTransfers(tx, CODE, step.at, 3, only))
    assert.equal(gone, ids.size)
    const expected = oldestFirst(model)
      .filter(({ endedAt, listedAt }) => endedAt !== undefined && endedAt < step.at && listedAt < step.at)
      .slice(0, 3)
    assert.deepEqual(new Set(expected.map(({ id }) => id)), ids)
    for (const gone of expected) model.splice(model.indexOf(gone), 1)
    return
  }
  const row = active[step.which % Math.max(1, active.length)]
  if (!row) return
  const wanted = { start: 'IN_PROGRESS', end: 'COMPLETED', back: 'PENDING', cancel: 'CANCELLED' } as const
  const to = wanted[step.kind]
  const legal =
    row.state === 'PENDING' ? step.kind === 'start' || step.kind === 'cancel' : step.kind !== 'start'
  if (!legal) return
  assert.equal(await move(store, row.id, row.state, to, step.at), true)
  row.state = to
  if (to === 'COMPLETED' || to === 'CANCELLED') row.endedAt = step.at
  if (to === 'IN_PROGRESS' && !row.started) Object.assign(row, { started: true, listedAt: step.at })
}

function oldestFirst(model: readonly Row[]): Row[] {
  return model.toSorted((a, b) => a.listedAt - b.listedAt || (a.id < b.id ? -1 : 1))
}

testOnBoth(
  'whatever is inserted, started, put back, ended and removed, every page and every span is what a plain list gives',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannels(store)
    const asked = fc.record({
      offset: fc.nat(20),
      size: fc.integer({ min: 1, max: 10 }),
      from: fc.option(fc.nat(45), { nil: undefined }),
      before: fc.option(fc.nat(45), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(steps, fc.array(asked, { minLength: 3, maxLength: 6 }), async (all, pages) => {
        await store.write(async (tx) => {
          await tx.deleteFrom('transfer').where('channel_code', '=', CODE).execute()
          await tx
            .updateTable('channel_state')
            .set({ transfer_count: 0, transfers_gone: 0 })
            .where('code', '=', CODE)
            .execute()
        })
        const model: Row[] = []
        for (const step of all) await applyStep(store, model, step)
        const newestFirst = oldestFirst(model).toReversed()
        for (const page of pages) {
          const span = newestFirst.filter(
            (row) => row.listedAt >= (page.from ?? 0) && row.listedAt < (page.before ?? 100),
          )
          const { total, transfers } = await pageOfTransfers(store.db, CODE, page)
          assert.equal(total, span.length)
          assert.deepEqual(
            transfers.map((one) => one.id),
            span.slice(page.offset, page.offset + page.size).map((row) => row.id),
          )
        }
        const positions = await store.db
          .selectFrom('transfer')
          .select('position')
          .where('channel_code', '=', CODE)
          .orderBy('position')
          .execute()
        const { transfers_gone: gone } = await store.db
          .selectFrom('channel_state')
          .select('transfers_gone')
          .where('code', '=', CODE)
          .executeTakeFirstOrThrow()
        assert.deepEqual(
          positions.map((row) => row.position),
          model.map((_, index) => gone + index + 1),
        )
      }),
      { numRuns: database.name === 'sqlite' ? 60 : 25 },
    )
  },
)

testOnBoth(
  'inserts, starts and ends of many channels and writers at once leave no gap and no deadlock',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannels(store)
    const life = async (code: string, direction: 'EMISION' | 'RECEPCION') => {
      for (let i = 0; i < 8; i++) {
        const id = await insert(store, 1000 + i, { channelCode: code, direction })
        assert.ok(await move(store, id, 'PENDING', 'IN_PROGRESS', 1002 + (i % 3)))
        assert.ok(await move(store, id, 'IN_PROGRESS', 'COMPLETED', 2000 + i))
      }
    }
    await Promise.all([CODE, OTHER].flatMap((code) => [life(code, 'EMISION'), life(code, 'RECEPCION')]))
    for (const code of [CODE, OTHER]) {
      const rows = await store.db
        .selectFrom('transfer')
        .select(['id', 'listed_at', 'position'])
        .where('channel_code', '=', code)
        .execute()
      rows.sort((a, b) => a.listed_at - b.listed_at || (a.id < b.id ? -1 : 1))
      assert.deepEqual(
        rows.map((row) => row.position),
        rows.map((_, index) => index + 1),
      )
      assert.equal((await pageOfTransfers(store.db, code, { offset: 0, size: 1 })).total, 16)
    }
  },
)

testOnBoth(
  'a partner on the line gets what a dead node had begun for it, not what waits for its receipts',
  async (t, database) => {
    const store = await withStore(t, database)
    await withChannels(store)
    const [begun, gone] = [await insert(store, 1000), await insert(store, 2000, { channelCode: OTHER })]
    await insert(store, 2000, { direction: 'RECEPCION' }) // the partner brings what it has by itself
    const dead = { owner: 'dead', now: 3000, until: 4000 }
    const claims = await claimForChannels(store, dead, [CODE, OTHER], 10)
    assert.equal(claims.length, 2)
    for (const id of [begun, gone]) await move(store, id, 'PENDING', 'IN_PROGRESS', 3000, { dueAt: PARKED })
    const { db } = store
    await db
      .updateTable('transfer')
      .set({ lease_owner: null, lease_until: null })
      .where('id', '=', gone)
      .execute()
    const next = (now: number) =>
      claimForChannels(store, { owner: 'next', now, until: now + 1000 }, [CODE, OTHER], 10)
    assert.deepEqual(await next(3500), [], 'nobody is known to be dead yet')
    assert.deepEqual(
      (await next(9000)).map(({ transfer }) => transfer.id),
      [begun],
    )
  },
)

testOnBoth('a claim takes of each partner what it may have, the oldest first', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  await store.write((tx) => putContact(tx, contactOf('near', 'NEAR', [])))
  const insertFor = async (contact: string, at: number) => {
    const channelCode = `BANCO-${contact.toUpperCase()}-A${at}`
    await store.write((tx) => seedChannel(tx, makeSeal('0'.repeat(32)), channelCode, contact, {}))
    return insert(store, at, { channelCode })
  }
  const slow: string[] = []
  for (let nth = 0; nth < 9; nth++) slow.push(await insertFor('acme', 1000 + nth))
  const others = [await insertFor('near', 2000), await insertFor('near', 3000)]
  let looks = true
  const claim = async (limit: number, most: Record<string, number>) => {
    const choice = () => {
      const left = new Map(Object.entries(most))
      const take = (contactId: string) => {
        const more = left.get(contactId) ?? 0
        left.set(contactId, more - 1)
        return more > 0
      }
      const full = () => [...left].filter(([, more]) => more <= 0).map(([contactId]) => contactId)
      return { take, full, looksPast: () => looks }
    }
    const claims = await claimDue(store, { owner: 'node', now: 5000, until: 6000 }, limit, choice)
    return claims.map(({ transfer, contactId }) => [contactId, transfer.id])
  }
  assert.deepEqual(await claim(3, { acme: 2, near: 1 }), [
    ['acme', slow[0]],
    ['acme', slow[1]],
    ['near', others[0]],
  ])
  looks = false
  assert.deepEqual(await claim(3, { acme: 0, near: 1 }), [], 'it does not look past them now')
  assert.deepEqual(await claim(2, { acme: 1, near: 1 }), [['acme', slow[2]]])
  looks = true
  assert.deepEqual(await claim(3, { acme: 0, near: 5 }), [['near', others[1]]])
  assert.deepEqual(await claim(100, { acme: 0, near: 0 }), [])
  assert.equal((await claim(100, { acme: 100 })).length, 6)
})

testOnBoth('who has lost a transfer changes nothing of it any more', async (t, database) => {
  const store = await withStore(t, database)
  await withChannels(store)
  const id = await insert(store, 1000)
  const claim = (owner: string, now: number) =>
    claimForChannels(store, { owner, now, until: now + 1000 }, [CODE], 10)
  const [lost] = await claim('dead', 3000)
  const [taken] = await claim('next', 9000)
  const of = (one = lost) => ({ id, fence: one?.transfer.fence ?? 0 })
  const row = () => store.db.selectFrom('transfer').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const require = (held: typeof lost) =>
    store
      .write((tx) => requireHeld(tx, store.dialect, of(held)))
      .then(
        () => 'held',
        (error: unknown) => (error as NodeError).code,
      )
  assert.equal(await require(taken), 'lease_lost', 'it has not been started')
  await move(store, id, 'PENDING', 'IN_PROGRESS', 9000)
  assert.deepEqual([await require(lost), await require(taken)], ['lease_lost', 'held'])
  const before = await row()
  await store.write(async (tx) => {
    await letGo(tx, [of(lost)])
    assert.equal(await parkClaim(tx, of(lost), 20_000), false)
    await setSnapshot(tx, of(lost), '{}')
  })
  assert.deepEqual(await row(), before)
  assert.ok(await store.write((tx) => parkClaim(tx, of(taken), 20_000)))
  const { lease_owner, due_at } = await row()
  assert.deepEqual([lease_owner, due_at], [null, 20_000])
})
