// The audit trail as the operations of the node write it and show it.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sealAudit } from '../../src/audit/sealer.ts'
import { SECRET_SETTINGS } from '../../src/config.ts'
import type { AuditEntry } from '../../src/contract/audit.ts'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { createClient } from '../../sdk/index.ts'
import { request } from '../support/call.ts'
import { startTestHttp, startTestNode, testOnBoth, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { CLOSED, FULL, PASSWORD, PLAIN, SECRETS } from '../support/seed.ts'

async function trailOf(node: TestNode, query: Record<string, string> = {}): Promise<AuditEntry[]> {
  const { status, body, text } = await request(
    `${node.url}${BASE_PATH}/platform/v1/audit?${new URLSearchParams({ size: '100', ...query })}`,
    { headers: { authorization: `Bearer ${await node.token('globaladmin')}` } },
  )
  assert.equal(status, 200, text)
  return (body as { content: AuditEntry[] }).content
}

testOnBoth(
  'logins, refusals, changes, sends and resets are told with who, from where, before and after',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const login = (username: string, password: string) =>
      node.call('loginV2', { as: null, body: { username, password } })
    await login('operator', PASSWORD)
    await login('operator', 'wrong')
    await login('wrong field, a pass phrase', 'x')
    await writeFile(join(node.files, 'out', 'a.txt'), 'hello')
    await node.call('updateChannel', {
      as: 'advoperator',
      code: FULL,
      body: { name: 'Salaries', category: null },
    })
    await node.call('updateChannel', { code: FULL, body: { security: { localKey: 'another secret' } } })
    await node.call('sendTransfer', { as: 'operator', code: PLAIN })
    await node.call('resetChannel', { as: 'operator', code: PLAIN })
    await node.call('updateIps', { as: 'operator', code: PLAIN, body: [] })
    await node.call('channelConfiguration', { as: 'advoperator', code: CLOSED })
    const told = await trailOf(node)
    assert.deepEqual(
      told
        .map((entry) => [entry.action, entry.outcome, entry.user, entry.subject, entry.channelCode])
        .reverse(),
      [
        ['LOGIN', 'DONE', 'operator', 'operator', undefined],
        ['LOGIN_REFUSED', 'REFUSED', undefined, 'operator', undefined],
        ['LOGIN_REFUSED', 'REFUSED', undefined, undefined, undefined],
        ['CHANNEL_CHANGED', 'DONE', 'advoperator', FULL, FULL],
        ['CHANNEL_CHANGED', 'DONE', 'globaladmin', FULL, FULL],
        ['TRANSFER_SENT', 'DONE', 'operator', told[3]?.subject, PLAIN],
        ['CHANNEL_RESET', 'DONE', 'operator', PLAIN, PLAIN],
        ['ACCESS_REFUSED', 'REFUSED', 'operator', undefined, PLAIN],
        ['ACCESS_REFUSED', 'REFUSED', 'advoperator', undefined, CLOSED],
      ],
    )
    assert.ok(told.every((entry) => entry.address === '127.0.0.1'))
    const [refused, , , , secret, plain] = told as [AuditEntry, ...AuditEntry[]]
    assert.match(refused.note ?? '', /not open to advoperator/)
    assert.deepEqual(plain?.changes, [
      { field: '/name', before: 'Nóminas', after: 'Salaries' },
      { field: '/category', before: 'PAYROLL' },
    ])
    assert.equal(plain?.via, 'TOKEN')
    assert.match(plain?.tokenId ?? '', /^[0-9a-f-]{36}$/)
    assert.equal(secret?.changes?.[0]?.field, '/security/localKey')
    assert.match(String(secret?.changes?.[0]?.before), /^keyed:[0-9a-f]{32}$/)
    const text = JSON.stringify(told)
    for (const word of [...Object.values(SECRETS), 'another secret', PASSWORD, 'pass phrase'])
      assert.ok(!text.includes(word), `a secret is in the trail: ${word.slice(0, 20)}`)
  },
)

test('only users with administration read the trail, by whatever operation', async (t) => {
  const node = await startTestHttp(t)
  for (const as of ['operator', 'advoperator', 'controlator', 'adminff']) {
    const { platform } = createClient({ url: node.url, token: await node.token(as) })
    for (const read of [platform.auditTrail, platform.auditExport, platform.auditVerification])
      await assert.rejects(() => read(), /administration/)
  }
})

