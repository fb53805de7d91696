// The platform administered through the node: users, local entities, contacts, channels, and the platform file.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { ClientError, createClient } from '../../sdk/index.ts'
import type { Client } from '../../sdk/index.ts'
import { verifyPassword } from '../../src/accounts/password.ts'
import { findAccount, putAccount } from '../../src/store/accounts.ts'
import { findChannel, openChannel } from '../../src/store/channels.ts'
import { findContact } from '../../src/store/contacts.ts'
import { beforeNextWrite, sqlite, startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'
import { CLOSED, FULL, PASSWORD, PLAIN, SECRETS } from '../support/seed.ts'

type Scene = { node: TestNode; admin: Client['platform']; as: (user: string) => Promise<Client> }

async function scene(t: TestContext, database: TestDatabase = sqlite): Promise<Scene> {
  const node = await startTestHttp(t, { database })
  const as = async (user: string) => createClient({ url: node.url, token: await node.token(user) })
  return { node, as, admin: (await as('globaladmin')).platform }
}

const refusal = (status: number, message: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof ClientError, String(thrown))
  assert.match(thrown.message, message)
  assert.equal(thrown.status, status)
  return true
}

const EVA = { username: 'eva', email: 'eva@banco.example', role: 'ROLE_OPERATOR', language: 'es' } as const

testOnBoth(
  'a user is made, signs in, is changed, gets another password, is disabled and removed',
  async (t, database) => {
    const { node, admin } = await scene(t, database)
    const login = (password: string) =>
      node.call('loginV2', { as: null, body: { username: 'eva', password } })
    const made = await admin.createUser({ body: { ...EVA, password: PASSWORD } })
    assert.deepEqual(made, { lines: ['+ user eva'], added: 1, changed: 0, removed: 0, warnings: [] })
    assert.equal((await login(PASSWORD)).status, 200)
    const { body } = await login(PASSWORD)
    await admin.changeUser({
      username: 'eva',
      body: { ...EVA_FIELDS, auths: { operate: false }, name: 'Eva' },
    })
    const eva = await admin.readUser({ username: 'eva' })
    assert.deepEqual(
      [eva.auths.operate, eva.auths.contactChannels, eva.name, eva.login],
      [false, true, 'Eva', 'PASSWORD'],
    )
    await admin.setUserPassword({ username: 'eva', body: { password: 'another long one' } })
    assert.equal((await login(PASSWORD)).status, 401)
    assert.equal((await login('another long one')).status, 200)
    const old = createClient({ url: node.url, token: body.token as string })
    await assert.rejects(old.listChannels(), refusal(401, /no longer valid/))
    await admin.changeUser({ username: 'eva', body: { ...EVA_FIELDS, disabled: true } })
    assert.equal((await login('another long one')).status, 401)
    assert.deepEqual((await admin.removeUser({ username: 'eva' })).lines, ['- user eva'])
    assert.equal(await findAccount(node.store.db, 'eva'), undefined)
    const told = await admin.auditTrail({ subjectKind: 'user', subject: 'eva', size: 50 })
    const actions = told.content.filter(({ user }) => user === 'globaladmin').map(({ action }) => action)
    assert.deepEqual(actions.reverse(), [
      'USER_CREATED',
      'USER_CHANGED',
      'USER_CHANGED',
      'USER_CHANGED',
      'USER_REMOVED',
    ])
  },
)

const { username: _username, ...EVA_FIELDS } = EVA

test('what check and apply refuse of users is refused in the same words, and nothing is changed', async (t) => {
  const { node, admin } = await scene(t)
  const make = (more: object) => admin.createUser({ body: { ...EVA, ...more } })
  await assert.rejects(
    make({ password: 'short' }),
    refusal(400, /^\/password must have at least 12 characters/),
  )
  await assert.rejects(make({ role: 'ROLE_KING' }), refusal(400, /^\/role must be one of/))
  await assert.rejects(make({ email: 'nobody' }), refusal(400, /^\/email must be an e-mail address$/))
  await assert.rejects(make({ passwordHash: 'x' }), refusal(400, /passwordHash is not known here/))
  await assert.rejects(make({ username: 'operator' }), refusal(409, /^user operator exists already/))
  await assert.rejects(
    make({ email: 'OPERATOR@banco.example' }),
    refusal(409, /e-mail address of operator already|is the e-mail address of/),
  )
  await assert.rejects(admin.changeUser({ username: 'nobody', body: EVA_FIELDS }), refusal(404, /nobody/))
  assert.equal(await findAccount(node.store.db, 'eva'), undefined)
})

