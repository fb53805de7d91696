// Carries one claimed transfer from its claim to an end, or gives it back. What an outcome does to the row:
//
//   not now      hours, calling end, breaker, inactive     stays PENDING, due later
//   completed    every file done                           COMPLETED
//   receipts     all arrived that could, receipts to come  stays IN_PROGRESS without a lease, due at the deadline
//   fault that can pass, attempts left                     PENDING, due after a pause
//   any other fault                                        FAILED, then the exception script
//   draining     this node stops, or the partner hung up   PENDING, due at once, for whoever comes next
//   cancelled, lease lost                                  nothing: the row is not ours any more

import { closedBecause, directoriesFor, goes } from '../../domain/channel.ts'
import { nextOpening } from '../../domain/time.ts'
import { hoursOfChannel } from '../../store/expectations/calendars.ts'
import { PARKED } from '../../domain/transfer.ts'
import type { TransferFileRecord, TransferRecord } from '../../domain/transfer.ts'
import { NodeError, naming, toNodeError } from '../../errors.ts'
import { addHistory, findChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { endPause, findPause } from '../../store/automation-runs.ts'
import { parkClaim, requireHeld, setSnapshot } from '../../store/transfers/leases.ts'
import type { Claim } from '../../store/transfers/claims.ts'
import type { Held } from '../../store/transfers/leases.ts'
import { refusesCompression } from '../../store/contacts.ts'
import { stillDown } from '../../store/partner-health.ts'
import type { Tx } from '../../store/database/store.ts'
import { moveTransfer, removeUnfinishedFiles } from '../../store/transfers/transfers.ts'
import { callNotBefore } from '../sessions/circuit-breaker.ts'
import { Lines } from '../sending/lines.ts'
import { sendFiles } from '../sending/send-files.ts'
import { settleReceipts, waitForReceipts } from '../sending/await-receipts.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { announce } from '../events.ts'
import { ended } from './end-transfer.ts'
import { sweepOnce } from './sweep.ts'
import { isSpooled, spoolSession } from '../sending/outbox-spool.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { endReception } from '../receiving/end-reception.ts'
import { finishFile, runsScript } from '../receiving/finish-file.ts'
import { placeWhole, recordPlaced } from '../receiving/place-file.ts'
import type { Receptions } from '../receiving/receptions.ts'
import { isLeft, leftToNext, waitsForDisk } from '../receiving/refusal.ts'
import { receivedPath, removeReceived } from '../staging/staging.ts'
import type { Lent, SessionPool } from '../sessions/session-pool.ts'
import type { Capabilities, Protocol, Session } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'

export type Runner = {
  context: EngineContext
  sessions: SessionPool
  protocolOf: (protocol: string) => Protocol | undefined
  receptions: Receptions
}

/** `given` is the session to use when the partner is on the line. Without it a session is found or opened. */
export async function runTransfer(
  runner: Runner,
  claim: Claim,
  signal: AbortSignal,
  given?: Session,
): Promise<void> {
  const { context } = runner
  const { transfer } = claim
  const held: Held = { id: transfer.id, fence: transfer.fence }
  let running: RunningTransfer | undefined
  try {
    const channel = await findChannel(context.store.db, transfer.channelCode)
    if (!channel) return
    if (transfer.state === 'PENDING') {
      const later = await notBefore(runner, channel, transfer, given)
      if (later) return await context.store.write((tx) => park(tx, context, held, later))
    }
    const snapshot = claim.snapshot ?? snapshotOf(channel)
    const plan = await makeTransferPlan(context.store.db, context.seal, snapshot)
    running = { context, transfer, held, plan, signal, unsaid: [] }
    await start(running, claim, snapshot)
    if (transfer.direction === 'RECEPCION') await goOnReceiving(runner, running)
    else if (!isSent(transfer)) await emit(runner, running, given)
    else if ((await settleReceipts(running)) === 'settled') await complete(running)
  } catch (thrown) {
    await ended(context, transfer, held, running, signal.aborted ? (signal.reason ?? thrown) : thrown)
  }
}

/**
 * There is nothing to call for. It waited for receipts, and every file is there, or it is known by what the others have
 * failed. Or it is a retry of one whose receipts came after it had given up.
 */
function isSent({ files, receiptsUntil, error }: TransferRecord): boolean {
  if (receiptsUntil !== null) return error !== null || files.every(isThere)
  return files.length > 0 && files.every((file) => isThere(file) && file.receipt === 'POSITIVE')
}

function isThere({ phase }: TransferFileRecord): boolean {
  return phase === 'ARRIVED' || phase === 'DONE'
}

/** When to look again (PARKED: when something changes), and the partner that must be reachable first. */
type Later = { at: number; down?: string }

/** Undefined: it may run now. */
async function notBefore(
  runner: Runner,
  channel: ChannelRecord,
  transfer: TransferRecord,
  given?: Session,
): Promise<Later | undefined> {
  const { context, sessions } = runner
  const { config, contactId } = channel
  if (!goes(config, transfer.direction) || closedBecause(config, transfer.direction)) return { at: PARKED }
  const opening = nextOpening(hoursOfChannel(channel), context.now(), context.zone)
  if (opening > context.now()) return { at: opening }
  const plan = await makeTransferPlan(context.store.db, context.seal, snapshotOf(channel))
  // The partner is on the line, but not for this channel: it waits for what it waited for.
  if (given) return given.reach.refusal(channel) ? { at: Math.max(1, transfer.dueAt) } : undefined
  const protocol = protocolFor(runner, plan)
  if (callingEnd(plan, protocol) === 'REMOTO')
    return isSpooled(plan, protocol) || (await sessions.calledBy(plan)) ? undefined : { at: PARKED }
  // Somebody asked for a fetch: that is worth a call, and while it waits the partner could bring nothing by itself.
  if (transfer.direction === 'RECEPCION') return undefined
  const at = await callNotBefore(context, contactId)
  return at > 0 ? { at, down: contactId } : undefined
}

/** The partner may have become reachable meanwhile, which wakes all that wait for it. This one must not miss that. */
async function park(tx: Tx, { store, now }: EngineContext, held: Held, { at, down }: Later): Promise<void> {
  const waits = down === undefined || (await stillDown(tx, store.dialect, down))
  await parkClaim(tx, held, waits ? at : now())
}

async function start(
  { context, transfer, held }: RunningTransfer,
  claim: Claim,
  snapshot: string,
): Promise<void> {
  if (transfer.state === 'IN_PROGRESS') return
  const now = context.now()
  const moved = await context.store.write(async (tx) => {
    // Due from now on, also where it waited for the partner's call: if this node dies, another one must find it.
    const move = { now, fence: held.fence, dueAt: Math.min(transfer.dueAt, now) }
    if (!(await moveTransfer(tx, transfer.id, { from: 'PENDING', to: 'IN_PROGRESS', ...move }))) return false
    if (claim.snapshot === null) await setSnapshot(tx, held, snapshot)
    const again = transfer.type === 'AUTOMATIC' && (await findPause(tx, transfer.channelCode)) !== undefined
    if (transfer.startedAt === null && !again)
      await addHistory(tx, transfer.channelCode, [
        { at: now, event: 'TRANSFER_STARTED', detail: transfer.id },
      ])
    return true
  })
  if (!moved) throw new NodeError('lease_lost', `transfer ${transfer.id} is no longer ours to start`)
  transfer.state = 'IN_PROGRESS'
  transfer.startedAt ??= now
  announce(context, transfer, 'IN_PROGRESS')
}

async function emit(runner: Runner, running: RunningTransfer, given?: Session): Promise<void> {
  const { plan } = running
  const capabilities = capabilitiesFor(plan, protocolFor(runner, plan))
  const lent = given ? lentAs(runner, given) : await borrow(runner, running)
  let ok = false
  try {
    const { session } = lent
    await sweepOnce(running.context, plan, session)
    const unpacks = await takesCompressed(running, session)
    // Where many files go at once over one session, each transfer has so many of its own.
    const lines = capabilities.oneFileAtATime ? lent.lines : new Lines(session)
    const emission = { ...running, session, capabilities, unpacks, lines }
    const { receiptsAwaited, failure } = await sendFiles(emission)
    ok = true
    if (receiptsAwaited) await waitForReceipts(running, failure)
    else await complete(running)
    if (capabilities.receipts) await lent.letPartnerSpeak(receiptsAwaited)
  } finally {
    await lent.giveBack(ok)
  }
}

/** Whoever takes its files by itself tells no hash of what it got: that it has taken them is all that can be known. */
function capabilitiesFor(plan: TransferPlan, protocol: Protocol): Capabilities {
  return isSpooled(plan, protocol) ? { ...protocol.capabilities, remoteHash: false } : protocol.capabilities
}

async function takesCompressed({ context, plan }: RunningTransfer, session: Session): Promise<boolean> {
  if (session.unpacks !== undefined && !session.unpacks) return false
  return !(await refusesCompression(context.store.db, plan.contact.id, context.now()))
}

export function protocolFor(runner: Runner, plan: TransferPlan): Protocol {
  const protocol = runner.protocolOf(plan.contact.protocol)
  if (!protocol)
    throw new NodeError('connect_failed', `this node has no transport for ${plan.contact.protocol}`)
  return protocol
}

/** A session that needs no giving back. The transport itself hands the turn back to the caller. */
function lentAs({ sessions }: Runner, session: Session): Lent {
  const lines = sessions.linesOver(session)
  return { session, lines, letPartnerSpeak: () => Promise.resolve(), giveBack: () => Promise.resolve() }
}

/** After a reset nobody waits for a call that is being made. It may end on its own. */
async function borrow(runner: Runner, running: RunningTransfer): Promise<Lent> {
  const { sessions } = runner
  const { plan, transfer, signal } = running
  const protocol = protocolFor(runner, plan)
  if (isSpooled(plan, protocol)) return lentAs(runner, spoolSession(running))
  signal.throwIfAborted()
  const end = callingEnd(plan, protocol)
  const fetches = transfer.direction === 'RECEPCION'
  // In a session that the partner opened, it brings its files when it likes.
  const called = end === 'LOCAL' || fetches ? undefined : await sessions.calledBy(plan)
  if (called && (called.prompt !== false || end === 'REMOTO')) return lentAs(runner, called)
  if (end === 'REMOTO') throw new NodeError('unavailable', 'the partner has hung up')
  const lending = sessions.lend(plan, transfer.attempts, fetches ? 'fetch' : 'push')
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  return Promise.race([lending, aborted]).catch(async (thrown: unknown) => {
    void lending.then((lent) => lent.giveBack(false)).catch(() => {})
    // The partner is on the line after all, and gives the turn when it likes.
    if (called && !called.ended.aborted && !signal.aborted) return lentAs(runner, called)
    throw thrown
  })
}

function callingEnd({ channel }: TransferPlan, { capabilities }: Protocol) {
  if (capabilities.nobodyCalls) return 'LOCAL'
  return channel.connection?.advancedConfigurationConnection?.callingEnd ?? 'INDISTINTO'
}

async function complete({ context, transfer, held }: RunningTransfer): Promise<void> {
  const now = context.now()
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    await moveTransfer(tx, transfer.id, { from: 'IN_PROGRESS', to: 'COMPLETED', now, fence: held.fence })
    await endPause(tx, transfer.channelCode)
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_COMPLETED', detail: transfer.id },
    ])
  })
  await context.staging.clear(transfer.id)
  announce(context, transfer, 'COMPLETED')
}

