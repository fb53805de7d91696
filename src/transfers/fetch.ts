// Asks for a reception where this node calls: the engine calls the partner and takes what it has for the channel. What
// there is can be known only then, so nothing is looked at here but whether this node may ask.

import { directoriesFor, goes, partnerMustCall } from '../domain/channel.ts'
import type { TransferRecord } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { findContact } from '../store/contacts.ts'
import type { ContactRecord } from '../store/contacts.ts'
import { activeTransfers } from '../store/transfers/transfers.ts'
import { insert, requireOpen } from './request.ts'
import type { Asking } from './request.ts'

export async function requestFetch(asking: Asking, channel: ChannelRecord): Promise<TransferRecord> {
  requireInbound(channel)
  requireOpen(channel.config, 'RECEPCION')
  await requireCall(asking, channel)
  const active = (await activeTransfers(asking.store.db, channel.code)).find(
    (one) => one.direction === 'RECEPCION',
  )
  if (active)
    throw new NodeError('conflict', `a reception of channel ${channel.code} is ${active.state}: ${active.id}`)
  const now = asking.now()
  return insert(asking, channel, { type: 'MANUAL', direction: 'RECEPCION', files: [], now, retryOf: null })
}

function requireInbound({ code, config }: ChannelRecord): void {
  if (!goes(config, 'RECEPCION'))
    throw new NodeError('bad_request', `the direction of channel ${code} is EMISION: it does not receive`)
  if (!config.keyExchangeChannel && directoriesFor(config, 'RECEPCION').length === 0)
    throw new NodeError(
      'bad_request',
      `channel ${code} has no inbound directory: set one by config/inbound-path`,
    )
}

/** Where the partner calls, only the partner can bring its files. */
async function requireCall({ store }: Asking, { code, config, contactId }: ChannelRecord): Promise<void> {
  const contact = await findContact(store.db, contactId)
  if (partnerMustCall(config, contact?.protocol))
    throw new NodeError(
      'conflict',
      `the partner calls for channel ${code} (callingEnd REMOTO): only the partner can bring its files`,
    )
  if (contact && !canBeFetchedFrom(contact))
    throw new NodeError(
      'conflict',
      `contact ${contactId} names no place to fetch from (${contact.protocol}.outbox): only the partner can bring its files`,
    )
}

function canBeFetchedFrom({ protocol, settings }: ContactRecord): boolean {
  return protocol === 'oftp2' || settings[protocol]?.outbox !== undefined
}