test('nobody locks out the last administrator or takes a role that is above their own', async (t) => {
  const { as, admin } = await scene(t)
  const own = { email: 'g@banco.example', role: 'ROLE_GLOBALADMIN' } as const
  await assert.rejects(admin.removeUser({ username: 'globaladmin' }), refusal(409, /only ROLE_GLOBALADMIN/))
  await assert.rejects(
    admin.changeUser({ username: 'globaladmin', body: { ...own, disabled: true } }),
    refusal(409, /only ROLE_GLOBALADMIN/),
  )
  const other = (await as('admin')).platform
  await assert.rejects(
    other.createUser({ body: { ...EVA, role: 'ROLE_GLOBALADMIN' } }),
    refusal(403, /only a ROLE_GLOBALADMIN/),
  )
  await assert.rejects(
    other.setUserPassword({ username: 'globaladmin', body: { password: 'taken over now' } }),
    refusal(403, /only a ROLE_GLOBALADMIN/),
  )
  await assert.rejects(other.removeUser({ username: 'admin' }), refusal(409, /remove yourself/))
  await admin.createUser({ body: { ...EVA, role: 'ROLE_GLOBALADMIN' } })
  await assert.rejects(admin.removeUser({ username: 'globaladmin' }), refusal(409, /remove yourself/))
  await assert.rejects(
    admin.changeUser({ username: 'globaladmin', body: { ...own, disabled: true } }),
    refusal(409, /disable yourself/),
  )
})

test('a password for a ROLE_GLOBALADMIN, or for a new user whose name is taken, is refused before it is compared', async (t) => {
  const { node, as } = await scene(t)
  const global = await findAccount(node.store.db, 'globaladmin')
  assert.ok(global)
  // Nothing can be compared with a hash of so little memory: to try it is a fault of the node.
  const passwordHash = '$argon2id$v=19$m=1,t=1,p=1$c2FsdHNhbHQ$dGFn'
  await assert.rejects(verifyPassword(PASSWORD, passwordHash))
  await node.store.write((tx) => putAccount(tx, { ...global, passwordHash }))
  const { platform } = await as('admin')
  const only = refusal(403, /only a ROLE_GLOBALADMIN/)
  const { email, role } = global
  const file = JSON.stringify({ users: [{ username: 'globaladmin', email, role, password: PASSWORD }] })
  for (const dryRun of ['true', 'false'] as const) {
    const body = { password: PASSWORD }
    await assert.rejects(platform.setUserPassword({ username: 'globaladmin', dryRun, body }), only)
    await assert.rejects(
      platform.createUser({ dryRun, body: { ...EVA, ...body, username: 'globaladmin' } }),
      refusal(409, /^user globaladmin exists already/),
    )
    await assert.rejects(platform.applyPlatformFile({ dryRun, body: { file } }), only)
  }
})

test('a password that is set is a new one, even if it is the present one: nobody learns whether it is', async (t) => {
  const { node, as } = await scene(t)
  const { platform } = await as('admin')
  const set = (password: string, dryRun: 'true' | 'false') =>
    platform.setUserPassword({ username: 'operator', dryRun, body: { password } })
  const lines = ['~ user operator (password)']
  for (const password of [PASSWORD, 'a wrong guess of it'])
    assert.deepEqual((await set(password, 'true')).lines, lines)
  const before = await as('operator')
  await before.listChannels()
  assert.deepEqual((await set(PASSWORD, 'false')).lines, lines)
  await assert.rejects(before.listChannels(), refusal(401, /no longer valid/))
  const body = { username: 'operator', password: PASSWORD }
  assert.equal((await node.call('loginV2', { as: null, body })).status, 200)
})

