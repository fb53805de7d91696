// Makes the database match a platform file. It reads everything once, compares in memory, and writes the difference in
// one transaction: all or nothing. Applying the same file again changes nothing.

import { isDeepStrictEqual } from 'node:util'
import type { Actor, AuditNote, AuditTrail } from '../audit/trail.ts'
import { folderFaults } from '../domain/channel-rules.ts'
import type { Fault } from '../domain/channel-rules.ts'
import { parseCode } from '../domain/channel.ts'
import { rootsOf } from '../domain/file-roots.ts'
import { NodeError } from '../errors.ts'
import { giveUpEmail, listAccounts, putAccount, removeAccount } from '../store/accounts.ts'
import type { NewAccount } from '../store/accounts.ts'
import {
  addHistoryToAll,
  channelsInUse,
  lockChannels,
  removeChannels,
  someChannels,
  updateChannels,
} from '../store/channel-batches.ts'
import type { SomeChannels } from '../store/channel-batches.ts'
import { insertChannels } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import {
  listContacts,
  listLocalEntities,
  putContact,
  putLocalEntity,
  removeContact,
  removeLocalEntity,
} from '../store/contacts.ts'
import type { ContactRecord, LocalEntity } from '../store/contacts.ts'
import { channelAccessChanged, lockChannelAccess } from '../store/channel-access.ts'
import type { Db, Store, Tx } from '../store/database/store.ts'
import { listSubscriptions } from '../store/events/subscriptions.ts'
import { listCalendars } from '../store/expectations/calendars.ts'
import { listExpectations } from '../store/expectations/expectations.ts'
import type { Seal } from '../store/seal.ts'
import { notesOfPlan } from './audit-notes.ts'
import { hashAccess, hashesFor } from './passwords.ts'
import { planChanges, summary } from './plan.ts'
import type { Applied, Changes, ChangePlan, Present, Removals } from './plan.ts'
import { applicationFaults } from './protocol-rules.ts'
import type { Platform } from '../contract/administration/platform-file.ts'
import type { SubscriptionPlan } from './subscription-record.ts'
import { writeNotices } from './write-notices.ts'
import { countWaiting } from '../store/transfers/outbox.ts'
import { forgetHalfFiles } from '../store/transfers/receptions.ts'
import { unparkTransfers } from '../store/transfers/leases.ts'

export type ApplyOptions = {
  /** Also removes what the file does not name. */
  prune?: boolean | undefined
  /** Contact persons that are left out stay: for callers that may not have been shown them. */
  keepPeople?: boolean | undefined
  /** Only says what would change. */
  dryRun?: boolean | undefined
  now: number
  /** Takes these away. */
  remove?: Removals | undefined
  /** A user's password is a change even if it is the present one: whoever asks does not learn whether it is. */
  newPasswords?: boolean | undefined
  /** Looks at these channels alone: for a change that concerns no others. */
  onlyChannels?: SomeChannels | undefined
  /**
   * Called before any password is hashed or compared; throws what forbids even that, since the time it takes tells
   * something. What it sees of accounts is what the transaction finds: if they have changed, everything begins again.
   */
  forbidFirst?: ((present: Present) => void) | undefined
  /** Called in the transaction before anything is written; throws what forbids the change. */
  forbid?: ((present: Present, plan: ChangePlan) => void) | undefined
  /** Who asks, for the audit trail; without it none is written. */
  audit?: { trail: AuditTrail; actor: Actor; note?: string | undefined; isFile?: boolean } | undefined
}

