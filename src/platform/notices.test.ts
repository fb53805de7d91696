// Calendars, subscriptions and expectations in the platform file: read, checked, applied, exported.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sqlite, tempFolder, testOnBoth, withStore } from '../../test/support/harness.ts'
import { zoneOf } from '../domain/time.ts'
import { NodeError } from '../errors.ts'
import { findChannel } from '../store/channels.ts'
import type { Store } from '../store/database/store.ts'
import { switchOff, findSubscription } from '../store/events/subscriptions.ts'
import { readCalendars } from '../store/expectations/calendars.ts'
import { listExpectations } from '../store/expectations/expectations.ts'
import { watchExpectations } from '../notify/expectations/watch.ts'
import { makeSeal } from '../store/seal.ts'
import { applyPlatform } from './apply.ts'
import { readKnown } from './edit.ts'
import { exportPlatform } from './export.ts'
import { readPlatform } from './read.ts'
import { openSecrets } from './subscription-record.ts'

const seal = makeSeal('a master key of at least 32 bytes')
const NOW = Date.parse('2026-11-16T12:00:00Z')
const secret = (text: string) => `whsec_${Buffer.from(text.padEnd(32, '.')).toString('base64')}`

const CHANNEL = `
localEntities: [{ code: BANCO, name: Banco Azul }]
contacts: [{ id: acme, name: Acme, remoteCodes: [{ code: ACME }] }]
channels:
  - { code: BANCO-ACME-NOMINA, contact: acme, direction: EMISION, calendar: madrid, automation: { cron: "0 6 * * *", calendar: madrid, onHoliday: previous } }
`
const NOTICES = `
subscriptions:
  - { id: ops-hook, webhook: { url: https://ops.example/hook, secrets: [{ env: HOOK_SECRET }] }, events: ["transfer.failed", "expectation.*"], channels: ["BANCO-*"] }
  - { id: night, mail: { to: [night@banco.example], language: es }, events: [transfer.failed, expectation.missed, partner.unreachable] }
calendars:
  - { id: madrid, holidays: { country: ES, region: MD }, closed: [2026-12-24], open: [2026-12-26] }
expectations:
  - id: payroll-out
    channel: BANCO-ACME-NOMINA
    direction: EMISION
    files: "NOMINA*.txt"
    atLeast: 1
    from: "18:00"
    by: "22:00"
    timezone: Europe/Madrid
    calendar: target
    onHoliday: previous
    warnBefore: 30m
`

async function reader(t: TestContext, env: Record<string, string> = { HOOK_SECRET: secret('one') }) {
  const folder = await tempFolder(t)
  const file = join(folder, 'platform.yaml')
  const roots = { fileRoots: [folder], scriptRoots: [] }
  const read = (text: string, more: object = {}) => {
    writeFileSync(file, text)
    return readPlatform(file, { env, roots, ...more })
  }
  const faults = (text: string) => {
    try {
      read(text)
      return []
    } catch (thrown) {
      assert.ok(thrown instanceof NodeError)
      return thrown.message
        .split('\n')
        .slice(1)
        .map((line) => line.replace(`${file}:`, ''))
    }
  }
  return { read, faults }
}

const applyTo = (store: Store, text: ReturnType<Awaited<ReturnType<typeof reader>>['read']>, prune = false) =>
  applyPlatform(store, seal, text.platform, { now: NOW, prune }).then(({ lines }) => lines)

testOnBoth('they are applied once, exported, and an export changes nothing', async (t, database) => {
  const store = await withStore(t, database)
  const { read } = await reader(t)
  const lines = await applyTo(store, read(CHANNEL + NOTICES))
  assert.deepEqual(
    lines.slice(-4),
    [
      '+ calendar madrid',
      '+ subscription night',
      '+ subscription ops-hook',
      '+ expectation payroll-out',
    ].toSorted((a, b) => lines.indexOf(a) - lines.indexOf(b)),
  )
  assert.deepEqual(await applyTo(store, read(CHANNEL + NOTICES)), [])
  const channel = await findChannel(store.db, 'BANCO-ACME-NOMINA')
  assert.equal(channel?.calendar, 'madrid')
  assert.deepEqual(channel.automation, { cron: '0 6 * * *', calendar: 'madrid', onHoliday: 'previous' })
  const works = (await readCalendars(store.db))('madrid')
  assert.deepEqual([works?.('2026-12-24'), works?.('2026-12-26'), works?.('2026-11-09')], [false, true, true])
  const exported = await exportPlatform(store.db, seal, { secrets: false })
  assert.doesNotMatch(exported, /whsec_/)
  assert.deepEqual(await applyTo(store, read(exported)), [])
  const whole = await exportPlatform(store.db, seal, { secrets: true })
  assert.ok(whole.includes(secret('one')))
  assert.deepEqual(await applyTo(store, read(whole), true), [])
  assert.equal(await exportPlatform(store.db, seal, { secrets: true }), whole)
})

