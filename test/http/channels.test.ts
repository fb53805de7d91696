// Operations 4 to 11: channels read and changed.

import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { allRows } from '../support/rows.ts'
import { CLOSED, FULL, fullChannel, PLAIN, SECRETS } from '../support/seed.ts'

const config = async (node: TestNode, code: string, as = 'globaladmin') =>
  (await node.call('channelConfiguration', { as, code })).body[0]

const inHours = (hours: number) => `${String((new Date().getUTCHours() + hours) % 24).padStart(2, '0')}:00`

testOnBoth(
  'the configuration is an array of one channel with every field as it was given',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const { body } = await node.call('channelConfiguration', { code: FULL })
    assert.deepEqual(body, [{ application: 'NOMINA', ...fullChannel(node.files) }])
    const [plain] = (await node.call('channelConfiguration', { code: PLAIN })).body
    assert.deepEqual(Object.keys(plain).sort(), [
      'application',
      'connection',
      'direction',
      'directories',
      'localEntity',
      'remoteEntity',
    ])
  },
)

test('the status is an array of one object of four fields', async (t) => {
  const node = await startTestHttp(t)
  const { body } = await node.call('channelStatus', { code: FULL })
  const { id } = await node.store.db
    .selectFrom('channel')
    .select('id')
    .where('code', '=', FULL)
    .executeTakeFirstOrThrow()
  assert.deepEqual(body, [
    {
      'channel-id': id,
      'channel-code': FULL,
      'channel-direction': 'BIDIRECCIONAL',
      'channel-status': 'IDLE',
    },
  ])
  await node.call('updateChannel', { code: FULL, body: { deactivateChannel: true } })
  assert.equal((await node.call('channelStatus', { code: FULL })).body[0]['channel-status'], 'INACTIVE')
  const hours = { initialHour: inHours(2), finishHour: inHours(3) }
  await node.call('updateChannel', {
    code: PLAIN,
    body: { direction: null, connection: { advancedConfigurationConnection: hours } },
  })
  const [plain] = (await node.call('channelStatus', { code: PLAIN })).body
  assert.equal(plain['channel-status'], 'CLOSED')
  assert.ok(!('channel-direction' in plain))
})

testOnBoth(
  'secrets are shown to administrators with the flag, and to nobody else the four fields',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    for (const as of ['globaladmin', 'admin'])
      assert.deepEqual((await config(node, FULL, as)).security, fullChannel(node.files).security)
    for (const as of ['advoperator', 'operator', 'controlator', 'adminff', 'admincontrolatorff']) {
      const answers = [
        await node.call('channelConfiguration', { as, code: FULL }),
        await node.call('listChannels', { as, query: { size: 10 } }),
      ]
      if (as === 'advoperator')
        answers.push(
          await node.call('updateChannel', {
            as,
            code: FULL,
            body: { category: 'SALARIES' },
          }),
        )
      for (const { status, text } of answers) {
        assert.equal(status, 200)
        for (const [field, secret] of Object.entries(SECRETS)) {
          assert.ok(!text.includes(`"${field}"`), `${as} sees ${field}`)
          assert.ok(!text.includes(JSON.stringify(secret).slice(1, -1)))
        }
        assert.ok(text.includes('rsaLocalKeyName'))
      }
    }
  },
)

testOnBoth(
  'posting back what was read changes nothing, for who sees secrets and for who does not',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const row = () =>
      node.store.db
        .selectFrom('channel')
        .select(['config', 'secrets'])
        .where('code', '=', FULL)
        .executeTakeFirstOrThrow()
    const before = await row()
    for (const as of ['advoperator', 'globaladmin']) {
      const read = await config(node, FULL, as)
      const answer = await node.call('updateChannel', { as, code: FULL, body: read })
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body, read)
      assert.deepEqual(await row(), before)
    }
  },
)

