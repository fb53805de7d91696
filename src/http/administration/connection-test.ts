// The connection test of a partner, one at a time for each.

import type { ConnectionTest } from '../../contract/administration/connection-test.ts'
import { NodeError } from '../../errors.ts'
import { findContact } from '../../store/contacts.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'

const underWay = new WeakMap<Context, Set<string>>()

const testContact: PlatformHandler<'testContact'> = async (context, call) => {
  const { contactId } = call.input
  const { store, audit } = context
  const contact = await findContact(store.db, contactId)
  if (!contact) throw new NodeError('not_found', `there is no contact ${contactId}`)
  const tested = underWay.get(context) ?? new Set<string>()
  underWay.set(context, tested)
  if (tested.has(contactId))
    throw new NodeError('conflict', `a test of ${contactId} is under way: wait for its end`)
  tested.add(contactId)
  try {
    const outcome = await context.testContact(contact)
    await store.write((tx) =>
      audit.add(tx, actorOf(call), [
        {
          action: 'CONTACT_TESTED',
          subject: { kind: 'contact', name: contactId },
          facts: { ok: outcome.ok, failed: failedSteps(outcome) },
        },
      ]),
    )
    return outcome
  } finally {
    tested.delete(contactId)
  }
}

export const connectionTestHandlers = { testContact } satisfies Partial<PlatformHandlers>

function failedSteps({ ways }: ConnectionTest): string[] {
  return ways.flatMap(({ address = '', steps }) =>
    steps
      .filter(({ outcome }) => outcome === 'FAILED')
      .map(({ step, seen = '' }) => `${address} ${step}: ${seen}`.trim()),
  )
}
