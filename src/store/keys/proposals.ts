// Keys that partners proposed over a key-exchange channel. Nothing uses a proposal before a person accepts it.

import { NodeError } from '../../errors.ts'
import type { Db, Tx } from '../database/store.ts'
import type { Tables } from '../database/tables.ts'
import { addEvent } from '../events/outbox.ts'

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
  refusedAt: number | null
  /** Who accepted or refused it. */
  decidedBy: string | null
}

/** A partner may not fill the table: so many keys of one wait at the most. */
const MOST_WAITING = 100

/** The same key, sent again while it waits, is no second proposal. */
export async function insertKeyProposal(
  tx: Tx,
  proposal: Omit<KeyProposal, 'acceptedAt' | 'refusedAt' | 'decidedBy'>,
): Promise<void> {
  const waiting = await tx
    .selectFrom('key_proposal')
    .select('fingerprint')
    .where('contact_id', '=', proposal.contactId)
    .where('accepted_at', 'is', null)
    .where('refused_at', 'is', null)
    .limit(MOST_WAITING)
    .execute()
  if (waiting.some(({ fingerprint }) => fingerprint === proposal.fingerprint)) return
  if (waiting.length === MOST_WAITING)
    throw new NodeError('file_refused', `${MOST_WAITING} keys of this partner wait to be accepted or refused`)
  await tx
    .insertInto('key_proposal')
    .values({
      id: proposal.id,
      contact_id: proposal.contactId,
      channel_code: proposal.channelCode,
      pem: proposal.pem,
      fingerprint: proposal.fingerprint,
      received_at: proposal.receivedAt,
      accepted_at: null,
      refused_at: null,
      decided_by: null,
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

/** Newest first, so many at the most. */
export async function listKeyProposals(db: Db, contactId?: string): Promise<KeyProposal[]> {
  let query = db
    .selectFrom('key_proposal')
    .selectAll()
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_LISTED)
  if (contactId !== undefined) query = query.where('contact_id', '=', contactId)
  return (await query.execute()).map(toProposal)
}

const MOST_LISTED = 10_000

export async function findKeyProposal(db: Db, id: string): Promise<KeyProposal | undefined> {
  const row = await db.selectFrom('key_proposal').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toProposal(row)
}

export function proposalsWithPrivateKey(db: Db): Promise<{ id: string; pem: string }[]> {
  return db
    .selectFrom('key_proposal')
    .select(['id', 'pem'])
    .where('pem', 'like', '%-----BEGIN%PRIVATE KEY-----%')
    .execute()
}

/** Its fingerprint stays: it is that of the certificate or public key in it. */
export async function replaceProposedPem(tx: Tx, id: string, pem: string): Promise<void> {
  await tx.updateTable('key_proposal').set({ pem }).where('id', '=', id).execute()
}

export type Decision = { by: string | null; now: number }

/** False: somebody has decided already. Of two who decide at once, one succeeds. */
export async function acceptKeyProposal(tx: Tx, id: string, { by, now }: Decision): Promise<boolean> {
  const done = await decide(tx, id, { accepted_at: now, decided_by: by })
  if (!done) return false
  const { channel_code: channelCode, contact_id: contactId, fingerprint } = done
  await addEvent(tx, { type: 'key.accepted', at: now, channelCode, contactId, data: { fingerprint } })
  return true
}

/** False: somebody has decided already. */
export async function refuseKeyProposal(tx: Tx, id: string, { by, now }: Decision): Promise<boolean> {
  return (await decide(tx, id, { refused_at: now, decided_by: by })) !== undefined
}

function decide(tx: Tx, id: string, decision: Partial<Tables['key_proposal']>) {
  return tx
    .updateTable('key_proposal')
    .set(decision)
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .where('refused_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
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
    refusedAt: row.refused_at,
    decidedBy: row.decided_by,
  }
}