testOnBoth('secrets lie sealed, and are kept by a file that leaves them out', async (t, database) => {
  const store = await withStore(t, database)
  const { read } = await reader(t)
  await applyTo(store, read(CHANNEL + NOTICES))
  const before = await findSubscription(store.db, 'ops-hook')
  assert.ok(before && !before.secrets.includes('whsec'))
  assert.deepEqual(openSecrets(before, seal), [secret('one')])
  const other = NOTICES.replace(/, secrets: \[[^\]]*\]/, '')
  const lines = await applyTo(store, read(CHANNEL + other.replace('ops.example/hook', 'ops.example/other')))
  assert.deepEqual(lines, ['~ subscription ops-hook (webhook)'])
  const after = await findSubscription(store.db, 'ops-hook')
  assert.equal(after?.settings.webhook?.url.includes('/other'), true)
  assert.equal(after?.secrets, before.secrets)
})

testOnBoth(
  'a subscription that was switched off is on again when the file changes it',
  async (t, database) => {
    const store = await withStore(t, database)
    const { read } = await reader(t)
    await applyTo(store, read(CHANNEL + NOTICES))
    await store.write((tx) => switchOff(tx, 'night', NOW, 'failed for days'))
    await applyTo(store, read(CHANNEL + NOTICES))
    assert.equal((await findSubscription(store.db, 'night'))?.state, 'OFF')
    await applyTo(store, read(CHANNEL + NOTICES.replace('night@banco', 'nacht@banco')))
    assert.equal((await findSubscription(store.db, 'night'))?.state, 'ON')
  },
)

testOnBoth('with prune what the file does not name goes', async (t, database) => {
  const store = await withStore(t, database)
  const { read } = await reader(t)
  await applyTo(store, read(CHANNEL + NOTICES))
  const bare = CHANNEL.replaceAll(/, calendar: madrid/g, '').replace(', onHoliday: previous', '')
  const lines = await applyTo(store, read(bare), true)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('-')),
    ['- calendar madrid', '- subscription night', '- subscription ops-hook', '- expectation payroll-out'],
  )
})

testOnBoth('a file without the channel may name one that the platform has', async (t, database) => {
  const store = await withStore(t, database)
  const { read, faults } = await reader(t)
  const expectation = `expectations: [{ id: e, channel: BANCO-ACME-NOMINA, direction: EMISION, by: "22:00", calendar: madrid }]`
  assert.deepEqual(faults(expectation), [
    '1:34: /expectations/0/channel there is no channel BANCO-ACME-NOMINA',
    '1:96: /expectations/0/calendar there is no calendar madrid; built in are always, weekdays, target',
  ])
  await applyTo(store, read(CHANNEL + NOTICES))
  const known = await readKnown(store.db, false)
  assert.deepEqual(await applyTo(store, read(expectation, { known })), ['+ expectation e'])
  assert.equal((await listExpectations(store.db)).length, 2)
})

testOnBoth('a changed calendar moves the days that are not decided', async (t, database) => {
  const store = await withStore(t, database)
  const { read } = await reader(t)
  const text = CHANNEL + NOTICES.replace('calendar: target', 'calendar: madrid')
  await applyTo(store, read(text))
  await watchExpectations(store, zoneOf('UTC'), NOW)
  const days = async () =>
    (await store.db.selectFrom('expectation_day').select('day').orderBy('day').execute()).map(
      ({ day }) => day,
    )
  assert.deepEqual(await days(), ['2026-11-16'])
  await applyTo(store, read(text.replace('closed: [', 'closed: [2026-11-16, ')))
  await watchExpectations(store, zoneOf('UTC'), NOW)
  assert.deepEqual(await days(), ['2026-11-17'])
})

