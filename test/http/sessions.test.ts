// The console's sessions: a cookie that only the node reads, safe from other sites, ended on the node; and one's own
// account.

import assert from 'node:assert/strict'
import { startSession } from '../../src/accounts/sessions.ts'
import { CONSOLE_HEADER, SHOWN_USER_HEADER } from '../../src/contract/account/session.ts'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { findAccount, putAccount } from '../../src/store/accounts.ts'
import { request } from '../support/call.ts'
import { beforeNextWrite, startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { accountOf, PASSWORD } from '../support/seed.ts'

const HOUR = 3_600_000
const NEXT = 'a new and better password'

type Options = { method?: string; body?: unknown; cookie?: string; headers?: Record<string, string> }

const at = (node: TestNode, path: string, { method = 'GET', body, cookie, headers = {} }: Options = {}) =>
  request(`${node.url}${BASE_PATH}/platform/v1${path}`, {
    method,
    headers: {
      ...(cookie !== undefined && { cookie }),
      ...(cookie !== undefined && method !== 'GET' && { [CONSOLE_HEADER]: '1' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

async function signIn(node: TestNode, username = 'operator', password = PASSWORD): Promise<string> {
  const { status, text, headers } = await at(node, '/session', {
    method: 'POST',
    body: { username, password },
  })
  assert.equal(status, 200, text)
  return cookieIn(headers)
}

function cookieIn(headers: Headers): string {
  const cookie = headers.get('set-cookie') ?? ''
  assert.match(
    cookie,
    /^esclusa_session_\d+=[\w-]{43}; Path=\/connect-back; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  )
  return cookie.split(';')[0] ?? ''
}

testOnBoth(
  'a session is opened by password, serves every operation and ends on the node',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const wrong = await at(node, '/session', {
      method: 'POST',
      body: { username: 'operator', password: 'no' },
    })
    assert.equal(wrong.status, 401)
    assert.equal(wrong.headers.get('set-cookie'), null)
    const cookie = await signIn(node)
    const { body } = await at(node, '/session', { cookie })
    assert.equal(body.username, 'operator')
    assert.equal(Date.parse(body.expiresAt) > Date.now() + 11 * HOUR, true)
    assert.equal(
      (await request(`${node.url}${BASE_PATH}/integration/v2/channels`, { headers: { cookie } })).status,
      200,
    )
    const out = await at(node, '/session', { method: 'DELETE', cookie })
    assert.deepEqual(out.body, { ended: 1 })
    assert.match(out.headers.get('set-cookie') ?? '', /Max-Age=0/)
    assert.equal((await at(node, '/session', { cookie })).status, 401)
    const rows = await node.store.db.selectFrom('console_session').selectAll().execute()
    assert.deepEqual(rows, [])
    const trail = await node.store.db
      .selectFrom('audit')
      .select(['action', 'via', 'who'])
      .orderBy('id')
      .execute()
    assert.deepEqual(
      trail.map(({ action, via, who }) => `${action} ${via} ${who}`),
      ['LOGIN_REFUSED PASSWORD null', 'LOGIN PASSWORD operator', 'LOGOUT SESSION operator'],
    )
  },
)

testOnBoth('other sites can use the cookie for nothing', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const cookie = await signIn(node, 'admin')
  const change = { method: 'PUT', body: { language: 'es' }, headers: { cookie } }
  const forged = await at(node, '/account/language', change)
  assert.equal(forged.status, 403, forged.text)
  for (const site of ['cross-site', 'same-site']) {
    const read = await at(node, '/session', { cookie, headers: { 'sec-fetch-site': site } })
    assert.equal(read.status, 403, site)
    const headers = { 'sec-fetch-site': site }
    const write = await at(node, '/account/language', { ...change, cookie, headers })
    assert.equal(write.status, 403, site)
  }
  const own = { cookie, headers: { 'sec-fetch-site': 'same-origin' } }
  assert.equal((await at(node, '/account/language', { ...change, ...own })).status, 200)
  // No answer lets another origin read it, nor send the header.
  const asked = await request(`${node.url}${BASE_PATH}/platform/v1/session`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'DELETE' },
  })
  assert.equal(asked.headers.get('access-control-allow-origin'), null)
})

testOnBoth('a page that shows one user cannot act with the session of another', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const cookie = await signIn(node, 'admin')
  const as = (username: string, more: Options = {}) =>
    at(node, '/session', { cookie, headers: { [SHOWN_USER_HEADER]: encodeURIComponent(username) }, ...more })
  assert.equal((await as('admin')).status, 200)
  const refused = await as('operator')
  assert.equal(refused.status, 401)
  assert.match(refused.body.message, /another user/)
  assert.equal((await as('operator', { method: 'DELETE' })).status, 401)
  assert.equal((await at(node, '/session', { cookie })).status, 200, 'it was ended all the same')
  // A browser may send the cookies of two nodes of one platform: the named user's counts.
  const both = `${cookie}; ${(await signIn(node)).replace(/_\d+=/, '_1=')}`
  for (const username of ['admin', 'operator'])
    assert.equal((await as(username, { cookie: both })).body.username, username)
})

testOnBoth('signing in ends the session whose cookie it replaces', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const enter = async (username: string, cookie: string) =>
    cookieIn(
      (await at(node, '/session', { method: 'POST', body: { username, password: PASSWORD }, cookie }))
        .headers,
    )
  const first = await signIn(node)
  const renewed = await enter('operator', first)
  assert.equal((await at(node, '/session', { cookie: first })).status, 401)
  const elsewhere = await signIn(node)
  // One of another node stays.
  const others = elsewhere.replace(/_\d+=/, '_1=')
  const admin = await enter('admin', `${others}; ${renewed}`)
  assert.equal((await at(node, '/session', { cookie: renewed })).status, 401)
  assert.equal((await at(node, '/session', { cookie: elsewhere })).body.username, 'operator')
  assert.equal((await at(node, '/session', { cookie: admin })).body.username, 'admin')
  const trail = await node.store.db.selectFrom('audit').selectAll().where('action', '=', 'LOGOUT').execute()
  assert.deepEqual(
    trail.map(({ who, via, subject }) => [who, via, subject]),
    [['operator', 'SESSION', 'operator']],
  )
})

