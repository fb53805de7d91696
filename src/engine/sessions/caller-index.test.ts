// Callers are found without reading all contacts, and never by what a contact was called before.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from '../../store/database/open.ts'
import { findContact, listContacts, putContact, removeContact } from '../../store/contacts.ts'
import { closeAfter, tempFolder } from '../../../test/support/harness.ts'
import { CallerIndex } from './caller-index.ts'

const NAMING = {
  protocol: 'oftp2',
  sections: { calling: 'oftp2', called: 'oftp2' },
  callerIds: ({ remoteCodes }: { remoteCodes: readonly string[] }) => remoteCodes,
} as const

const contact = (id: string, code: string, protocol: 'oftp2' | 'sftp' = 'oftp2') => ({
  id,
  protocol,
  data: { id, remoteCodes: [{ id: 'rc', code }] },
  settings: {},
  secrets: {},
})

test('a caller is found by one row, and a change of its contact acts at its next call', async (t) => {
  const store = await openStore({ dataDir: await tempFolder(t), databaseUrl: undefined })
  closeAfter(t, () => store.close())
  let scans = 0
  const contacts = {
    all: () => {
      scans++
      return listContacts(store.db)
    },
    one: (id: string) => findContact(store.db, id),
  }
  const index = new CallerIndex(contacts, NAMING)
  await store.write(async (tx) => {
    for (let nth = 0; nth < 50; nth++) await putContact(tx, contact(`c${nth}`, `CODE${nth}`))
    await putContact(tx, contact('other', 'ELSEWHERE', 'sftp'))
  })
  const found = await Promise.all(Array.from({ length: 50 }, (_, nth) => index.find(`CODE${nth}`)))
  assert.deepEqual(
    found.map((one) => one?.id),
    Array.from({ length: 50 }, (_, nth) => `c${nth}`),
  )
  assert.ok(scans <= 2, `${scans} scans for fifty callers`)
  const before = scans
  for (let nth = 0; nth < 50; nth++) await index.find(`CODE${nth}`)
  assert.equal(scans, before)
  assert.equal(await index.find('ELSEWHERE'), undefined, 'a contact of another protocol')
  await store.write((tx) => putContact(tx, contact('c1', 'RENAMED')))
  assert.equal(await index.find('CODE1'), undefined)
  assert.equal((await index.find('RENAMED'))?.id, 'c1')
  await store.write((tx) => removeContact(tx, 'c2'))
  assert.equal(await index.find('CODE2'), undefined)
  await store.write((tx) => putContact(tx, contact('new', 'CODE2')))
  assert.equal((await index.find('CODE2'))?.id, 'new')
})
