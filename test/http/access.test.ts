// Who may call what: the whole matrix of operations, roles and flags, made from the table of operations; what each
// check answers, and in which order.

import assert from 'node:assert/strict'
import { createSigner } from 'fast-jwt'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeTokens } from '../../src/accounts/token.ts'
import { operations } from '../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../src/contract/operations.ts'
import { AUTHS, ROLES } from '../../src/contract/user.ts'
import type { Role } from '../../src/contract/user.ts'
import { authsOf } from '../../src/domain/user.ts'
import { accountsChanged, putAccount } from '../../src/store/accounts.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { accountOf, CLOSED, FULL, PLAIN } from '../support/seed.ts'

const protectedNames = (Object.keys(operations) as OperationName[]).filter(
  (name) => operations[name].roles !== 'public',
)
const withChannel = protectedNames.filter((name) => operations[name].path.includes('{channelCode}'))

// The table of the interface and its decisions, said once more by hand: the one thing that must not derive from it.
const EDIT: readonly Role[] = ['ROLE_GLOBALADMIN', 'ROLE_ADMIN', 'ROLE_ADVOPERATOR']
const OPERATE: readonly Role[] = [...EDIT, 'ROLE_OPERATOR']
const READ: readonly Role[] = [...OPERATE, 'ROLE_ADMINFF', 'ROLE_ADMINCONTROLATORFF']
/** These may call operation 7 for signature fields alone. */
const SIGNERS: readonly Role[] = ['ROLE_ADMINFF', 'ROLE_ADMINCONTROLATORFF']
const EXPECTED: [numbers: number[], roles: readonly Role[], flag?: string][] = [
  [[3, 4, 5, 6], ROLES],
  [[7, 8, 9, 10, 11], EDIT, 'editChannels'],
  [[12, 13], READ],
  [[14, 15, 16], OPERATE, 'operate'],
  [[17], ROLES, 'contactChannels'],
]

test('the table of operations gives each of the 15 protected ones its roles and flag', () => {
  for (const name of protectedNames) {
    const operation: Operation = operations[name]
    const expected = EXPECTED.find(([numbers]) => numbers.includes(operation.number ?? 0))
    assert.ok(expected, name)
    assert.deepEqual(new Set(operation.roles as readonly Role[]), new Set(expected[1]), name)
    assert.equal(operation.auth, expected[2], name)
    assert.deepEqual(
      operation.inPart && [operation.inPart.roles, operation.inPart.auth],
      operation.number === 7 ? [SIGNERS, 'administrationFF'] : undefined,
      name,
    )
  }
  assert.deepEqual(
    protectedNames.map((name) => operations[name].number),
    Array.from({ length: 15 }, (_, i) => i + 3),
  )
})

/** A call that passes or fails on access alone: nothing in it is otherwise wrong. */
const BODIES: Partial<Record<OperationName, unknown>> = {
  updateChannel: {},
  updateIps: [],
  updateDirectories: [],
}

function bodyOf(node: TestNode, name: OperationName): unknown {
  return name === 'setOutboundPath' || name === 'setInboundPath'
    ? { path: join(node.files, 'out') }
    : BODIES[name]
}

for (const name of protectedNames)
  test(`${name}: every role, with its flag on and off`, async (t) => {
    const node = await startTestHttp(t)
    const operation: Operation = operations[name]
    for (const role of ROLES)
      for (const on of [true, false]) {
        const username = `${role}-${on}`
        // Every flag but the one in question says the opposite, so that none stands in for another.
        const auths = Object.fromEntries(
          AUTHS.map((flag) => [flag, flag === operation.auth ? on : !on]),
        ) as ReturnType<typeof authsOf>
        await node.store.write((tx) =>
          putAccount(tx, { ...accountOf(username, null), email: username, role, auths }),
        )
        const answer = await node.call(name, {
          as: username,
          code: PLAIN,
          transferId: 'x',
          body: bodyOf(node, name),
        })
        const signs = operation.inPart?.roles.includes(role)
        const allowed = signs
          ? auths.administrationFF || auths.administration
          : (operation.roles as readonly Role[]).includes(role) && (operation.auth === undefined || on)
        assert.equal(
          answer.status === 403,
          !allowed,
          `${role} with ${operation.auth} ${on}: ${answer.status} ${answer.text}`,
        )
        assert.notEqual(answer.status, 500)
      }
  })

