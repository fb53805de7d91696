// Every field of a channel x every protocol x either end calling: it acts, is a label, or is warned about, in the same
// words by the platform file's check, by a change through the platform operations and after an update through the
// interface. No cell is silently nothing.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Channel } from '../../src/contract/channel.ts'
import { COLUMNS, FIELD_EFFECTS } from '../../src/domain/fields/effects.ts'
import type { Column, FieldEffect } from '../../src/domain/fields/effects.ts'
import { mergeChannel } from '../../src/domain/channel.ts'
import { NOTHING_KNOWN, platformFindings } from '../../src/platform/rules.ts'
import { contactPlace, putContact } from '../../src/store/contacts.ts'
import { callPlatform } from '../support/call.ts'
import { startTestHttp } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { contactOf, seedChannel } from '../support/seed.ts'

type Shape = { properties?: Record<string, Shape>; items?: Shape }

function leaves(shape: Shape, path = ''): string[] {
  const inside = shape.properties ?? shape.items?.properties
  if (!inside) return [path]
  return Object.entries(inside).flatMap(([name, one]) => leaves(one, path === '' ? name : `${path}.${name}`))
}

test('the table has every field of the contract, and no other', () => {
  const named = new Set(FIELD_EFFECTS.map(({ field }) => field))
  assert.deepEqual([...named].sort(), leaves(Channel as Shape).sort())
})

test('what acts has a test of what it does, what is a label has none', () => {
  const here = new URL('../engine/', import.meta.url)
  const tested = readdirSync(here)
    .filter((name) => /^fields-.*\.test\.ts$/.test(name))
    .flatMap((name) => [
      ...readFileSync(new URL(name, here), 'utf8').matchAll(/^\s*field\(\s*'([A-Za-z.]+)',/gm),
    ])
    .map((match) => match[1] ?? '')
  const untested = FIELD_EFFECTS.filter(
    ({ field, cells }) => !tested.includes(field) && Object.values(cells).some((cell) => cell === 'acts'),
  )
  assert.deepEqual(
    untested.map(({ field }) => field),
    [],
  )
})

/** The example of a field in a channel of that column, with what the column is about set. */
function exampleFor({ field, example }: FieldEffect, column: Column): Channel {
  if (column === 'folder' || field.endsWith('.callingEnd')) return example
  const callingEnd = column.endsWith('local') ? 'LOCAL' : 'REMOTO'
  return mergeChannel(example, { connection: { advancedConfigurationConnection: { callingEnd } } })
}

/** A path that is no fault, and keys that are none: what is looked at here are warnings. */
function within(files: string, channel: Channel): Channel {
  return JSON.parse(JSON.stringify(channel).replaceAll('/srv/x', files)) as Channel
}

const SFTP = { username: 'x', hostKeys: [`SHA256:${'A'.repeat(43)}`], inbox: '/', outbox: '/' }
const ACCESS = { username: 'y', authorizedKeys: ['ssh-ed25519 AAAA'] }
const CONTACTS = {
  'oftp2 local': { protocol: 'oftp2' },
  'oftp2 remote': { protocol: 'oftp2' },
  'sftp local': { protocol: 'sftp', sftp: SFTP },
  'sftp remote': { protocol: 'sftp', access: ACCESS },
  folder: { protocol: 'folder', folder: { inbox: '/srv/in', outbox: '/srv/out' } },
} as const

function expected({ cells, pointer }: FieldEffect, column: Column): string[] {
  const cell = cells[column]
  return typeof cell === 'object' ? [`${pointer} ${cell.warned}`] : []
}

const about = (pointer: string, warnings: readonly string[]) =>
  warnings.filter((one) => one.startsWith(`${pointer} `))

for (const column of COLUMNS)
  test(`check says of each field whether it does nothing (${column})`, () => {
    for (const one of FIELD_EFFECTS) {
      const channel = {
        code: 'BANCO-ACME-NOMINA',
        contact: 'acme',
        ...within('/srv/files', exampleFor(one, column)),
      }
      const platform = {
        localEntities: [{ code: 'BANCO', name: 'Banco' }],
        contacts: [{ id: 'acme', remoteCodes: [{ code: 'ACME' }], ...CONTACTS[column] }],
        channels: [channel],
      }
      const roots = { fileRoots: ['/srv/files'], scriptRoots: ['/srv/files'] }
      const { faults, warnings } = platformFindings(platform, roots, NOTHING_KNOWN)
      // What one protocol cannot do, and a database of an earlier version may hold, must not make `apply` refuse it all.
      const refused = faults.filter(({ pointer }) => pointer === `/channels/0${one.pointer}`)
      assert.deepEqual(refused, [], `${one.field} ${one.values ?? ''}`)
      const said = warnings.map(({ pointer, message }) => `${pointer.replace('/channels/0', '')} ${message}`)
      // Keys of OFTP2 are also asked for where they are missing.
      const own = about(one.pointer, said).filter(
        (text) => !/is needed for authentication|proves nothing over OFTP2 without/.test(text),
      )
      assert.deepEqual(own, expected(one, column), `${one.field} ${one.values ?? ''}`)
    }
  })

async function putColumn(node: TestNode, column: Column): Promise<string> {
  const remote = `R${COLUMNS.indexOf(column)}`
  const code = `BANCO-${remote}-NOMINA`
  const { protocol, ...settings } = CONTACTS[column]
  const id = column.replaceAll(' ', '-')
  const password = node.context.seal.seal(contactPlace(id, '/sftp/password'), 'x')
  const contact = {
    ...contactOf(id, remote, []),
    protocol,
    settings: settings as never, // as stored
    secrets: ('sftp' in settings ? { '/sftp/password': password } : {}) as Record<string, string>,
  }
  await node.store.write(async (tx) => {
    await putContact(tx, contact)
    await seedChannel(tx, node.context.seal, code, contact.id, {})
  })
  return code
}

test('an update through the interface, and a change by the platform’s operations, warn in the same words', async (t) => {
  const node = await startTestHttp(t)
  for (const column of COLUMNS) {
    const code = await putColumn(node, column)
    for (const one of FIELD_EFFECTS.filter(({ cells }) => typeof cells[column] === 'object')) {
      const body = within(node.files, exampleFor(one, column))
      const updated = await node.call('updateChannel', { code, body })
      assert.equal(updated.status, 200, updated.text)
      const setup = await callPlatform(node, 'channelSetup', 'admin', { params: { channelCode: code } })
      const what = `${column}: ${one.field} ${one.values ?? ''}`
      assert.deepEqual(about(one.pointer, setup.body.warnings), expected(one, column), what)
      const dryRun = { query: { dryRun: 'true' }, params: { channelCode: code } }
      const changed = await callPlatform(node, 'setAutomation', 'admin', { ...dryRun, body: {} })
      assert.equal(changed.status, 200, what + changed.text)
      // Such a change leaves secrets alone, and so does not look at them.
      if (!one.pointer.endsWith('Key'))
        assert.deepEqual(about(one.pointer, changed.body.warnings), expected(one, column), what)
      // As it was, for the next field.
      const bare = Object.fromEntries(Object.keys(body).map((name) => [name, null]))
      assert.equal((await node.call('updateChannel', { code, body: bare })).status, 200)
    }
  }
})