export async function applyPlatform(
  store: Store,
  seal: Seal,
  platform: Platform,
  options: ApplyOptions,
): Promise<Applied> {
  const prune = options.prune ?? false
  // First compared outside of the transaction, where nobody waits. Compared again inside only if something has changed.
  const { onlyChannels } = options
  const channels = await someChannels(store.db, onlyChannels)
  const contactsToo = concernsContacts(platform, options)
  const draft = { ...(await readPresent(store.db, contactsToo)), channels }
  options.forbidFirst?.(draft)
  const hashes = await hashesFor(platform.users ?? [], options.newPasswords ? [] : draft.accounts)
  const hashed: Platform = platform.contacts
    ? { ...platform, contacts: await hashAccess(store.db, seal, platform.contacts, options.now) }
    : platform
  const { remove, keepPeople } = options
  const planFor = (present: Present) => {
    const plan = planChanges(hashed, present, { prune, remove, seal, hashes, keepPeople })
    options.forbid?.(present, plan)
    requireSound(plan, present)
    return plan
  }
  const drafted = planFor(draft)
  if (options.dryRun) {
    await requireIdle(store.db, drafted)
    return summary(drafted)
  }
  const plan = await store.write(async (tx) => {
    // Two applies at the same time take turns. So do an apply and an update of a channel.
    await lockChannelAccess(tx, store.dialect)
    const locked = await lockChannels(tx, store.dialect, onlyChannels)
    const present = { ...(await readPresent(tx, contactsToo)), channels: locked }
    // Passwords were hashed for the accounts as they were then. Hashing must not happen inside the transaction.
    if (!isDeepStrictEqual(present.accounts, draft.accounts)) return undefined
    const plan = isDeepStrictEqual(present, draft) ? drafted : planFor(present)
    await requireIdle(tx, plan)
    const auditIds = await tell(tx, seal, plan, present, options)
    await write(tx, plan, options.now, auditIds)
    return plan
  })
  if (!plan) return applyPlatform(store, seal, platform, options)
  const applied = summary(plan)
  if (applied.lines.length > 0) await store.notify('esclusa', JSON.stringify({ kind: 'configuration' }))
  return applied
}

/** Contacts are compared with each other and with local entities: whatever changes neither needs none of them. */
function concernsContacts({ contacts, localEntities }: Platform, { prune, remove }: ApplyOptions): boolean {
  return prune === true || [contacts, localEntities, remove?.contacts, remove?.entities].some(Boolean)
}

async function readPresent(db: Db, contactsToo: boolean): Promise<Omit<Present, 'channels'>> {
  return {
    entities: await listLocalEntities(db),
    accounts: await listAccounts(db),
    contacts: contactsToo ? await listContacts(db) : [],
    calendars: await listCalendars(db),
    subscriptions: (await listSubscriptions(db)).map(({ id, settings, secrets }) => ({
      id,
      settings,
      secrets,
    })),
    expectations: await listExpectations(db),
  }
}

/** Which entry of the audit trail tells of each channel, by code. */
async function tell(
  tx: Tx,
  seal: Seal,
  plan: ChangePlan,
  present: Present,
  { audit, prune = false }: ApplyOptions,
): Promise<ReadonlyMap<string, string>> {
  if (!audit) return new Map()
  const notes = notesOfPlan(audit.trail, seal, plan, present)
  if (notes.length === 0) return new Map()
  const { added, changed, removed } = summary(plan)
  const whole: AuditNote = {
    action: 'PLATFORM_APPLIED',
    note: audit.note,
    facts: { added, changed, removed, prune },
  }
  const first = audit.isFile === false ? [] : [whole]
  const ids = (await audit.trail.add(tx, audit.actor, [...first, ...notes])).slice(first.length)
  const ofChannels = notes.map(({ action, channelCode = '' }, index) => {
    const code = action === 'KEY_UPLOADED' ? '' : channelCode
    return [code, ids[index] ?? ''] as const
  })
  return new Map(ofChannels.filter(([code]) => code !== ''))
}

async function write(
  tx: Tx,
  plan: ChangePlan,
  now: number,
  auditIds: ReadonlyMap<string, string>,
): Promise<void> {
  const { entities, accounts, contacts, channels } = plan
  for (const entity of kept(entities)) await putLocalEntity(tx, entity)
  for (const contact of kept(contacts)) await putContact(tx, contact)
  const changed = channels.changed.map(({ after }) => after)
  await insertChannels(tx, channels.added)
  await updateChannels(tx, changed)
  await forgetHalfFiles(tx, codesOf(passedOn(plan)))
  const made = { at: now, event: 'CHANNEL_CREATED', detail: 'by apply' } as const
  const updated = { at: now, event: 'CHANNEL_UPDATED', detail: 'by apply' } as const
  await addHistoryToAll(tx, codesOf(channels.added), made, auditIds)
  await addHistoryToAll(tx, codesOf(changed), updated, auditIds)
  await unparkTransfers(tx, codesOf(changed), now)
  await removeChannels(tx, codesOf(channels.removed), { at: now, detail: 'by apply' })
  await writeNotices(tx, plan)
  for (const { id } of contacts.removed) await removeContact(tx, id)
  for (const { code } of entities.removed) await removeLocalEntity(tx, code)
  // An address may pass from one account to another, also in a circle.
  for (const { username } of accounts.removed) await removeAccount(tx, username)
  for (const { after, fields } of accounts.changed)
    if (fields.includes('email')) await giveUpEmail(tx, after.username)
  for (const account of kept(accounts)) await putAccount(tx, account)
  // Names of entities too: lists of channels are searched by them.
  if (touches(entities) || touches(contacts) || touches(channels)) await channelAccessChanged(tx)
}

