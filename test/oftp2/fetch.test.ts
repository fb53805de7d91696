// A fetch that somebody asks for over OFTP2: this node calls and gives the turn.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callPlatform } from '../support/call.ts'
import { waitFor } from '../support/harness.ts'
import { startPair } from './pair.ts'

/** Hanging up each time: in an open session the partner would bring its file without being asked. */
const connection = (callingEnd: 'LOCAL' | 'REMOTO') => ({
  connection: { advancedConfigurationConnection: { callingEnd, desconnection: true } },
})

test('a fetch brings what waits at the partner, and fails by what fits no directory', async (t) => {
  const pair = await startPair(t)
  const relation = await pair.relate((name) => ({
    left: {
      channels: {
        FILES: {
          ...connection('LOCAL'),
          directories: pair.directories(name, 'left', 'FILES', { fileGroupsName: '*.txt' }),
        },
      },
    },
    right: { channels: { FILES: connection('REMOTO') } },
  }))
  const fetch = async () => {
    const params = { channelCode: relation.code('left', 'FILES') }
    const { status, text, body } = await callPlatform(pair.left, 'fetchTransfer', 'admin', { params })
    assert.equal(status, 200, text)
    return pair.ended('left', String(body.transferId))
  }
  const leave = async (name: string) => {
    await pair.put(relation, 'right', 'FILES', name, name)
    return pair.send('right', relation.code('right', 'FILES'))
  }
  const first = await leave('first.txt')
  assert.equal((await fetch()).state, 'COMPLETED')
  assert.equal((await pair.arrived(relation, 'left', 'FILES', 'first.txt')).toString(), 'first.txt')
  assert.equal((await pair.ended('right', first)).state, 'COMPLETED')

  const second = await leave('second.bin')
  const { state, error } = await fetch()
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /second\.bin/)
  assert.equal((await pair.ended('right', second)).state, 'FAILED')

  // Nothing waits: it completes with nothing.
  assert.equal((await fetch()).state, 'COMPLETED')
  const rows = await waitFor('no reception under way', async () => {
    const found = await pair.left.store.db.selectFrom('transfer').select(['state', 'type']).execute()
    return found.every((row) => row.state !== 'IN_PROGRESS') && found
  })
  assert.deepEqual(new Set((rows as { type: string }[]).map(({ type }) => type)), new Set(['MANUAL']))
})