/** A reception that nobody holds: its node died, or somebody asked for a fetch. */
async function goOnReceiving(runner: Runner, running: RunningTransfer): Promise<void> {
  const { transfer, plan } = running
  const { receipts } = protocolFor(runner, plan).capabilities
  const isPlaced = transfer.files.some((file) => file.phase === 'PLACED')
  let refused = await settleReceived(running, receipts)
  const broken = transfer.files.find((file) => file.phase === 'MOVING')
  // Files that are here say nothing of those that the partner still has. A retry may be for an action that failed alone.
  const fetches = transfer.type === 'MANUAL' || (transfer.type === 'RETRY' && (broken || !isPlaced))
  if (fetches) refused = (await fetchInto(runner, running)) ?? refused
  else if (broken)
    refused ??= {
      reason: new NodeError(
        'connection_lost',
        `${broken.name}: the node that received it stopped, or could not write to the database`,
      ),
    }
  running.signal.throwIfAborted()
  await endReception(running, refused)
}

/** Brings every file that was whole to its end. One that fails does not hold up the others; the first one is returned. */
async function settleReceived(
  running: RunningTransfer,
  owesReceipts: boolean,
): Promise<{ reason: unknown } | undefined> {
  const { transfer, plan } = running
  let refused: { reason: unknown } | undefined
  let left: unknown
  const each = async (files: TransferFileRecord[], work: (file: TransferFileRecord) => Promise<void>) => {
    for (const file of files)
      try {
        await work(file)
      } catch (thrown) {
        if (waitsForDisk(thrown) !== undefined) left ??= thrown
        else if (isLeft(thrown)) throw thrown
        else if (file.phase === 'WHOLE' && toNodeError(thrown).code === 'disk_fault') {
          // It is here, and its partner may know that. Given up, it would stand in the way of itself when it comes again.
          left ??= leftToNext(file.name, thrown)
        } else refused ??= { reason: naming(thrown, file.name) }
      }
  }
  const before = new Set(transfer.files.filter(({ phase }) => phase === 'PLACED'))
  await each(transfer.files, (file) => settleFile(running, file, owesReceipts))
  const waits = left !== undefined
  const placed = transfer.files.filter(({ phase }) => phase === 'PLACED')
  const act = (file: TransferFileRecord) =>
    finishFile(running, file, owesReceipts, { again: before.has(file) })
  // While a reception goes on, a script that has refused its file would be run again.
  if (!waits || !runsScript(plan)) await each(placed, act)
  if (left !== undefined && (waits || !refused || !runsScript(plan))) throw left
  return refused
}