test('a channel that names users answers 403 to others on every operation, and lets those users and administrators in', async (t) => {
  const node = await startTestHttp(t)
  for (const name of withChannel) {
    const operation: Operation = operations[name]
    const ask = (as: string) =>
      node.call(name, { as, code: CLOSED, transferId: 'x', body: bodyOf(node, name) })
    // Somebody whose role and flags allow it, but whom the channel does not name.
    const stranger = 'advoperator'
    assert.ok((operation.roles as readonly Role[]).includes('ROLE_ADVOPERATOR'))
    const refused = await ask(stranger)
    assert.equal(refused.status, 403, name)
    assert.match(refused.body.message, /not open to advoperator/)
    for (const as of ['globaladmin', 'admin'])
      assert.notEqual((await ask(as)).status, 403, `${name} as ${as}`)
    if ((operation.roles as readonly Role[]).includes('ROLE_OPERATOR') && operation.auth !== 'editChannels')
      assert.notEqual((await ask('operator')).status, 403, name)
  }
})

testOnBoth(
  'lists and totals show only what the user may reach, and follow changes at once',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const list = async (as: string) => {
      const { body } = await node.call('listChannels', { as, query: { size: 10 } })
      return [body.totalElements, body.content.length, body.numberOfElements]
    }
    assert.deepEqual(await list('operator'), [3, 3, 3])
    assert.deepEqual(await list('controlator'), [2, 2, 2])
    assert.deepEqual(await list('admin'), [3, 3, 3])
    const contacts = async (as: string) =>
      (await node.call('listContacts', { as, query: { size: 10 } })).body.content.map(
        (one: { channels: string[] }) => one.channels,
      )
    assert.deepEqual(await contacts('controlator'), [[PLAIN, FULL], []])
    assert.deepEqual(await contacts('operator'), [[PLAIN, FULL], [CLOSED]])
    await node.call('updateChannel', { code: PLAIN, body: { users: ['a,controlator'] } })
    assert.deepEqual(await list('controlator'), [1, 1, 1])
    await node.call('updateChannel', { code: PLAIN, body: { users: ['a', 'controlator'] } })
    assert.deepEqual(await list('controlator'), [2, 2, 2])
    await node.call('updateChannel', { code: PLAIN, body: { users: null } })
    assert.deepEqual(await list('adminff'), [2, 2, 2])
  },
)

test('checks come in order: token, role and flag, form, existence, openness', async (t) => {
  const node = await startTestHttp(t)
  const ask = (as: string | null, code: string, body: unknown) => node.call('updateIps', { as, code, body })
  const status = async (as: string | null, code: string, body: unknown) => (await ask(as, code, body)).status
  assert.equal(await status(null, 'bad code', 'bad'), 401)
  assert.equal(await status('operator', 'bad code', 'bad'), 403)
  assert.equal(await status('operator', 'NO-SUCH-CHANNEL', ['127.0.0.1']), 403)
  assert.equal(await status('advoperator', 'bad code', ['127.0.0.1']), 400)
  assert.equal(await status('advoperator', 'NO-SUCH-CHANNEL', 'bad'), 400)
  assert.equal(await status('advoperator', 'NO-SUCH-CHANNEL', ['not an address']), 400)
  assert.equal(await status('advoperator', CLOSED, ['not an address']), 400)
  assert.equal(await status('advoperator', 'NO-SUCH-CHANNEL', ['10.0.0.1']), 404)
  assert.equal(await status('advoperator', CLOSED, ['127.0.0.1']), 403)
  assert.equal(await status('advoperator', PLAIN, ['not an address']), 400)
  assert.equal(await status('advoperator', PLAIN, ['10.0.0.1']), 403)
  assert.equal(await status('advoperator', PLAIN, ['127.0.0.1']), 200)
})

