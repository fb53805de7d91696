// Which channel a file offered by a partner belongs to, and whether it may come in there now.

import type { Channel, Directory } from '../../contract/channel.ts'
import { closedBecause, directoriesFor, goes } from '../../domain/channel.ts'
import { nameFault } from '../../domain/names/received-name.ts'
import { isOpenAt } from '../../domain/time.ts'
import { hoursOfChannel } from '../../store/expectations/calendars.ts'
import { NodeError } from '../../errors.ts'
import { groupMatcher } from '../../files/send-set.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import type { Db } from '../../store/database/store.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import { channelsOfSession, identificationsOf, sessionChannelsOf } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { openedName, sendsGzip } from '../staging/gz-name.ts'
import { cipherFault, digestFault } from '../transforms/cms/policy.ts'
import type { CmsPolicy } from '../transforms/cms/policy.ts'
import type { Capabilities, Envelope, FileFlaw, Offer } from '../transports/transport.ts'
import { formatMismatch } from '../staging/wire-form.ts'
import type { EngineContext } from '../engine-context.ts'

/** `directoryIndex` is null where the channel takes certificates, which belong to no directory. */
export type Inbound = { channel: ChannelRecord; directory: Directory; directoryIndex: number | null }

/** What was agreed about a file before the first of its bytes. */
export type Agreed = { plan: TransferPlan; snapshot: string; inbound: Inbound; key: FileKey }

/** Throws not_found if no channel takes the file, remote_refused or remote_busy if the channel is closed (for now). */
export async function chooseInbound(
  context: EngineContext,
  offer: Offer,
  capabilities: Capabilities,
): Promise<Inbound> {
  // Named, it is refused by what the channel asks for; not named, only channels that exist for the session are meant.
  const channel =
    offer.application === ''
      ? await byName(context, offer, capabilities)
      : await byApplication(context, offer)
  if (!channel) throw (await unknownEnd(context, offer)) ?? noChannel(offer)
  const refusal = offer.reach.refusal(channel)
  if (refusal?.code === 'insecure_session') throw refusal
  if (refusal) {
    // For this session it does not exist: the partner hears what it would of a channel that there is not.
    context.log.info({ contact: offer.contactId, channel: channel.code, reason: refusal.message }, 'refused')
    throw noChannel(offer)
  }
  if (!goes(channel.config, 'RECEPCION'))
    throw new NodeError(
      'remote_refused',
      `channel ${channel.code} takes no files: its direction is EMISION`,
      {
        cause: { flaw: 'direction' } satisfies FileFlaw,
      },
    )
  const closed = closedBecause(channel.config, 'RECEPCION')
  if (closed) throw new NodeError('remote_refused', `channel ${channel.code} takes no files: ${closed}`)
  if (!isOpenAt(hoursOfChannel(channel), context.now(), context.zone))
    throw new NodeError('remote_busy', `channel ${channel.code} is outside its hours`)
  return { channel, ...directoryFor(channel, offer, capabilities) }
}

/** Refuses what does not fit the channel: session, envelope, format, name. */
export function refuseUnfit(
  capabilities: Capabilities,
  offer: Offer,
  plan: TransferPlan,
  { directory, channel }: Inbound,
  policy: CmsPolicy,
): void {
  if (plan.security.encrypted && !offer.encryptedSession)
    throw new NodeError(
      'insecure_session',
      `channel ${channel.code} takes files over encrypted sessions alone`,
    )
  if (capabilities.envelopes && plan.encryptFiles && !offer.envelope?.encrypted)
    throw new NodeError('insecure_session', `channel ${channel.code} takes encrypted files alone`)
  // Said before the first octet: a file that could not be opened here would travel in vain.
  if (offer.envelope?.encrypted && plan.security.rsaLocalKey === undefined)
    throw unfit('encrypted', `channel ${channel.code} has no key to open encrypted files with`)
  if (offer.envelope?.signed && plan.security.rsaRemoteKey === undefined)
    throw unfit('signed', `channel ${channel.code} has no key to check signatures with`)
  const weak = offer.envelope && weakness(offer.envelope, policy)
  if (weak !== undefined) throw unfit('weak', `channel ${channel.code}: ${weak}`)
  const mismatch = formatMismatch(directory, offer.format, capabilities)
  if (mismatch) throw new NodeError('file_refused', `channel ${channel.code}: ${mismatch}`)
  // A provisional name lies in the data folder alone; the one that follows is judged when it comes.
  const fault = offer.provisional ? undefined : nameFault(offer.name)
  if (fault) throw unfit('name', fault)
}

function weakness({ encrypted, signed, cipher, digest }: Envelope, policy: CmsPolicy): string | undefined {
  return (
    (encrypted ? cipherFault(cipher, policy) : undefined) ??
    (signed ? digestFault(digest, policy) : undefined)
  )
}