test('the trail is filtered by user, action, channel, day and words, and paged', async (t) => {
  const node = await startTestHttp(t)
  for (const name of ['one', 'two', 'three']) await node.call('updateChannel', { code: FULL, body: { name } })
  await node.call('resetChannel', { as: 'operator', code: PLAIN })
  assert.equal((await trailOf(node, { user: 'operator' })).length, 1)
  assert.equal((await trailOf(node, { action: 'CHANNEL_CHANGED' })).length, 3)
  assert.equal((await trailOf(node, { channelCode: PLAIN })).length, 1)
  assert.equal((await trailOf(node, { subjectKind: 'channel', subject: FULL })).length, 3)
  assert.equal((await trailOf(node, { search: 'THREE' })).length, 1)
  const day = new Date().toISOString().slice(0, 10)
  assert.equal((await trailOf(node, { initialDate: day, endDate: day })).length, 4)
  assert.equal((await trailOf(node, { endDate: '2020-01-01' })).length, 0)
  const { platform } = createClient({ url: node.url, token: await node.token('globaladmin') })
  const first = await platform.auditTrail({ size: 3 })
  const rest = await platform.auditTrail({ size: 3, before: first.next ?? '' })
  assert.equal(first.content.length + rest.content.length, 4)
  assert.equal(rest.next, undefined)
  await assert.rejects(() => platform.auditTrail({ subject: 'x' }), /subjectKind/)
  await assert.rejects(
    () => platform.auditTrail({ initialDate: '2026-02-02', endDate: '2026-02-01' }),
    /after/,
  )
})

test('an export is lines of JSON or CSV, is noted, and hides nothing of the chain', async (t) => {
  const node = await startTestHttp(t)
  await node.call('updateChannel', { code: FULL, body: { name: '=1+1, "x"' } })
  const { platform } = createClient({ url: node.url, token: await node.token('globaladmin') })
  const lines = (await (await platform.auditExport()).text()).trim().split('\n')
  const rows = lines.map((line) => JSON.parse(line) as { seq: number; action: string; hash: string })
  assert.deepEqual(
    rows.map(({ seq, action }) => [seq, action]),
    [
      [1, 'CHANNEL_CHANGED'],
      [2, 'AUDIT_EXPORTED'],
    ],
  )
  assert.ok(rows.every(({ hash }) => hash.length === 43))
  const csv = await platform.auditExport({ format: 'csv', action: 'CHANNEL_CHANGED' })
  assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
  const [head, row] = (await csv.text()).split('\r\n')
  assert.match(head ?? '', /^seq,at,node,who/)
  assert.match(row ?? '', /CHANNEL_CHANGED,DONE,channel,BANCO-ACME-NOMINA/)
})

test('a refusal is told once a minute for the same user and operation', async (t) => {
  const node = await startTestHttp(t)
  for (let again = 0; again < 5; again++) await node.call('resetChannel', { as: 'controlator', code: PLAIN })
  assert.equal((await trailOf(node, { action: 'ACCESS_REFUSED' })).length, 1)
})

test('a node tells its settings at the start, without its secrets, and its chain is whole at the end', async (t) => {
  const secrets = Object.values(SECRET_SETTINGS).map(([name]) => [name, `${name} ${'s3cret'.repeat(11)}`])
  const node = await startTestNode(t, {
    settings: {
      ...Object.fromEntries(secrets),
      ESCLUSA_TIMEZONE: 'Europe/Madrid',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1/?api-key=s3cret',
    },
  })
  const [started] = (await trailOf(node, { action: 'NODE_STARTED' })) as [AuditEntry]
  const { settings } = started.facts as { settings: Record<string, unknown> }
  assert.equal(settings.timezone, 'Europe/Madrid')
  for (const field of Object.keys(SECRET_SETTINGS))
    assert.match(String(settings[field]), /^keyed:[0-9a-f]{32}$/)
  assert.ok(!JSON.stringify(started).includes('s3cret'))
  const { platform } = createClient({ url: node.url, token: await node.token('globaladmin') })
  const checked = await waitFor('the chain', async () => {
    const found = await platform.auditVerification()
    return found.entries > 0 && found.open === 0 ? found : undefined
  })
  assert.equal(checked?.whole, true)
  await node.store.write((tx) => tx.deleteFrom('audit').where('seq', '=', 1).execute())
  const found = await platform.auditVerification()
  assert.equal(found.whole, false)
  await sealAudit(node.store, node.context.audit.keys, Date.now())
})