test('a code of another form is malformed for some operations and unknown to the others', async (t) => {
  const node = await startTestHttp(t)
  const badCodes = [
    'BANCO',
    'A-B',
    'A-B-C-D',
    'A--C',
    'Á-B-C',
    'A-B-C ',
    `${'A'.repeat(33)}-B-C`,
    'A-B-C/x',
    'A'.repeat(3000),
    'a\0-b-c',
  ]
  for (const name of withChannel) {
    const number = operations[name].number
    const expected = [4, 6, 12, 13].includes(number) ? 404 : 400
    for (const code of badCodes) {
      const answer = await node.call(name, { code, transferId: 'x', body: bodyOf(node, name) })
      assert.equal(answer.status, expected, `${name} ${code.slice(0, 40)}: ${answer.text}`)
      if (expected === 400) assert.match(answer.body.message, /channelCode/)
    }
    // Codes are matched exactly.
    const other = await node.call(name, {
      code: PLAIN.toLowerCase(),
      transferId: 'x',
      body: bodyOf(node, name),
    })
    assert.equal(other.status, 404, name)
  }
})

async function everyOperation(
  t: TestContext,
  headers: Record<string, string>,
  as: string | null = null,
): Promise<void> {
  const node = await startTestHttp(t)
  for (const name of protectedNames) {
    const answer = await node.call(name, { as, code: PLAIN, transferId: 'x', headers })
    assert.equal(answer.status, 401, name)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
    assert.equal(answer.body.status, 401)
  }
}

test('without a token every protected operation answers 401', (t) => everyOperation(t, {}))
test('another scheme than Bearer is no token', (t) =>
  everyOperation(t, { authorization: 'Basic YW5hOmFuYQ==' }))
test('Bearer without a token is no token', (t) => everyOperation(t, { authorization: 'Bearer ' }))
test('a token that is none is refused', (t) => everyOperation(t, { authorization: 'Bearer aaaa.bbbb.cccc' }))

test('a token of the version before, which names no account, counts for two hours and for an account as old', async (t) => {
  const node = await startTestHttp(t)
  const secret = 'a secret that only this test knows'
  node.context.tokens = makeTokens(secret)
  const iat = Math.floor(Date.now() / 1000)
  const status = async (claims: object) => {
    // Left to itself it would say since when.
    const noTimestamp = !('iat' in claims)
    const token = createSigner({ algorithm: 'HS512', key: secret, noTimestamp })({
      sub: 'operator',
      ver: 1,
      ...claims,
    })
    const headers = { authorization: `Bearer ${token}` }
    return (await node.call('listChannels', { as: null, headers })).status
  }
  const login = { iat, exp: iat + 7200 }
  assert.equal(await status(login), 401, 'the account was made after that version')
  await node.store.write(async (tx) => {
    await tx.updateTable('account').set({ id: null }).where('username', '=', 'operator').execute()
    await accountsChanged(tx)
  })
  assert.equal(await status(login), 200)
  assert.equal(await status({ iat, exp: iat + 7201 }), 401, 'no login was made for longer')
  assert.equal(await status({ exp: iat + 7200 }), 401, 'nobody knows since when')
})

testOnBoth(
  'roles, flags, disabling and a new password count from the next request on',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const account = accountOf('operator', null)
    const token = await node.token('operator')
    const status = async (name: OperationName) =>
      (await node.call(name, { as: null, code: FULL, headers: { authorization: `Bearer ${token}` } })).status
    const put = (more: object) => node.store.write((tx) => putAccount(tx, { ...account, ...more }))
    assert.equal(await status('resetChannel'), 200)
    await put({ auths: authsOf('ROLE_OPERATOR', { operate: false }) })
    assert.equal(await status('resetChannel'), 403)
    await put({ role: 'ROLE_CONTROLATOR', auths: authsOf('ROLE_CONTROLATOR') })
    assert.equal(await status('listTransfers'), 403)
    await put({ disabled: true })
    assert.equal(await status('listChannels'), 401)
    await put({ credentialVersion: 2 })
    assert.equal(await status('listChannels'), 401)
    await put({})
    assert.equal(await status('listChannels'), 200)
  },
)