async function settleFile(
  running: RunningTransfer,
  file: TransferFileRecord,
  owesReceipts: boolean,
): Promise<void> {
  const staged = file.stagedPath ?? ''
  const received = receivedPath(staged)
  if (file.phase === 'WHOLE') {
    const directories = directoriesFor(running.plan.channel, 'RECEPCION')
    const directory = directories.find(({ index }) => index === file.directory)?.directory ?? {}
    await placeWhole(running, file, staged, { directory })
    await recordPlaced(running, file, received, owesReceipts)
  } else if (received !== '' && file.phase !== 'MOVING') await removeReceived(received)
}

async function fetchInto(runner: Runner, running: RunningTransfer): Promise<{ reason: unknown } | undefined> {
  const { transfer, context, held, signal } = running
  transfer.files = transfer.files.filter((file) => file.phase !== 'MOVING')
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    await removeUnfinishedFiles(tx, transfer.id)
  })
  const lent = await borrow(runner, running)
  const reception = runner.receptions.adopt(running)
  const fetch = runner.sessions.fetches.begin(running.plan)
  let ok = false
  try {
    await lent.session.fetch(AbortSignal.any([signal, reception.leaving]))
    ok = true
  } finally {
    fetch.end()
    reception.close()
    await reception.quiet
    await lent.giveBack(ok)
  }
  reception.leaving.throwIfAborted()
  const refused = reception.refused ?? (fetch.refused && { reason: fetch.refused })
  if (!refused && reception.postponed !== undefined) throw reception.postponed
  return refused
}
