// Edits read the channels that they concern and no others: reading fifty thousand holds up every other request.

import assert from 'node:assert/strict'
import { tempFolder, testOnBoth, withStore } from '../../test/support/harness.ts'
import { samplePlatform } from '../../test/support/platform-file.ts'
import { BY_ITSELF, makeAuditTrail } from '../audit/trail.ts'
import { makeSeal } from '../store/seal.ts'
import { applyPlatform } from './apply.ts'
import { editPlatform } from './edit.ts'
import type { Edit } from './edit.ts'

const KEY = 'a master key of at least 32 bytes'
const seal = makeSeal(KEY)
const NOW = 1_700_000_000_000

testOnBoth('an edit reads none of the channels that it does not concern', async (t, database) => {
  const store = await withStore(t, database)
  const folder = await tempFolder(t)
  const platform = samplePlatform(folder)
  await applyPlatform(store, seal, platform, { now: NOW })
  // Whatever reads this one throws.
  const OTHER = 'BANCO-ACME-NOMINA'
  await store.write((tx) =>
    tx.updateTable('channel').set({ config: 'no JSON' }).where('code', '=', OTHER).execute(),
  )
  const editing = {
    store,
    seal,
    roots: { fileRoots: [folder], scriptRoots: [] },
    trail: makeAuditTrail(KEY, 'one', () => NOW),
    actor: BY_ITSELF,
    now: NOW,
  }
  const edit = async (what: Edit) => (await editPlatform(editing, what)).lines
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
