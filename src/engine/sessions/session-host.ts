// The engine as transports see it: who may come in, what is offered, whose turn it is, which receipts there are.

import { closedBecause, goes, hoursOf } from '../../domain/channel.ts'
import { canonicalAddress } from '../../domain/channel-rules.ts'
import { isOpenAt } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { addHistory, channelsOfContact, findChannel, openChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { listContacts } from '../../store/contacts.ts'
import type { ContactRecord } from '../../store/contacts.ts'
import { claimForContact, parkClaim } from '../../store/transfers/leases.ts'
import {
  awaitingReceipt,
  receiptDelivered,
  receiptsOwed,
  recordReceipt,
} from '../../store/transfers/receptions.ts'
import type { Dispatcher } from '../scheduling/dispatcher.ts'
import type { FinishingReceptions } from '../receiving/finishing-receptions.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import { receiveOffer } from '../receiving/receive-offer.ts'
import type { Receiving } from '../receiving/receive-offer.ts'
import type { SessionPool } from './session-pool.ts'
import type {
  Admission,
  Caller,
  OwedReceipt,
  Receipt,
  Session,
  SessionHost,
} from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'

export type HostParts = {
  context: EngineContext
  dispatcher: Dispatcher
  sessions: SessionPool
  reception: Receiving
  finishing: FinishingReceptions
  /** How the protocol spells a file name in keys and receipts. */
  keyName: (name: string) => string
}

/** More than this is left for the partner's next call. */
const CLAIMS_PER_TURN = 1000

export function makeSessionHost({
  context,
  dispatcher,
  sessions,
  reception,
  finishing,
  keyName,
}: HostParts): SessionHost {
  return {
    admit: <Settings>(caller: Caller) => admit(context, caller) as Promise<Admission<Settings>>, // the section of that protocol
    opened: (session) => sessions.add(session),
    turn: (session) => handOver(context, dispatcher, session),
    offer: (offer) => receiveOffer(reception, offer),
    receipt: (contactId, receipt) => takeReceipt(context, dispatcher, contactId, receipt, keyName),
    receiptsOwed: async (contactId) => {
      // What has just come in is dealt with first, so that its receipts can still go in this session.
      await finishing.settled(contactId)
      const owed = await receiptsOwed(context.store.db, contactId)
      return Promise.all(owed.map(({ id, body }) => readyToSend(context, id, body)))
    },
    receiptDelivered: (id) => context.store.write((tx) => receiptDelivered(tx, id, context.now())),
    refused: (caller, reason) => refused(context, caller, reason),
  }
}

async function admit(context: EngineContext, caller: Caller): Promise<Admission<unknown>> {
  const contact = await contactOf(context, caller)
  if (!contact) throw new NodeError('login_refused', `${caller.id} is not known here`)
  const channels = (await channelsOfContact(context.store.db, contact.id)).filter(
    ({ config }) => !config.deactivateChannel,
  )
  const taking = channels.filter(
    ({ config }) => config.connection?.advancedConfigurationConnection?.callingEnd !== 'LOCAL',
  )
  if (taking.length === 0) throw new NodeError('login_refused', `no channel of ${contact.id} takes calls`)
  const near = taking.filter((channel) => addressAllowed(channel, caller.address))
  if (near.length === 0)
    throw new NodeError('login_refused', `${caller.address} is not an address of ${contact.id}`)
  const open = near.filter(({ config }) => isOpenAt(hoursOf(config), context.now(), context.zone))
  if (open.length === 0) throw new NodeError('remote_busy', 'outside the hours of every channel')
  return admission(context, contact, open, caller)
}

async function admission(
  context: EngineContext,
  contact: ContactRecord,
  open: ChannelRecord[],
  caller: Caller,
): Promise<Admission<unknown>> {
  const plans = await Promise.all(
    open.map((channel) => makeTransferPlan(context.store.db, context.seal, snapshotOf(channel))),
  )
  const suited = plans.filter((plan) => caller.encrypted || !plan.security.encrypted)
  const [first] = suited.sort(
    (a, b) => Number(b.security.authentication !== 'NONE') - Number(a.security.authentication !== 'NONE'),
  )
  if (!first)
    throw new NodeError('insecure_session', 'every channel of this partner asks for an encrypted session')
  const sends = suited.some(({ channel }) => goes(channel, 'EMISION') && !closedBecause(channel, 'EMISION'))
  const receives = suited.some(
    ({ channel }) => goes(channel, 'RECEPCION') && !closedBecause(channel, 'RECEPCION'),
  )
  const section = caller.protocol === 'sftp' ? 'access' : caller.protocol
  return {
    contactId: contact.id,
    localId: first.localId,
    remoteId: first.remoteId,
    settings: first.settings[section] ?? {},
    applications: suited.map((plan) => plan.application),
    ways: sends && receives ? 'B' : sends ? 'S' : 'R',
    timeouts: first.timeouts,
    security: first.security,
    compression: first.channel.connection?.advancedConfigurationTransmission?.compression === 'SI',
  }
}

async function contactOf(context: EngineContext, caller: Caller): Promise<ContactRecord | undefined> {
  const id = caller.id.trim()
  for (const contact of await listContacts(context.store.db)) {
    if (contact.protocol !== caller.protocol) continue
    const { oftp2, access } = contact.settings as { oftp2?: { id?: string }; access?: { username?: string } }
    if (caller.protocol === 'sftp' ? access?.username === id : isOftp2Id(contact, oftp2?.id, id))
      return contact
  }
  return undefined
}

/** Its own id, or one of its remote codes where it has none. */
function isOftp2Id(contact: ContactRecord, own: string | undefined, id: string): boolean {
  return own === undefined ? (contact.data.remoteCodes ?? []).some(({ code }) => code === id) : own === id
}

function addressAllowed({ config }: ChannelRecord, address: string): boolean {
  const { advancedConfigurationConnection, ips = [], proxyIps = [] } = config.connection ?? {}
  if (!advancedConfigurationConnection?.validateIp) return true
  const caller = canonicalAddress(address)
  return [...ips, ...proxyIps].some((known) => canonicalAddress(known) === caller)
}

/** A stranger can be turned away as often as it calls: the history gets one entry a minute, the log each. */
const REFUSALS_APART_MS = 60_000
const lastRefusal = new Map<string, number>()

async function refused(context: EngineContext, caller: Caller, reason: string): Promise<void> {
  const { protocol, id, address } = caller
  context.log.warn({ protocol, caller: id, address, reason }, 'a caller was turned away')
  const contact = await contactOf(context, caller)
  const now = context.now()
  if (!contact || now - (lastRefusal.get(contact.id) ?? 0) < REFUSALS_APART_MS) return
  lastRefusal.set(contact.id, now)
  const channels = await channelsOfContact(context.store.db, contact.id)
  await context.store.write(async (tx) => {
    for (const { code } of channels)
      await addHistory(tx, code, [{ at: now, event: 'CONNECTION_REFUSED', detail: `${address}: ${reason}` }])
  })
}

/** The partner is on the line and it is our turn: everything that waits for it goes now, one transfer after the other. */
async function handOver(context: EngineContext, dispatcher: Dispatcher, session: Session): Promise<void> {
  const now = context.now()
  const holder = { owner: context.owner, now, until: now + context.leaseMs }
  const claims = await claimForContact(context.store, holder, session.contactId, CLAIMS_PER_TURN)
  // The last ones may wait long for the first: their leases are kept meanwhile.
  for (const { transfer } of claims) dispatcher.hold({ id: transfer.id, fence: transfer.fence })
  for (const claim of claims) {
    const { id, fence, dueAt } = claim.transfer
    if (!session.ended.aborted && !context.stopping.aborted) await dispatcher.launch(claim, session)
    else {
      dispatcher.release({ id, fence })
      await context.store.write((tx) => parkClaim(tx, { id, fence }, dueAt))
    }
  }
}

/** Signed with the key of the channel the file came by, whichever channel the session is for. */
async function readyToSend(context: EngineContext, id: string, body: string): Promise<OwedReceipt> {
  const { channelCode, ...receipt } = JSON.parse(body) as OwedReceipt & { channelCode: string } // as owe() wrote it
  const channel = receipt.signed ? await findChannel(context.store.db, channelCode) : undefined
  const signingKey = channel && openChannel(context.seal, channel).security?.rsaLocalKey
  return { ...receipt, id, signingKey }
}

async function takeReceipt(
  context: EngineContext,
  dispatcher: Dispatcher,
  contactId: string,
  receipt: Receipt,
  keyName: (name: string) => string,
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
  dispatcher.wake()
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
