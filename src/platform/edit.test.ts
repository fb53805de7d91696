// Edits read the channels and contacts that they concern and no others: reading many thousands holds up every other request.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { tempFolder, testOnBoth, withStore } from '../../test/support/harness.ts'
import type { TestDatabase } from '../../test/support/harness.ts'
import { samplePlatform } from '../../test/support/platform-file.ts'
import { BY_ITSELF, makeAuditTrail } from '../audit/trail.ts'
import { makeSeal } from '../store/seal.ts'
import { applyPlatform } from './apply.ts'
import { editPlatform } from './edit.ts'
import type { Edit } from './edit.ts'

const KEY = 'a master key of at least 32 bytes'
const seal = makeSeal(KEY)
const NOW = 1_700_000_000_000

async function sample(t: TestContext, database: TestDatabase) {
  const store = await withStore(t, database)
  const folder = await tempFolder(t)
  const platform = samplePlatform(folder)
  await applyPlatform(store, seal, platform, { now: NOW })
  const editing = {
    store,
    seal,
    roots: { fileRoots: [folder], scriptRoots: [] },
    trail: makeAuditTrail(KEY, 'one', () => NOW),
    actor: BY_ITSELF,
    now: NOW,
  }
  const edit = async (what: Edit) => (await editPlatform(editing, what)).lines
  return { edit, store, platform }
}

testOnBoth('an edit reads none of the channels that it does not concern', async (t, database) => {
  const { edit, store, platform } = await sample(t, database)
  // Whatever reads this one throws.
  const OTHER = 'BANCO-ACME-NOMINA'
  await store.write((tx) =>
    tx.updateTable('channel').set({ config: 'no JSON' }).where('code', '=', OTHER).execute(),
  )
  const [, beta] = platform.contacts ?? []
  assert.ok(beta)
  const zoe = { username: 'zoe', email: 'zoe@banco.example', role: 'ROLE_OPERATOR' } as const
  assert.deepEqual(await edit({ put: { users: [zoe] }, onlyChannels: [] }), ['+ user zoe'])
  const due = {
    id: 'due',
    channel: 'BANCO-BETA-long_application',
    by: '22:00',
    direction: 'EMISION',
  } as const
  assert.deepEqual(await edit({ put: { expectations: [due] }, onlyChannels: [] }), ['+ expectation due'])
  const renamed = { contacts: [{ ...beta, name: 'Beta SL' }] }
  assert.deepEqual(await edit({ put: renamed, onlyChannels: { contactId: 'beta' } }), [
    '~ contact beta (name)',
  ])
  const withoutCode = { contacts: [{ ...beta, remoteCodes: [{ code: 'OTHER' }] }] }
  await assert.rejects(edit({ put: withoutCode, onlyChannels: { contactId: 'beta' } }), /no remote code BETA/)
  await assert.rejects(
    edit({ remove: { contacts: ['beta'] }, onlyChannels: { contactId: 'beta' } }),
    /contact beta has channels: remove BANCO-BETA-long_application first/,
  )
  assert.deepEqual(await edit({ remove: { entities: ['CAJA'] }, onlyChannels: { localCode: 'CAJA' } }), [
    '- local entity CAJA',
  ])
})

testOnBoth('an edit reads none of the contacts that it does not concern', async (t, database) => {
  const { edit, store, platform } = await sample(t, database)
  // Whatever reads this one throws.
  await store.write((tx) =>
    tx.updateTable('contact').set({ data: 'no JSON' }).where('id', '=', 'beta').execute(),
  )
  const zoe = { username: 'zoe', email: 'zoe@banco.example', role: 'ROLE_OPERATOR' } as const
  assert.deepEqual(await edit({ put: { users: [zoe] }, onlyChannels: [] }), ['+ user zoe'])
  const channel = platform.channels?.find(({ contact }) => contact === 'acme')
  assert.ok(channel)
  const { alias: _alias, ...like } = channel
  const copy = { ...like, code: 'BANCO-ACME-COPY' }
  assert.deepEqual(await edit({ put: { channels: [copy] }, onlyChannels: [copy.code] }), [
    '+ channel BANCO-ACME-COPY',
  ])
  const sent = { ...copy, contact: 'nobody' }
  await assert.rejects(edit({ put: { channels: [sent] }, onlyChannels: [copy.code] }), /nobody/)
})

testOnBoth('the removal of a calendar reads the channels that may use it', async (t, database) => {
  const { edit, store } = await sample(t, database)
  const OTHER = 'BANCO-ACME-NOMINA'
  await edit({ put: { calendars: [{ id: 'bank' }] }, onlyChannels: [] })
  await store.write((tx) =>
    tx
      .updateTable('channel')
      .set({ config: 'no JSON', calendar: null, automation: null })
      .where('code', '=', OTHER)
      .execute(),
  )
  const gone = { remove: { calendars: ['bank'] }, onlyChannels: { calendar: 'bank' } }
  assert.deepEqual(await edit(gone), ['- calendar bank'])
})
