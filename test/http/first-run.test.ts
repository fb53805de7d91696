// The first administrator in the browser: only with the one-time code of the first start, and only once.

import assert from 'node:assert/strict'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { request } from '../support/call.ts'
import { beforeNextWrite, startTestNode, testOnBoth } from '../support/harness.ts'

const PASSWORD = 'the first of all passwords'
const EVA = { username: 'eva', email: 'eva@banco.example', password: PASSWORD, language: 'es' }

const post = (url: string, path: string, body: unknown) =>
  request(`${url}${BASE_PATH}/platform/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const isOpen = async (url: string) => (await request(`${url}${BASE_PATH}/platform/v1/first-run`)).body.open

testOnBoth('whoever has the code becomes the first administrator, and nobody after', async (t, database) => {
  const { url, firstAdmin, store } = await startTestNode(t, { database, empty: true })
  assert.ok(firstAdmin)
  assert.match(firstAdmin.code, /^([A-HJ-NP-Z2-9]{4}-){3}[A-HJ-NP-Z2-9]{4}$/)
  assert.equal(await isOpen(url), true)
  const wrong = await post(url, '/first-run', { ...EVA, code: 'AAAA-BBBB-CCCC-DDDD' })
  assert.equal(wrong.status, 401)
  const weak = await post(url, '/first-run', { ...EVA, code: firstAdmin.code, password: 'short' })
  assert.match(weak.body.message, /^\/password/)
  const done = await post(url, '/first-run', {
    ...EVA,
    code: firstAdmin.code.toLowerCase().replaceAll('-', ' '),
  })
  assert.equal(done.status, 200, done.text)
  assert.equal(done.body.role, 'ROLE_GLOBALADMIN')
  assert.match(done.headers.get('set-cookie') ?? '', /HttpOnly/)
  assert.equal(await isOpen(url), false)
  assert.equal((await post(url, '/first-run', { ...EVA, username: 'x', code: firstAdmin.code })).status, 409)
  const { username, password } = firstAdmin
  assert.equal(
    (await post(url, '/session', { username, password })).status,
    401,
    'the printed password counts',
  )
  assert.equal((await post(url, '/session', { username: 'eva', password: PASSWORD })).status, 200)
  const trail = await store.db.selectFrom('audit').selectAll().where('who', '=', 'eva').execute()
  assert.deepEqual(
    trail
      .map(({ action }) => action)
      .slice(0, 2)
      .toSorted(),
    ['LOGIN', 'USER_CREATED'],
  )
})

testOnBoth(
  'the code is over once the administrator of the first start has signed in',
  async (t, database) => {
    const { url, firstAdmin } = await startTestNode(t, { database, empty: true })
    assert.ok(firstAdmin)
    const { username, password, code } = firstAdmin
    assert.equal((await post(url, '/session', { username, password })).status, 200)
    assert.equal(await isOpen(url), false)
    assert.equal((await post(url, '/first-run', { ...EVA, code })).status, 409)
  },
)

testOnBoth('of two who have the code one becomes the first administrator', async (t, database) => {
  const node = await startTestNode(t, { database, empty: true })
  const { url, firstAdmin, store } = node
  const make = (username: string) =>
    post(url, '/first-run', { ...EVA, username, email: `${username}@x.example`, code: firstAdmin?.code })
  beforeNextWrite(node, async () => assert.equal((await make('eva')).status, 200))
  assert.equal((await make('late')).status, 409)
  const accounts = await store.db.selectFrom('account').select('username').execute()
  assert.deepEqual(
    accounts.map(({ username }) => username),
    ['eva'],
  )
})

testOnBoth('the code cannot be guessed without end', async (t, database) => {
  const { url } = await startTestNode(t, { database, empty: true })
  const statuses: number[] = []
  for (let i = 0; i < 12; i++)
    statuses.push((await post(url, '/first-run', { ...EVA, code: `AAAA-BBBB-CCCC-${i}` })).status)
  assert.deepEqual([...new Set(statuses)], [401, 429])
})