testOnBoth(
  'a session ends with its time, its user, and whatever ends the user’s tokens',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const isIn = async (cookie: string) => (await at(node, '/session', { cookie })).status === 200
    const old = await signIn(node)
    const begun = Date.now()
    node.context.now = () => begun + 11 * HOUR
    assert.equal(await isIn(old), true)
    node.context.now = () => begun + 12 * HOUR + 60_000
    assert.equal(await isIn(old), false)
    const disabled = await signIn(node, 'adminff')
    const before = accountOf('adminff', null)
    await node.store.write((tx) => putAccount(tx, { ...before, disabled: true }))
    assert.equal(await isIn(disabled), false)
    // Somebody of the same name is somebody else.
    const gone = await signIn(node)
    await node.store.db.deleteFrom('account').where('username', '=', 'operator').execute()
    await node.store.write((tx) => putAccount(tx, accountOf('operator', null)))
    assert.equal(await isIn(gone), false)
    for (const cookie of ['esclusa_session_1=x', `esclusa_session=${'A'.repeat(43)}`, 'other=1'])
      assert.equal(await isIn(cookie), false, cookie)
  },
)

testOnBoth('of one user’s sessions the oldest gives way to the fifty-first', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const isIn = async (cookie: string) => (await at(node, '/session', { cookie })).status === 200
  const begun = Date.now()
  const signInAfter = (minutes: number, username?: string) => {
    node.context.now = () => begun + minutes * 60_000
    return signIn(node, username)
  }
  const [others, oldest, second] = [await signInAfter(0, 'admin'), await signInAfter(1), await signInAfter(2)]
  const account = await findAccount(node.store.db, 'operator')
  assert.ok(account)
  for (let nth = 3; nth <= 49; nth++)
    await node.store.write((tx) =>
      startSession(tx, account, { address: '::1', agent: undefined }, begun + nth * 60_000),
    )
  const fiftieth = await signInAfter(50)
  for (const cookie of [oldest, second, fiftieth]) assert.equal(await isIn(cookie), true)
  const next = await signInAfter(51)
  assert.equal(await isIn(oldest), false)
  for (const cookie of [second, fiftieth, next, others]) assert.equal(await isIn(cookie), true)
})

