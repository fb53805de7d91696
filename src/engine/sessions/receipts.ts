// End-to-end receipts: those that come in are recorded with the file they are for, those owed are made ready to send.

import { findChannel, openChannel } from '../../store/channels.ts'
import { awaitingReceipt, recordReceipt } from '../../store/transfers/receptions.ts'
import type { EngineContext } from '../engine-context.ts'
import { makeTransferPlan } from '../transfer-plan.ts'
import type { OwedReceipt, Receipt } from '../transports/transport.ts'

/** It is signed with the key of the file's own channel, even if the session was opened for another one. */
export async function readyToSend(context: EngineContext, id: string, body: string): Promise<OwedReceipt> {
  const { channelCode, ...receipt } = JSON.parse(body) as OwedReceipt & { channelCode: string } // as owe() wrote it
  const channel = receipt.signed ? await findChannel(context.store.db, channelCode) : undefined
  const signingKey = channel && openChannel(context.seal, channel).security?.rsaLocalKey
  return { ...receipt, id, signingKey }
}

export async function takeReceipt(
  context: EngineContext,
  contactId: string,
  receipt: Receipt,
  keyName: (name: string) => string,
  wake: () => void,
): Promise<void> {
  const waiting = await awaitingReceipt(context.store.db, contactId, receipt.key.date, receipt.key.time)
  const found = waiting.find((one) => keyName(one.name) === receipt.key.name)
  if (!found)
    return context.log.info(
      { contact: contactId, key: receipt.key },
      'a receipt came for a file that awaits none',
    )
  const state = await verdict(context, found, receipt)
  await context.store.write((tx) => recordReceipt(tx, found.transfer_id, found.idx, state, context.now()))
  wake()
}

/** Positive only if the hash is right, and if the signature is where the channel has the partner's key. */
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
