// End-to-end receipts: those that come in are recorded with the file they are for, those owed are made ready to send.

import { findChannel, openChannel } from '../../store/channels.ts'
import { awaitingReceipt, receiptsOwed, recordReceipt } from '../../store/transfers/receptions.ts'
import type { EngineContext } from '../engine-context.ts'
import { makeTransferPlan } from '../transfer-plan.ts'
import type { OwedReceipt, Reach, Receipt } from '../transports/transport.ts'

/**
 * What is owed for files of channels that exist for the session: another channel's receipt would tell of its files. Each
 * is signed with the key of the channel the file came by, whichever channel the session is for.
 */
export async function receiptsToSend(context: EngineContext, reach: Reach): Promise<OwedReceipt[]> {
  const ready: OwedReceipt[] = []
  for (const { id, body } of await receiptsOwed(context.store.db, reach.contactId)) {
    const { channelCode, ...receipt } = JSON.parse(body) as OwedReceipt & { channelCode: string } // as owe() wrote it
    const channel = await findChannel(context.store.db, channelCode)
    if (!channel || reach.refusal(channel)) continue
    const signingKey = receipt.signed ? openChannel(context.seal, channel).security?.rsaLocalKey : undefined
    ready.push({ ...receipt, id, signingKey })
  }
  return ready
}

export async function takeReceipt(
  context: EngineContext,
  reach: Reach,
  receipt: Receipt,
  keyName: (name: string) => string,
  wake: () => void,
): Promise<void> {
  const { contactId } = reach
  const waiting = await awaitingReceipt(context.store.db, contactId, receipt.key.date, receipt.key.time)
  const named = waiting.find((one) => keyName(one.name) === receipt.key.name)
  const found = named && (await isReached(context, reach, named.channel_code)) ? named : undefined
  if (!found)
    return context.log.info(
      { contact: contactId, key: receipt.key },
      'a receipt came for a file that awaits none',
    )
  const state = await verdict(context, found, receipt)
  await context.store.write((tx) => recordReceipt(tx, found.transfer_id, found.idx, state, context.now()))
  wake()
}

async function isReached({ store }: EngineContext, reach: Reach, code: string): Promise<boolean> {
  const channel = await findChannel(store.db, code)
  return channel !== undefined && reach.refusal(channel) === undefined
}

/** Positive only with the right hash, and signed where the channel has the partner's key. */
async function verdict(
  context: EngineContext,
  found: { wire_hash: string | null; snapshot: string | null; transfer_id: string },
  receipt: Receipt,
) {
  if (!receipt.positive) return 'NEGATIVE'
  const plan =
    found.snapshot === null
      ? undefined
      : await makeTransferPlan(context.store.db, context.seal, found.snapshot)
  if (!plan?.verifyHash) return 'POSITIVE'
  const hashFits = receipt.hash !== undefined && receipt.hash === found.wire_hash
  const { rsaRemoteKey } = plan.security
  const signed =
    rsaRemoteKey === undefined || (receipt.signedBy ? await receipt.signedBy(rsaRemoteKey) : receipt.signed)
  if (!hashFits || !signed)
    context.log.warn(
      { transfer: found.transfer_id, hashFits, signed },
      'a receipt does not prove what arrived',
    )
  return hashFits && signed ? 'POSITIVE' : 'NEGATIVE'
}
