// Callers that were turned away, as the log and the history of their channels show them.

import { cleanWords } from '../../errors.ts'
import { addHistory, channelsOfContact } from '../../store/channels.ts'
import type { EngineContext } from '../engine-context.ts'
import type { Caller, Protocol } from '../transports/transport.ts'
import { contactOf } from './admit-caller.ts'

/** A stranger may call as often as it likes. The log gets every refusal, the history one a minute. */
const REFUSALS_APART_MS = 60_000
const lastRefusals = new WeakMap<EngineContext, Map<string, number>>()

export async function noteRefusal(
  context: EngineContext,
  protocol: Protocol,
  caller: Caller,
  why: string,
): Promise<void> {
  const { id } = caller
  // It may name the method that the caller asked for.
  const reason = cleanWords(why)
  const { address } = caller.proof
  context.log.warn(
    { protocol: protocol.protocol, caller: cleanWords(id), address, reason },
    'a caller was turned away',
  )
  const contact = await contactOf(context, protocol, caller)
  const now = context.now()
  const lastRefusal = lastRefusals.get(context) ?? new Map<string, number>()
  lastRefusals.set(context, lastRefusal)
  if (!contact || now - (lastRefusal.get(contact.id) ?? 0) < REFUSALS_APART_MS) return
  lastRefusal.set(contact.id, now)
  const channels = await channelsOfContact(context.store.db, contact.id)
  await context.store.write(async (tx) => {
    for (const { code } of channels)
      await addHistory(tx, code, [{ at: now, event: 'CONNECTION_REFUSED', detail: `${address}: ${reason}` }])
  })
}
