import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Oftp2Settings } from '../../../../contract/contact-settings.ts'
import type { Party } from '../settings.ts'
import { answerCaller, proposal } from './negotiation.ts'
import { reachAll } from '../../../../../test/support/reach.ts'
import { OPEN_SESSION } from '../../../../../test/support/open-session.ts'

function partyWith(settings: Oftp2Settings): Party {
  return {
    contactId: 'acme',
    localId: 'BANCO',
    remoteId: 'ACME',
    settings,
    reach: reachAll('acme'),
    ways: 'B',
    timeouts: { connectMs: 1, syncMs: 1, ackMs: 1, idleMs: 1 },
    security: OPEN_SESSION,
    compression: false,
  }
}

test('a contact’s settings stand in the SSID, and a partner without restart gets none', () => {
  const party = partyWith({ bufferSize: 4096, credit: 7, restart: false, user: 'NOMINAS' })
  const said = proposal(party)
  assert.deepEqual([said.bufferSize, said.credit, said.restart, said.user], [4096, 7, 'N', 'NOMINAS'])
  const caller = proposal(partyWith({}))
  assert.deepEqual([caller.restart, caller.user], ['Y', 'TURNWISH'])
  assert.equal(answerCaller(party, { ...caller, code: 'ACME' }).agreement.restart, false)
})