function unfit(flaw: FileFlaw['flaw'], message: string): NodeError {
  return new NodeError('file_refused', message, { cause: { flaw } satisfies FileFlaw })
}

function noChannel({ name, application }: Offer): NodeError {
  return new NodeError(
    'not_found',
    `no channel of this partner takes ${name} (${application || 'no application'})`,
  )
}

/**
 * Of several with that application, the one that exists for the session; else one that says why there is none. Where no
 * end points are named (SFTP), channels of two local entities cannot be told apart: then none is meant, for what one of
 * them is to have must not come to the other.
 */
async function byApplication(
  { store, log }: EngineContext,
  offer: Offer,
): Promise<ChannelRecord | undefined> {
  const { application, reach } = offer
  const named = await betweenEnds(store.db, await sessionChannelsOf(store.db, reach, application), offer)
  const reached = named.filter((channel) => !reach.refusal(channel))
  const taking = reached.filter(({ config }) => goes(config, 'RECEPCION'))
  if (new Set(taking.map(({ localCode }) => localCode)).size <= 1) return taking[0] ?? reached[0] ?? named[0]
  const channels = taking.map(({ code }) => code)
  log.warn(
    { contact: offer.contactId, application, channels },
    'a file is refused: it may be for any of these channels; give them aliases that differ',
  )
  return undefined
}

async function betweenEnds(
  db: Db,
  channels: readonly ChannelRecord[],
  { ends }: Offer,
): Promise<readonly ChannelRecord[]> {
  if (!ends) return channels
  const known = await Promise.all(channels.map((channel) => identificationsOf(db, channel)))
  return channels.filter(
    (_, at) => known[at]?.localId === ends.destination && known[at].remoteId === ends.originator,
  )
}

/** The partner named an end point that no channel of the session has: it hears which one. */
async function unknownEnd({ store }: EngineContext, { ends, reach }: Offer): Promise<NodeError | undefined> {
  if (!ends) return undefined
  const channels = await channelsOfSession(store.db, reach)
  const reached = channels.filter((channel) => !reach.refusal(channel))
  const known = await Promise.all(reached.map((channel) => identificationsOf(store.db, channel)))
  if (!known.some((one) => one?.localId === ends.destination))
    return unfit('destination', `${ends.destination} is not this node`)
  if (!known.some((one) => one?.remoteId === ends.originator))
    return unfit('originator', `${ends.originator} is not the partner`)
  return undefined
}

/** The partner named no application: takes the only open channel, or the one whose file groups match the name. */
async function byName(
  { store }: EngineContext,
  offer: Offer,
  capabilities: Capabilities,
): Promise<ChannelRecord | undefined> {
  const channels = await channelsOfSession(store.db, offer.reach)
  const open = (await betweenEnds(store.db, channels, offer)).filter(
    (channel) =>
      !offer.reach.refusal(channel) &&
      goes(channel.config, 'RECEPCION') &&
      !closedBecause(channel.config, 'RECEPCION'),
  )
  if (open.length <= 1) return open[0]
  const matching = open.filter(({ config }) =>
    directoriesFor(config, 'RECEPCION').some(
      ({ directory }) => directory.fileGroupsName && takes(directory, config, offer, capabilities),
    ),
  )
  return matching.length === 1 ? matching[0] : undefined
}

/** A gzip file belongs where the file in it does, and a name that can only be upper case in any case. */
function takes(directory: Directory, channel: Channel, offer: Offer, capabilities: Capabilities): boolean {
  const { name, anyCase = false } = offer
  const opened = sendsGzip(channel, capabilities) ? openedName(name) : undefined
  return [name, opened].some((one) => one !== undefined && isInGroup(directory.fileGroupsName, one, anyCase))
}

function isInGroup(groups: string | undefined, name: string, anyCase: boolean): boolean {
  return groupMatcher(groups)(name) || (anyCase && groupMatcher(groups?.toLowerCase())(name.toLowerCase()))
}

function directoryFor(
  channel: ChannelRecord,
  offer: Offer,
  capabilities: Capabilities,
): Omit<Inbound, 'channel'> {
  const { name, provisional = false } = offer
  if (channel.config.keyExchangeChannel) return { directory: {}, directoryIndex: null }
  const directories = directoriesFor(channel.config, 'RECEPCION')
  const found =
    directories.find(({ directory }) => takes(directory, channel.config, offer, capabilities)) ??
    (provisional ? directories[0] : undefined)
  if (!found)
    throw unfit('name', `no inbound directory of channel ${channel.code} takes a file named ${name}`)
  return { directory: found.directory, directoryIndex: found.index }
}