testOnBoth('a user sees their sessions, ends one, and signs out everywhere', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const [first, second, others] = [await signIn(node), await signIn(node), await signIn(node, 'admin')]
  const { body } = await at(node, '/account/sessions', { cookie: second })
  assert.equal(body.sessions.length, 2)
  const [current] = body.sessions.filter((one: { current: boolean }) => one.current)
  const [other] = body.sessions.filter((one: { current: boolean }) => !one.current)
  assert.equal(current.from, '127.0.0.1')
  const theirs = await at(node, `/account/sessions/${other.id}`, { method: 'DELETE', cookie: others })
  assert.equal(theirs.status, 404)
  const ended = await at(node, `/account/sessions/${other.id}`, { method: 'DELETE', cookie: second })
  assert.deepEqual(ended.body, { ended: 1 })
  assert.equal((await at(node, '/session', { cookie: first })).status, 401)
  const bearer = { authorization: `Bearer ${await node.token('operator')}` }
  assert.equal((await at(node, '/session', { headers: bearer })).status, 200)
  const account = await node.store.db
    .selectFrom('account')
    .selectAll()
    .where('username', '=', 'operator')
    .executeTakeFirstOrThrow()
  const system = node.context.tokens.makeForSystem(
    {
      id: account.id ?? '',
      username: 'operator',
      credentialVersion: account.credential_version,
      loginVersion: 0,
    },
    Date.now(),
    3600,
  )
  await node.store.db
    .insertInto('api_token')
    .values({
      id: system.id,
      account_id: account.id ?? '',
      name: 'x',
      created_at: 1,
      expires_at: system.expiresAt,
      last_used_at: null,
      revoked_at: null,
    })
    .execute()
  assert.deepEqual((await at(node, '/account/sessions', { method: 'DELETE', cookie: second })).body, {
    ended: 1,
  })
  assert.equal((await at(node, '/session', { cookie: second })).status, 401)
  assert.equal((await at(node, '/session', { headers: bearer })).status, 401, 'an older login still counts')
  const forSystems = { authorization: `Bearer ${system.token}` }
  assert.equal((await at(node, '/session', { headers: forSystems })).status, 200, 'a system was shut out')
  assert.equal((await at(node, '/session', { cookie: others })).status, 200)
  assert.equal((await at(node, '/session', { cookie: await signIn(node) })).status, 200)
})

testOnBoth(
  'the own password is changed with the current one, and everything older ends',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const [cookie, elsewhere] = [await signIn(node), await signIn(node)]
    const change = (current: string, password: string) =>
      at(node, '/account/password', { method: 'PUT', cookie, body: { current, password } })
    assert.match((await change('wrong', NEXT)).body.message, /^\/current/)
    assert.match((await change(PASSWORD, 'short')).body.message, /^\/password must have at least 12/)
    const done = await change(PASSWORD, NEXT)
    assert.equal(done.status, 200, done.text)
    const renewed = cookieIn(done.headers)
    assert.equal((await at(node, '/session', { cookie: renewed })).status, 200)
    for (const old of [cookie, elsewhere])
      assert.equal((await at(node, '/session', { cookie: old })).status, 401)
    await signIn(node, 'operator', NEXT)
    const trail = await node.store.db
      .selectFrom('audit')
      .selectAll()
      .where('action', '=', 'PASSWORD_CHANGED')
      .execute()
    assert.deepEqual(
      trail.map(({ outcome, via }) => `${outcome} ${via}`),
      ['REFUSED SESSION', 'DONE SESSION'],
    )
    assert.ok(!JSON.stringify(trail).includes(NEXT))
  },
)

testOnBoth('a password that somebody else has given meanwhile stays', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const cookie = await signIn(node)
  const given = { ...accountOf('operator', null), credentialVersion: 7 }
  beforeNextWrite(node, () => node.store.write((tx) => putAccount(tx, given)))
  const body = { current: PASSWORD, password: NEXT }
  const late = await at(node, '/account/password', { method: 'PUT', cookie, body })
  assert.equal(late.status, 409, late.text)
  const { credentialVersion, passwordHash } = (await findAccount(node.store.db, 'operator')) ?? {}
  assert.deepEqual([credentialVersion, passwordHash], [7, null])
})

testOnBoth('a stolen session cannot guess the password without end', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const cookie = await signIn(node)
  const statuses: number[] = []
  for (let i = 0; i < 12; i++)
    statuses.push(
      (
        await at(node, '/account/password', {
          method: 'PUT',
          cookie,
          body: { current: `no ${i}`, password: NEXT },
        })
      ).status,
    )
  assert.deepEqual([...new Set(statuses)], [400, 429])
})
