// Channels and their history. The configuration is stored as JSON without its four secret fields; those are stored
// sealed beside it. Every change of a channel locks its row first, so two updates at the same time both apply.

import { sql } from 'kysely'
import type { OnHoliday } from '../contract/calendar.ts'
import type { Channel, HistoryEvent, SecretField } from '../contract/channel.ts'
import { SECRET_FIELDS } from '../contract/channel.ts'
import { applicationOf, codeFields } from '../domain/channel.ts'
import { NodeError } from '../errors.ts'
import { batches } from './database/batches.ts'
import { notBefore } from './database/not-before.ts'
import { parseOnce } from './database/parse-once.ts'
import { hot } from './database/prepared-queries.ts'
import type { Arg } from './database/prepared-queries.ts'
import type { Db, Dialect, Tx } from './database/store.ts'
import { tellHistory } from './events/told.ts'
import type { Seal } from './seal.ts'
import type { ChannelRow, HistoryRow } from './database/tables.ts'

export type ChannelRecord = {
  code: string
  id: string
  contactId: string
  localCode: string
  /** What travels instead of the application where that does not fit the protocol. */
  alias: string | null
  /** Without secrets. */
  config: Channel
  secrets: Partial<Record<SecretField, string>>
  automation: Automation | null
  /** Whose working days it is open on; every day without one. */
  calendar?: string | null | undefined
  /** How long its transfers and history are kept, where the settings say otherwise. */
  keep?: Keep | null | undefined
  /** What one received file may become when it is opened; the node's own limit without it. */
  maxOpenedMegabytes?: number | null | undefined
  revision: number
}

export type Keep = { transfersDays?: number; historyDays?: number }

export type Automation = {
  watch?: boolean
  every?: string
  cron?: string
  /** With cron: which days are working days, and what becomes of the others. */
  calendar?: string
  onHoliday?: OnHoliday
}

const byCode = hot<{ code: string }, ChannelRow>((db, arg) =>
  db.selectFrom('channel').selectAll().where('code', '=', arg('code')),
)
const revisionOf = hot<{ code: string }, { id: string; revision: number }>((db, arg) =>
  db.selectFrom('channel').select(['id', 'revision']).where('code', '=', arg('code')),
)
const ofContact = hot<{ contactId: string }, ChannelRow>((db, arg) =>
  db.selectFrom('channel').selectAll().where('contact_id', '=', arg('contactId')).orderBy('code'),
)
const versionsOf = hot<{ contactId: string }, Version>((db, arg) =>
  db
    .selectFrom('channel')
    .select(['code', 'id', 'revision'])
    .where('contact_id', '=', arg('contactId'))
    .orderBy('code'),
)
const ofApplication = hot<
  { contactId: string; application: string; ending: string },
  Version & { alias: string | null }
>((db, arg) =>
  db
    .selectFrom('channel')
    .select(['code', 'id', 'revision', 'alias'])
    .where('contact_id', '=', arg('contactId'))
    .where((eb) => {
      // SQLite compiles a statement anew for each pattern that is a value by itself.
      const ends = sql<boolean>`code like '%-' || ${arg('ending')}`
      return eb.or([eb('alias', '=', arg('application')), ends])
    })
    .orderBy('code'),
)

export async function findChannel(db: Db, code: string): Promise<ChannelRecord | undefined> {
  const [current] = toChannel.known(code) ? await revisionOf(db, { code }) : []
  return (current && knownAs({ code, ...current })) ?? (await byCode(db, { code })).map(toChannel)[0]
}

type Version = { code: string; id: string; revision: number }

/** The channel as it was read before, where it is still the same. */
function knownAs({ code, id, revision }: Version): ChannelRecord | undefined {
  const known = toChannel.known(code)
  return known?.id === id && known.revision === revision ? known : undefined
}

/** In no particular order. */
export async function findChannels(db: Db, codes: readonly string[]): Promise<ChannelRecord[]> {
  const rows: ChannelRow[] = []
  for (const some of batches(codes))
    rows.push(...(await db.selectFrom('channel').selectAll().where('code', 'in', some).execute()))
  return rows.map(toChannel)
}

/** Asked at every request of an SFTP partner, which may have a thousand: most are as they were read before. */
export async function channelsOfContact(db: Db, contactId: string): Promise<ChannelRecord[]> {
  const known = (await versionsOf(db, { contactId })).map(knownAs)
  const channels = known.filter((channel) => channel !== undefined)
  return channels.length === known.length ? channels : (await ofContact(db, { contactId })).map(toChannel)
}

