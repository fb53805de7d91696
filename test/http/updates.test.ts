// What an update leaves as it was: what a client could not see, what is equal already, and paths that cannot serve.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Channel } from '../../src/contract/channel.ts'
import { findChannel, openChannel, sealChannel, updateChannel } from '../../src/store/channels.ts'
import { callPlatform } from '../support/call.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { allRows } from '../support/rows.ts'
import { FULL, fullChannel, PLAIN, SECRETS } from '../support/seed.ts'

type Shape = { properties?: Record<string, Shape> }
type Json = Record<string, unknown>

const SHAPE = Channel as unknown as Shape // the schema seen as data

const read = async (node: TestNode, as: string, code = FULL) =>
  (await node.call('channelConfiguration', { as, code })).body[0] as Json

/** As a bean is written: every field of the shape, absent ones as null. */
function asBean(shape: Shape, value: Json): Json {
  return Object.fromEntries(
    Object.entries(shape.properties ?? {}).map(([name, inner]) => {
      const field = value[name]
      if (field === undefined) return [name, null]
      const isObject = typeof field === 'object' && field !== null && !Array.isArray(field)
      return [name, isObject ? asBean(inner, field as Json) : field]
    }),
  )
}

async function secretsOf(node: TestNode): Promise<Json> {
  const record = await findChannel(node.store.db, FULL)
  assert.ok(record)
  const { localKey, remoteKey, rsaLocalKey, rsaRemoteKey } =
    openChannel(node.context.seal, record).security ?? {}
  return { localKey, remoteKey, rsaLocalKey, rsaRemoteKey }
}

/** As an earlier version may have left it. */
async function putChannel(node: TestNode, channel: Channel): Promise<void> {
  const record = await findChannel(node.store.db, FULL)
  assert.ok(record)
  const sealed = sealChannel(node.context.seal, FULL, channel)
  await node.store.write((tx) => updateChannel(tx, { ...record, ...sealed }))
}

testOnBoth(
  'null for a secret that the user does not see counts as left out, also for the whole of security',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const bean = asBean(SHAPE, { ...(await read(node, 'advoperator')), name: 'Otra' })
    assert.equal((bean.security as Json).localKey, null)
    const answer = await node.call('updateChannel', { as: 'advoperator', code: FULL, body: bean })
    assert.equal(answer.status, 200)
    assert.equal(answer.body.name, 'Otra')
    assert.deepEqual(await secretsOf(node), SECRETS)
    assert.deepEqual(await read(node, 'admin'), {
      ...fullChannel(node.files),
      application: 'NOMINA',
      name: 'Otra',
    })

    // Whoever sees none of its fields may find no security at all.
    await node.call('updateChannel', { code: FULL, body: { security: null } })
    await node.call('updateChannel', { code: FULL, body: { security: SECRETS } })
    const sparse = asBean(SHAPE, { ...(await read(node, 'advoperator')), security: undefined, name: 'Una' })
    assert.equal(sparse.security, null)
    const again = await node.call('updateChannel', { as: 'advoperator', code: FULL, body: sparse })
    assert.equal(again.status, 200)
    assert.deepEqual(await secretsOf(node), SECRETS)
  },
)

testOnBoth('null from somebody who sees the secrets clears them', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const body = { security: { localKey: null } }
  assert.equal((await node.call('updateChannel', { as: 'admin', code: FULL, body })).status, 200)
  const { localKey: _cleared, ...kept } = SECRETS
  assert.deepEqual(await secretsOf(node), { ...kept, localKey: undefined })
  const all = await node.call('updateChannel', { as: 'admin', code: FULL, body: { security: null } })
  assert.equal(all.body.security, undefined)
})