testOnBoth(
  'a partner, its entity and a channel are made from nothing, copied, set up and removed',
  async (t, database) => {
    const { node, admin } = await scene(t, database)
    await admin.createEntity({ body: { code: 'SEDE', name: 'Sede' } })
    const contact = {
      id: 'gamma',
      name: 'Gamma SL',
      protocol: 'sftp',
      remoteCodes: [{ id: 'r', code: 'GAMMA', name: 'Gamma' }],
      remoteIPs: [{ id: 'i', ipAddress: '127.0.0.1', port: 2222 }],
      sftp: {
        username: 'sede',
        password: 'a secret word',
        hostKeys: [`SHA256:${'A'.repeat(43)}`],
        inbox: '/in',
      },
    } as const
    await admin.createContact({
      body: {
        ...contact,
        remoteCodes: [...contact.remoteCodes],
        remoteIPs: [...contact.remoteIPs],
        sftp: { ...contact.sftp, hostKeys: [...contact.sftp.hostKeys] },
      },
    })
    const code = 'SEDE-GAMMA-PAGOS'
    const directories = [{ direction: 'EMISION' as const, filePath: node.files }]
    const preview = await admin.createChannel({
      dryRun: 'true',
      body: { code, contact: 'gamma', directories },
    })
    assert.deepEqual(preview.lines, [`+ channel ${code}`])
    assert.equal(await findChannel(node.store.db, code), undefined)
    await admin.createChannel({
      body: { code, contact: 'gamma', direction: 'EMISION', directories, security: { localKey: 'LOCAL' } },
    })
    const read = await admin.readContact({ contactId: 'gamma' })
    assert.deepEqual([read.secrets, read.channels, read.sftp?.username], [['/sftp/password'], [code], 'sede'])
    assert.ok(!JSON.stringify(read).includes('a secret word'))
    await admin.setAutomation({ channelCode: code, body: { automation: { every: '5m' } } })
    await admin.changeChannelSetup({
      channelCode: code,
      body: { keep: { transfersDays: 30 }, maxOpenedMegabytes: 512 },
    })
    await admin.changeChannelSetup({ channelCode: code, body: { alias: 'PAY' } })
    const kept = await admin.channelSetup({ channelCode: code })
    assert.deepEqual([kept.keep, kept.maxOpenedMegabytes], [{ transfersDays: 30 }, 512])
    await admin.changeChannelSetup({ channelCode: code, body: { keep: {}, maxOpenedMegabytes: null } })
    const cleared = await admin.channelSetup({ channelCode: code })
    assert.deepEqual([cleared.keep, cleared.maxOpenedMegabytes, cleared.alias], [undefined, undefined, 'PAY'])
    const setup = await admin.channelSetup({ channelCode: code })
    const { revision: _revision, ...shown } = setup
    assert.deepEqual(shown, {
      code,
      contact: 'gamma',
      contactName: 'Gamma SL',
      protocol: 'sftp',
      alias: 'PAY',
      automation: { every: '5m' },
      warnings: [
        '/security/localKey has no effect here: the contact’s section sftp or access holds the account',
      ],
    })
    const opened = openChannel(node.context.seal, (await findChannel(node.store.db, code))!)
    assert.equal(opened.security?.localKey, 'LOCAL', 'a secret stays when something else is changed')
    await admin.copyChannel({ channelCode: code, body: { code: 'SEDE-GAMMA-COBROS' } })
    const copy = (await findChannel(node.store.db, 'SEDE-GAMMA-COBROS'))!
    assert.deepEqual(
      [copy.config.direction, copy.alias, copy.automation, copy.secrets],
      ['EMISION', null, { every: '5m' }, {}],
    )
    await assert.rejects(
      admin.removeContact({ contactId: 'gamma' }),
      refusal(409, /has channels: remove SEDE-GAMMA-COBROS, SEDE-GAMMA-PAGOS first/),
    )
    await assert.rejects(admin.removeEntity({ code: 'SEDE' }), refusal(409, /has channels/))
    for (const channelCode of [code, 'SEDE-GAMMA-COBROS']) await admin.removeChannel({ channelCode })
    await admin.removeContact({ contactId: 'gamma' })
    await admin.removeEntity({ code: 'SEDE' })
    const { content } = await admin.auditTrail({ channelCode: code, size: 50 })
    assert.deepEqual(content.map(({ action }) => action).reverse(), [
      'CHANNEL_CREATED',
      ...Array.from({ length: 4 }, () => 'CHANNEL_CHANGED'),
      'CHANNEL_REMOVED',
    ])
  },
)

