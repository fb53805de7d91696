// The platform file through the node goes around none of the rules that the other operations of administration keep.

import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { ClientError, createClient } from '../../sdk/index.ts'
import { findAccount } from '../../src/store/accounts.ts'
import { findContact } from '../../src/store/contacts.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { startTestHttp, tempFolder } from '../support/harness.ts'
import { accountOf, PASSWORD, PERSON } from '../support/seed.ts'

type User = { username: string; email?: string; role: string; [field: string]: unknown }

async function scene(t: TestContext) {
  const node = await startTestHttp(t)
  const as = async (user: string) => createClient({ url: node.url, token: await node.token(user) }).platform
  const users = (...all: User[]) =>
    JSON.stringify({ users: all.map((one) => ({ ...accountFields(one.username), ...one })) })
  const [globaladmin, admin] = [await as('globaladmin'), await as('admin')]
  /** Refused with and without dryRun. */
  const refused = async (client: typeof admin, body: Body, status: number, message: RegExp) => {
    for (const dryRun of ['true', 'false'] as const)
      await assert.rejects(client.applyPlatformFile({ dryRun, body }), refusal(status, message))
  }
  return { node, users, globaladmin, admin, refused }
}

/** As the accounts are already. */
function accountFields(username: string) {
  const { email, name, lastName, language } = accountOf(username, null)
  return { email, name, lastName, language }
}

type Body = { file: string; prune?: boolean }

const refusal = (status: number, message: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof ClientError, String(thrown))
  assert.match(thrown.message, message)
  assert.equal(thrown.status, status)
  return true
}

const GLOBAL = { username: 'globaladmin', role: 'ROLE_GLOBALADMIN' }
const ADMIN = { username: 'admin', role: 'ROLE_ADMIN' }
const EVA = { username: 'eva', role: 'ROLE_GLOBALADMIN' }

test('a ROLE_ADMIN neither makes nor touches a ROLE_GLOBALADMIN by a file; one that stays as it is may stand in it', async (t) => {
  const { node, users, globaladmin, admin, refused } = await scene(t)
  const before = await findAccount(node.store.db, 'globaladmin')
  const attempts: Body[] = [
    { file: users(EVA) },
    { file: users({ ...ADMIN, role: 'ROLE_GLOBALADMIN' }) },
    { file: users({ ...GLOBAL, password: 'taken over by now' }) },
    { file: users({ ...GLOBAL, password: null }) },
    { file: users({ ...GLOBAL, passwordHash: before?.passwordHash?.replace(/.$/, 'x') }) },
    { file: users({ ...GLOBAL, email: 'mine@banco.example' }) },
    { file: users({ ...GLOBAL, role: 'ROLE_OPERATOR' }) },
    { file: users({ ...GLOBAL, disabled: true }) },
    { file: users(ADMIN), prune: true },
  ]
  for (const body of attempts) await refused(admin, body, 403, /only a ROLE_GLOBALADMIN/)
  // The right password changes nothing. If it were answered differently from a wrong one, passwords could be tried here.
  await refused(admin, { file: users({ ...GLOBAL, password: PASSWORD }) }, 403, /only a ROLE_GLOBALADMIN/)
  assert.deepEqual(await findAccount(node.store.db, 'globaladmin'), before)
  const file = users(GLOBAL, { ...ADMIN, name: 'Ada' })
  assert.deepEqual((await admin.applyPlatformFile({ body: { file } })).lines, ['~ user admin (name)'])
  assert.deepEqual((await globaladmin.applyPlatformFile({ body: { file: users(EVA) } })).lines, [
    '+ user eva',
  ])
})

test('by a file nobody removes the last ROLE_GLOBALADMIN, or disables, removes or re-roles themselves', async (t) => {
  const { users, globaladmin, admin, refused } = await scene(t)
  const only = /globaladmin is the only ROLE_GLOBALADMIN/
  await refused(globaladmin, { file: users(ADMIN), prune: true }, 409, only)
  await refused(globaladmin, { file: users({ ...GLOBAL, disabled: true }) }, 409, only)
  await refused(globaladmin, { file: users({ ...GLOBAL, role: 'ROLE_ADMIN' }) }, 409, only)
  const yourself = /you cannot disable yourself or give yourself another role/
  await refused(globaladmin, { file: users({ ...GLOBAL, role: 'ROLE_ADMIN' }, EVA) }, 409, yourself)
  await refused(globaladmin, { file: users(EVA), prune: true }, 409, /you cannot remove yourself/)
  await refused(admin, { file: users({ ...ADMIN, disabled: true }) }, 409, yourself)
  await refused(admin, { file: users({ ...ADMIN, role: 'ROLE_OPERATOR' }) }, 409, yourself)
  await refused(admin, { file: users(GLOBAL), prune: true }, 409, /you cannot remove yourself/)
})

