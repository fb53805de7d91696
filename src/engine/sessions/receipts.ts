// End-to-end receipts: those that come in are recorded with the file they are for, those owed are made ready to send.

import type { NodeError } from '../../errors.ts'
import { findChannel, openChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { isOver } from '../../domain/transfer.ts'
import type { TransferStatus } from '../../contract/transfer.ts'
import {
  addToError,
  awaitingReceipt,
  receiptsOwed,
  recordLateReceipt,
  recordReceipt,
} from '../../store/transfers/receipts.ts'
import type { Verdict } from '../../store/transfers/receipts.ts'
import type { EngineContext } from '../engine-context.ts'
import { identificationsOf, makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import type { OwedReceipt, Reach, Receipt } from '../transports/transport.ts'

/**
 * What is owed for files of channels that exist for the session: another channel's receipt would tell of its files. Each
 * is signed with the key of the channel the file came by, whichever channel the session is for.
 */
export async function receiptsToSend(
  context: EngineContext,
  reach: Reach,
  isFree: (id: string) => boolean,
): Promise<OwedReceipt[]> {
  const ready: OwedReceipt[] = []
  const reached = new Map<string, ChannelRecord | undefined>()
  for await (const page of receiptsOwed(context.store.db, reach.contactId)) {
    for (const { id, body } of page) {
      if (!isFree(id)) continue
      const { channelCode, ...receipt } = JSON.parse(body) as OwedReceipt & { channelCode: string } // as owe() wrote it
      if (!reached.has(channelCode))
        reached.set(channelCode, await reachedChannel(context, reach, channelCode))
      const channel = reached.get(channelCode)
      if (!channel) continue
      const signingKey = receipt.signed ? openChannel(context.seal, channel).security?.rsaLocalKey : undefined
      ready.push({ ...receipt, id, signingKey })
    }
    // Those of a channel that does not exist for the session may fill whole pages: they must not hide the others.
    if (ready.length > 0) break
  }
  return ready
}

/** The channels of what is owed to the partner and may be told now, oldest first. */
export async function* channelsOwed(
  { store }: EngineContext,
  contactId: string,
  mayBeTold: (id: string) => boolean,
): AsyncGenerator<string> {
  for await (const page of receiptsOwed(store.db, contactId))
    for (const { id, body } of page)
      if (mayBeTold(id)) yield (JSON.parse(body) as { channelCode: string }).channelCode // as owe() wrote it
}

async function reachedChannel({ store }: EngineContext, reach: Reach, code: string) {
  const channel = await findChannel(store.db, code)
  return channel && !reach.refusal(channel) ? channel : undefined
}

/** A receipt that came: for a transfer that waits for it, or for one that is over by now. */
export async function takeReceipt(
  context: EngineContext,
  reach: Reach,
  receipt: Receipt,
  keyName: (name: string) => string,
  wake: () => void,
): Promise<void> {
  const { contactId } = reach
  const { found, refusal } = await fileOf(context, reach, receipt, keyName)
  if (!found) {
    const about = { contact: contactId, key: receipt.key, reason: receipt.reason }
    if (refusal) context.log.warn({ ...about, ...refusal }, 'a receipt is not taken')
    else if (receipt.positive) context.log.debug(about, 'a receipt came for a file that awaits none')
    else context.log.warn(about, 'a negative receipt came for a file that awaits none')
    return
  }
  const verdict = await verdictOn(context, found, receipt)
  if (verdict === 'unknown') return noteUnknown(context, found)
  const { transfer_id: transferId, idx: index } = found
  const now = context.now()
  if (isOver(found.state as TransferStatus)) {
    const error = found.error === null ? null : `${found.error}; ${toldLate(found.name, verdict, now)}`
    const late = { transferId, index, error, settled: found.settled }
    // It was retried meanwhile: then the retry waits for this receipt.
    if (!(await context.store.write((tx) => recordLateReceipt(tx, late, verdict, now))))
      return takeReceipt(context, reach, receipt, keyName, wake)
    return context.log.warn(
      { transfer: transferId, receipt: verdict.state, reason: verdict.reason },
      'a receipt came after the transfer was over',
    )
  }
  await context.store.write((tx) => recordReceipt(tx, transferId, index, verdict, now))
  wake()
}

/**
 * Its signature is by another key than the channel has today, and a transfer that is over has no copy of the one before. So
 * nothing is known: it still counts as awaited, because a negative one would make a retry send the file again.
 */
async function noteUnknown({ store, log, now }: EngineContext, found: Found): Promise<void> {
  const { transfer_id: transferId, error, settled, name } = found
  const at = new Date(now()).toISOString()
  const told = `${name}: a receipt came later, at ${at}, signed with another key than the partner has here now: ask the partner whether it has the file`
  if (error !== null && !error.includes(`${name}: a receipt came later`))
    await store.write((tx) => addToError(tx, { transferId, settled, error: `${error}; ${told}` }))
  log.warn(
    { transfer: transferId },
    'a receipt after the transfer was over is signed with another key than the partner has here now',
  )
}

type Found = Awaited<ReturnType<typeof awaitingReceipt>>[number]
type Refusal = { channel: string; refusal: string }

/** Of several that it may be about, one that still waits, and of those the oldest; else why none was looked at. */
async function fileOf(
  { store }: EngineContext,
  reach: Reach,
  receipt: Receipt,
  keyName: (name: string) => string,
): Promise<{ found?: Found | undefined; refusal?: Refusal | undefined }> {
  const { key } = receipt
  const named = (await awaitingReceipt(store.db, reach.contactId, key.date, key.time)).filter(
    ({ name }) => keyName(name) === key.name,
  )
  let late: Found | undefined
  let refusal: Refusal | undefined
  for (const one of named) {
    const channel = await findChannel(store.db, one.channel_code)
    if (!channel) continue
    const ids = await identificationsOf(store.db, channel)
    if (ids?.localId !== receipt.originator || ids.remoteId !== receipt.destination) {
      refusal = {
        channel: channel.code,
        refusal: `it is about a file from ${receipt.originator} to ${receipt.destination}`,
      }
      continue
    }
    const refused = reach.refusal(channel) && refusalAsBegun(reach, one, channel)
    if (refused) refusal = { channel: channel.code, refusal: refused.message }
    else if (!isOver(one.state as TransferStatus)) return { found: one }
    else late = one
  }
  return { found: late, refusal }
}

/** A transfer under way keeps the channel it began with: the session that it opened then brings its receipts. */
function refusalAsBegun(reach: Reach, { snapshot }: Found, channel: ChannelRecord): NodeError | undefined {
  const asBegun = reach.openedBy === 'node' && snapshot !== null
  return reach.refusal(asBegun ? (JSON.parse(snapshot) as ChannelRecord) : channel) // written by snapshotOf alone
}

function toldLate(name: string, { state, reason }: Verdict, now: number): string {
  const said = state === 'POSITIVE' ? 'positive' : `negative (${reason ?? 'without a reason'})`
  return `${name}: its receipt came later, at ${new Date(now).toISOString()}, and is ${said}`
}

/** A transfer that is over keeps no copy of its channel: what a late receipt must prove is what the channel asks now. */
async function snapshotOfToday({ store }: EngineContext, code: string): Promise<string | undefined> {
  const channel = await findChannel(store.db, code)
  return channel && snapshotOf(channel)
}

/**
 * Positive unless the receipt says no, shows what is wrong, or does not prove what the channel asks to be proven: with the
 * partner's key that is a signed hash of what was sent. Without its key there is no proof: only a signed receipt has a
 * hash (RFC 5024, 5.3.13). `check` and `apply` warn of that. Unknown: see noteUnknown.
 */
async function verdictOn(
  context: EngineContext,
  found: Found,
  receipt: Receipt,
): Promise<Verdict | 'unknown'> {
  const yes: Verdict = { state: 'POSITIVE', reason: null }
  const no = (reason: string): Verdict => ({ state: 'NEGATIVE', reason })
  if (!receipt.positive) return no(receipt.reason)
  const snapshot = found.snapshot ?? (await snapshotOfToday(context, found.channel_code))
  const plan = snapshot && (await makeTransferPlan(context.store.db, context.seal, snapshot))
  if (!plan) return yes
  const { verifyHash, security } = plan
  const { rsaRemoteKey } = security
  const isAsked = verifyHash || rsaRemoteKey !== undefined
  if (isAsked && receipt.hash !== undefined && receipt.hash !== found.wire_hash)
    return no(`it shows the hash ${receipt.hash}, sent was ${found.wire_hash ?? 'none'}`)
  if (rsaRemoteKey === undefined) return yes
  // A partner that cannot sign is enough for downloadConf alone. A signature that proves nothing is not.
  if (!verifyHash && !receipt.signatureFault) return yes
  const fault = await proofFault(receipt, [rsaRemoteKey, await keyOfToday(context, found)])
  if (fault !== undefined) return receipt.signatureFault && found.snapshot === null ? 'unknown' : no(fault)
  return verifyHash && receipt.hash === undefined ? no('it shows no hash') : yes
}

/**
 * A partner that has exchanged its key since the file went signs with the new one, or has signed with the old one before:
 * either is good.
 */
async function proofFault(
  receipt: Receipt,
  keys: readonly (string | undefined)[],
): Promise<string | undefined> {
  let fault: string | undefined
  for (const key of new Set(keys)) {
    if (key === undefined) continue
    fault = receipt.signatureFault ? await receipt.signatureFault(key) : unsigned(receipt)
    if (fault === undefined) return undefined
  }
  return fault
}

function unsigned({ signed }: Receipt): string | undefined {
  return signed ? undefined : 'it is not signed, though a signed one was asked for'
}

async function keyOfToday(
  { store, seal }: EngineContext,
  { channel_code }: Found,
): Promise<string | undefined> {
  const channel = await findChannel(store.db, channel_code)
  return channel && openChannel(seal, channel).security?.rsaRemoteKey
}