test('what check and apply refuse of contacts and channels is refused in the same words', async (t) => {
  const { admin } = await scene(t)
  await assert.rejects(
    admin.createContact({ body: { id: 'x', protocol: 'folder' } }),
    refusal(400, /^\/protocol folder needs the section folder/),
  )
  await assert.rejects(
    admin.createContact({ body: { id: 'x', protocol: 'sftp', sftp: { username: 'x', hostKeys: [] } } }),
    refusal(400, /^\/sftp\/hostKeys must have at least 1 item$/),
  )
  await assert.rejects(
    admin.createContact({ body: { id: 'x', remoteIPs: [{ ipAddress: '1.2.3' }] } }),
    refusal(400, /^\/remoteIPs\/0\/ipAddress is not an IPv4 or IPv6 address/),
  )
  await assert.rejects(
    admin.changeContact({ contactId: 'acme', body: { remoteCodes: [{ code: 'OTHER' }] } }),
    refusal(409, /channel BANCO-ACME-\S+: contact acme has no remote code ACME any more/),
  )
  await assert.rejects(
    admin.createContact({ body: { id: 'x', remoteCodes: [{ code: 'ACME' }] } }),
    refusal(409, /remote code ACME is one of acme already/),
  )
  const make = (code: string, more: object) =>
    admin.createChannel({ body: { code, contact: 'acme', ...more } })
  await assert.rejects(make('NOBODY-ACME-X', {}), refusal(400, /^\/code there is no local entity NOBODY/))
  await assert.rejects(
    make('BANCO-ACME-X', { contact: 'nobody' }),
    refusal(400, /^\/contact there is no contact nobody/),
  )
  await assert.rejects(
    make('BANCO-ACME-X', { directories: [{ direction: 'EMISION', filePath: '/etc' }] }),
    refusal(400, /^\/directories\/0\/filePath/),
  )
  await assert.rejects(
    make('BANCO-ACME-X', { automation: { cron: 'x' } }),
    refusal(400, /is not a cron expression/),
  )
  await assert.rejects(make(PLAIN, {}), refusal(409, /exists already/))
})

test('people at a partner stay when the contact is changed, and are not shown', async (t) => {
  const { node, admin } = await scene(t)
  const {
    secrets: _secrets,
    channels: _channels,
    id: _id,
    ...body
  } = await admin.readContact({ contactId: 'acme' })
  assert.ok(!JSON.stringify(body).includes('Zabalbeascoa'))
  await admin.changeContact({ contactId: 'acme', body: { ...body, name: 'Acme Internacional' } })
  const contact = await findContact(node.store.db, 'acme')
  assert.equal(contact?.data.name, 'Acme Internacional')
  assert.equal(contact?.data.contactInfo?.[0]?.lastName, 'Zabalbeascoa')
  const { content } = await admin.auditTrail({ subjectKind: 'contact', subject: 'acme', size: 5 })
  assert.deepEqual(content[0]?.changes, [{ field: '/name', before: 'acme SA', after: 'Acme Internacional' }])
})

