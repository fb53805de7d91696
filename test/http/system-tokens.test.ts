// Tokens for systems through the node: made once, listed without the token, taken back at once.

import assert from 'node:assert/strict'
import { describeTokens } from '../../src/accounts/system-tokens.ts'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { findAccount, putAccount } from '../../src/store/accounts.ts'
import { insertToken } from '../../src/store/tokens.ts'
import { request } from '../support/call.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import { accountOf } from '../support/seed.ts'

testOnBoth('a token is made, used, listed without itself, and taken back', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const at = async (path: string, method = 'GET', body?: unknown, as = 'admin') =>
    request(`${node.url}${BASE_PATH}/platform/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await node.token(as)}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const made = await at('/tokens', 'POST', { user: 'operator', name: 'payroll system', hours: 24 })
  assert.equal(made.status, 200, made.text)
  const use = () =>
    request(`${node.url}${BASE_PATH}/platform/v1/session`, {
      headers: { authorization: `Bearer ${made.body.token}` },
    })
  assert.equal((await use()).body.username, 'operator')
  const listed = await at('/tokens?search=payroll')
  assert.equal(listed.body.totalElements, 1)
  assert.equal(listed.body.content[0].state, 'VALID')
  assert.ok(!listed.text.includes(made.body.token))
  assert.equal((await at('/tokens', 'POST', { user: 'globaladmin', hours: 1 })).status, 403)
  assert.equal((await at('/tokens', 'POST', { user: 'nobody', hours: 1 })).status, 404)
  await node.store.write((tx) => putAccount(tx, { ...accountOf('advoperator', null), disabled: true }))
  assert.equal((await at('/tokens', 'POST', { user: 'advoperator', hours: 1 })).status, 409)
  assert.equal((await at('/tokens', 'POST', { user: 'operator', hours: 9000 })).status, 400)
  const revoked = await at(`/tokens/${made.body.id}`, 'DELETE')
  assert.equal(revoked.body.state, 'REVOKED')
  assert.equal((await use()).status, 401)
  assert.equal((await at(`/tokens/${made.body.id}`, 'DELETE')).status, 409)
  const theirs = await at('/tokens', 'POST', { user: 'globaladmin', hours: 1 }, 'globaladmin')
  assert.equal((await at(`/tokens/${theirs.body.id}`, 'DELETE')).status, 403)
  const trail = await node.store.db.selectFrom('audit').select(['action', 'who', 'detail']).execute()
  const told = trail
    .filter(({ action }) => action.startsWith('TOKEN_'))
    .map(({ action, who }) => `${action} ${who}`)
  assert.deepEqual(told.toSorted(), [
    'TOKEN_CREATED admin',
    'TOKEN_CREATED globaladmin',
    'TOKEN_REVOKED admin',
  ])
  assert.ok(!JSON.stringify(trail).includes(made.body.token))
})

testOnBoth(
  'a token that ended with its user’s password or account is not listed as valid',
  async (t, database) => {
    const { store, context } = await startTestHttp(t, { database })
    const now = Date.now()
    for (const [nth, changes] of [{ passwordHash: 'another' }, { disabled: true }].entries()) {
      const account = await findAccount(store.db, 'operator')
      assert.ok(account)
      const { id, expiresAt } = context.tokens.makeForSystem(account, now, 3600)
      const token = { id, accountId: account.id, name: 'payroll', createdAt: now + nth, expiresAt }
      await store.write((tx) => insertToken(tx, token))
      const states = async () => (await describeTokens(store.db, now)).map(({ state }) => state)
      // What leaves the credentials as they are ends nothing.
      await store.write((tx) => putAccount(tx, { ...account, language: 'en' }))
      assert.equal((await states())[0], 'VALID')
      const credentialVersion = account.credentialVersion + 1
      await store.write((tx) => putAccount(tx, { ...account, ...changes, credentialVersion }))
      // Also after it was enabled again.
      await store.write((tx) => putAccount(tx, { ...account, credentialVersion: credentialVersion + 1 }))
      assert.deepEqual(new Set(await states()), new Set(['REVOKED']))
    }
  },
)
