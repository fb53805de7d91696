// Which channels and contacts there are and who may reach them. This is kept in memory, and read again only when the
// database says that it changed: one small read per list. A list of ten thousand channels then costs as much as one
// page: the codes of the page come from here, their rows from the database.

import { sql } from 'kysely'
import { isAdministrator, mayReach } from '../domain/user.ts'
import type { User } from '../domain/user.ts'
import { hot } from './database/prepared-queries.ts'
import type { Db, Dialect, Tx } from './database/store.ts'

type Entry = { code: string; contactId: string; users: readonly string[] }

type Snapshot = {
  version: string
  entries: Entry[]
  contactIds: string[]
  /** What a user may reach, by username ('' for administrators); made when first needed. */
  views: Map<string, View>
}

/** The same object until something of it, or of a contact, changes: what is made from it may be kept with it. */
export type View = {
  codes: string[]
  codesByContact: Map<string, string[]>
  /** How many channels each local entity has. */
  countByEntity: Map<string, number>
  contactIds: string[]
  reaches(code: string): boolean
}

/** What of a user decides it. */
export type Reaching = Pick<User, 'username' | 'role'>

export type ChannelAccess = (db: Db, user: Reaching) => Promise<View>

const VIEWS_KEPT = 200

const versionOf = hot<object, { value: string }>((db) =>
  db.selectFrom('meta').select('value').where('name', '=', 'directory_version'),
)

export function makeChannelAccess(): ChannelAccess {
  let snapshot: Snapshot | undefined
  return async (db, user) => {
    const version = (await versionOf(db, {}))[0]?.value ?? ''
    if (snapshot?.version !== version) snapshot = await load(db, version)
    const key = isAdministrator(user) ? '' : user.username
    let view = snapshot.views.get(key)
    if (!view) {
      if (snapshot.views.size >= VIEWS_KEPT) snapshot.views.clear()
      view = viewOf(snapshot, user)
      snapshot.views.set(key, view)
    }
    return view
  }
}

async function load(db: Db, version: string): Promise<Snapshot> {
  const rows = await db.selectFrom('channel').select(['code', 'contact_id', 'config']).execute()
  const contacts = await db.selectFrom('contact').select('id').execute()
  const entries = rows.map((row) => ({
    code: row.code,
    contactId: row.contact_id,
    users: usersIn(row.config),
  }))
  // Sorted here, by code unit: databases sort by their own collations.
  entries.sort((a, b) => (a.code < b.code ? -1 : 1))
  return { version, entries, contactIds: contacts.map((contact) => contact.id).sort(), views: new Map() }
}

function usersIn(config: string): readonly string[] {
  // Most channels name nobody, and are not parsed. Whatever else may stand there is.
  if (!config.includes('"users"') || config.includes('"users":[]')) return []
  return (JSON.parse(config) as { users?: string[] }).users ?? []
}

function viewOf(snapshot: Snapshot, user: Reaching): View {
  const codes: string[] = []
  const codesByContact = new Map<string, string[]>()
  const countByEntity = new Map<string, number>()
  for (const entry of snapshot.entries) {
    if (!mayReach(user, entry.users)) continue
    codes.push(entry.code)
    const local = entry.code.slice(0, entry.code.indexOf('-'))
    countByEntity.set(local, (countByEntity.get(local) ?? 0) + 1)
    const some = codesByContact.get(entry.contactId)
    if (some) some.push(entry.code)
    else codesByContact.set(entry.contactId, [entry.code])
  }
  const reached = new Set(codes)
  return {
    codes,
    codesByContact,
    countByEntity,
    contactIds: snapshot.contactIds,
    reaches: (code) => reached.has(code),
  }
}

/**
 * Call this in every transaction that adds or removes channels or contacts, or changes a channel's users. Such a
 * transaction begins with lockChannelAccess.
 */
export async function channelAccessChanged(tx: Tx): Promise<void> {
  await sql`update meta set value = cast(cast(value as integer) + 1 as text) where name = 'directory_version'`.execute(
    tx,
  )
}

/**
 * Only one transaction at a time may change who reaches what. On SQLite every write is alone anyway.
 *
 * Locks are always taken in this order; otherwise two transactions on PostgreSQL could wait for each other: channel
 * access (here), channels by code, `channels_version`, the counters of channels (channel_state), their transfers.
 */
export async function lockChannelAccess(tx: Tx, dialect: Dialect): Promise<void> {
  if (dialect.rowLocks)
    await tx.selectFrom('meta').select('value').where('name', '=', 'directory_version').forUpdate().execute()
}
