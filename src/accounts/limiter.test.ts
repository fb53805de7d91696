import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError } from '../errors.ts'
import { makeLimiter } from './limiter.ts'
import type { Limiter } from './limiter.ts'

const wrong = () => Promise.resolve(undefined)
const broken = () => Promise.reject(new Error('database'))
const right = () => Promise.resolve('in')

/** Seconds to wait; 0 when the try was let through. */
async function refusal(
  limiter: Limiter,
  now: number,
  who: { account?: string; address?: string } = {},
  check: () => Promise<string | undefined> = wrong,
): Promise<number> {
  try {
    await limiter.attempt({ account: 'ana', address: '10.0.0.1', ...who }, () => now, check)
    return 0
  } catch (thrown) {
    assert.ok(thrown instanceof NodeError && thrown.status === 429)
    return thrown.retryAfterSeconds ?? 0
  }
}

test('ten failures of an account are let through, then every try is refused, the right password too', async () => {
  const limiter = makeLimiter()
  for (let i = 0; i < 10; i++) assert.equal(await refusal(limiter, i, { address: `10.0.0.${i}` }), 0)
  assert.ok((await refusal(limiter, 11, { address: '10.1.1.1' })) > 0)
  assert.ok((await refusal(limiter, 12, { address: '10.1.1.1' }, right)) > 0)
  assert.equal(await refusal(limiter, 13, { account: 'eva', address: '10.1.1.1' }), 0)
})

test('fifty failures from an address are let through, whatever the accounts', async () => {
  const limiter = makeLimiter()
  for (let i = 0; i < 50; i++) assert.equal(await refusal(limiter, i, { account: `user${i}` }), 0)
  assert.ok((await refusal(limiter, 51, { account: 'another' }, right)) > 0)
  assert.equal(await refusal(limiter, 52, { account: 'another', address: '10.0.0.2' }), 0)
})

test('the wait grows with each further try, up to a quarter of an hour', async () => {
  const limiter = makeLimiter()
  for (let i = 0; i < 10; i++) await refusal(limiter, 0)
  const waits: number[] = []
  for (let i = 0; i < 8; i++) waits.push(await refusal(limiter, 0))
  for (const [index, wait] of waits.entries()) assert.ok(wait >= (waits[index - 1] ?? 1), String(waits))
  assert.ok((waits[0] ?? 0) < (waits[3] ?? 0))
  assert.equal(waits.at(-1), 900)
})

test('once the wait is over one try is let through; failing again locks at once, longer than before', async () => {
  const limiter = makeLimiter()
  for (let i = 0; i < 10; i++) await refusal(limiter, 0)
  assert.equal(await refusal(limiter, 30_000), 0)
  assert.ok((await refusal(limiter, 30_001)) > 30)
})

test('failures older than five minutes do not count', async () => {
  const limiter = makeLimiter()
  for (let i = 0; i < 9; i++) await refusal(limiter, 0)
  assert.equal(await refusal(limiter, 300_001), 0)
  assert.equal(await refusal(limiter, 300_002), 0)
})

test('a success resets the account’s count and is never counted itself', async () => {
  const limiter = makeLimiter()
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 9; i++) assert.equal(await refusal(limiter, round), 0)
    assert.equal(await refusal(limiter, round, {}, right), 0)
  }
  for (let i = 0; i < 200; i++) assert.equal(await refusal(limiter, 5, { account: 'eva' }, right), 0)
})

test('a hundred wrong tries at once get no further than ten, and a hundred right ones all pass', async () => {
  const limiter = makeLimiter()
  let checks = 0
  const slow = async () => {
    checks++
    await new Promise((resolve) => setImmediate(resolve))
    return undefined
  }
  const waits = await Promise.all(Array.from({ length: 100 }, () => refusal(limiter, 0, {}, slow)))
  assert.equal(checks, 10)
  assert.equal(waits.filter((wait) => wait === 0).length, 10)
  const passed = await Promise.all(
    Array.from({ length: 100 }, () => refusal(limiter, 0, { account: 'eva', address: '::1' }, right)),
  )
  assert.ok(passed.every((wait) => wait === 0))
})

test('a check that throws counts as nothing and holds no place', async () => {
  const limiter = makeLimiter()
  for (let i = 0; i < 30; i++)
    await assert.rejects(
      limiter.attempt({ account: 'a', address: 'b' }, () => 0, broken),
      /database/,
    )
  assert.equal(await refusal(limiter, 0, { account: 'a', address: 'b' }), 0)
})
