// What a transfer works with: the channel as it was when the transfer started (with its secrets opened), the partner, and
// what the transports need to know of them. It is made from the snapshot that is kept with the transfer. So a change of
// the channel, another attempt or another node does not alter a transfer under way.

import type { Channel } from '../contract/channel.ts'
import { protectionOf } from '../contract/contact-settings.ts'
import type { ContactSections, Protection } from '../contract/contact-settings.ts'
import { applicationOf, parseCode } from '../domain/channel.ts'
import { TIMEOUT_SECONDS } from '../domain/fields/defaults.ts'
import { NodeError } from '../errors.ts'
import { channelsOfApplication, channelsOfContact, openChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { findContact, findLocalEntity, identificationOf, openProtocolSections } from '../store/contacts.ts'
import type { ContactRecord, LocalEntity } from '../store/contacts.ts'
import type { Db } from '../store/database/store.ts'
import type { Seal } from '../store/seal.ts'
import type { EndPoints, Reach, SessionSecurity, Timeouts } from './transports/transport.ts'

export type TransferPlan = {
  code: string
  channel: Channel
  /** What travels as the application: the alias, if the channel has one. */
  application: string
  contact: ContactRecord
  /** The contact's protocol sections with their secrets opened. */
  settings: ContactSections
  localId: string
  /** The local entity's own file roots, where it has some. */
  localRoots: readonly string[] | undefined
  remoteId: string
  timeouts: Timeouts
  security: SessionSecurity
  /** Files must be encrypted end to end. */
  encryptFiles: boolean
  signFiles: boolean
  /** What they are encrypted and signed with. */
  protection: Protection
  signedFilesOnly: boolean
  /** A transfer completes only when the other end has confirmed the hash of what arrived. */
  verifyHash: boolean
  awaitReceipt: boolean
  receiptMs: number
  /** What one received file may become; the node's own limit without it. */
  maxOpenedOctets: number | undefined
}

/** Of a file that is sent; of one that is received the other way round. */
export function endsOf({ localId, remoteId }: TransferPlan): EndPoints {
  return { originator: localId, destination: remoteId }
}

const RECEIPT_SECONDS = 86_400
const IDLE_SECONDS = 60

/** What is kept with a transfer while it is not over: secrets stay sealed. */
export function snapshotOf(channel: ChannelRecord): string {
  const known = snapshots.get(channel)
  if (known !== undefined) return known
  const snapshot = JSON.stringify(channel)
  snapshots.set(channel, snapshot)
  return snapshot
}

/** A channel's record is never changed in place: a change makes another one. */
const snapshots = new WeakMap<ChannelRecord, string>()

export async function makeTransferPlan(db: Db, seal: Seal, snapshot: string): Promise<TransferPlan> {
  const plans = made.get(seal) ?? new Map<string, Made>()
  const known = plans.get(snapshot)
  const record = known?.record ?? (JSON.parse(snapshot) as ChannelRecord) // written by snapshotOf alone
  const contact = await findContact(db, record.contactId)
  if (!contact)
    throw new NodeError('file_refused', `contact ${record.contactId} of channel ${record.code} is gone`)
  const local = await findLocalEntity(db, record.localCode)
  if (known && known.contact === contact && known.local === local) return known.plan
  const plan = planOf(openChannel(seal, record), record, contact, openProtocolSections(seal, contact), local)
  if (plans.size >= MOST_PLANS) plans.clear()
  made.set(seal, plans.set(snapshot, { record, contact, local, plan }))
  return plan
}

type Made = {
  record: ChannelRecord
  contact: ContactRecord
  local: LocalEntity | undefined
  plan: TransferPlan
}

/**
 * Plans by the channel's snapshot, with what else they were made of: another record of the contact or the local entity is
 * another state of it. Thousands of files come under the same plan, and opening its secrets for each would cost more than
 * the file's own rows. Nobody changes a plan.
 */
const made = new WeakMap<Seal, Map<string, Made>>()
const MOST_PLANS = 100

function planOf(
  channel: Channel,
  record: ChannelRecord,
  contact: ContactRecord,
  settings: ContactSections,
  local: LocalEntity | undefined,
): TransferPlan {
  const transmission = channel.connection?.advancedConfigurationTransmission ?? {}
  const ciphrate = ciphrateOf(channel.security)
  const section = settings[contact.protocol] as { receiptSeconds?: number } | undefined
  return {
    code: record.code,
    channel,
    application: applicationOf(record),
    contact,
    settings,
    ...identifications(record, contact, local),
    localRoots: local?.fileRoots,
    timeouts: timeoutsOf(channel),
    security: securityOf(channel),
    encryptFiles: ciphrate === 'FILE' || ciphrate === 'ALL',
    protection: protectionOf(contact.protocol, settings),
    signFiles: channel.svcff === true && channel.emissionff === true,
    signedFilesOnly: channel.svcff === true && channel.receptionff === true,
    verifyHash: channel.validationHashFiles === true || transmission.crc === true,
    awaitReceipt: transmission.downloadConf === true,
    receiptMs: seconds(section?.receiptSeconds ?? transmission.timeoutAck, RECEIPT_SECONDS),
    maxOpenedOctets: record.maxOpenedMegabytes ? record.maxOpenedMegabytes * 1024 * 1024 : undefined,
  }
}

type Identifications = Pick<TransferPlan, 'localId' | 'remoteId'>

function identifications(
  { code, localCode }: ChannelRecord,
  { protocol, settings }: ContactRecord,
  local: LocalEntity | undefined,
): Identifications {
  const section = settings[protocol] as { id?: string } | undefined
  return {
    localId: local ? identificationOf(local) : localCode,
    remoteId: section?.id ?? parseCode(code)?.remoteCode ?? '',
  }
}

/** What the two ends of a channel are called on the line now. */
export async function identificationsOf(
  db: Db,
  channel: ChannelRecord,
): Promise<Identifications | undefined> {
  const contact = await findContact(db, channel.contactId)
  return contact && identifications(channel, contact, await findLocalEntity(db, channel.localCode))
}

function timeoutsOf(channel: Channel): Timeouts {
  const { advancedConfigurationTransmission: transmission, advancedConfigurationConnection: connection } =
    channel.connection ?? {}
  return {
    connectMs: timer(connection?.timeout, TIMEOUT_SECONDS.connect),
    syncMs: timer(transmission?.timeoutSync, TIMEOUT_SECONDS.sync),
    ackMs: timer(transmission?.timeoutAck, TIMEOUT_SECONDS.ack),
    idleMs: IDLE_SECONDS * 1000,
  }
}

/** 0 or absent: the node's default. */
function seconds(value: number | undefined, byDefault: number): number {
  return (value || byDefault) * 1000
}

/** Node takes a timer for longer than 24 days as one for a millisecond. */
const MOST_TIMER_MS = 2 ** 31 - 1

function timer(value: number | undefined, byDefault: number): number {
  return Math.min(MOST_TIMER_MS, seconds(value, byDefault))
}

/** Files travel over encrypted sessions alone. */
export function demandsEncryption({ security }: Channel): boolean {
  return ['TRANSMISION', 'ALL'].includes(ciphrateOf(security))
}

/** What travels is to be compressed as far as both ends can. */
export function wantsCompression({ channel }: Pick<TransferPlan, 'channel'>): boolean {
  return compressionOf(channel) !== 'NO'
}

/**
 * Whether the line itself is to compress. Where there is another form for files (LZW), that is asked for by its own
 * names, and SI means the line.
 */
export function compressesLine(channels: readonly Channel[], { envelopes }: { envelopes: boolean }): boolean {
  return channels.some(
    (channel) => compressionOf(channel) === 'SI' || (envelopes && compressionOf(channel) !== 'NO'),
  )
}

function compressionOf({ connection }: Channel) {
  return connection?.advancedConfigurationTransmission?.compression ?? 'NO'
}

function ciphrateOf(security: Channel['security']) {
  return security?.cryptography ? (security.ciphrate ?? 'NO') : 'NO'
}

/** How the ends of a session for the channel prove themselves, secrets opened. */
export function securityOf(channel: Channel): SessionSecurity {
  const security = channel.security ?? {}
  const hasSecret = security.localKey !== undefined || security.remoteKey !== undefined
  return {
    encrypted: demandsEncryption(channel),
    authentication: security.authentication ?? (hasSecret ? 'PASSWORD' : 'NONE'),
    localKey: security.localKey,
    remoteKey: security.remoteKey,
    rsaLocalKey: security.rsaLocalKey,
    rsaRemoteKey: security.rsaRemoteKey,
  }
}

/** Of the partner at the other end of a session; none where the contact has taken its entry away since it was opened. */
export function channelsOfSession(db: Db, reach: Reach): Promise<ChannelRecord[]> {
  return unlessWithdrawn(db, reach, channelsOfContact(db, reach.contactId))
}

/** The same, of one application. */
export function sessionChannelsOf(db: Db, reach: Reach, application: string): Promise<ChannelRecord[]> {
  return unlessWithdrawn(db, reach, channelsOfApplication(db, reach.contactId, application))
}

async function unlessWithdrawn(
  db: Db,
  { contactId, isWithdrawn }: Reach,
  asked: Promise<ChannelRecord[]>,
): Promise<ChannelRecord[]> {
  const [contact, channels] = await Promise.all([findContact(db, contactId), asked])
  return contact && isWithdrawn?.(contact) !== true ? channels : []
}
