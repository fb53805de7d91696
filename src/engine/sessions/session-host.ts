// The engine as transports see it: who may come in, what is offered, whose turn it is, which receipts there are. Each
// answer has a file of its own; here they are put together.

import type { EngineContext } from '../engine-context.ts'
import type { FinishingReceptions } from '../receiving/finishing-receptions.ts'
import { receiveOffer } from '../receiving/receive-offer.ts'
import type { ReceivingContext } from '../receiving/receiving-context.ts'
import type { Admission, Caller, Protocol, SessionHost } from '../transports/transport.ts'
import { admitCaller, contactOf, reachedNow } from './admit-caller.ts'
import { handOver } from './hand-over.ts'
import type { Launcher } from './hand-over.ts'
import { takeReceipt } from './receipts.ts'
import type { OwedReceipts } from './owed-receipts.ts'
import { noteRefusal } from './refused-callers.ts'
import type { SessionPool } from './session-pool.ts'

export type HostParts = {
  context: EngineContext
  launcher: Launcher
  sessions: SessionPool
  owed: OwedReceipts
  reception: ReceivingContext
  finishing: FinishingReceptions
  protocol: Protocol
}

export function makeSessionHost({
  context,
  launcher,
  sessions,
  owed,
  reception,
  finishing,
  protocol,
}: HostParts): SessionHost {
  return {
    admit: <Settings>(caller: Caller) =>
      admitCaller(context, protocol, caller) as Promise<Admission<Settings>>, // the section of that protocol
    attempt: async (caller, check) => {
      const account = `${protocol.protocol} ${caller.id.trim()}`
      const known = (await contactOf(context, protocol, caller))?.id
      const { address } = caller.proof
      return context.limiter.attempt({ account, address, known }, context.now, check)
    },
    isKnown: (address) => context.knownAddresses.has(address),
    proven: (contactId, address) => context.knownAddresses.note(`partner ${contactId}`, address),
    reached: (reach) => reachedNow(context, reach),
    opened: (session) => {
      sessions.add(session)
      const { ended } = session
      ended.addEventListener('abort', () => reception.receptions.sessionDone(session.reach), { once: true })
    },
    turn: (session) => {
      reception.receptions.sessionDone(session.reach)
      return handOver(context, launcher, session)
    },
    offer: (offer) =>
      receiveOffer(reception, offer).catch((thrown: unknown) => {
        sessions.fetches.refused(offer, thrown)
        throw thrown
      }),
    receipt: (reach, receipt) =>
      takeReceipt(context, reach, receipt, protocol.keyName, () => launcher.wake()),
    receiptsOwed: async (reach) => {
      // What has just come in is dealt with first, so that its receipts can still go in this session.
      await finishing.settled(reach.contactId)
      return owed.take(reach)
    },
    receiptDelivered: async (id, untold) => {
      await owed.delivered(id)
      if (untold)
        context.log.warn({ receipt: id }, 'a negative receipt is not told: the partner’s level has none')
    },
    refused: (caller, reason) => noteRefusal(context, protocol, caller, reason),
  }
}
