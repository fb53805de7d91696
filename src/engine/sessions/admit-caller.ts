// A partner calls: who it is, whether any of its channels takes the call now, and what the transport may know of it.

import type { SectionName } from '../../contract/contact-settings.ts'
import { closedBecause, goes, hoursOf } from '../../domain/channel.ts'
import { canonicalAddress } from '../../domain/addresses.ts'
import { isOpenAt } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { channelsOfContact } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { listContacts } from '../../store/contacts.ts'
import type { ContactRecord } from '../../store/contacts.ts'
import type { EngineContext } from '../engine-context.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import type { Admission, Caller, Protocol } from '../transports/transport.ts'

export async function admitCaller(
  context: EngineContext,
  protocol: Protocol,
  caller: Caller,
): Promise<Admission<unknown>> {
  const contact = await contactOf(context, protocol, caller)
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
  return admission(context, contact, open, { caller, section: protocol.sections.called })
}

async function admission(
  context: EngineContext,
  contact: ContactRecord,
  open: ChannelRecord[],
  { caller, section }: { caller: Caller; section: SectionName },
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

export async function contactOf(
  context: EngineContext,
  { protocol, sections, recognises }: Protocol,
  caller: Caller,
): Promise<ContactRecord | undefined> {
  const id = caller.id.trim()
  for (const contact of await listContacts(context.store.db)) {
    if (contact.protocol !== protocol) continue
    const remoteCodes = (contact.data.remoteCodes ?? []).flatMap(({ code }) =>
      code === undefined ? [] : [code],
    )
    if (recognises({ settings: contact.settings[sections.called], remoteCodes }, id)) return contact
  }
  return undefined
}

function addressAllowed({ config }: ChannelRecord, address: string): boolean {
  const { advancedConfigurationConnection, ips = [], proxyIps = [] } = config.connection ?? {}
  if (!advancedConfigurationConnection?.validateIp) return true
  const caller = canonicalAddress(address)
  return [...ips, ...proxyIps].some((known) => canonicalAddress(known) === caller)
}
