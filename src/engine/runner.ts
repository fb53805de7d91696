// Carries one claimed transfer from its claim to an end, or gives it back. What an outcome does to the row:
//
//   not now      hours, calling end, breaker, inactive     stays PENDING, due later
//   completed    every file done                           COMPLETED
//   receipts     all arrived, receipts to come             stays IN_PROGRESS without a lease, due at the deadline
//   fault that can pass, attempts left                     PENDING, due after a pause
//   any other fault                                        FAILED, then the exception script
//   draining     this node stops, or the partner hung up   PENDING, due at once, for whoever comes next
//   cancelled, lease lost                                  nothing: the row is not ours any more

import { rm } from 'node:fs/promises'
import { closedBecause, directoriesFor, goes, hoursOf } from '../domain/channel.ts'
import { nextOpening } from '../domain/time.ts'
import { PARKED, nextAttemptAt } from '../domain/transfer.ts'
import type { TransferRecord } from '../domain/transfer.ts'
import { NodeError, messageOf } from '../errors.ts'
import { addHistory, findChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { parkClaim, requireHeld, setSnapshot } from '../store/leases.ts'
import type { Claim, Held } from '../store/leases.ts'
import { stillDown } from '../store/health.ts'
import type { Tx } from '../store/open.ts'
import { moveTransfer } from '../store/transfers.ts'
import { callNotBefore } from './breaker.ts'
import { act, sendFiles } from './emission.ts'
import type { Running } from './emission.ts'
import { isSpooled, spoolSession } from './outbox-spool.ts'
import { makePlan, snapshotOf } from './plan.ts'
import type { Plan } from './plan.ts'
import { failReception, finishReception, placeWhole, recordPlaced } from './reception-transfer.ts'
import { runStep } from './script-steps.ts'
import { suits } from './sessions.ts'
import { receivedPath } from './staging.ts'
import type { Lent, Sessions } from './sessions.ts'
import type { Capabilities, Session } from './transports/transport.ts'
import type { Work } from './work.ts'

export type Runner = {
  work: Work
  sessions: Sessions
  capabilitiesOf: (protocol: string) => Capabilities | undefined
  /** Fetches under way, by channel: files offered for that channel join the transfer. */
  fetching: Map<string, Running>
}

/** `given`: the session through which it must go (the partner is on the line); otherwise one is found or opened. */
export async function runTransfer(
  runner: Runner,
  claim: Claim,
  signal: AbortSignal,
  given?: Session,
): Promise<void> {
  const { work } = runner
  const { transfer } = claim
  const held: Held = { id: transfer.id, fence: transfer.fence }
  let running: Running | undefined
  try {
    const channel = await findChannel(work.store.db, transfer.channelCode)
    if (!channel) return
    if (transfer.state === 'PENDING') {
      const later = await notBefore(runner, channel, transfer, given)
      if (later) return await work.store.write((tx) => park(tx, work, held, later))
    }
    const snapshot = claim.snapshot ?? snapshotOf(channel)
    const plan = await makePlan(work.store.db, work.seal, snapshot)
    running = { work, transfer, held, plan, signal }
    await start(running, claim, snapshot)
    if (transfer.direction === 'RECEPCION') await goOnReceiving(runner, running)
    else if (transfer.receiptsUntil !== null) await settleReceipts(running)
    else await emit(runner, running, given)
  } catch (thrown) {
    await ended(work, transfer, held, running, signal.aborted ? (signal.reason ?? thrown) : thrown)
  }
}

/** When to look again, PARKED: not before something changes; and the partner that must be well before. */
type Later = { at: number; down?: string }

/** undefined: now. */
async function notBefore(
  runner: Runner,
  channel: ChannelRecord,
  transfer: TransferRecord,
  given?: Session,
): Promise<Later | undefined> {
  const { work, sessions } = runner
  const { config, contactId } = channel
  if (!goes(config, transfer.direction) || closedBecause(config, transfer.direction)) return { at: PARKED }
  const opening = nextOpening(hoursOf(channel.config), work.now(), work.zone)
  if (opening > work.now()) return { at: opening }
  const plan = await makePlan(work.store.db, work.seal, snapshotOf(channel))
  // The partner is on the line, but not for this channel: it waits for what it waited for.
  if (given)
    return suits(given, plan) && callingEnd(plan) !== 'LOCAL'
      ? undefined
      : { at: Math.max(1, transfer.dueAt) }
  if (callingEnd(plan) === 'REMOTO')
    return isSpooled(plan) || sessions.calledBy(plan) ? undefined : { at: PARKED }
  const at = await callNotBefore(work, contactId)
  return at > 0 ? { at, down: contactId } : undefined
}

/** A partner that was found well meanwhile woke those that wait for it: this one must not go to sleep after that. */
async function park(tx: Tx, { store, now }: Work, held: Held, { at, down }: Later): Promise<void> {
  const waits = down === undefined || (await stillDown(tx, store.dialect, down))
  await parkClaim(tx, held, waits ? at : now())
}

async function start({ work, transfer, held }: Running, claim: Claim, snapshot: string): Promise<void> {
  if (transfer.state === 'IN_PROGRESS') return
  const now = work.now()
  const moved = await work.store.write(async (tx) => {
    if (
      !(await moveTransfer(tx, transfer.id, { from: 'PENDING', to: 'IN_PROGRESS', now, fence: held.fence }))
    )
      return false
    if (claim.snapshot === null) await setSnapshot(tx, held, snapshot)
    if (transfer.startedAt === null)
      await addHistory(tx, transfer.channelCode, [
        { at: now, event: 'TRANSFER_STARTED', detail: transfer.id },
      ])
    return true
  })
  if (!moved) throw new NodeError('lease_lost', `transfer ${transfer.id} is no longer ours to start`)
  transfer.state = 'IN_PROGRESS'
  transfer.startedAt ??= now
  announce(work, transfer, 'IN_PROGRESS')
}

function announce(
  work: Work,
  transfer: TransferRecord,
  status: TransferRecord['state'],
  error?: string,
): void {
  const { id: transferId, channelCode, direction } = transfer
  work.publish({
    kind: 'state',
    transferId,
    channelCode,
    direction,
    status,
    ...(error !== undefined && { error }),
    at: work.now(),
  })
}

async function emit(runner: Runner, running: Running, given?: Session): Promise<void> {
  const { plan } = running
  const capabilities = capabilitiesFor(runner, plan)
  const lent = given ? lentAs(given) : await borrow(runner, running)
  let ok = false
  try {
    if (lent.session.encrypted || plan.encryptFiles) await noteEncryption(running)
    const { receiptsAwaited } = await sendFiles({ ...running, session: lent.session, capabilities })
    ok = true
    if (receiptsAwaited) await waitForReceipts(running)
    else await complete(running)
    if (capabilities.receipts) await lent.letPartnerSpeak(receiptsAwaited)
  } finally {
    await lent.giveBack(ok)
  }
}

async function noteEncryption({ work, transfer, held }: Running): Promise<void> {
  if (transfer.encryption) return
  await work.store.write(async (tx) => {
    await requireHeld(tx, work.store.dialect, held)
    await tx.updateTable('transfer').set({ encryption: 1 }).where('id', '=', transfer.id).execute()
  })
}

function capabilitiesFor(runner: Runner, plan: Plan): Capabilities {
  const capabilities = runner.capabilitiesOf(plan.contact.protocol)
  if (!capabilities)
    throw new NodeError('connect_failed', `this node has no transport for ${plan.contact.protocol}`)
  return capabilities
}

/** Whoever called has the turn again when this end has nothing left to send: the transport sees to that. */
function lentAs(session: Session): Lent {
  return { session, letPartnerSpeak: () => Promise.resolve(), giveBack: () => Promise.resolve() }
}

/** Given up by a reset while the partner is being called: the call may end on its own, nobody waits for it. */
async function borrow({ sessions }: Runner, { work, plan, transfer, signal }: Running): Promise<Lent> {
  if (isSpooled(plan)) return lentAs(spoolSession(work, plan, transfer))
  signal.throwIfAborted()
  const called = callingEnd(plan) === 'LOCAL' ? undefined : sessions.calledBy(plan)
  if (called) return lentAs(called)
  if (callingEnd(plan) === 'REMOTO') throw new NodeError('unavailable', 'the partner has hung up')
  const lending = sessions.lend(plan, transfer.attempts)
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  return Promise.race([lending, aborted]).catch(async (thrown: unknown) => {
    void lending.then((lent) => lent.giveBack(false)).catch(() => {})
    throw thrown
  })
}

function callingEnd({ channel }: Plan) {
  return channel.connection?.advancedConfigurationConnection?.callingEnd ?? 'INDISTINTO'
}

async function complete({ work, transfer, held }: Running): Promise<void> {
  const now = work.now()
  await work.store.write(async (tx) => {
    await requireHeld(tx, work.store.dialect, held)
    await moveTransfer(tx, transfer.id, { from: 'IN_PROGRESS', to: 'COMPLETED', now, fence: held.fence })
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_COMPLETED', detail: transfer.id },
    ])
  })
  await work.staging.clear(transfer.id)
  announce(work, transfer, 'COMPLETED')
}

