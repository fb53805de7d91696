import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AUTHS } from '../../src/contract/user.ts'
import { authsOf } from '../../src/domain/user.ts'
import { putAccount } from '../../src/store/accounts.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { accountOf, PASSWORD, USERNAMES } from '../support/seed.ts'

const V1_FLAGS = ['operate', 'administration', 'editChannels', 'svcFF', 'contactChannels']
const V2_FLAGS = [
  'operate',
  'administration',
  'editChannels',
  'administrationFF',
  'controlatorFF',
  'svcFF',
  'contactChannels',
  'signer',
]

const v1 = (node: TestNode, email: string, password: string) =>
  node.call('loginV1', { as: null, body: { email, password } })
const v2 = (node: TestNode, username: string, password: string) =>
  node.call('loginV2', { as: null, body: { username, password } })

testOnBoth(
  'v2 login gives a bare token that works, the user, all eight flags, and says that it is deprecated',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const { status, body, headers } = await v2(node, 'operator', PASSWORD)
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body).sort(), ['expiration_token', 'refresh_token', 'token', 'user'])
    assert.match(body.token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.deepEqual(body.user, {
      name: 'Ana',
      lastName: 'Ruiz',
      email: 'operator@Banco.example',
      role: 'ROLE_OPERATOR',
      language: 'es',
      auths: authsOf('ROLE_OPERATOR'),
    })
    assert.deepEqual(Object.keys(body.user.auths).sort(), V2_FLAGS.toSorted())
    assert.ok(headers.get('deprecation'))
    for (const refused of [
      await v2(node, 'operator', 'wrong'),
      await node.call('loginV2', { as: null, body: {} }),
    ])
      assert.ok(refused.headers.get('deprecation'), `${refused.status}`)
    const list = await node.call('listChannels', {
      as: null,
      headers: { authorization: `Bearer ${body.token}` },
    })
    assert.equal(list.status, 200)
  },
)

testOnBoth(
  'v1 login finds the user by address in any case, prefixes its tokens and shows five flags',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const { status, body, headers } = await v1(node, 'OPERATOR@banco.EXAMPLE', PASSWORD)
    assert.equal(status, 200)
    assert.match(body.token, /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/)
    assert.match(body.refresh_token, /^Bearer \S+$/)
    assert.deepEqual(Object.keys(body.user.auths).sort(), V1_FLAGS.toSorted())
    assert.equal(headers.get('deprecation'), null)
    const list = await node.call('listChannels', { as: null, headers: { authorization: body.token } })
    assert.equal(list.status, 200)
  },
)

test('every flag is shown as it is on the user', async (t) => {
  const node = await startTestHttp(t)
  const hash =
    (
      await node.store.db
        .selectFrom('account')
        .select('password_hash')
        .where('username', '=', 'admin')
        .executeTakeFirst()
    )?.password_hash ?? null
  for (const flag of AUTHS) {
    const auths = Object.fromEntries(AUTHS.map((one) => [one, one === flag])) as ReturnType<typeof authsOf>
    await node.store.write((tx) => putAccount(tx, { ...accountOf('admin', hash), auths }))
    assert.deepEqual((await v2(node, 'admin', PASSWORD)).body.user.auths, auths)
  }
})

test('a token ends two hours after the login, to the second, and expiration_token says so in the node’s time zone', async (t) => {
  const node = await startTestHttp(t, { settings: { ESCLUSA_TIMEZONE: 'Asia/Kathmandu' } })
  const start = Math.floor(Date.now() / 1000) * 1000
  node.context.now = () => start
  const { body } = await v2(node, 'operator', PASSWORD)
  const [, claims] = body.token.split('.')
  const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp: number }
  assert.equal(exp * 1000, start + 7_200_000)
  const local = new Date(exp * 1000 + 5.75 * 3_600_000).toISOString()
  const [year, month, day] = local.slice(0, 10).split('-')
  assert.equal(body.expiration_token, `${day}-${month}-${year} ${local.slice(11, 19)}`)
  const status = async () =>
    (await node.call('listChannels', { as: null, headers: { authorization: `Bearer ${body.token}` } })).status
  node.context.now = () => start + 7_199_999
  assert.equal(await status(), 200)
  node.context.now = () => start + 7_200_000
  assert.equal(await status(), 401)
})

test('refresh_token is random and nothing accepts it', async (t) => {
  const node = await startTestHttp(t)
  const [one, two] = [await v2(node, 'operator', PASSWORD), await v2(node, 'operator', PASSWORD)]
  assert.notEqual(one.body.refresh_token, two.body.refresh_token)
  const used = await node.call('listChannels', {
    as: null,
    headers: { authorization: `Bearer ${one.body.refresh_token}` },
  })
  assert.equal(used.status, 401)
})