testOnBoth(
  'an empty session secret is refused; one of an older database stays where it is sent back',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    for (const field of ['localKey', 'remoteKey']) {
      const body = { security: { authentication: 'PASSWORD', [field]: '' } }
      const refused = await node.call('updateChannel', { code: FULL, body })
      assert.equal(refused.status, 400)
      assert.equal(refused.body.message, `/security/${field} must not be empty: null removes it`)
    }
    assert.deepEqual(await secretsOf(node), SECRETS)

    await putChannel(node, {
      ...fullChannel(node.files),
      security: { authentication: 'PASSWORD', remoteKey: '' },
    })
    const back = { ...(await read(node, 'globaladmin')), name: 'Otra' }
    const answer = await node.call('updateChannel', { code: FULL, body: back })
    assert.equal(answer.status, 200, answer.text)
    assert.equal((await secretsOf(node)).remoteKey, '')
  },
)

testOnBoth(
  'an update that leaves a channel without the keys by which its partner proves itself says so',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    for (const [security, pointer, code] of [
      [{ authentication: 'PASSWORD', remoteKey: null, localKey: 'AB' }, '/security/remoteKey', FULL],
      [{ authentication: 'CERTIFICATE', rsaLocalKey: null }, '/security/rsaLocalKey', FULL],
      [{ authentication: 'PASSWORD', localKey: 'AB' }, '/security/remoteKey', PLAIN],
    ] as const) {
      const { status, headers } = await node.call('updateChannel', { code, body: { security } })
      assert.equal(status, 200, JSON.stringify(security))
      assert.match(headers.get('warning') ?? '', new RegExp(`${pointer} is needed for authentication `))
      assert.doesNotMatch(headers.get('warning') ?? '', /database/)
    }
  },
)

testOnBoth('a channel that lacks such a key already is changed with a warning', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const lacks: Channel = { ...fullChannel(node.files), security: { authentication: 'PASSWORD' } }
  await putChannel(node, lacks)
  const why =
    "/security/remoteKey is needed for authentication PASSWORD: without it the partner's password is not checked"
  for (const body of [{ name: 'Otra' }, { security: { localKey: 'AB', remoteKey: null } }]) {
    const answer = await node.call('updateChannel', { code: FULL, body })
    assert.equal(answer.status, 200, answer.text)
    assert.ok(answer.headers.get('warning')?.includes(`299 - "${why}"`), answer.headers.get('warning') ?? '')
    assert.doesNotMatch(answer.headers.get('warning') ?? '', /in the database/)
    const setup = await callPlatform(node, 'channelSetup', 'globaladmin', { params: { channelCode: FULL } })
    assert.ok(setup.body.warnings.includes(why.replace("'", '’')))
    assert.doesNotMatch(setup.text, /in the database/)
  }
  const keyed = { security: { authentication: null } }
  const byDefault = await node.call('updateChannel', { code: FULL, body: keyed })
  assert.equal(byDefault.status, 200, 'a partner may have no password')
  assert.ok(byDefault.headers.get('warning')?.includes(`299 - "${why}"`))
})

testOnBoth('an update that changes nothing leaves no trace, by any of the five ways', async (t, database) => {
  const node = await startTestHttp(t, { database })
  let woken = 0
  node.context.wake = () => woken++
  const before = await allRows(node.store)
  const channel = await read(node, 'globaladmin')
  const { directories = [], connection } = fullChannel(node.files)
  const bare = { security: {}, emission: { active: null }, integrations: { postEmisionFile: null } }
  for (const [name, body, code] of [
    ['updateChannel', channel, FULL],
    ['updateChannel', {}, FULL],
    ['updateChannel', bare, PLAIN],
    ['updateChannel', { name: null, connection: {} }, PLAIN],
    ['updateIps', connection?.ips, FULL],
    ['updateDirectories', directories, FULL],
    ['setOutboundPath', { path: directories[0]?.filePath }, FULL],
    ['setInboundPath', { path: directories[1]?.filePath, verifyExists: true }, FULL],
  ] as const) {
    const answer = await node.call(name, { code, body })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, await read(node, 'globaladmin', code))
    assert.deepEqual(await allRows(node.store), before, `${name} ${JSON.stringify(body)}`)
  }
  assert.equal(woken, 0)
  await node.call('updateIps', { code: FULL, body: ['127.0.0.1'] })
  assert.equal(woken, 1)
  const { body } = await node.call('channelHistory', { code: FULL, query: { size: 10 } })
  assert.deepEqual(
    body.content.map((entry: { event: string }) => entry.event),
    ['IPS_UPDATED', 'CHANNEL_CREATED'],
  )
})