testOnBoth('an update merges, clears by null and replaces arrays whole', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const before = await config(node, FULL)
  const { status, body } = await node.call('updateChannel', {
    code: FULL,
    body: {
      name: 'Otra',
      category: null,
      connection: {
        ips: ['192.168.0.9'],
        proxyIps: null,
        advancedConfigurationConnection: { retries: 9, timeout: null },
      },
      directories: [{ direction: 'RECEPCION', filePath: join(node.files, 'in'), compression: null }],
      security: { rsaLocalKey: null, localKey: 'another secret', rsaLocalKeyName: null },
      reception: null,
    },
  })
  assert.equal(status, 200)
  const expected = structuredClone(before)
  expected.name = 'Otra'
  delete expected.category
  expected.connection.ips = ['192.168.0.9']
  delete expected.connection.proxyIps
  expected.connection.advancedConfigurationConnection.retries = 9
  delete expected.connection.advancedConfigurationConnection.timeout
  expected.directories = [{ direction: 'RECEPCION', filePath: join(node.files, 'in') }]
  expected.security.localKey = 'another secret'
  delete expected.security.rsaLocalKey
  delete expected.security.rsaLocalKeyName
  delete expected.reception
  assert.deepEqual(body, expected)
  assert.deepEqual(await config(node, FULL), expected)
  assert.equal((await node.call('channelHistory', { code: FULL })).body.content[0].event, 'CHANNEL_UPDATED')
})

test('the application is part of the code and cannot be changed', async (t) => {
  const node = await startTestHttp(t)
  assert.equal(
    (await node.call('updateChannel', { code: PLAIN, body: { application: 'FACTURA' } })).status,
    200,
  )
  const refused = await node.call('updateChannel', { code: PLAIN, body: { application: 'OTRA' } })
  assert.equal(refused.status, 400)
  assert.match(refused.body.message, /^\/application /)
})

testOnBoth('addresses and directories are replaced whole', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const before = await config(node, FULL)
  const ips = await node.call('updateIps', { code: FULL, body: ['2001:db8::1', '10.9.8.7'] })
  assert.deepEqual(ips.body, {
    ...before,
    connection: { ...before.connection, ips: ['2001:db8::1', '10.9.8.7'] },
  })
  assert.deepEqual((await node.call('updateIps', { code: FULL, body: [] })).body.connection.ips, [])
  const directories = [{ direction: 'BIDIRECCIONAL', filePath: node.files, alphabet: null }]
  const changed = await node.call('updateDirectories', { code: FULL, body: directories })
  assert.deepEqual(changed.body.directories, [{ direction: 'BIDIRECCIONAL', filePath: node.files }])
  const events = (await node.call('channelHistory', { code: FULL, query: { size: 3 } })).body.content.map(
    (one: { event: string }) => one.event,
  )
  assert.deepEqual(events, ['DIRECTORIES_UPDATED', 'IPS_UPDATED', 'IPS_UPDATED'])
})

testOnBoth(
  'a path goes to the directory of its way, and verifyExists looks at the disk',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const at = (name: string) => join(node.files, name)
    await writeFile(at('file.txt'), 'x')
    const out = await node.call('setOutboundPath', { code: FULL, body: { path: at('new') } })
    assert.equal(out.body.directories[0].filePath, at('new'))
    assert.equal(out.body.directories[0].traduction, 'EBCDIC')
    const inbound = await node.call('setInboundPath', {
      code: PLAIN,
      body: { path: at('in'), verifyExists: true },
    })
    assert.deepEqual(inbound.body.directories[1], { direction: 'RECEPCION', filePath: at('in') })
    const status = async (name: 'setOutboundPath' | 'setInboundPath', path: string) =>
      (await node.call(name, { code: PLAIN, body: { path, verifyExists: true } })).status
    assert.equal(await status('setOutboundPath', at('file.txt')), 200)
    assert.equal(await status('setInboundPath', at('file.txt')), 400)
    assert.equal(await status('setOutboundPath', at('nowhere')), 400)
    assert.equal(
      (
        await node.call('setOutboundPath', {
          code: PLAIN,
          body: { path: at('nowhere'), verifyExists: false },
        })
      ).status,
      200,
    )
    const events = (await node.call('channelHistory', { code: PLAIN, query: { size: 2 } })).body.content.map(
      (one: { event: string }) => one.event,
    )
    assert.deepEqual(events, ['OUTBOUND_PATH_UPDATED', 'OUTBOUND_PATH_UPDATED'])
  },
)

