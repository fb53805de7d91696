import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zoneOf } from './time.ts'
import { PARKED } from './transfer.ts'
import { waitingFor } from './waiting.ts'
import type { Surroundings, Waits } from './waiting.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const LATER = NOW + 90_000

function held(transfer: Partial<Waits>, around: Partial<Surroundings> = {}) {
  const waits = {
    state: 'PENDING',
    direction: 'EMISION',
    dueAt: NOW,
    attempts: 0,
    receiptsUntil: null,
  } as const
  const open = { config: {}, hours: {}, protocol: 'oftp2', downUntil: 0 } as const
  return waitingFor({ ...waits, ...transfer }, { ...open, ...around }, NOW, zoneOf('UTC'))
}

const calls = (callingEnd: 'REMOTO') => ({ connection: { advancedConfigurationConnection: { callingEnd } } })

test('a transfer that waits says what holds it and until when; the first reason counts', () => {
  assert.deepEqual(held({}), { reason: 'TURN' })
  assert.deepEqual(held({ attempts: 1, dueAt: LATER }), { reason: 'RETRY', until: LATER })
  assert.deepEqual(held({}, { downUntil: LATER }), { reason: 'PARTNER_DOWN', until: LATER })
  assert.deepEqual(held({ attempts: 2, dueAt: LATER + 1 }, { downUntil: LATER }), {
    reason: 'PARTNER_DOWN',
    until: LATER + 1,
  })
  assert.deepEqual(held({ dueAt: PARKED }, { config: calls('REMOTO') }), { reason: 'PARTNER_CALL' })
  const hours = { initialHour: '18:00', finishHour: '20:00' }
  const until = Date.parse('2026-11-16T18:00:00Z')
  assert.deepEqual(held({}, { hours, downUntil: LATER, config: calls('REMOTO') }), { reason: 'HOURS', until })
  assert.deepEqual(held({}, { hours, config: { deactivateChannel: true } }), { reason: 'CLOSED' })
})

test('what does not hold a transfer is not named', () => {
  assert.deepEqual(held({}, { config: calls('REMOTO'), protocol: 'folder' }), { reason: 'TURN' })
  // Somebody asked for a fetch: that is worth a call.
  assert.deepEqual(held({ direction: 'RECEPCION' }, { downUntil: LATER }), { reason: 'TURN' })
  assert.equal(held({ state: 'IN_PROGRESS' }), undefined)
  assert.deepEqual(held({ state: 'IN_PROGRESS', receiptsUntil: LATER }), { reason: 'RECEIPT', until: LATER })
  // A received file waits for its disk.
  const rests = { state: 'IN_PROGRESS', direction: 'RECEPCION', attempts: 1, dueAt: LATER } as const
  assert.deepEqual(held(rests), { reason: 'RETRY', until: LATER })
  assert.equal(held({ state: 'FAILED', receiptsUntil: LATER }), undefined)
})