function kept<T>(changes: Changes<T>): T[] {
  return [...changes.added, ...changes.changed.map(({ after }) => after)]
}

function codesOf(channels: readonly { code: string }[]): string[] {
  return channels.map(({ code }) => code)
}

function touches(changes: Changes<unknown>): boolean {
  return changes.added.length + changes.changed.length + changes.removed.length > 0
}

/** Channels that another contact has from now on. */
function passedOn({ channels }: ChangePlan): ChannelRecord[] {
  return channels.changed.filter(({ fields }) => fields.includes('contact')).map(({ after }) => after)
}

/**
 * Removing a channel removes its history, its transfers and what lies ready for its partner; passed on, the next partner
 * would find there what was meant for the one before. Both are refused while a transfer is under way, or the partner has yet
 * to take something: the original may be gone. Who deactivated a channel before removing it does not wait for the partner.
 */
async function requireIdle(db: Db, plan: ChangePlan): Promise<void> {
  const { removed } = plan.channels
  const passed = passedOn(plan)
  const active = removed.filter(({ config }) => config.deactivateChannel !== true)
  await refuseBusy(db, { channels: removed, waitsFor: active, be: 'removed' })
  await refuseBusy(db, { channels: passed, waitsFor: passed, be: 'given to another contact' })
}

async function refuseBusy(
  db: Db,
  { channels, waitsFor, be }: { channels: ChannelRecord[]; waitsFor: ChannelRecord[]; be: string },
): Promise<void> {
  const busy = await channelsInUse(db as Tx, codesOf(channels)) // reads only
  if (busy.length > 0)
    throw new NodeError(
      'conflict',
      `nothing was changed: ${busy.join(', ')} cannot be ${be} while transfers are pending or in progress; wait, or reset first`,
    )
  const waiting = await countWaiting(db, codesOf(waitsFor))
  if (waiting.length > 0)
    throw new NodeError(
      'conflict',
      `nothing was changed: ${waiting.map(({ channelCode, files }) => `${channelCode} (${files})`).join(', ')} cannot be ${be} while files lie in the partner’s out folder: it takes or removes them first, or deactivate the channel (deactivateChannel) and remove it to drop them`,
    )
}

// What only file and database together can tell

function requireSound(plan: ChangePlan, present: Present): void {
  const entities = after(present.entities, plan.entities, (one) => one.code)
  const contacts = after(present.contacts, plan.contacts, (one) => one.id)
  const channels = after(present.channels, plan.channels, (one) => one.code)
  const faults = [
    ...sharedEmails(after(present.accounts, plan.accounts, (one) => one.username)),
    ...contactFaults(contacts),
    ...sharedLogins(plan, entities, contacts),
    ...leftBehind(kept(plan.contacts), channels),
    ...rootFaults(entities, channels),
    ...unsigned(kept(plan.subscriptions)),
  ]
  if (faults.length > 0)
    throw new NodeError(
      'bad_use',
      `nothing was changed:\n${faults.map(({ pointer, message }) => `${pointer}: ${message}`).join('\n')}`,
    )
}

function after<T>(before: readonly T[], changes: Changes<T>, key: (one: T) => string): T[] {
  const all = new Map(before.map((one) => [key(one), one]))
  for (const one of changes.removed) all.delete(key(one))
  for (const one of kept(changes)) all.set(key(one), one)
  return [...all.values()]
}

function sharedEmails(accounts: readonly NewAccount[]): Fault[] {
  return sharedBy(accounts, (account) => [account.email.toLowerCase()]).map(({ one, other, value }) => ({
    pointer: `user ${one.username}`,
    message: `${value} is the e-mail address of ${other.username} already`,
  }))
}

