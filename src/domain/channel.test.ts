import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Channel } from '../contract/channel.ts'
import {
  closedBecause,
  directoriesFor,
  goes,
  mergeChannel,
  parseCode,
  statusOf,
  withoutNulls,
  withPath,
} from './channel.ts'
import { zoneOf } from './time.ts'

test('a code has three parts of letters, digits, underscores and dots', () => {
  assert.deepEqual(parseCode('BANCO-ACME_1-NOM.2'), {
    localCode: 'BANCO',
    remoteCode: 'ACME_1',
    application: 'NOM.2',
  })
  const part = 'A'.repeat(32)
  assert.ok(parseCode(`${part}-${part}-${part}`))
  for (const code of ['', 'A-B', 'A-B-C-D', 'A--C', 'A-B-C ', 'A-B-Ñ', 'A-B-C\n', `${part}A-B-C`, 'A-B-C/..'])
    assert.equal(parseCode(code), undefined, JSON.stringify(code))
})

test('a merge replaces what is sent, keeps the rest, merges objects, replaces arrays and clears by null', () => {
  const before: Channel = {
    name: 'a',
    category: 'x',
    connection: { ips: ['10.0.0.1'], advancedConfigurationConnection: { retries: 3, timeout: 5 } },
    directories: [{ direction: 'EMISION', filePath: '/a', compression: true }],
  }
  const frozen = structuredClone(before)
  const after = mergeChannel(before, {
    name: 'b',
    category: null,
    version: '2',
    connection: { ips: ['10.0.0.2'], advancedConfigurationConnection: { retries: null, rotations: true } },
    directories: [{ direction: 'RECEPCION', filePath: null }],
  })
  assert.deepEqual(after, {
    name: 'b',
    version: '2',
    connection: { ips: ['10.0.0.2'], advancedConfigurationConnection: { timeout: 5, rotations: true } },
    directories: [{ direction: 'RECEPCION' }],
  })
  assert.deepEqual(before, frozen)
})

test('merging a channel into itself changes nothing', () => {
  const leaf = fc.oneof(fc.string(), fc.boolean(), fc.nat())
  const object = fc.dictionary(fc.constantFrom('name', 'version', 'category', 'x'), leaf)
  const channels = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.oneof(leaf, object, fc.array(object)))
  fc.assert(
    fc.property(channels, (channel) => {
      const same = mergeChannel(channel, channel)
      assert.deepEqual(JSON.parse(JSON.stringify(same)), JSON.parse(JSON.stringify(channel)))
    }),
  )
})

test('minus zero is zero, so that it is no change', () => {
  const channel: Channel = {
    connection: { advancedConfigurationConnection: { retries: 0 } },
    directories: [{ registerLength: 0 }],
  }
  const sent = {
    connection: { advancedConfigurationConnection: { retries: -0 } },
    directories: [{ registerLength: -0 }],
  }
  assert.deepStrictEqual(mergeChannel(channel, sent), channel)
})

test('null fields of an item are left out, other items stay as they are', () => {
  assert.deepEqual(withoutNulls({ a: 1, b: null }), { a: 1 })
  assert.equal(withoutNulls('10.0.0.1'), '10.0.0.1')
})

test('a path goes to the directory of its way, else to one that serves both, else to a new one', () => {
  const both: Channel = { directories: [{ direction: 'BIDIRECCIONAL', filePath: '/b' }] }
  const own: Channel = {
    directories: [
      { direction: 'BIDIRECCIONAL', filePath: '/b' },
      { direction: 'EMISION', filePath: '/e', crc: 1 } as object,
    ],
  }
  assert.deepEqual(withPath({}, 'EMISION', '/x').directories, [{ direction: 'EMISION', filePath: '/x' }])
  assert.deepEqual(withPath(both, 'RECEPCION', '/x').directories, [
    { direction: 'BIDIRECCIONAL', filePath: '/x' },
  ])
  assert.deepEqual(withPath({ directories: [{ filePath: '/any' }] }, 'EMISION', '/x').directories, [
    { filePath: '/x' },
  ])
  assert.deepEqual(withPath(own, 'EMISION', '/x').directories, [
    { direction: 'BIDIRECCIONAL', filePath: '/b' },
    { direction: 'EMISION', filePath: '/x', crc: 1 },
  ])
  assert.deepEqual(
    withPath({ directories: [{ direction: 'RECEPCION', filePath: '/r' }] }, 'EMISION', '/x').directories,
    [
      { direction: 'RECEPCION', filePath: '/r' },
      { direction: 'EMISION', filePath: '/x' },
    ],
  )
})

test('a directory serves its own way, or both where it says so or says nothing, once it has a path', () => {
  const channel: Channel = {
    directories: [
      { direction: 'RECEPCION', filePath: '/r' },
      { direction: 'EMISION' },
      { direction: 'EMISION', filePath: '/e' },
      { filePath: '/any' },
      { direction: 'BIDIRECCIONAL', filePath: '/b' },
    ],
  }
  assert.deepEqual(
    directoriesFor(channel, 'EMISION').map(({ index }) => index),
    [2, 3, 4],
  )
  assert.deepEqual(
    directoriesFor(channel, 'RECEPCION').map(({ index }) => index),
    [0, 3, 4],
  )
})

test('a way is closed by deactivation, by its planning, and by the planning’s direction', () => {
  assert.equal(closedBecause({}, 'EMISION'), undefined)
  assert.match(closedBecause({ deactivateChannel: true }, 'EMISION') ?? '', /deactivateChannel/)
  assert.match(closedBecause({ emission: { active: false } }, 'EMISION') ?? '', /emission.active/)
  assert.equal(closedBecause({ emission: { active: false } }, 'RECEPCION'), undefined)
  assert.match(closedBecause({ reception: { active: false } }, 'RECEPCION') ?? '', /reception.active/)
  assert.match(closedBecause({ emission: { direction: 'RECEPCION' } }, 'EMISION') ?? '', /emission.direction/)
  assert.equal(closedBecause({ emission: { direction: 'BIDIRECCIONAL' } }, 'EMISION'), undefined)
})

test('the direction of a channel says which ways files go', () => {
  assert.deepEqual(
    (['EMISION', 'RECEPCION', 'BIDIRECCIONAL', undefined] as const).map((direction) =>
      goes(direction ? { direction } : {}, 'EMISION'),
    ),
    [true, false, true, true],
  )
})

test('a status tells the strongest of what is true: inactive, running, pending, failed, closed, idle', () => {
  const utc = zoneOf('UTC')
  const noon = Date.UTC(2026, 0, 1, 12)
  const closed: Channel = {
    connection: { advancedConfigurationConnection: { initialHour: '01:00', finishHour: '02:00' } },
  }
  const status = (channel: Channel, active: ('PENDING' | 'IN_PROGRESS')[], failed: boolean) =>
    statusOf(channel, { active, failed }, { now: noon, zone: utc })
  assert.equal(status({ deactivateChannel: true }, ['IN_PROGRESS'], true), 'INACTIVE')
  assert.equal(status(closed, ['PENDING', 'IN_PROGRESS'], true), 'IN_PROGRESS')
  assert.equal(status(closed, ['PENDING'], true), 'PENDING')
  assert.equal(status(closed, [], true), 'ERROR')
  assert.equal(status(closed, [], false), 'CLOSED')
  assert.equal(status({}, [], false), 'IDLE')
})
