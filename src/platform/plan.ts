// What has to change for the database to match the file: a pure comparison in memory. Fields are compared by value.
// Secrets that the file leaves out stay as they are in the database; null clears them.

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Calendar, Expectation } from '../contract/calendar.ts'
import { SECRET_FIELDS } from '../contract/channel.ts'
import { codeFields, parseCode } from '../domain/channel.ts'
import { authsOf } from '../domain/user.ts'
import type { Account, NewAccount } from '../store/accounts.ts'
import { sealChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import type { ContactRecord, LocalEntity } from '../store/contacts.ts'
import type { Seal } from '../store/seal.ts'
import { contactOf } from './contact-record.ts'
import type { Hashes } from './passwords.ts'
import { plainChannel } from './rules.ts'
import type { Platform, PlatformChannel, PlatformUser } from '../contract/administration/platform-file.ts'
import { subscriptionOf } from './subscription-record.ts'
import type { SubscriptionPlan } from './subscription-record.ts'

export type Present = {
  entities: LocalEntity[]
  accounts: Account[]
  contacts: ContactRecord[]
  channels: ChannelRecord[]
  calendars: Calendar[]
  subscriptions: SubscriptionPlan[]
  expectations: Expectation[]
}

export type Changes<T> = { added: T[]; changed: { after: T; fields: string[] }[]; removed: T[] }

export type ChangePlan = {
  entities: Changes<LocalEntity>
  accounts: Changes<NewAccount>
  contacts: Changes<ContactRecord>
  channels: Changes<ChannelRecord>
  calendars: Changes<Calendar>
  subscriptions: Changes<SubscriptionPlan>
  expectations: Changes<Expectation>
}

/** Things to take away, by name. */
export type Removals = {
  entities?: readonly string[]
  accounts?: readonly string[]
  contacts?: readonly string[]
  channels?: readonly string[]
  calendars?: readonly string[]
  subscriptions?: readonly string[]
  expectations?: readonly string[]
}

export type PlanOptions = {
  prune: boolean
  remove?: Removals | undefined
  seal: Seal
  hashes: Hashes
  keepPeople?: boolean | undefined
}

export function planChanges(platform: Platform, present: Present, options: PlanOptions): ChangePlan {
  const { localEntities = [], contacts = [], channels = [], users } = platform
  const { prune, remove = {}, seal, hashes } = options
  const goes = (names: readonly string[] | undefined, all = prune) => going(names, all)
  const entities = compare(
    present.entities,
    localEntities.map((entity) => ({
      code: entity.code,
      name: entity.name,
      oftp2Id: entity.oftp2?.id ?? null,
      ...(entity.fileRoots && { fileRoots: entity.fileRoots }),
    })),
    {
      key: (entity) => entity.code,
      shown: ({ name, oftp2Id, fileRoots }) => ({ name, oftp2: oftp2Id, fileRoots }),
      ...goes(remove.entities),
    },
  )
  const contactsBefore = new Map(present.contacts.map((contact) => [contact.id, contact]))
  const contactsWanted = contacts.map((contact) =>
    contactOf(contact, contactsBefore.get(contact.id), options),
  )
  const channelsBefore = new Map(present.channels.map((channel) => [channel.code, channel]))
  const accountsBefore = new Map(present.accounts.map((account) => [account.username, account]))
  return {
    entities,
    // A file that says nothing of users must not lock everybody out.
    accounts: compare(
      present.accounts,
      (users ?? []).map((user) => accountOf(user, accountsBefore.get(user.username), hashes)),
      {
        key: (account) => account.username,
        shown: shownAccount,
        ...goes(remove.accounts, prune && users !== undefined),
      },
    ),
    contacts: compare(present.contacts, contactsWanted, {
      key: (contact) => contact.id,
      shown: shownContact,
      ...goes(remove.contacts),
    }),
    channels: compare(
      present.channels,
      channels.map((channel) => channelOf(channel, channelsBefore.get(channel.code), seal)),
      { key: (channel) => channel.code, shown: shownChannel, ...goes(remove.channels) },
    ),
    ...planNotices(platform, present, options),
  }
}

function planNotices(
  { calendars = [], subscriptions = [], expectations = [] }: Platform,
  present: Present,
  { prune, remove = {}, seal }: PlanOptions,
): Pick<ChangePlan, 'calendars' | 'subscriptions' | 'expectations'> {
  const before = new Map(present.subscriptions.map((one) => [one.id, one]))
  return {
    calendars: compare(present.calendars, calendars, {
      key: ({ id }) => id,
      shown: (one) => one,
      ...going(remove.calendars, prune),
    }),
    subscriptions: compare(
      present.subscriptions,
      subscriptions.map((one) => subscriptionOf(one, before.get(one.id), seal)),
      {
        key: ({ id }) => id,
        shown: ({ settings, secrets }) => ({ ...settings, secrets }),
        ...going(remove.subscriptions, prune),
      },
    ),
    expectations: compare(present.expectations, expectations, {
      key: ({ id }) => id,
      shown: (one) => one,
      ...going(remove.expectations, prune),
    }),
  }
}

/** Whether one that is not wanted is taken away. */
function going(names: readonly string[] | undefined, all: boolean) {
  return { goes: (name: string) => all || (names?.includes(name) ?? false) }
}

type Comparing<T> = {
  key: (one: T) => string
  /** The fields to compare, by the names a person knows from the file. */
  shown: (one: T) => Record<string, unknown>
  /** Whether one that is not wanted is taken away. */
  goes: (name: string) => boolean
}

function compare<T>(
  before: readonly T[],
  wanted: readonly T[],
  { key, shown, goes }: Comparing<T>,
): Changes<T> {
  const known = new Map(before.map((one) => [key(one), one]))
  const changes: Changes<T> = { added: [], changed: [], removed: [] }
  for (const after of wanted) {
    const old = known.get(key(after))
    known.delete(key(after))
    if (old === undefined) changes.added.push(after)
    else {
      const fields = differing(shown(old), shown(after))
      if (fields.length > 0) changes.changed.push({ after, fields })
    }
  }
  for (const [name, one] of known) if (goes(name)) changes.removed.push(one)
  return changes
}

function differing(old: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = [...new Set([...Object.keys(old), ...Object.keys(after)])]
  return names.filter((name) => !isDeepStrictEqual(old[name], after[name]))
}

// Accounts

function accountOf(user: PlatformUser, before: Account | undefined, hashes: Hashes): NewAccount {
  const { username, email, name, lastName, secondLastName, language, role, auths, disabled = false } = user
  const wanted = hashes.get(username)
  const passwordHash = wanted === undefined ? (before?.passwordHash ?? null) : wanted
  const voided =
    before !== undefined && (before.passwordHash !== passwordHash || before.disabled !== disabled)
  return {
    username,
    email,
    ...(name !== undefined && { name }),
    ...(lastName !== undefined && { lastName }),
    ...(secondLastName !== undefined && { secondLastName }),
    language: language ?? 'en',
    role,
    auths: authsOf(role, auths),
    disabled,
    passwordHash,
    credentialVersion: (before?.credentialVersion ?? 1) + (voided ? 1 : 0),
  }
}

function shownAccount(account: NewAccount & Partial<Account>): Record<string, unknown> {
  const { credentialVersion: _version, loginVersion: _login, id: _id, passwordHash, ...rest } = account
  return { ...rest, password: passwordHash }
}

// Contacts

function shownContact({ data, settings, secrets, protocol }: ContactRecord): Record<string, unknown> {
  return { ...data, protocol, ...settings, secrets }
}

// Channels

function channelOf(channel: PlatformChannel, before: ChannelRecord | undefined, seal: Seal): ChannelRecord {
  const { code } = channel
  const { localCode = '' } = parseCode(code) ?? {}
  const wanted = { ...plainChannel(channel), ...codeFields(code) }
  const { config, secrets } = sealChannel(seal, code, wanted, before)
  const kept = SECRET_FIELDS.filter(
    (field) => channel.security?.[field] === undefined && before?.secrets[field],
  )
  return {
    code,
    id: before?.id ?? randomUUID(),
    contactId: channel.contact,
    localCode,
    alias: channel.alias ?? null,
    config: withoutEmptySecurity(config),
    secrets: { ...Object.fromEntries(kept.map((field) => [field, before?.secrets[field]])), ...secrets },
    automation: channel.automation ?? null,
    calendar: channel.calendar ?? null,
    keep: channel.keep ?? null,
    maxOpenedMegabytes: channel.maxOpenedMegabytes ?? null,
    revision: before?.revision ?? 1,
  }
}

/** If all of `security` is secrets, it counts as equal with and without the empty object. */
function withoutEmptySecurity({ security, ...config }: ChannelRecord['config']): ChannelRecord['config'] {
  return security && Object.keys(security).length > 0 ? { ...config, security } : config
}

function shownChannel({
  contactId,
  alias,
  automation,
  calendar = null,
  keep = null,
  maxOpenedMegabytes = null,
  config,
  secrets,
}: ChannelRecord): Record<string, unknown> {
  const own = { contact: contactId, alias, automation, calendar, keep, maxOpenedMegabytes }
  return { ...own, ...withoutEmptySecurity(config), secrets }
}

// What changed, in words

export type Applied = {
  /** One line per change: `+ channel X`, `~ contact acme (sftp)`, `- user ana`. Lines never contain values. */
  lines: string[]
  added: number
  changed: number
  removed: number
}

export function summary(plan: ChangePlan): Applied {
  const groups: Line[] = [
    ...linesOf('local entity', plan.entities, ({ code }) => code),
    ...linesOf('user', plan.accounts, ({ username }) => username),
    ...linesOf('contact', plan.contacts, ({ id }) => id),
    ...linesOf('channel', plan.channels, ({ code }) => code),
    ...linesOf('calendar', plan.calendars, ({ id }) => id),
    ...linesOf('subscription', plan.subscriptions, ({ id }) => id),
    ...linesOf('expectation', plan.expectations, ({ id }) => id),
  ]
  const count = (sign: string) => groups.filter((line) => line.sign === sign).length
  return {
    lines: groups.map(({ text }) => text),
    added: count('+'),
    changed: count('~'),
    removed: count('-'),
  }
}

type Line = { sign: '+' | '~' | '-'; text: string }

function linesOf<T>(what: string, changes: Changes<T>, name: (one: T) => string): Line[] {
  return [
    ...changes.added.map((one): Line => ({ sign: '+', text: `+ ${what} ${name(one)}` })),
    ...changes.changed.map((one): Line => ({
      sign: '~',
      text: `~ ${what} ${name(one.after)} (${one.fields.join(', ')})`,
    })),
    ...changes.removed.map((one): Line => ({ sign: '-', text: `- ${what} ${name(one)}` })),
  ]
}