test('paths that lead out are refused, by text and by link, under the name of the field that was sent', async (t) => {
  const node = await startTestHttp(t)
  await mkdir(join(node.dataDir, 'outside'))
  await symlink(join(node.dataDir, 'outside'), join(node.files, 'door'))
  for (const path of [
    'relative',
    '/etc',
    join(node.files, '../x'),
    `${node.files}/../x`,
    `${node.files}x`,
    '',
    join(node.files, 'door'),
    join(node.files, 'door/deep'),
  ])
    for (const name of ['setOutboundPath', 'setInboundPath'] as const)
      for (const verifyExists of [true, false]) {
        const answer = await node.call(name, { code: PLAIN, body: { path, verifyExists } })
        assert.equal(answer.status, 400, path)
        assert.match(answer.body.message, /^\/path /)
      }
})

test('a script that a link leads out of the script roots is refused', async (t) => {
  const node = await startTestHttp(t)
  const scripts = join(node.dataDir, 'scripts')
  await mkdir(scripts)
  await symlink('/bin/sh', join(scripts, 'out.sh'))
  await symlink('/bin', join(scripts, 'bin'))
  await writeFile(join(scripts, 'real.sh'), '#!/bin/sh\n')
  await symlink(join(scripts, 'real.sh'), join(scripts, 'inside.sh'))
  node.context.roots = { fileRoots: [node.files], scriptRoots: [scripts] }
  const status = async (name: string) => {
    const body = { integrations: { preEmisionFile: join(scripts, name) } }
    const answer = await node.call('updateChannel', { code: PLAIN, body })
    if (answer.status === 400)
      assert.match(answer.body.message, /^\/integrations\/preEmisionFile leads out of .* by a link$/)
    return answer.status
  }
  assert.equal(await status('out.sh'), 400)
  assert.equal(await status('bin/sh'), 400)
  assert.equal(await status('inside.sh'), 200)
  assert.equal(await status('real.sh'), 200)
})

