import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { NodeError } from '../errors.ts'
import type { Store } from '../store/database/store.ts'
import { testOnBoth, withStore } from '../../test/support/harness.ts'
import type { TestDatabase } from '../../test/support/harness.ts'
import { makeLimiter } from './limiter.ts'
import type { Limiter, Who } from './limiter.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)
const wrong = () => Promise.resolve(undefined)
const broken = () => Promise.reject(new Error('database'))
const right = () => Promise.resolve('in')

type Asked = Partial<Who> & { at?: number; check?: () => Promise<string | undefined> }

/** Seconds to wait; 0 when the try was let through. */
async function refusal(limiter: Limiter, { at = 0, check = wrong, ...who }: Asked = {}): Promise<number> {
  try {
    await limiter.attempt({ account: 'user ana', address: '10.0.0.1', ...who }, () => START + at, check)
    return 0
  } catch (thrown) {
    assert.ok(thrown instanceof NodeError && thrown.status === 429)
    return thrown.retryAfterSeconds ?? 0
  }
}

async function begin(t: TestContext, database: TestDatabase): Promise<{ store: Store; limiter: Limiter }> {
  const store = await withStore(t, database)
  return { store, limiter: makeLimiter(store) }
}

testOnBoth(
  'ten failures of an account at an address are let through, then every try there is refused, and none elsewhere',
  async (t, database) => {
    const { store, limiter } = await begin(t, database)
    for (let at = 0; at < 10; at++) assert.equal(await refusal(limiter, { at }), 0)
    assert.ok((await refusal(limiter, { at: 11, check: right })) > 0)
    assert.equal(await refusal(limiter, { at: 12, address: '10.0.0.2', check: right }), 0)
    assert.equal(await refusal(limiter, { at: 13, account: 'user eva' }), 0)
    // Another door, thread or node counts with the same numbers.
    assert.ok((await refusal(makeLimiter(store), { at: 14, check: right })) > 0)
  },
)

testOnBoth('a wait is told once when it begins, with the name of whoever exists', async (t, database) => {
  const { store, limiter } = await begin(t, database)
  const told = async () =>
    (await store.db.selectFrom('event_outbox').select(['type', 'body']).orderBy('at').execute()).map(
      ({ type, body }) => [type, JSON.parse(body) as unknown],
    )
  for (let at = 0; at < 9; at++) await refusal(limiter, { at, known: 'ana' })
  assert.deepEqual(await told(), [])
  await refusal(limiter, { at: 9, known: 'ana' })
  const until = new Date(START + 9 + 30_000).toISOString()
  const first = ['login.refused', { door: 'http', address: '10.0.0.1', account: 'ana', until }]
  assert.deepEqual(await told(), [first])
  for (let at = 10; at < 20; at++) await refusal(limiter, { at, known: 'ana' })
  assert.deepEqual(await told(), [first])
  for (let at = 20; at < 30; at++)
    await refusal(limiter, { at, account: 'sftp pa55word', address: '10.0.0.9' })
  const [, second] = await told()
  assert.deepEqual(second, [
    'login.refused',
    { door: 'sftp', address: '10.0.0.9', until: new Date(START + 29 + 30_000).toISOString() },
  ])
  // All failures are too old to count, and the wait is over: what comes now begins anew.
  const later = 5 * MINUTE + 30
  for (let at = later; at < later + 10; at++)
    await refusal(limiter, { at, account: 'sftp pa55word', address: '10.0.0.9' })
  const [, , third] = await told()
  const anew = new Date(START + later + 9 + 30_000).toISOString()
  assert.deepEqual(third, ['login.refused', { door: 'sftp', address: '10.0.0.9', until: anew }])
})

testOnBoth(
  'fifty failures from an address stop it for every account; IPv6 counts by its /64',
  async (t, database) => {
    const { limiter } = await begin(t, database)
    for (let at = 0; at < 50; at++)
      assert.equal(await refusal(limiter, { at, account: `user ${at}`, address: `2001:db8:1:2::${at}` }), 0)
    const another = { at: 51, account: 'user another', check: right }
    assert.ok((await refusal(limiter, { ...another, address: '2001:db8:1:2:ffff::9' })) > 0)
    assert.equal(await refusal(limiter, { ...another, address: '2001:db8:1:3::1' }), 0)
    assert.equal(await refusal(limiter, { ...another, address: '10.0.0.2' }), 0)
  },
)

testOnBoth(
  'a hundred failures from everywhere stop an account for strangers, not where it signed in before',
  async (t, database) => {
    const { limiter } = await begin(t, database)
    const home = '192.0.2.1'
    assert.equal(await refusal(limiter, { address: home, check: right }), 0)
    const later = 29 * DAY
    for (let at = 0; at < 100; at++)
      assert.equal(await refusal(limiter, { at: later + at, address: `10.0.${at}.1` }), 0)
    const after = later + 200
    assert.ok((await refusal(limiter, { at: after, address: '10.9.9.9', check: right })) > 0)
    assert.equal(await refusal(limiter, { at: after, address: home, check: right }), 0)
    assert.equal(
      await refusal(limiter, { at: after, address: '10.9.9.9', account: 'user eva', check: right }),
      0,
    )
  },
)