testOnBoth('users that do not exist are warned of, as in a platform file', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const body = { users: ['operator', 'nobody1', 'nul\u2019s'] }
  const answer = await node.call('updateChannel', { code: PLAIN, body })
  assert.equal(answer.status, 200, answer.text)
  const said = answer.headers.get('warning') ?? ''
  assert.ok(said.includes('299 - "/users/1 there is no user nobody1 (yet)"'), said)
  assert.doesNotMatch(said, /users\/0/)
  const setup = await callPlatform(node, 'channelSetup', 'globaladmin', { params: { channelCode: PLAIN } })
  assert.ok(setup.body.warnings.includes('/users/1 there is no user nobody1 (yet)'), setup.text)
  const known = await node.call('updateChannel', { code: PLAIN, body: { users: ['operator'] } })
  assert.doesNotMatch(known.headers.get('warning') ?? '', /\/users/)
})

test('a glob is refused where files are received, and taken where they are only sent', async (t) => {
  const node = await startTestHttp(t)
  for (const name of ['*.txt', 'in?', 'in[0-9]', '{in,out}']) {
    const path = join(node.files, name)
    const body = { path }
    const wrong = [
      await node.call('setInboundPath', { code: FULL, body }),
      await node.call('setInboundPath', { code: 'NO-SUCH-ONE', body }),
      await node.call('updateDirectories', {
        code: FULL,
        body: [{ direction: 'RECEPCION', filePath: path }],
      }),
      await node.call('updateDirectories', {
        code: FULL,
        body: [{ direction: 'BIDIRECCIONAL', filePath: path }],
      }),
      await node.call('updateChannel', { code: FULL, body: { directories: [{ filePath: path }] } }),
    ]
    for (const { status, body: said } of wrong) {
      assert.equal(status, 400)
      assert.match(said.message, /^\/(path|0\/filePath|directories\/0\/filePath) must be a directory/)
    }
    assert.equal((await node.call('setOutboundPath', { code: FULL, body })).status, 200)
  }
  // A channel that only sends may have a glob in a directory for both ways.
  const both = {
    direction: 'EMISION',
    directories: [{ direction: 'BIDIRECCIONAL', filePath: join(node.files, '*') }],
  }
  assert.equal((await node.call('updateChannel', { code: PLAIN, body: both })).status, 200)
  const spaced = { path: join(node.files, 'in (old)!') }
  assert.equal((await node.call('setInboundPath', { code: FULL, body: spaced })).status, 200)
})

test('however much there is to warn of, the headers stay as small as clients and proxies take them', async (t) => {
  const node = await startTestHttp(t)
  const directories = Array.from({ length: 100 }, (_, nth) => ({
    direction: 'EMISION',
    filePath: join(node.files, `out-${nth}`),
    fileFormat: 'BINARIO',
    registerLength: 80,
  }))
  const changed = await node.call('updateDirectories', { code: PLAIN, body: directories })
  assert.equal(changed.status, 200)
  assert.equal(changed.body.directories.length, 100)
  const octets = [...changed.headers].reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  assert.ok(octets < 4096, `${octets} octets`)
  const shown = (changed.headers.get('warning') ?? '').match(/299 - "\/[^"]*"/g) ?? []
  const setup = await callPlatform(node, 'channelSetup', 'globaladmin', { params: { channelCode: PLAIN } })
  assert.ok(shown.length > 5, `${shown.length} warnings`)
  assert.match(
    changed.headers.get('warning') ?? '',
    new RegExp(
      `299 - "${setup.body.warnings.length - shown.length} more: GET /connect-back/platform/v1/channels/${PLAIN} has all"$`,
    ),
  )
})
