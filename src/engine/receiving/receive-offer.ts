// Files that partners hand over. The order, each step durable before the next:
//
//   1 offered   a row MOVING in the reception under way for the channel; the first file begins it: a transfer
//               IN_PROGRESS under our lease
//   2 moving    bytes to a `.part`, restart points recorded now and then
//   3 whole     synced, checked, unwrapped, pre-script done, a free name chosen: WHOLE
//   4 placed    linked to that name, folder synced; then PLACED with the memory against receiving it again
//   5 acknowledged: `complete` resolves, and the transport tells the partner
//   6 done      post-action, receipt owed: DONE; at once where there is no action, together with PLACED
//
// The reception ends (reception.ts) when the partner gives the turn, ends the session or brings nothing for a while:
// COMPLETED, or FAILED by the first file that was refused. A file whose final name is not known yet, or that comes while
// the channel's reception cannot take it, becomes part of one at 3.
//
// A crash before 3 leaves a half file that the partner may resume. From 3 on the node finishes alone. A partner that
// missed the acknowledgement and offers the file again is told that it is here.

import { NodeError } from '../../errors.ts'
import { findHalfFile, findReceived, hashInList, removeHalfFile } from '../../store/transfers/receptions.ts'
import type { FileKey, ReceivedFile } from '../../store/transfers/receptions.ts'
import { chooseInbound, refuseUnfit } from './route-offer.ts'
import type { ReceivingContext } from './receiving-context.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import { IncomingFile } from './incoming-file.ts'
import { withinQuota } from '../staging/quotas.ts'
import { removeReceived } from '../staging/staging.ts'
import { namesOneFile } from '../transports/transport.ts'
import type { Incoming, Offer } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'

export async function receiveOffer(receiving: ReceivingContext, offer: Offer): Promise<Incoming> {
  const { context, memory } = receiving
  const inbound = await chooseInbound(context, offer, receiving.capabilities)
  const snapshot = snapshotOf(inbound.channel)
  const plan = await makeTransferPlan(context.store.db, context.seal, snapshot)
  refuseUnfit(receiving.capabilities, offer, plan, inbound, context.policy)
  const key: FileKey = { channelCode: inbound.channel.code, ...offer.key }
  const asked = offer.reach.openedBy === 'partner' || receiving.receptions.isFetched(key.channelCode)
  if (!asked) memory.requireWorthTrying(key, context.now())
  for (let open = memory.openOf(key); open; open = memory.openOf(key)) {
    // Channels of a partner look into the same folders at the same time: both looks are this node's, and the first is alive.
    if (offer.fetched && open.isAlive)
      throw new NodeError('duplicate_file', `${offer.name} is on its way already`)
    await open.supersede()
  }
  // At once: of two that come together, the second must find the first.
  const incoming = new IncomingFile(receiving, offer, { plan, snapshot, inbound, key })
  memory.opened(key, incoming)
  try {
    const before = namesOneFile(offer.key) ? await findReceived(context.store.db, key) : undefined
    if (before) {
      await dropHalf(context, key)
      await incoming.forget()
      return await receivedBefore(context, offer, key, before)
    }
    const quota = await receiving.quotas.enter(plan, key, offer.size ?? offer.estimate ?? 0)
    void incoming.over.then(() => quota.leave())
    await incoming.open()
    return withinQuota(incoming, quota)
  } catch (thrown) {
    await incoming.forget(thrown)
    throw thrown
  }
}

/** Removes the half file of a try that a crash cut off while another try put the file in place. */
async function dropHalf({ store }: EngineContext, key: FileKey): Promise<void> {
  const half = await findHalfFile(store.db, key)
  if (!half) return
  await removeReceived(half.path)
  await store.write((tx) => removeHalfFile(tx, key, half.path))
}

/**
 * The file is here, but the partner missed that. If it can skip all the bytes, it does; if not, it is told. Where this node
 * fetches by itself, the key is what it has seen of the file: it is told the hash, to compare before it removes anything.
 */
async function receivedBefore(
  { store }: EngineContext,
  offer: Offer,
  key: FileKey,
  before: ReceivedFile,
): Promise<Incoming> {
  if (offer.size === undefined || offer.restartFrom < offer.size || offer.size !== before.size)
    throw new NodeError('duplicate_file', `${offer.name} was received before`)
  const sha256 = offer.fetched && (before.wireHash ?? (await hashInList(store.db, key, before)))
  const nothing = () => Promise.resolve()
  return {
    position: offer.size,
    known: { sha256 },
    read: () => Promise.resolve(0),
    truncate: nothing,
    write: nothing,
    rename: nothing,
    complete: nothing,
    abandon: nothing,
  }
}