/** Those of the partner that files for the application come in by. Asked at every file that is offered. */
export async function channelsOfApplication(
  db: Db,
  contactId: string,
  application: string,
): Promise<ChannelRecord[]> {
  // A partner may name anything. What is no letter of a code stands for any; so more is found, as of channels with an alias.
  const ending = application.replaceAll(/[^A-Za-z0-9.]/gu, '_')
  const named = await ofApplication(db, { contactId, application: application.replaceAll('\0', ''), ending })
  const found: ChannelRecord[] = []
  for (const one of named) {
    const channel =
      applicationOf(one) === application ? (knownAs(one) ?? (await findChannel(db, one.code))) : undefined
    if (channel) found.push(channel)
  }
  return found
}

export async function listChannels(db: Db): Promise<ChannelRecord[]> {
  return (await db.selectFrom('channel').selectAll().orderBy('code').execute()).map(toChannel)
}

/** Channels with automation. */
export async function automatedChannels(db: Db): Promise<ChannelRecord[]> {
  return (await db.selectFrom('channel').selectAll().where('automation', 'is not', null).execute()).map(
    toChannel,
  )
}

/** Channels that only some users may reach. */
export async function channelsNamingUsers(db: Db): Promise<ChannelRecord[]> {
  // As toRow writes it: a list with something in it.
  const rows = await db.selectFrom('channel').selectAll().where('config', 'like', '%"users":["%').execute()
  return rows.map(toChannel)
}

/** Codes of the channels of each of these partners. */
export async function channelCodesByContact(
  db: Db,
  contactIds: readonly string[],
): Promise<Map<string, string[]>> {
  const codes = new Map<string, string[]>()
  for (const some of batches([...new Set(contactIds)]))
    for (const row of await db
      .selectFrom('channel')
      .select(['contact_id', 'code'])
      .where('contact_id', 'in', some)
      .execute())
      codes.set(row.contact_id, [...(codes.get(row.contact_id) ?? []), row.code])
  return codes
}

/** The channel, locked until the transaction ends. */
export async function lockChannel(tx: Tx, dialect: Dialect, code: string): Promise<ChannelRecord> {
  let query = tx.selectFrom('channel').selectAll().where('code', '=', code)
  if (dialect.rowLocks) query = query.forNoKeyUpdate() // rows that refer to the channel may still be added
  const row = await query.executeTakeFirst()
  if (!row) throw new NodeError('not_found', `channel ${code} does not exist`)
  return toChannel(row)
}

export async function insertChannels(tx: Tx, channels: readonly ChannelRecord[]): Promise<void> {
  for (const some of batches(channels)) {
    await tx.insertInto('channel').values(some.map(toRow)).execute()
    await tx
      .insertInto('channel_state')
      .values(some.map(({ code }) => ({ code, history_count: 0, transfer_count: 0 })))
      .execute()
  }
}

export async function updateChannel(tx: Tx, channel: ChannelRecord): Promise<void> {
  const { code, ...row } = toRow({ ...channel, revision: channel.revision + 1 })
  await tx.updateTable('channel').set(row).where('code', '=', code).execute()
  await channelsChanged(tx)
}

/** Call this in every transaction that changes a channel. Nodes then read again what they keep of channels. */
export async function channelsChanged(tx: Tx): Promise<void> {
  await sql`update meta set value = cast(cast(value as integer) + 1 as text) where name = 'channels_version'`.execute(
    tx,
  )
}

// History

export type HistoryEntry = {
  at: number
  event: HistoryEvent
  detail?: string
  /** The entry of the audit trail that tells who did it. */
  auditId?: string | undefined
}

const countHistory = hot((db, arg: Arg<{ code: string; more: number }>) =>
  db
    .updateTable('channel_state')
    .set((eb) => ({ history_count: eb('history_count', '+', arg('more')) }))
    .where('code', '=', arg('code'))
    .returning('history_count'),
)

/** Appends in the order given. None gets a time before that of the entry it follows. */
export async function addHistory(tx: Tx, code: string, entries: readonly HistoryEntry[]): Promise<void> {
  const [counted] = await countHistory(tx, { code, more: entries.length })
  if (!counted) throw new NodeError('not_found', `channel ${code} does not exist`)
  const last = counted.history_count - entries.length
  const lastAt = sql<number>`(select at from history where channel_code = ${code} and position = ${last})`
  await tx
    .insertInto('history')
    .values(
      entries.map((entry, index) => ({
        channel_code: code,
        position: last + index + 1,
        at: notBefore(entry.at, lastAt),
        event: entry.event,
        detail: entry.detail ?? null,
        audit_id: entry.auditId ?? null,
      })),
    )
    .execute()
  await tellHistory(tx, [code], entries)
}

type Span = { code: string; from: number; to: number }