test('a change against a revision that is no longer there gets 412, and nothing is lost', async (t) => {
  const { node, admin, as } = await scene(t)
  let tag = ''
  const onTag = (given: string) => void (tag = given)
  const client = await as('globaladmin')
  await client.channelConfiguration({ channelCode: FULL }, { onTag })
  await client.updateChannel({ channelCode: FULL, body: { name: 'one' } }, { ifMatch: tag })
  await assert.rejects(
    client.updateChannel({ channelCode: FULL, body: { name: 'two' } }, { ifMatch: tag }),
    refusal(412, /changed it since you read it/),
  )
  await client.updateChannel({ channelCode: FULL, body: { name: 'three' } })
  assert.equal((await findChannel(node.store.db, FULL))?.config.name, 'three')
  await admin.readUser({ username: 'operator' }, { onTag })
  const body = { email: 'o@banco.example', role: 'ROLE_OPERATOR' } as const
  await admin.changeUser({ username: 'operator', body }, { ifMatch: tag })
  await assert.rejects(
    admin.changeUser({ username: 'operator', body }, { ifMatch: tag }),
    refusal(412, /read it again/),
  )
  await admin.readContact({ contactId: 'acme' }, { onTag })
  await admin.changeContact({ contactId: 'acme', body: { remoteCodes: [{ code: 'ACME' }] } })
  await assert.rejects(
    admin.removeContact({ contactId: 'acme' }, { ifMatch: tag }),
    refusal(412, /read it again/),
  )
  await admin.channelSetup({ channelCode: PLAIN }, { onTag })
  await client.updateChannel({ channelCode: PLAIN, body: { name: 'x' } })
  await assert.rejects(
    admin.setAutomation({ channelCode: PLAIN, body: {} }, { ifMatch: tag }),
    refusal(412, /read it again/),
  )
  await assert.rejects(
    admin.removeChannel({ channelCode: PLAIN }, { ifMatch: tag }),
    refusal(412, /read it again/),
  )
})

test('what becomes of a channel while it is being set up counts', async (t) => {
  const { node, as } = await scene(t)
  const [{ platform }, root] = [await as('advoperator'), await as('globaladmin')]
  const watch = () => platform.setAutomation({ channelCode: PLAIN, body: { automation: { watch: true } } })
  beforeNextWrite(node, () => root.updateChannel({ channelCode: PLAIN, body: { name: 'new' } }))
  await assert.rejects(watch(), refusal(412, /read it again/))
  assert.equal((await findChannel(node.store.db, PLAIN))?.config.name, 'new')
  beforeNextWrite(node, () => root.updateChannel({ channelCode: PLAIN, body: { users: ['jefa'] } }))
  await assert.rejects(watch(), refusal(403, /not open to advoperator/))
})

test('a channel that is closed to an editor is not set up by them', async (t) => {
  const { as } = await scene(t)
  const { platform } = await as('advoperator')
  await platform.setAutomation({ channelCode: PLAIN, body: { automation: { watch: true } } })
  await assert.rejects(
    platform.setAutomation({ channelCode: CLOSED, body: { automation: { watch: true } } }),
    refusal(403, /not open to advoperator/),
  )
  await assert.rejects(
    platform.removeChannel({ channelCode: PLAIN }),
    refusal(403, /ROLE_ADVOPERATOR may not/),
  )
})

testOnBoth(
  'an export through the node, applied again, changes nothing; a changed one says what it would change',
  async (t, database) => {
    const { admin } = await scene(t, database)
    const file = await (await admin.exportPlatformFile()).text()
    assert.ok(!file.includes(SECRETS.localKey))
    assert.match(await (await admin.exportPlatformFile({ secrets: 'true' })).text(), /WITH its secrets/)
    assert.deepEqual((await admin.applyPlatformFile({ body: { file } })).lines, [])
    const changed = file.replace('name: Banco Azul', 'name: Banco Verde')
    const plan = await admin.applyPlatformFile({ dryRun: 'true', body: { file: changed } })
    assert.deepEqual(plan.lines, ['~ local entity BANCO (name)'])
    assert.deepEqual((await admin.applyPlatformFile({ body: { file: changed } })).lines, plan.lines)
    const { content } = await admin.auditTrail({ size: 2 })
    assert.deepEqual(
      content.map(({ action }) => action),
      ['ENTITY_CHANGED', 'PLATFORM_APPLIED'],
    )
  },
)

test('a file that is wrong is refused by line and column, and may not read this machine', async (t) => {
  const { admin } = await scene(t)
  const apply = (file: string) => admin.applyPlatformFile({ body: { file } })
  await assert.rejects(apply('users:\n  - { username: x }\n'), refusal(400, /platform\.yaml:2:5: .*email/))
  await assert.rejects(apply('users: ['), refusal(400, /platform\.yaml:1/))
  for (const reference of ['{ file: /etc/passwd }', '{ env: HOME }'])
    await assert.rejects(
      apply(`users:\n  - { username: eva, email: e@b.es, role: ROLE_OPERATOR, password: ${reference} }\n`),
      refusal(400, /are for the command line/),
    )
})
