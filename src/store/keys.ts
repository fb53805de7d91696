// Keys that partners proposed over a key-exchange channel. Nothing uses a proposal before a person accepts it.

import type { Db, Tx } from './database/store.ts'
import type { Tables } from './database/tables.ts'
import { addEvent } from './events/outbox.ts'

export type KeyProposal = {
  id: string
  contactId: string
  channelCode: string
  /** A certificate or public key. */
  pem: string
  /** Lower-case hex SHA-256, for comparing over another line. */
  fingerprint: string
  receivedAt: number
  acceptedAt: number | null
}

export async function insertKeyProposal(tx: Tx, proposal: KeyProposal): Promise<void> {
  await tx
    .insertInto('key_proposal')
    .values({
      id: proposal.id,
      contact_id: proposal.contactId,
      channel_code: proposal.channelCode,
      pem: proposal.pem,
      fingerprint: proposal.fingerprint,
      received_at: proposal.receivedAt,
      accepted_at: proposal.acceptedAt,
    })
    .execute()
  await addEvent(tx, {
    type: 'key.proposed',
    at: proposal.receivedAt,
    channelCode: proposal.channelCode,
    contactId: proposal.contactId,
    data: { fingerprint: proposal.fingerprint },
  })
}

/** Newest first. */
export async function listKeyProposals(db: Db, contactId?: string): Promise<KeyProposal[]> {
  let query = db.selectFrom('key_proposal').selectAll().orderBy('received_at', 'desc').orderBy('id', 'desc')
  if (contactId !== undefined) query = query.where('contact_id', '=', contactId)
  return (await query.execute()).map(toProposal)
}

export async function findKeyProposal(db: Db, id: string): Promise<KeyProposal | undefined> {
  const row = await db.selectFrom('key_proposal').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toProposal(row)
}

/** False: it was accepted already. */
export async function acceptKeyProposal(tx: Tx, id: string, now: number): Promise<boolean> {
  const done = await tx
    .updateTable('key_proposal')
    .set({ accepted_at: now })
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!done) return false
  const { channel_code: channelCode, contact_id: contactId, fingerprint } = done
  await addEvent(tx, { type: 'key.accepted', at: now, channelCode, contactId, data: { fingerprint } })
  return true
}

function toProposal(row: Tables['key_proposal']): KeyProposal {
  return {
    id: row.id,
    contactId: row.contact_id,
    channelCode: row.channel_code,
    pem: row.pem,
    fingerprint: row.fingerprint,
    receivedAt: row.received_at,
    acceptedAt: row.accepted_at,
  }
}