function contactFaults(contacts: readonly ContactRecord[]): Fault[] {
  const codes = sharedBy(contacts, ({ data }) => (data.remoteCodes ?? []).flatMap(({ code }) => code ?? []))
  const faults = codes.map(({ one, other, value }) => ({
    pointer: `contact ${one.id}`,
    message: `remote code ${value} is one of ${other.id} already`,
  }))
  for (const { id, settings, secrets } of contacts) {
    const access = settings.access as { authorizedKeys?: unknown } | undefined
    if (settings.sftp && !secrets['/sftp/password'] && !secrets['/sftp/privateKey'])
      faults.push({ pointer: `contact ${id}`, message: 'sftp needs a password or a privateKey' })
    if (access && !access.authorizedKeys && !secrets['/access/password'])
      faults.push({ pointer: `contact ${id}`, message: 'access needs authorizedKeys or a password' })
  }
  return faults
}

/**
 * Names that callers sign in with. Two of before that share one do not stand in the way of other changes: they are named
 * as soon as one of them is changed.
 */
function sharedLogins(plan: ChangePlan, entities: LocalEntity[], contacts: ContactRecord[]): Fault[] {
  const written = new Set<unknown>([...kept(plan.entities), ...kept(plan.contacts)])
  const oftp2 = 'OFTP2 identification'
  const logins = [
    ...entities.map((of) => ({ of, kind: 'local entity', id: of.code, what: oftp2, login: of.oftp2Id })),
    ...contacts.flatMap((of) => [
      { of, kind: 'contact', id: of.id, what: oftp2, login: of.settings.oftp2?.id },
      { of, kind: 'contact', id: of.id, what: 'SFTP account', login: of.settings.access?.username },
    ]),
  ]
  const keyOf = ({ kind, what, login }: (typeof logins)[number]) =>
    login ? [`${kind} ${what} ${login}`] : []
  return sharedBy(logins, keyOf)
    .filter(({ one, other }) => written.has(one.of) || written.has(other.of))
    .map(({ one: { kind, id, what, login }, other }) => ({
      pointer: `${kind} ${id}`,
      message: `${what} ${login} is that of ${other.kind} ${other.id} already`,
    }))
}

/** Channels that the file does not name must still be carried by a contact that it changes. */
function leftBehind(contacts: readonly ContactRecord[], channels: readonly ChannelRecord[]): Fault[] {
  const changed = new Map(contacts.map((contact) => [contact.id, contact]))
  return channels.flatMap(({ code, contactId, alias }) => {
    const contact = changed.get(contactId)
    if (!contact) return []
    const remoteCode = parseCode(code)?.remoteCode ?? ''
    const hasCode = (contact.data.remoteCodes ?? []).some((one) => one.code === remoteCode)
    return [
      ...(hasCode ? [] : [`contact ${contactId} has no remote code ${remoteCode} any more`]),
      ...(contact.protocol === 'oftp2' ? applicationFaults({ code, alias }) : []).map(
        ({ message }) => message,
      ),
    ].map((message) => ({ pointer: `channel ${code}`, message }))
  })
}

/** Channels that the file does not name must lie inside the roots that it gives their entity, too. */
function rootFaults(entities: readonly LocalEntity[], channels: readonly ChannelRecord[]): Fault[] {
  const owners = new Map(entities.map((entity) => [entity.code, entity]))
  return channels.flatMap(({ code, localCode, config }) => {
    const owner = owners.get(localCode)
    if (!owner?.fileRoots) return []
    const roots = rootsOf({ fileRoots: ['/'], scriptRoots: [] }, owner)
    return folderFaults(config, roots).map(({ pointer, message }) => ({
      pointer: `channel ${code}`,
      message: `${pointer} ${message}`,
    }))
  })
}

/** A receiver must be able to tell who speaks. */
function unsigned(subscriptions: readonly SubscriptionPlan[]): Fault[] {
  return subscriptions.flatMap(({ id, settings, secrets }) =>
    settings.webhook && secrets === ''
      ? [{ pointer: `subscription ${id}`, message: 'webhook needs secrets: events are signed with them' }]
      : [],
  )
}

function sharedBy<T>(
  all: readonly T[],
  valuesOf: (one: T) => readonly string[],
): { one: T; other: T; value: string }[] {
  const owners = new Map<string, T>()
  const shared: { one: T; other: T; value: string }[] = []
  for (const one of all)
    for (const value of valuesOf(one)) {
      const other = owners.get(value)
      if (other === undefined) owners.set(value, one)
      else if (other !== one) shared.push({ one, other, value })
    }
  return shared
}