/** Nothing is left to do but wait: the lease is given up, and the row is due at the deadline or when a receipt comes. */
async function waitForReceipts({ work, transfer, held, plan }: Running): Promise<void> {
  const until = transfer.receiptsUntil ?? work.now() + plan.receiptMs
  await work.store.write(async (tx) => {
    await requireHeld(tx, work.store.dialect, held)
    // A receipt that came meanwhile must not be put to sleep with the rest.
    const open = await tx
      .selectFrom('transfer_file')
      .select('idx')
      .where('transfer_id', '=', transfer.id)
      .where('receipt', '=', 'AWAITED')
      .execute()
    await tx.updateTable('transfer').set({ receipts_until: until }).where('id', '=', transfer.id).execute()
    await parkClaim(tx, held, open.length === 0 ? work.now() : until)
  })
}

async function settleReceipts(running: Running): Promise<void> {
  const { transfer, work } = running
  const negative = transfer.files.find((file) => file.receipt === 'NEGATIVE')
  if (negative)
    throw new NodeError(
      'receipt_negative',
      `${negative.name}: the partner’s receipt says it was not delivered`,
    )
  const missing = transfer.files.find((file) => file.receipt === 'AWAITED')
  if (missing && work.now() < (transfer.receiptsUntil ?? 0)) return waitForReceipts(running)
  if (missing)
    throw new NodeError('receipt_late', `${missing.name}: no receipt came within the channel’s timeoutAck`)
  for (const file of transfer.files) if (file.phase === 'ARRIVED') await act(running, file)
  await complete(running)
}