test('what is wrong is said by line and column, all at once', async (t) => {
  const { faults } = await reader(t)
  const wrong = `${CHANNEL}
subscriptions:
  - { id: both, webhook: { url: "https://a:b@ops.example/" }, mail: { to: [x@y.example] }, events: [transfer.exploded] }
  - { id: neither, events: ["*"], colour: red }
  - { id: hook, webhook: { url: "http://169.254.169.254/", secrets: [whsec_c2hvcnQ=, nonsense] }, events: ["*"] }
calendars:
  - { id: target }
  - { id: madrid, holidays: { country: ES, region: ZZ }, closed: [2026-02-30, 2026-05-01], open: [2026-05-01] }
  - { id: nowhere, holidays: { country: XX } }
expectations:
  - { id: a, channel: BANCO-ACME-OTRA, direction: EMISION, from: "18:00", by: "17:00", timezone: Madrid, calendar: none }
  - { id: b, channel: BANCO-ACME-NOMINA, direction: EMISION, by: "22:00", atLeast: 3, atMost: 2, warnBefore: 1d }
  - { id: c, channel: BANCO-ACME-NOMINA, direction: OUT, by: 22, days: [someday, 32] }
  - { id: d, channel: BANCO-ACME-NOMINA, direction: EMISION, by: "22:00", timezone: "+02:00" }
`
  assert.deepEqual(faults(wrong), [
    '8:5: /subscriptions/0 must have exactly one of webhook and mail',
    '8:33: /subscriptions/0/webhook/url must not hold a name and password: events are signed',
    '8:101: /subscriptions/0/events/0 is no type of events, and fits none',
    '9:35: /subscriptions/1/colour is not known here',
    '10:33: /subscriptions/2/webhook/url 169.254.169.254 is an address that webhooks may never call',
    '10:70: /subscriptions/2/webhook/secrets/0 must be whsec_ and base64 of 24 to 64 octets, or whsk_ and base64 of an Ed25519 key',
    '10:86: /subscriptions/2/webhook/secrets/1 must be whsec_ and base64 of 24 to 64 octets, or whsk_ and base64 of an Ed25519 key',
    '12:11: /calendars/0/id target is built in: give it another name',
    '13:29: /calendars/1/holidays country ES has no region ZZ; it has AN, AR, AS, CB, CE, CL, CM, CN, CT, EX, GA, IB, MC, MD, ML, NC, PV, RI, VC',
    '13:67: /calendars/1/closed/0 is not a day that exists',
    '13:99: /calendars/1/open/0 is among the closed days too',
    '14:30: /calendars/2/holidays there are no holidays known for country XX',
    '16:23: /expectations/0/channel there is no channel BANCO-ACME-OTRA',
    '16:79: /expectations/0/by must be later than from (18:00); "17:00+1" is the next day',
    '16:98: /expectations/0/timezone must be an IANA time zone such as Europe/Madrid',
    '16:116: /expectations/0/calendar there is no calendar none; built in are always, weekdays, target',
    '17:95: /expectations/1/atMost must not be less than atLeast (3)',
    '17:110: /expectations/1/warnBefore must be shorter than the window',
    '18:53: /expectations/2/direction must be one of EMISION, RECEPCION',
    '18:62: /expectations/2/by must be text (put it in quotes if it looks like a number, true or false)',
    '18:73: /expectations/2/days/0 must be mon to sun, 1 to 31, or last',
    '18:82: /expectations/2/days/1 must be at most 31',
    '19:85: /expectations/3/timezone must be an IANA time zone such as Europe/Madrid',
  ])
})

test('a webhook without a secret anywhere is refused when it is applied', async (t) => {
  const { read } = await reader(t)
  const store = await withStore(t, sqlite)
  const text = 'subscriptions: [{ id: hook, webhook: { url: "https://ops.example/" }, events: ["*"] }]'
  await assert.rejects(applyTo(store, read(text)), /subscription hook: webhook needs secrets/)
})

test('automation takes a calendar beside cron alone', async (t) => {
  const { faults } = await reader(t)
  const channel = (automation: string) =>
    `${CHANNEL.replace(/automation: \{[^}]*\}/, `automation: ${automation}`)}${NOTICES}`
  assert.deepEqual(
    faults(channel('{ every: 5m, calendar: target }')).map((line) => line.replace(/^\S+ /, '')),
    ['/channels/0/automation/calendar stands only beside cron'],
  )
  assert.deepEqual(
    faults(channel('{ cron: "0 6 * * *", onHoliday: next }')).map((line) => line.replace(/^\S+ /, '')),
    ['/channels/0/automation/onHoliday stands only beside calendar'],
  )
  assert.deepEqual(faults(channel('{ cron: "0 6 * * *", calendar: target, onHoliday: next }')), [])
})

test('a secret that cannot be read here is a warning to check', async (t) => {
  const { read } = await reader(t, {})
  const { warnings } = read(CHANNEL + NOTICES, { checkOnly: true })
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /secrets\/0 the environment variable HOOK_SECRET is not set/)
})
