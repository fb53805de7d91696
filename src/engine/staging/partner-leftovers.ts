// Removes what emissions that nobody goes on with have left at a partner's end, where that needs no call: after a reset,
// and once at each start, because earlier versions left more.

import { channelsOfContact, findChannel } from '../../store/channels.ts'
import { listContacts } from '../../store/contacts.ts'
import { leftBehind } from '../../store/transfers/left-behind.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import type { EngineContext } from '../engine-context.ts'
import type { Transport } from '../transports/transport.ts'

export type Transports = ReadonlyMap<string, Transport<never>>

/** Of all channels of all partners. One that cannot be looked at does not hold up the others. */
export async function clearPartnersEnds(context: EngineContext, transports: Transports): Promise<void> {
  for (const contact of await listContacts(context.store.db)) {
    if (!transports.get(contact.protocol)?.discard) continue
    const channels = await channelsOfContact(context.store.db, contact.id)
    try {
      for (const { code } of channels) await clearPartnersEnd(context, transports, code)
    } catch (thrown) {
      context.log.info({ err: thrown, contact: contact.id }, 'a partner’s folder could not be swept')
    }
  }
}

export async function clearPartnersEnd(
  context: EngineContext,
  transports: Transports,
  code: string,
): Promise<void> {
  const channel = await findChannel(context.store.db, code)
  if (!channel) return
  const { contact, settings } = await makeTransferPlan(context.store.db, context.seal, snapshotOf(channel))
  const transport = transports.get(contact.protocol)
  if (!transport?.discard) return
  const find = async () => (await leftBehind(context.store.db, [code])).map(({ key }) => key)
  await transport.discard((settings[transport.sections.calling] ?? {}) as never, find) // its own section
}