test('what is wrong is named by its place in the body', async (t) => {
  const node = await startTestHttp(t)
  const message = async (name: 'updateChannel' | 'updateIps' | 'updateDirectories', body: unknown) => {
    const answer = await node.call(name, { code: PLAIN, body })
    assert.equal(answer.status, 400, JSON.stringify(body))
    return answer.body.message as string
  }
  assert.match(await message('updateIps', ['10.0.0.1', 'x']), /^\/1 /)
  assert.match(await message('updateIps', ['10.0.0.1', '::ffff:10.0.0.1']), /^\/1 .*twice/)
  assert.match(await message('updateIps', ['10.0.0.1', 5]), /^\/1 must be a string/)
  assert.match(await message('updateDirectories', [{}, { filePath: '/etc' }]), /^\/1\/filePath /)
  assert.match(await message('updateDirectories', [{ fileFormat: 'FIJO' }]), /^\/0\/registerLength /)
  assert.match(
    await message('updateDirectories', [{ alphabet: 'UTF8' }]),
    /^\/0\/alphabet must be one of NINGUNO, EBCDIC, ASCII$/,
  )
  assert.match(await message('updateDirectories', [null]), /^\/0 must be an object/)
  assert.match(
    await message('updateChannel', { direction: 'emision' }),
    /^\/direction must be one of EMISION, RECEPCION, BIDIRECCIONAL$/,
  )
  assert.match(
    await message('updateChannel', { connection: { ips: ['10.0.0.1', '10.0.0.1'] } }),
    /^\/connection\/ips\/1 /,
  )
  assert.match(
    await message('updateChannel', {
      connection: { advancedConfigurationConnection: { initialHour: '24:00' } },
    }),
    /initialHour must be an hour, HH:mm$/,
  )
  assert.match(
    await message('updateChannel', { connection: { advancedConfigurationTransmission: { stampLength: 9 } } }),
    /stampLength must be one of 0, 8, 14, 17$/,
  )
  assert.match(
    await message('updateChannel', { connection: { advancedConfigurationTransmission: { timeoutAck: -1 } } }),
    /timeoutAck must be at least 0$/,
  )
  assert.match(
    await message('updateChannel', {
      connection: { advancedConfigurationTransmission: { timeoutAck: 2_147_483_648 } },
    }),
    /timeoutAck must be at most 2147483647$/,
  )
  assert.match(
    await message('updateChannel', {
      connection: { advancedConfigurationTransmission: { timeoutAck: 1.5 } },
    }),
    /timeoutAck must be an integer$/,
  )
  assert.match(
    await message('updateChannel', { security: { rsaLocalKey: 'no key' } }),
    /^\/security\/rsaLocalKey /,
  )
  assert.match(
    await message('updateChannel', { integrations: { postEmisionFile: '/bin/sh' } }),
    /^\/integrations\/postEmisionFile .*ESCLUSA_SCRIPT_ROOTS/,
  )
  assert.match(
    await message('updateChannel', { integrations: { postEmisionAction: 'EMISION_MOVE' } }),
    /^\/integrations\/postEmisionDirectory /,
  )
  assert.match(await message('updateChannel', { svcff: 'true' }), /^\/svcff must be a boolean$/)
  assert.match(await message('updateChannel', { 'a/b~c': 1 }), /^\/a~1b~0c is not known here$/)
  assert.match(
    await message('updateChannel', { security: { disconnection: 1 } }),
    /^\/security\/disconnection is not known here$/,
  )
  assert.match(
    await message('updateChannel', { name: 'a\u0000' }),
    /^\/name must not contain control characters$/,
  )
  assert.match(
    await message('updateChannel', { name: 'x'.repeat(256) }),
    /^\/name must have at most 255 characters$/,
  )
  assert.match(await message('updateChannel', { users: ['ana', 'ana'] }), /^\/users\/1 /)
})

test('a fault that was there before does not forbid mending something else', async (t) => {
  const node = await startTestHttp(t)
  node.context.roots = { fileRoots: [join(node.files, 'in')], scriptRoots: [] }
  assert.equal((await node.call('updateChannel', { code: FULL, body: { name: 'still works' } })).status, 200)
  assert.equal((await node.call('updateChannel', { code: FULL, body: await config(node, FULL) })).status, 200)
  assert.equal(
    (await node.call('setOutboundPath', { code: FULL, body: { path: join(node.files, 'done') } })).status,
    400,
  )
})

testOnBoth('fifty updates at once all apply, each with its history entry', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const fields = ['name', 'category', 'version'] as const
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      node.call('updateChannel', {
        code: PLAIN,
        body:
          i < fields.length
            ? { [fields[i] ?? '']: `value ${i}` }
            : { security: { rsaLocalKeyName: `k${i}` }, integrations: { postEmisionRename: i % 2 === 0 } },
      }),
    ),
  )
  assert.ok(answers.every((answer) => answer.status === 200))
  const after = await config(node, PLAIN)
  for (const [i, field] of fields.entries()) assert.equal(after[field], `value ${i}`)
  const { body } = await node.call('channelHistory', { code: PLAIN, query: { size: 100 } })
  assert.equal(body.content.filter((one: { event: string }) => one.event === 'CHANNEL_UPDATED').length, 50)
})

testOnBoth('a refused update changes no row', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const before = await allRows(node.store)
  for (const [as, code, body] of [
    ['operator', PLAIN, { name: 'x' }],
    ['advoperator', CLOSED, { name: 'x' }],
    ['advoperator', 'NO-SUCH-ONE', { name: 'x' }],
    ['advoperator', PLAIN, { name: 'x', connection: { ips: ['x'] } }],
    ['advoperator', PLAIN, { name: 'x', security: { localKey: 'secret', rsaLocalKey: 'x' } }],
  ] as const)
    assert.ok((await node.call('updateChannel', { as, code, body })).status >= 400)
  assert.deepEqual(await allRows(node.store), before)
})