/** A reception found without a holder: its node died, or it is a fetch that somebody asked for. */
async function goOnReceiving(runner: Runner, running: Running): Promise<void> {
  const { transfer, plan } = running
  const unfinished = transfer.files.some((file) => file.phase === 'MOVING')
  if (transfer.type === 'RETRY' && (unfinished || transfer.files.length === 0))
    return fetchInto(runner, running)
  const broken = transfer.files.find((file) => file.phase === 'MOVING')
  if (broken) throw new NodeError('connection_lost', `${broken.name}: the node stopped while it was received`)
  for (const file of transfer.files) {
    const staged = file.stagedPath ?? ''
    const received = receivedPath(staged)
    if (file.phase === 'WHOLE') {
      const directory =
        directoriesFor(plan.channel, 'RECEPCION').find(({ index }) => index === file.directory)?.directory ??
        {}
      await placeWhole(running, file, staged, { directory })
      await recordPlaced(running, file, received)
    } else if (received !== '') await rm(received, { force: true })
  }
  await finishReception(running, capabilitiesFor(runner, plan).receipts)
}

async function fetchInto(runner: Runner, running: Running): Promise<void> {
  const { transfer, work, held } = running
  transfer.files = transfer.files.filter((file) => file.phase !== 'MOVING')
  await work.store.write(async (tx) => {
    await requireHeld(tx, work.store.dialect, held)
    await tx
      .deleteFrom('transfer_file')
      .where('transfer_id', '=', transfer.id)
      .where('phase', '=', 'MOVING')
      .execute()
  })
  const lent = await borrow(runner, running)
  runner.fetching.set(transfer.channelCode, running)
  let ok = false
  try {
    await lent.session.fetch(running.signal)
    ok = true
  } finally {
    runner.fetching.delete(transfer.channelCode)
    await lent.giveBack(ok)
  }
  await finishReception(running, capabilitiesFor(runner, running.plan).receipts)
}