testOnBoth('an address is remembered for thirty days after the last success', async (t, database) => {
  const { limiter } = await begin(t, database)
  const home = '192.0.2.1'
  await refusal(limiter, { address: home, check: right })
  const later = 31 * DAY
  for (let at = 0; at < 100; at++) await refusal(limiter, { at: later + at, address: `10.0.${at}.1` })
  assert.ok((await refusal(limiter, { at: later + 200, address: home, check: right })) > 0)
})

testOnBoth('the wait grows with each further try, up to a quarter of an hour', async (t, database) => {
  const { store, limiter } = await begin(t, database)
  for (let i = 0; i < 10; i++) await refusal(limiter)
  const waits: number[] = []
  for (let i = 0; i < 8; i++) waits.push(await refusal(limiter))
  for (const [index, wait] of waits.entries()) assert.ok(wait >= (waits[index - 1] ?? 1), String(waits))
  assert.ok((waits[0] ?? 0) < (waits[3] ?? 0))
  assert.equal(waits.at(-1), 900)
  const locks = () => store.db.selectFrom('login_lock').selectAll().execute()
  const longest = await locks()
  assert.equal(await refusal(limiter), 900)
  assert.deepEqual(await locks(), longest, 'hammering still costs writes')
})

testOnBoth(
  'the limit holds where nobody has locked yet, because failures of one moment do not see each other',
  async (t, database) => {
    const { store, limiter } = await begin(t, database)
    for (let i = 0; i < 10; i++) await refusal(limiter)
    await store.write((tx) => tx.deleteFrom('login_lock').execute())
    assert.ok((await refusal(limiter, { check: right })) > 0)
  },
)

testOnBoth(
  'once the wait is over one try is let through; failing again locks at once, longer than before',
  async (t, database) => {
    const { limiter } = await begin(t, database)
    for (let i = 0; i < 10; i++) await refusal(limiter)
    assert.equal(await refusal(limiter, { at: 30_000 }), 0)
    assert.ok((await refusal(limiter, { at: 30_001 })) > 30)
  },
)

testOnBoth(
  'failures older than five minutes do not count, and nothing is kept of them',
  async (t, database) => {
    const { store, limiter } = await begin(t, database)
    for (let i = 0; i < 9; i++) await refusal(limiter)
    assert.equal(await refusal(limiter, { at: 5 * MINUTE + 1 }), 0)
    assert.equal(await refusal(limiter, { at: 5 * MINUTE + 2 }), 0)
    const rows = await store.db.selectFrom('login_failure').selectAll().execute()
    assert.equal(rows.length, 2)
    assert.ok(!JSON.stringify(rows).includes('ana'), 'a name is kept')
  },
)

testOnBoth(
  'a success resets its pair, is never counted itself and soon writes nothing',
  async (t, database) => {
    const { store, limiter } = await begin(t, database)
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 9; i++) assert.equal(await refusal(limiter, { at: round }), 0)
      assert.equal(await refusal(limiter, { at: round, check: right }), 0)
    }
    assert.deepEqual(await store.db.selectFrom('login_failure').selectAll().execute(), [])
    let writes = 0
    const counting = makeLimiter({ ...store, write: (change) => (writes++, store.write(change)) })
    for (let i = 0; i < 120; i++) assert.equal(await refusal(counting, { at: 5, check: right }), 0)
    assert.equal(writes, 0)
  },
)

testOnBoth(
  'a hundred wrong tries at once get no further than ten, and a hundred right ones all pass',
  async (t, database) => {
    const { limiter } = await begin(t, database)
    let checks = 0
    const slow = async () => {
      checks++
      await new Promise((resolve) => setImmediate(resolve))
      return undefined
    }
    const waits = await Promise.all(Array.from({ length: 100 }, () => refusal(limiter, { check: slow })))
    assert.equal(checks, 10)
    assert.equal(waits.filter((wait) => wait === 0).length, 10)
    const passed = await Promise.all(
      Array.from({ length: 100 }, () =>
        refusal(limiter, { account: 'user eva', address: '::1', check: right }),
      ),
    )
    assert.ok(passed.every((wait) => wait === 0))
  },
)

testOnBoth(
  'a wait that a clock which was ahead has begun is over when it is set back',
  async (t, database) => {
    const { limiter } = await begin(t, database)
    for (let at = 0; at < 10; at++) await refusal(limiter, { at: DAY + at })
    assert.ok((await refusal(limiter, { at: DAY + 11, check: right })) > 0)
    // Past the limit one try at a time is let through, and a wrong one begins a wait by the clock of now.
    assert.equal(await refusal(limiter, { at: 0 }), 0)
    const wait = await refusal(limiter, { at: 1, check: right })
    assert.ok(wait > 0 && wait <= 900, String(wait))
    assert.equal(await refusal(limiter, { at: 20 * MINUTE, check: right }), 0)
  },
)

testOnBoth('a check that throws counts as nothing and holds no place', async (t, database) => {
  const { limiter } = await begin(t, database)
  const who = { account: 'user a', address: '10.0.0.9' }
  for (let i = 0; i < 30; i++)
    await assert.rejects(
      limiter.attempt(who, () => START, broken),
      /database/,
    )
  assert.equal(await refusal(limiter, who), 0)
})
