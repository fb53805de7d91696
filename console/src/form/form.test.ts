import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel } from '../../../src/contract/channel.ts'
import { en } from '../i18n/en.ts'
import { CHANNEL_DEFAULTS } from '../../../src/domain/fields/defaults.ts'
import { changesOf, draftOf, mergeDrafts, patchOf } from './draft.ts'
import type { Draft } from './draft.ts'
import { labelsEn, valuesEn } from './fields-en.ts'
import { helpEs, labelsEs, valuesEs } from './fields-es.ts'
import { helpIn } from './help.ts'
import { faultsOf, placeMessage } from './rules.ts'
import { CHANNEL_SCHEMA, DIRECTORY_FIELDS, GROUPS, schemaAt } from './schema.ts'
import type { FieldSchema } from './schema.ts'

const { rules } = en.config

/** Every leaf of the contract's Channel; a list of texts is one. */
function leaves(schema: FieldSchema, pointer = ''): string[] {
  if (schema.properties)
    return Object.entries(schema.properties).flatMap(([name, field]) => leaves(field, `${pointer}/${name}`))
  if (schema.items?.properties) return leaves(schema.items, `${pointer}/*`)
  return [pointer]
}

const ALL = leaves(CHANNEL_SCHEMA).sort()

/** Names that only the wire has: of fields, and of values that are shown in words. */
const WIRE = new Set([
  ...ALL.map((pointer) => pointer.slice(pointer.lastIndexOf('/') + 1)).filter((name) =>
    /[A-Z]|ff$/.test(name),
  ),
  'ips',
  'traduction',
  'ciphrate',
  ...Object.keys(valuesEn).map((key) => key.slice(key.indexOf('.') + 1)),
])

test('help speaks of fields and values by the labels that people see', () => {
  for (const language of ['en', 'es'] as const)
    for (const pointer of ALL) {
      const words = helpIn(language, pointer).match(/[A-Za-z_]{2,}/g) ?? []
      assert.deepEqual(
        words.filter((word) => WIRE.has(word)),
        [],
        `${language} ${pointer}`,
      )
    }
})

test('what a field counts as where it is not set is a value that it may have', () => {
  for (const [pointer, value] of Object.entries(CHANNEL_DEFAULTS)) {
    const { type, enum: values } = schemaAt(pointer)
    assert.ok(ALL.includes(pointer), pointer)
    if (values) assert.ok(values.map(String).includes(value), pointer)
    else if (type === 'boolean') assert.match(value, /^(true|false)$/)
    else assert.match(value, /^\d+$/, pointer)
  }
})

test('going on with one’s own change keeps theirs in all other fields', () => {
  const base = draftOf({ name: 'a', category: 'b', directories: [{ filePath: '/x' }] })
  const theirs = draftOf({ name: 'theirs', category: 'b', directories: [{ filePath: '/theirs' }] })
  const mine = { ...base, fields: { ...base.fields, '/category': 'mine' } }
  const both = mergeDrafts({ base, theirs, mine })
  assert.deepEqual(patchOf(theirs, both), { category: 'mine' })
})

test('every field of the contract is shown once, with a name and its effect in both languages', () => {
  const shown = [...Object.values(GROUPS).flat(), ...DIRECTORY_FIELDS.map((name) => `/directories/*/${name}`)]
  assert.deepEqual(shown.sort(), ALL)
  assert.deepEqual(Object.keys(labelsEn).sort(), ALL)
  assert.deepEqual(Object.keys(labelsEs).sort(), ALL)
  assert.deepEqual(Object.keys(helpEs).sort(), ALL)
  for (const pointer of ALL) assert.ok(schemaAt(pointer).description, pointer)
})

test('values in words are values of the contract, and the same in both languages', () => {
  assert.deepEqual(Object.keys(valuesEs), Object.keys(valuesEn))
  for (const key of Object.keys(valuesEn)) {
    const [name, value] = key.split('.')
    assert.ok(
      ALL.some(
        (pointer) =>
          pointer.endsWith(`/${name}`) &&
          schemaAt(pointer)
            .enum?.map(String)
            .includes(value ?? ''),
      ),
      key,
    )
  }
})