async function ended(
  work: Work,
  transfer: TransferRecord,
  held: Held,
  running: Running | undefined,
  thrown: unknown,
): Promise<void> {
  const error =
    thrown instanceof NodeError ? thrown : new NodeError('internal', messageOf(thrown), { cause: thrown })
  if (error.code === 'lease_lost') return
  if (error.code === 'cancelled' && (await wasReset(work, held))) return work.staging.clear(transfer.id)
  if (error.code === 'cancelled' || error.code === 'unavailable') return putBack(work, transfer, held)
  if (running && transfer.direction === 'RECEPCION') return void (await failReception(running, error))
  const retries = running?.plan.channel.connection?.advancedConfigurationConnection?.retries ?? 0
  if (error.retry && transfer.attempts < retries) return tryLater(work, transfer, held, error)
  await fail(work, transfer, held, running, error)
}

/** A transport that is being stopped says `cancelled` too; only the row knows whether somebody reset the transfer. */
async function wasReset({ store }: Work, { id }: Held): Promise<boolean> {
  const row = await store.db.selectFrom('transfer').select('state').where('id', '=', id).executeTakeFirst()
  return row === undefined || row.state === 'CANCELLED'
}

/** The node is draining: somebody else goes on from the last restart point. It does not count as an attempt. */
async function putBack(work: Work, transfer: TransferRecord, held: Held): Promise<void> {
  const now = work.now()
  // Where the node does not stop, its database did not answer: not at once again.
  const dueAt = work.stopping.aborted ? now : now + BREATHER_MS
  await work.store.write(async (tx) => {
    const moved = await moveTransfer(tx, transfer.id, {
      from: 'IN_PROGRESS',
      to: 'PENDING',
      now,
      fence: held.fence,
      dueAt,
    })
    if (!moved) await parkClaim(tx, held, dueAt)
  })
}

const BREATHER_MS = 1000

async function tryLater(work: Work, transfer: TransferRecord, held: Held, error: NodeError): Promise<void> {
  const now = work.now()
  const attempts = transfer.attempts + 1
  const dueAt = nextAttemptAt(now, attempts, Math.random)
  const moved = await work.store.write((tx) =>
    moveTransfer(tx, transfer.id, {
      from: 'IN_PROGRESS',
      to: 'PENDING',
      now,
      fence: held.fence,
      attempts,
      dueAt,
    }),
  )
  if (!moved) return
  work.log.info(
    {
      transfer: transfer.id,
      channel: transfer.channelCode,
      attempts,
      code: error.code,
      error: error.message,
      inMs: dueAt - now,
    },
    'an attempt failed; another follows',
  )
  announce(work, transfer, 'PENDING', error.message)
}

async function fail(
  work: Work,
  transfer: TransferRecord,
  held: Held,
  running: Running | undefined,
  error: NodeError,
): Promise<void> {
  const now = work.now()
  const failed = await work.store.write(async (tx) => {
    const move = {
      to: 'FAILED',
      now,
      fence: held.fence,
      error: { message: error.message, code: error.code },
    } as const
    if (!(await moveTransfer(tx, transfer.id, { from: transfer.state, ...move }))) return false
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_FAILED', detail: `${transfer.id}: ${error.message}` },
    ])
    return true
  })
  if (!failed) return
  work.log.warn(
    { transfer: transfer.id, channel: transfer.channelCode, code: error.code, err: error },
    'a transfer failed',
  )
  announce(work, transfer, 'FAILED', error.message)
  const script = running?.plan.channel.integrations?.exceptionFile
  if (!script) return
  const about = { work, transfer, signal: AbortSignal.timeout(work.scriptMs) }
  await runStep(about, 'exception', script, undefined, error.message).catch((thrown: unknown) =>
    work.log.warn({ transfer: transfer.id, err: thrown }, 'the exception script failed'),
  )
}
