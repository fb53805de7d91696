import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwedReceipt, Reach } from '../transports/transport.ts'
import { OwedReceipts } from './owed-receipts.ts'

const ACME = { contactId: 'acme' } as Reach

function owing(count: number) {
  const owed = new Set(Array.from({ length: count }, (_, number) => String(number)))
  const receipts = new OwedReceipts(
    (_reach, isFree) => Promise.resolve([...owed].filter(isFree).map((id) => ({ id }) as OwedReceipt)),
    () => Promise.resolve(),
  )
  return { owed, receipts }
}

test('sessions that have the turn at once share the receipts, and none goes twice', async () => {
  const { owed, receipts } = owing(5)
  const [first, second] = await Promise.all([receipts.take(ACME), receipts.take(ACME)])
  const [one, other] = [first[Symbol.iterator](), second[Symbol.iterator]()]
  const gone: string[] = []
  for (const from of [one, other, other, one, other, one, other]) {
    const next = from.next()
    if (next.done) continue
    gone.push(next.value.id)
    owed.delete(next.value.id)
  }
  assert.deepEqual(gone, ['0', '1', '2', '3', '4'])
})

test('a receipt that was told is not told again before that is noted', async () => {
  const { receipts } = owing(1)
  let noted: Promise<void> | undefined
  for (const { id } of await receipts.take(ACME)) noted = receipts.delivered(id)
  assert.deepEqual([...(await receipts.take(ACME))], [])
  await noted
})

test('what could not be delivered is owed as before once nobody is at it', async () => {
  const { receipts } = owing(1)
  for (let time = 0; time < 2; time++) {
    let seen = 0
    await assert.rejects(async () => {
      for (const { id } of await receipts.take(ACME)) {
        seen++
        throw new Error(id)
      }
    })
    assert.equal(seen, 1)
  }
})

test('a receipt at which sessions end twice in a row rests, longer than the others of its partner', async () => {
  const owed = new Set(['bad', 'good'])
  let now = 0
  const receipts = new OwedReceipts(
    (_reach, isFree) => Promise.resolve([...owed].filter(isFree).map((id) => ({ id }) as OwedReceipt)),
    () => Promise.resolve(),
    () => now,
  )
  /** What one session is told, up to the one at which it ends. */
  const session = async () => {
    const told: string[] = []
    try {
      for (const { id } of await receipts.take(ACME)) {
        told.push(id)
        if (id === 'bad') throw new Error('the partner has ended the session')
        owed.delete(id)
        await receipts.delivered(id)
      }
    } catch {}
    return told
  }
  assert.deepEqual([await session(), await session(), await session()], [['bad'], ['bad'], []])
  assert.equal(receipts.mayBeTold('acme', 'good'), false)
  now = 15_000
  assert.deepEqual([await session(), await session()], [['good'], []])
  now = 30_000
  owed.add('next')
  assert.deepEqual([await session(), await session(), await session()], [['bad'], ['next'], []])
  now = 89_999
  assert.deepEqual(await session(), [])
  now = 90_000
  assert.deepEqual(await session(), ['bad'])
})
