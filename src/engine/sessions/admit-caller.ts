// A partner calls: who it is, whether any of its channels takes the call now, and what the transport may know of it.

import type { Channel } from '../../contract/channel.ts'
import type { TransferDirection } from '../../contract/transfer.ts'
import { applicationOf, closedBecause, goes } from '../../domain/channel.ts'
import { isOpenAt } from '../../domain/time.ts'
import { hoursOfChannel } from '../../store/expectations/calendars.ts'
import { NodeError } from '../../errors.ts'
import { channelsOfContact } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { findContact, listContacts, openProtocolSections } from '../../store/contacts.ts'
import type { ContactRecord } from '../../store/contacts.ts'
import type { EngineContext } from '../engine-context.ts'
import { compressesLine, demandsEncryption, makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type {
  Admission,
  Caller,
  LineDemands,
  Proof,
  Protocol,
  Reach,
  Reached,
  Timeouts,
} from '../transports/transport.ts'
import { CallerIndex } from './caller-index.ts'
import { addressAllowed, certificateRefusal, openChannelsOf, reachOfCaller, takesCalls } from './reach.ts'

export async function admitCaller(
  context: EngineContext,
  protocol: Protocol,
  caller: Caller,
): Promise<Admission<unknown>> {
  const contact = await contactOf(context, protocol, caller)
  if (!contact) throw new NodeError('login_refused', `${caller.id} is not known here`)
  const line = protocol.lineDemands?.(contact.settings[protocol.sections.called])
  const channels = await openChannels(context, contact, caller.proof, line)
  const reach = {
    ...reachOfCaller(context.seal, contact.id, caller.proof, line),
    isWithdrawn: withdrawal(context, protocol, contact, caller.proof),
  }
  const plans = await Promise.all(
    preferred(channels, reach, caller).map((channel) =>
      makeTransferPlan(context.store.db, context.seal, snapshotOf(channel)),
    ),
  )
  // A contact may have several remote codes: the one that the caller gave is the one it is answered as.
  const named = plans.filter(({ remoteId }) => remoteId === caller.id.trim())
  const likely = named.length > 0 ? named : plans
  const first = likely.toSorted((a, b) => strength(b, caller) - strength(a, caller))[0]
  if (!first)
    throw new NodeError('insecure_session', 'every channel of this partner asks for an encrypted session')
  return {
    contactId: contact.id,
    localId: first.localId,
    remoteId: first.remoteId,
    settings: first.settings[protocol.sections.called] ?? {},
    reach,
    guessable: channels.some(asksPassword),
    ways: waysOf(plans.map(({ channel }) => channel)),
    timeouts: longest(plans),
    security: first.security,
    // Agreed where any of them wants it; whether a file is compressed its own channel says.
    compression: compressesLine(
      plans.map(({ channel }) => channel),
      protocol.capabilities,
    ),
  }
}

/**
 * Says of the contact, as it is later, whether it no longer lets the caller in: its password or key was taken away. Looked
 * at once for each change of the contact.
 */
function withdrawal(
  { seal }: EngineContext,
  { sections }: Protocol,
  admitted: ContactRecord,
  proof: Proof,
): (contact: ContactRecord) => boolean {
  let last = { contact: admitted, isWithdrawn: false }
  return (contact) => {
    if (contact !== last.contact) {
      const entry = openProtocolSections(seal, contact)[sections.called]
      last = { contact, isWithdrawn: proof.opens?.(entry) === false }
    }
    return last.isWithdrawn
  }
}

/** A session of several channels is as patient as the most patient of them asks for. */
function longest(plans: readonly TransferPlan[]): Timeouts {
  const most = (name: keyof Timeouts) => Math.max(...plans.map(({ timeouts }) => timeouts[name]))
  return {
    connectMs: most('connectMs'),
    syncMs: most('syncMs'),
    ackMs: most('ackMs'),
    idleMs: most('idleMs'),
  }
}

/** Those that take calls from there, now; each reason why there is none has its own answer. */
async function openChannels(
  context: EngineContext,
  contact: ContactRecord,
  proof: Proof,
  line: LineDemands = {},
): Promise<ChannelRecord[]> {
  const { address, encrypted } = proof
  const channels = await channelsOfContact(context.store.db, contact.id)
  const taking = channels.filter(({ config }) => !config.deactivateChannel && takesCalls(config))
  if (taking.length === 0) throw new NodeError('login_refused', `no channel of ${contact.id} takes calls`)
  const near = taking.filter(({ config }) => addressAllowed(config, address))
  if (near.length === 0) throw new NodeError('login_refused', `${address} is not an address of ${contact.id}`)
  const open = near.filter((one) => isOpenAt(hoursOfChannel(one), context.now(), context.zone))
  if (open.length === 0) throw new NodeError('remote_busy', 'outside the hours of every channel')
  const secure = open.filter(({ config }) => encrypted || !demandsEncryption(config))
  const refusals = secure.map((channel) => certificateRefusal(context.seal, channel, proof, line))
  const [refusal] = refusals
  if (refusal && !refusals.includes(undefined)) throw new NodeError('login_refused', refusal.message)
  return secure.filter((_, at) => refusals[at] === undefined)
}

/**
 * The channels that the session is made for: those it has met the demands of, or is about to. Where there are none, all of
 * them: the protocol's own checks then say what is wrong (a password, a challenge), or the sign-in is still to come.
 */
function preferred(channels: ChannelRecord[], reach: Reach, { challenges }: Caller): ChannelRecord[] {
  const met = channels.filter(
    (channel) =>
      !reach.refusal(channel) ||
      (challenges === true && channel.config.security?.authentication === 'CERTIFICATE'),
  )
  return met.length > 0 ? met : channels
}

function asksPassword({ config, secrets }: ChannelRecord): boolean {
  return config.security?.authentication !== 'CERTIFICATE' && secrets.remoteKey !== undefined
}

/** The strongest proof that the caller offers is the one that is asked of it. */
function strength({ security }: TransferPlan, { challenges = false }: Caller): number {
  if (security.authentication === 'CERTIFICATE') return challenges ? 2 : -1
  return security.authentication === 'PASSWORD' ? 1 : 0
}

/** What exists for a session at this moment. */
export async function reachedNow(context: EngineContext, reach: Reach): Promise<Reached> {
  const channels = await openChannelsOf(context, reach)
  const applications = [...new Set(channels.map(applicationOf))]
  return { applications, ways: waysOf(channels.map(({ config }) => config)) }
}

function waysOf(channels: readonly Channel[]): Reached['ways'] {
  const goesNow = (way: TransferDirection) =>
    channels.some((channel) => goes(channel, way) && !closedBecause(channel, way))
  const sends = goesNow('EMISION')
  return sends && goesNow('RECEPCION') ? 'B' : sends ? 'S' : 'R'
}

const indexes = new WeakMap<EngineContext, Map<string, CallerIndex>>()

export function contactOf(
  context: EngineContext,
  protocol: Protocol,
  caller: Caller,
): Promise<ContactRecord | undefined> {
  const some = indexes.get(context) ?? new Map<string, CallerIndex>()
  indexes.set(context, some)
  const { db } = context.store
  const contacts = { all: () => listContacts(db), one: (id: string) => findContact(db, id) }
  const index = some.get(protocol.protocol) ?? new CallerIndex(contacts, protocol)
  some.set(protocol.protocol, index)
  return index.find(caller.id.trim())
}
