// Tokens that outlive what they stood for: an account made again under the same name, a token that should be no more.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { applyPlatform } from '../../src/platform/apply.ts'
import { request } from '../support/call.ts'
import { waitFor } from '../support/harness.ts'
import { PASSWORD, startBank } from './bank.ts'
import type { Bank } from './bank.ts'

const COMMAND = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))

type Outcome = { exit: number; out: string; err: string }

function esclusa(bank: Bank, ...args: string[]): Promise<Outcome> {
  const env = { PATH: process.env.PATH ?? '', ESCLUSA_DATA_DIR: bank.dataDir }
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [COMMAND, ...args], { env }, (_error, out, err) =>
      resolve({ exit: child.exitCode ?? -1, out, err }),
    )
  })
}

async function status(bank: Bank, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await request(`${bank.url}/connect-back/integration/v2/channels`, { headers })).status
}

test('a user removed and made again does not answer to the tokens of before, whatever the new role', async (t) => {
  const bank = await startBank(t)
  const temp = { username: 'temp', email: 'temp@banco.example', password: PASSWORD }
  const removeTemp = async () => {
    const root = { username: 'root', email: 'root@banco.example', role: 'ROLE_GLOBALADMIN' as const }
    const options = { now: Date.now(), prune: true }
    await applyPlatform(bank.store, bank.context.seal, { users: [root] }, options)
  }
  await bank.apply({ users: [{ ...temp, role: 'ROLE_CONTROLATOR' }] })
  const login = await bank.call('loginV2', { as: null, body: { username: 'temp', password: PASSWORD } })
  const token = String(login.body.token)
  const forSystem = (await esclusa(bank, 'token', 'create', '--user', 'temp')).out.trim()
  assert.deepEqual([await status(bank, token), await status(bank, forSystem)], [200, 200])
  await removeTemp()
  assert.deepEqual([await status(bank, token), await status(bank, forSystem)], [401, 401])
  await bank.apply({ users: [{ ...temp, role: 'ROLE_GLOBALADMIN' }] })
  assert.deepEqual([await status(bank, token), await status(bank, forSystem)], [401, 401])
  assert.equal(
    (await bank.call('loginV2', { as: null, body: { username: 'temp', password: PASSWORD } })).status,
    200,
  )
})

test('a token for a system is listed with its last use, and ends at once when it is revoked; the others stay', async (t) => {
  const bank = await startBank(t)
  const make = async (name: string) =>
    (await esclusa(bank, 'token', 'create', '--user', 'luis', '--name', name)).out.trim()
  const [one, two] = [await make('nightly job'), await make('monitoring')]
  assert.deepEqual([await status(bank, one), await status(bank, two)], [200, 200])
  type Listed = { id: string; name: string; state: string; lastUsedAt?: string }
  const list = async () => JSON.parse((await esclusa(bank, 'token', 'list', '--json')).out) as Listed[]
  const used = await waitFor('the last use to be noted', async () =>
    (await list()).find(({ name, lastUsedAt }) => name === 'nightly job' && lastUsedAt),
  )
  assert.ok(used)
  assert.match((await esclusa(bank, 'token', 'list')).out, /monitoring +valid/)
  assert.doesNotMatch(JSON.stringify(await list()), /eyJ/, 'a token itself is shown')
  const revoked = await esclusa(bank, 'token', 'revoke', 'nightly job')
  assert.deepEqual([revoked.exit, revoked.err], [0, ''])
  assert.deepEqual([await status(bank, one), await status(bank, two)], [401, 200])
  const other = (await list()).find(({ name }) => name === 'monitoring')
  assert.equal((await esclusa(bank, 'token', 'revoke', other?.id ?? '')).exit, 0)
  assert.equal(await status(bank, two), 401)
  assert.equal((await esclusa(bank, 'token', 'revoke', other?.id ?? '')).exit, 3)
})

test('no token lives longer than a year, and a long one is warned of', async (t) => {
  const bank = await startBank(t)
  const create = (hours: number) =>
    esclusa(bank, 'token', 'create', '--user', 'luis', '--hours', String(hours))
  const tooLong = await create(8761)
  assert.deepEqual([tooLong.exit, tooLong.out], [2, ''])
  assert.match(tooLong.err, /--hours must be at most 8760/)
  const long = await create(8760)
  assert.equal(long.exit, 0)
  assert.match(long.err, /warning: .*more than 30 days/)
  assert.doesNotMatch((await create(720)).err, /warning/)
})