const stateOf = hot<{ code: string }, { history_count: number; history_gone: number }>((db, arg) =>
  db.selectFrom('channel_state').select(['history_count', 'history_gone']).where('code', '=', arg('code')),
)
type HistoryColumns = Pick<HistoryRow, 'at' | 'event' | 'detail' | 'audit_id'>
const historyBetween = hot<Span, HistoryColumns>((db, arg) =>
  db
    .selectFrom('history')
    .select(['at', 'event', 'detail', 'audit_id'])
    .where('channel_code', '=', arg('code'))
    .where('position', '>=', arg('from'))
    .where('position', '<=', arg('to'))
    .orderBy('position', 'desc'),
)

/**
 * Positions have no gap, so a page is a range of them. It costs the same in the middle of a million as at the start.
 */
export async function pageOfHistory(db: Db, code: string, asked: { offset: number; size: number }) {
  const [state] = await stateOf(db, { code })
  const count = state?.history_count ?? 0
  const gone = state?.history_gone ?? 0
  const to = count - asked.offset
  const rows = to <= gone ? [] : await historyBetween(db, { code, from: to - asked.size + 1, to })
  return {
    total: count - gone,
    rows: rows.map((row) => ({
      at: row.at,
      event: row.event as HistoryEvent,
      detail: row.detail,
      auditId: row.audit_id,
    })),
  }
}

// Secrets

export function channelPlace(code: string, field: SecretField): string {
  return `channel ${code} ${field}`
}

const opened = new WeakMap<ChannelRecord, { seal: Seal; channel: Channel }>()

/**
 * The channel with its secret fields opened. Done once per record: deriving four keys takes most of a request's time.
 */
export function openChannel(seal: Seal, record: ChannelRecord): Channel {
  const known = opened.get(record)
  if (known?.seal === seal) return known.channel
  const channel = withSecrets(seal, record)
  opened.set(record, { seal, channel })
  return channel
}

function withSecrets(seal: Seal, record: ChannelRecord): Channel {
  const open: Record<string, string> = {}
  for (const field of SECRET_FIELDS) {
    const sealed = record.secrets[field]
    if (sealed !== undefined) open[field] = seal.open(channelPlace(record.code, field), sealed)
  }
  if (Object.keys(open).length === 0) return record.config
  return { ...record.config, security: { ...record.config.security, ...open } }
}

/** Takes the secret fields out of a channel and seals them. A value that did not change keeps its sealed form. */
export function sealChannel(seal: Seal, code: string, channel: Channel, before?: ChannelRecord) {
  const { security, ...config } = channel
  const secrets: ChannelRecord['secrets'] = {}
  const shown = { ...security }
  for (const field of SECRET_FIELDS) {
    const value = shown[field]
    delete shown[field]
    if (value === undefined) continue
    const place = channelPlace(code, field)
    const old = before?.secrets[field]
    secrets[field] = old !== undefined && seal.open(place, old) === value ? old : seal.seal(place, value)
  }
  return { config: (security ? { ...config, security: shown } : config) as Channel, secrets }
}

// Ten thousand channels take a few tens of megabytes at the most.
export const toChannel = parseOnce(20_000, ({ code }: ChannelRow) => code, parseRow)

function parseRow(row: ChannelRow): ChannelRecord {
  return {
    code: row.code,
    id: row.id,
    contactId: row.contact_id,
    localCode: row.local_code,
    alias: row.alias,
    config: configOf(row),
    // Written by toRow alone, as are the two below.
    secrets: JSON.parse(row.secrets) as ChannelRecord['secrets'],
    automation: row.automation === null ? null : (JSON.parse(row.automation) as Automation),
    calendar: row.calendar,
    keep: row.keep === null ? null : (JSON.parse(row.keep) as Keep),
    maxOpenedMegabytes: row.max_opened_megabytes,
    revision: row.revision,
  }
}

export function configOf({ code, config }: Pick<ChannelRow, 'code' | 'config'>): Channel {
  return { ...(JSON.parse(config) as Channel), ...codeFields(code) } // written by toRow alone
}

/** The code's parts stand in the code alone; rows of earlier versions held names in their place. */
function withoutCode(config: Channel): Channel {
  const { localEntity: _local, remoteEntity: _remote, application: _application, ...own } = config
  return own
}

export function toRow(channel: ChannelRecord): ChannelRow {
  return {
    code: channel.code,
    id: channel.id,
    contact_id: channel.contactId,
    local_code: channel.localCode,
    alias: channel.alias,
    config: JSON.stringify(withoutCode(channel.config)),
    secrets: JSON.stringify(channel.secrets),
    automation: channel.automation === null ? null : JSON.stringify(channel.automation),
    calendar: channel.calendar ?? null,
    keep: channel.keep ? JSON.stringify(channel.keep) : null,
    max_opened_megabytes: channel.maxOpenedMegabytes ?? null,
    revision: channel.revision,
  }
}