testOnBoth(
  'unknown user, wrong password, disabled user and user without password get one and the same answer',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    await node.store.write(async (tx) => {
      const { password_hash } = await tx
        .selectFrom('account')
        .selectAll()
        .where('username', '=', 'admin')
        .executeTakeFirstOrThrow()
      await putAccount(tx, { ...accountOf('off', password_hash), disabled: true })
      await putAccount(tx, accountOf('tokensonly', null))
    })
    const answers = await Promise.all([
      v2(node, 'nobody', PASSWORD),
      v2(node, 'operator', 'wrong'),
      v2(node, 'off', PASSWORD),
      v2(node, 'tokensonly', ''),
      v2(node, 'OPERATOR', PASSWORD),
      v2(node, 'operator@Banco.example', PASSWORD),
      v2(node, 'nul\0', PASSWORD),
    ])
    for (const { status, body } of answers) {
      assert.equal(status, 401)
      assert.deepEqual(
        { ...body, timestamp: '' },
        {
          timestamp: '',
          status: 401,
          error: 'Unauthorized',
          message: answers[0]?.body.message,
          path: '/connect-back/integration/v2/auth/login',
        },
      )
      assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    }
    const old = await v1(node, 'nobody@x', 'x')
    assert.equal(old.body.path, '/connect-back/integration/v1/auth/login')
  },
)

test('refusals take the same time whether the user exists or not', async (t) => {
  const node = await startTestHttp(t)
  const cost = async (username: string) => {
    const times: number[] = []
    for (let i = 0; i < 5; i++) {
      const from = process.cpuUsage()
      assert.equal((await v2(node, username, `wrong ${i}`)).status, 401)
      const { user, system } = process.cpuUsage(from)
      times.push(user + system)
    }
    return Math.min(...times)
  }
  const [known, unknown] = [await cost('operator'), await cost('nobody')]
  // A short cut would make one tens of times cheaper.
  assert.ok(unknown > known / 2 && known > unknown / 2, `${known} and ${unknown} us of CPU`)
})

test('a body without the two strings is malformed, and the message names the field', async (t) => {
  const node = await startTestHttp(t)
  for (const [body, field] of [
    [{ username: 'x' }, '/password'],
    [{ password: 'x' }, '/username'],
    [{ username: 1, password: 'x' }, '/username'],
    [{ username: 'x', password: null }, '/password'],
    [{ username: 'x', password: 'x', more: 1 }, '/more'],
    [{ email: 'x', password: 'x' }, '/username'],
    [[], 'body'],
    ['text', 'body'],
  ] as const) {
    const answer = await node.call('loginV2', { as: null, body })
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.ok(answer.body.message.includes(field), answer.body.message)
  }
  assert.equal((await node.call('loginV1', { as: null, body: { username: 'x', password: 'x' } })).status, 400)
  assert.equal((await node.call('loginV2', { as: null })).status, 400)
})

test('ten failures of an account lock it for both logins, the right password too, with a growing Retry-After', async (t) => {
  const node = await startTestHttp(t)
  let now = Date.now()
  node.context.now = () => now
  for (let i = 0; i < 10; i++)
    assert.equal(
      (await (i % 2 ? v1(node, 'operator@banco.example', 'wrong') : v2(node, 'operator', 'wrong'))).status,
      401,
    )
  const waits: number[] = []
  for (const answer of [
    await v2(node, 'operator', PASSWORD),
    await v1(node, 'operator@banco.example', PASSWORD),
    await v2(node, 'operator', 'wrong'),
  ]) {
    assert.equal(answer.status, 429)
    assert.equal(answer.body.status, 429)
    waits.push(Number(answer.headers.get('retry-after')))
  }
  assert.ok(
    (waits[0] ?? 0) > 0 && (waits[0] ?? 0) < (waits[1] ?? 0) && (waits[1] ?? 0) < (waits[2] ?? 0),
    String(waits),
  )
  assert.equal((await v2(node, 'admin', PASSWORD)).status, 200)
  now += 1000 * Number(waits[2])
  assert.equal((await v2(node, 'operator', PASSWORD)).status, 200)
  assert.equal((await v2(node, 'operator', 'wrong')).status, 401)
})

test('fifty failures from an address stop it for every account; successes never do', async (t) => {
  const node = await startTestHttp(t)
  for (let i = 0; i < 55; i++)
    assert.equal((await v2(node, USERNAMES[i % USERNAMES.length] ?? '', PASSWORD)).status, 200)
  const failures = await Promise.all(Array.from({ length: 60 }, (_, i) => v2(node, `nobody${i}`, 'wrong')))
  assert.equal(failures.filter((answer) => answer.status === 401).length, 50)
  assert.equal(failures.filter((answer) => answer.status === 429).length, 10)
  assert.equal((await v2(node, 'admin', PASSWORD)).status, 429)
})
