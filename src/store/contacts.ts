// Contacts and local entities: who the two ends of a channel are, and how a partner is reached.

import type { Selectable } from 'kysely'
import type { Contact } from '../contract/contact.ts'
import type { ContactSections, ProtocolName } from '../contract/contact-settings.ts'
import { endFetchPausesOf } from './automation-runs.ts'
import { batches } from './database/batches.ts'
import { parseOnce } from './database/parse-once.ts'
import { hot } from './database/prepared-queries.ts'
import type { Arg } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'
import type { Seal } from './seal.ts'
import type { Tables } from './database/tables.ts'
import type { JsonObject } from '../json.ts'

export type LocalEntity = {
  code: string
  name: string
  oftp2Id: string | null
  /** Where its channels' directories must lie; all of the node's file roots without it. */
  fileRoots?: readonly string[]
}

/**
 * How a partner is reached: the protocol sections of the platform file. Secrets are stored sealed beside them, by
 * pointer.
 */
export type ContactRecord = {
  id: string
  protocol: ProtocolName
  /** What the interface shows, without the channel codes. */
  data: Omit<Contact, 'channels'>
  settings: ContactSections
  /** JSON pointer into `settings` -> sealed value. */
  secrets: Record<string, string>
}

export async function listContacts(db: Db): Promise<ContactRecord[]> {
  return (await db.selectFrom('contact').selectAll().orderBy('id').execute()).map(toContact)
}

/** In no particular order. */
export async function findContacts(db: Db, ids: readonly string[]): Promise<ContactRecord[]> {
  const rows: Selectable<Tables['contact']>[] = []
  for (const some of batches(ids))
    rows.push(...(await db.selectFrom('contact').selectAll().where('id', 'in', some).execute()))
  return rows.map(toContact)
}

// Asked for at every file that a partner offers, as is the local entity.
const contactById = hot((db, arg: Arg<{ id: string }>) =>
  db.selectFrom('contact').selectAll().where('id', '=', arg('id')),
)

export async function findContact(db: Db, id: string): Promise<ContactRecord | undefined> {
  return (await contactById(db, { id })).map(toKnownContact)[0]
}

const toKnownContact = parseOnce(1000, ({ id }: Selectable<Tables['contact']>) => id, toContact)

/** A partner that learns to unpack is believed after this long. */
const REFUSAL_KEPT_MS = 30 * 86_400_000

/** The partner has refused a compressed file: for a while it gets none. */
export async function noteCompressionRefused(tx: Tx, id: string, now: number): Promise<void> {
  await tx.updateTable('contact').set({ compression_refused_at: now }).where('id', '=', id).execute()
}

export async function refusesCompression(db: Db, id: string, now: number): Promise<boolean> {
  const row = await db
    .selectFrom('contact')
    .select('compression_refused_at as at')
    .where('id', '=', id)
    .executeTakeFirst()
  return typeof row?.at === 'number' && row.at > now - REFUSAL_KEPT_MS
}

export async function putContact(tx: Tx, contact: ContactRecord): Promise<void> {
  const row = {
    id: contact.id,
    protocol: contact.protocol,
    data: JSON.stringify(contact.data),
    settings: JSON.stringify(contact.settings),
    secrets: JSON.stringify(contact.secrets),
  }
  await tx
    .insertInto('contact')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
  await endFetchPausesOf(tx, contact.id)
}

/** Only if its secrets are still as they were read. */
export async function replaceSecret(
  tx: Tx,
  { id, secrets }: ContactRecord,
  pointer: string,
  sealed: string,
): Promise<void> {
  await tx
    .updateTable('contact')
    .set({ secrets: JSON.stringify({ ...secrets, [pointer]: sealed }) })
    .where('id', '=', id)
    .where('secrets', '=', JSON.stringify(secrets))
    .execute()
}

export async function removeContact(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('contact').where('id', '=', id).execute()
}

/** The place of a contact's secret. The sealed value opens only there. */
export function contactPlace(id: string, pointer: string): string {
  return `contact ${id} ${pointer}`
}

/** The settings with their secrets opened and put back in their places. */
export function openProtocolSections(seal: Seal, contact: ContactRecord): ContactSections {
  const settings = structuredClone(contact.settings)
  for (const [pointer, sealed] of Object.entries(contact.secrets))
    setAt(settings, pointer, seal.open(contactPlace(contact.id, pointer), sealed))
  return settings
}

function setAt(into: JsonObject, pointer: string, value: string): void {
  const steps = pointer.split('/').slice(1)
  const last = steps.pop() ?? ''
  let at = into
  for (const step of steps) at = (at[step] ??= {}) as JsonObject
  at[last] = value
}

function toContact(row: Selectable<Tables['contact']>): ContactRecord {
  return {
    id: row.id,
    protocol: row.protocol as ProtocolName, // written by putContact alone, as are the three below
    data: JSON.parse(row.data) as ContactRecord['data'],
    settings: JSON.parse(row.settings) as ContactSections,
    secrets: JSON.parse(row.secrets) as Record<string, string>,
  }
}

export async function listLocalEntities(db: Db): Promise<LocalEntity[]> {
  const rows = await db.selectFrom('local_entity').selectAll().orderBy('code').execute()
  return rows.map(toLocalEntity)
}

const localEntityByCode = hot((db, arg: Arg<{ code: string }>) =>
  db.selectFrom('local_entity').selectAll().where('code', '=', arg('code')),
)

export async function findLocalEntity(db: Db, code: string): Promise<LocalEntity | undefined> {
  return (await localEntityByCode(db, { code })).map(toKnownEntity)[0]
}

const toKnownEntity = parseOnce(1000, ({ code }: Tables['local_entity']) => code, toLocalEntity)

function toLocalEntity(row: Tables['local_entity']): LocalEntity {
  return {
    code: row.code,
    name: row.name,
    oftp2Id: row.oftp2_id,
    ...(row.file_roots !== null && { fileRoots: JSON.parse(row.file_roots) as string[] }), // written below alone
  }
}

/** What it calls itself on the line. */
export function identificationOf({ code, oftp2Id }: LocalEntity): string {
  return oftp2Id ?? code
}

export async function putLocalEntity(tx: Tx, entity: LocalEntity): Promise<void> {
  const row = {
    code: entity.code,
    name: entity.name,
    oftp2_id: entity.oftp2Id,
    file_roots: entity.fileRoots ? JSON.stringify(entity.fileRoots) : null,
  }
  await tx
    .insertInto('local_entity')
    .values(row)
    .onConflict((conflict) => conflict.column('code').doUpdateSet(row))
    .execute()
}

export async function removeLocalEntity(tx: Tx, code: string): Promise<void> {
  await tx.deleteFrom('local_entity').where('code', '=', code).execute()
}