test('an export with secrets shows a ROLE_ADMIN no hash of a ROLE_GLOBALADMIN, and applied it keeps the password', async (t) => {
  const { node, globaladmin, admin } = await scene(t)
  const hash = (await findAccount(node.store.db, 'globaladmin'))?.passwordHash ?? ''
  const blockOf = (file: string, username: string) =>
    file.split('- username: ').find((block) => block.startsWith(`${username}\n`)) ?? ''
  const own = await (await admin.exportPlatformFile({ secrets: 'true' })).text()
  assert.doesNotMatch(blockOf(own, 'globaladmin'), /passwordHash/)
  assert.match(blockOf(own, 'operator'), /passwordHash: \$argon2id/)
  const whole = await (await globaladmin.exportPlatformFile({ secrets: 'true' })).text()
  assert.match(blockOf(whole, 'globaladmin'), /passwordHash: \$argon2id/)
  assert.deepEqual((await admin.applyPlatformFile({ body: { file: own, prune: true } })).lines, [])
  assert.equal((await findAccount(node.store.db, 'globaladmin'))?.passwordHash, hash)
})

test('an export without the permission contactChannels shows no contact persons, and applied it keeps them', async (t) => {
  const { node, users, globaladmin, admin } = await scene(t)
  const people = async () => (await findContact(node.store.db, 'acme'))?.data.contactInfo
  const whole = await (await admin.exportPlatformFile()).text()
  assert.ok(whole.includes(PERSON.email ?? ''))
  const narrowed = users({ ...ADMIN, auths: { contactChannels: false } })
  await globaladmin.applyPlatformFile({ body: { file: narrowed } })
  const file = await (await admin.exportPlatformFile({ secrets: 'true' })).text()
  assert.doesNotMatch(file, /contactInfo/)
  assert.ok(!file.includes(PERSON.email ?? ''))
  for (const client of [admin, globaladmin])
    assert.deepEqual((await client.applyPlatformFile({ body: { file, prune: true } })).lines, [])
  assert.deepEqual(await people(), [PERSON])
  const cleared = whole.replace(/contactInfo:\n( {6}.*\n)+/, 'contactInfo: []\n')
  const { lines } = await globaladmin.applyPlatformFile({ body: { file: cleared } })
  assert.ok(lines.includes('~ contact acme (contactInfo)'), lines.join())
  assert.deepEqual(await people(), [])
})

test('a partner’s folder that is new or changed lies inside the file roots, by whichever operation; one that was there may lie elsewhere', async (t) => {
  const { node, admin, refused } = await scene(t)
  const outside = await tempFolder(t)
  await mkdir(node.files, { recursive: true })
  await symlink(outside, join(node.files, 'way-out'))
  const contact = (inbox: string, outbox: string) => ({
    id: 'beside',
    protocol: 'folder' as const,
    remoteCodes: [{ id: '1', code: 'BESIDE' }],
    folder: { inbox, outbox },
  })
  const file = (one: object) => JSON.stringify({ contacts: [one] })
  const [into, out] = [join(node.files, 'beside/in'), join(node.files, 'beside/out')]
  const says = (field: string) => new RegExp(`/folder/${field} .*ESCLUSA_FILE_ROOTS.*esclusa apply`)
  for (const place of [join(outside, 'in'), join(node.files, 'way-out'), join(node.files, 'way-out/new')]) {
    await assert.rejects(admin.createContact({ body: contact(place, out) }), refusal(400, says('inbox')))
    await refused(admin, { file: file(contact(into, place)) }, 400, says('outbox'))
  }
  assert.deepEqual((await admin.createContact({ body: contact(into, out) })).lines, ['+ contact beside'])
  const { id: contactId, ...changed } = contact(join(outside, 'in'), out)
  await assert.rejects(admin.changeContact({ contactId, body: changed }), refusal(400, says('inbox')))
  await applyPlatform(
    node.store,
    node.context.seal,
    { contacts: [{ ...changed, id: contactId }] },
    { now: 1 },
  )
  const named = { ...changed, name: 'Beside' }
  const lines = ['~ contact beside (name)']
  assert.deepEqual((await admin.changeContact({ contactId, body: named })).lines, lines)
  const renamed = file({ ...named, id: contactId, name: 'Besides' })
  assert.deepEqual((await admin.applyPlatformFile({ body: { file: renamed } })).lines, lines)
})