const CHANNEL: Channel = {
  application: 'NOMINA',
  name: 'Payroll',
  deactivateChannel: false,
  connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 3, callingEnd: 'LOCAL' } },
  directories: [{ direction: 'EMISION', filePath: '/srv/out', registerLength: 80 }],
  security: { localKey: 'secret' },
}

test('an unchanged form changes nothing', () => {
  assert.deepEqual(changesOf(draftOf(CHANNEL), draftOf(CHANNEL)), [])
  assert.deepEqual(patchOf(draftOf(CHANNEL), draftOf(CHANNEL)), {})
})

test('the update holds what changed alone; a field made empty is cleared; directories go whole', () => {
  const before = draftOf(CHANNEL)
  const after = structuredClone(before)
  after.fields['/name'] = ''
  after.fields['/connection/ips'] = '127.0.0.1\n ::1 \n'
  after.fields['/connection/advancedConfigurationConnection/retries'] = '5'
  after.directories[0]!.compression = 'true'
  after.secrets['/security/localKey'] = { kind: 'remove' }
  after.secrets['/security/remoteKey'] = { kind: 'replace', value: 'new' }
  assert.deepEqual(patchOf(before, after), {
    name: null,
    connection: { ips: ['127.0.0.1', '::1'], advancedConfigurationConnection: { retries: 5 } },
    directories: [{ direction: 'EMISION', filePath: '/srv/out', registerLength: 80, compression: true }],
    security: { localKey: null, remoteKey: 'new' },
  })
})

test('a secret that somebody else has removed meanwhile is not removed again', () => {
  const base = draftOf(CHANNEL)
  const theirs = draftOf({ ...CHANNEL, security: {} })
  assert.deepEqual([base.stored, theirs.stored], [['/security/localKey'], []])
  const mine: Draft = {
    ...base,
    secrets: {
      '/security/localKey': { kind: 'remove' },
      '/security/remoteKey': { kind: 'replace', value: 'new' },
    },
  }
  const both = mergeDrafts({ base, theirs, mine })
  assert.deepEqual(both.stored, [])
  assert.deepEqual(patchOf(theirs, both), { security: { remoteKey: 'new' } })
})

test('the form refuses what the contract and the node’s rules refuse, at the field', () => {
  const draft = draftOf(CHANNEL)
  const wrong = {
    '/connection/advancedConfigurationConnection/retries': '-1',
    '/connection/advancedConfigurationConnection/initialHour': '24:00',
    '/connection/ips': '127.0.0.1\n300.1.1.1',
    '/users': 'ana\nana',
    '/name': 'x'.repeat(256),
    '/integrations/postEmisionAction': 'EMISION_MOVE',
    '/integrations/exceptionFile': 'script.sh',
  }
  Object.assign(draft.fields, wrong)
  draft.directories = [{ fileFormat: 'FIJO', filePath: '/srv/../etc' }]
  assert.deepEqual(Object.keys(faultsOf(draft, rules)).sort(), [
    '/connection/advancedConfigurationConnection/initialHour',
    '/connection/advancedConfigurationConnection/retries',
    '/connection/ips',
    '/directories/0/filePath',
    '/directories/0/registerLength',
    '/integrations/exceptionFile',
    '/integrations/postEmisionDirectory',
    '/name',
    '/users',
  ])
  assert.deepEqual(faultsOf(draftOf(CHANNEL), rules), {})
})

test('what a rule of the node forbids is said in the words of the reader, at the field', () => {
  const draft = draftOf(CHANNEL)
  draft.fields['/connection/ips'] = '::1\n0:0::1'
  draft.fields['/direction'] = 'BIDIRECCIONAL'
  draft.directories = [{ direction: 'RECEPCION', filePath: '/srv/in/*.txt' }]
  assert.deepEqual(faultsOf(draft, rules), {
    '/connection/ips': rules.twice('0:0::1'),
    '/directories/0/filePath': rules.pattern,
  })
})

test('the node’s message is placed at the field that it names', () => {
  assert.deepEqual(placeMessage('/directories/1/filePath must be an absolute path'), {
    pointer: '/directories/1/filePath',
    text: 'must be an absolute path',
  })
  assert.deepEqual(
    placeMessage('/connection/ips/0 "x" is not an IPv4 or IPv6 address')?.pointer,
    '/connection/ips',
  )
  assert.equal(placeMessage('channel X does not exist'), undefined)
})
