// Files that partners hand over. The order, each step durable before the next:
//
//   1 offered   a REMOTE transfer IN_PROGRESS under our lease, its file MOVING
//   2 moving    bytes to a `.part`, restart points recorded now and then
//   3 whole     synced, checked, unwrapped, pre-script done, a free name chosen: WHOLE
//   4 placed    linked to that name, folder synced; then PLACED with the memory against receiving it again
//   5 acknowledged: `complete` resolves, and the transport tells the partner
//   6 done      post-action, receipt owed, COMPLETED
//
// A file whose name is still to come, or that comes while another of its channel does, is no transfer before 3.
//
// A crash before 3 leaves a half file that the partner may resume; from 3 on the node finishes alone, and a partner
// that never heard the acknowledgement and offers the file again is told that it is here.

import { NodeError } from '../../errors.ts'
import type { Held } from '../../store/transfers/leases.ts'
import { findPartial, findReceived, removePartial } from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import type { Running } from '../sending/send-files.ts'
import { chooseInbound, refuseUnfit } from './route-offer.ts'
import type { OfferMemory } from './offer-memory.ts'
import { makePlan, snapshotOf } from '../transfer-plan.ts'
import { Reception } from './incoming-file.ts'
import { removeReceived } from '../staging/staging.ts'
import { namesOneFile } from '../transports/transport.ts'
import type { Capabilities, Incoming, Offer } from '../transports/transport.ts'
import type { Work } from '../engine-context.ts'

/** What a reception needs of the engine around it. */
export type ReceptionDesk = {
  work: Work
  capabilities: Capabilities
  memory: OfferMemory
  /** A fetch under way for that channel, whose transfer the file joins instead of making its own. */
  joins: (channelCode: string) => Running | undefined
  /** The engine keeps the lease of a transfer from now on, and stops it by this signal. */
  hold: (held: Held) => AbortSignal
  release: (held: Held) => void
  /** Work that goes on after the partner was answered; the engine waits for it when it stops. */
  background: (contactId: string, running: Promise<void>) => void
}

export async function receiveOffer(desk: ReceptionDesk, offer: Offer): Promise<Incoming> {
  const { work } = desk
  const inbound = await chooseInbound(work, offer)
  const plan = await makePlan(work.store.db, work.seal, snapshotOf(inbound.channel))
  refuseUnfit(desk.capabilities, offer, plan, inbound)
  const key: FileKey = { channelCode: inbound.channel.code, ...offer.key }
  const asked = offer.admitted !== undefined || desk.joins(key.channelCode) !== undefined
  if (!asked) desk.memory.requireWorthTrying(key, work.now())
  await desk.memory.openOf(key)?.supersede()
  const before = namesOneFile(offer.key) ? await findReceived(work.store.db, key) : undefined
  if (before) {
    await dropHalf(work, key)
    return receivedBefore(offer, before.size)
  }
  const reception = new Reception(desk, offer, plan, inbound, key)
  desk.memory.opened(key, reception)
  await reception.open()
  return reception
}

/** What a try left that a crash cut off while the file was being put in place by another. */
async function dropHalf({ store }: Work, key: FileKey): Promise<void> {
  const half = await findPartial(store.db, key)
  if (!half) return
  await removeReceived(half.path)
  await store.write((tx) => removePartial(tx, key, half.path))
}

/** It is here already and the partner did not hear so: where it can skip the bytes it does, else it is told. */
function receivedBefore(offer: Offer, size: number): Incoming {
  if (offer.size === undefined || offer.restartFrom < offer.size || offer.size !== size)
    throw new NodeError('duplicate_file', `${offer.name} was received before`)
  const nothing = () => Promise.resolve()
  return {
    position: offer.size,
    read: () => Promise.resolve(0),
    truncate: nothing,
    write: nothing,
    rename: nothing,
    complete: nothing,
    abandon: nothing,
  }
}
