// What an apply did, thing by thing, as the audit trail tells it: before and after, secrets by their fingerprint.

import type { AuditNote, AuditTrail } from '../audit/trail.ts'
import type { AuditAction, AuditSubject } from '../contract/audit.ts'
import type { Calendar, Expectation } from '../contract/calendar.ts'
import { SECRET_FIELDS } from '../contract/channel.ts'
import type { Account, NewAccount } from '../store/accounts.ts'
import { channelPlace } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { contactPlace } from '../store/contacts.ts'
import type { ContactRecord, LocalEntity } from '../store/contacts.ts'
import { uploadedKeys } from '../keys/uploaded-keys.ts'
import type { Keyed } from '../keys/uploaded-keys.ts'
import type { Seal } from '../store/seal.ts'
import type { Changes, ChangePlan, Present } from './plan.ts'
import { CONTACT_SECRETS } from '../contract/contact-settings.ts'
import { toPlatformSubscription } from './subscription-record.ts'
import type { SubscriptionPlan } from './subscription-record.ts'

/** What is shown by its fingerprint alone: secrets, and the data of people. */
const HIDDEN_IN_CONTACTS = [...CONTACT_SECRETS, '/contactInfo']
const HIDDEN_IN_CHANNELS = SECRET_FIELDS.map((field) => `/security/${field}`)
export const HIDDEN_IN_USERS = ['/password']

type Kind<T> = {
  subject: AuditSubject
  actions: readonly [added: AuditAction, changed: AuditAction, removed: AuditAction]
  key: (one: T) => string
  /** What is compared; `other` is the state on the other side, where there is one. */
  shown: (one: T, other: T | undefined) => unknown
  hidden: readonly string[]
  /** What else the same change tells, from what was shown. */
  more?: (name: string, before: unknown, after: unknown) => AuditNote[]
}

export function notesOfPlan(trail: AuditTrail, seal: Seal, plan: ChangePlan, present: Present): AuditNote[] {
  return [
    ...notesOf(trail, ENTITIES, plan.entities, present.entities),
    ...notesOf(trail, ACCOUNTS, plan.accounts, present.accounts),
    ...notesOf(trail, contactKind(seal), plan.contacts, present.contacts),
    ...notesOf(trail, channelKind(seal), plan.channels, present.channels),
    ...notesOf(trail, CALENDARS, plan.calendars, present.calendars),
    ...notesOf(trail, subscriptionKind(seal), plan.subscriptions, present.subscriptions),
    ...notesOf(trail, EXPECTATIONS, plan.expectations, present.expectations),
  ]
}

function notesOf<T>(
  trail: AuditTrail,
  kind: Kind<T>,
  changes: Changes<T>,
  present: readonly T[],
): AuditNote[] {
  const [added, changed, removed] = kind.actions
  const before = new Map(present.map((one) => [kind.key(one), one]))
  const tell = (action: AuditAction, name: string, old: T | undefined, after: T | undefined): AuditNote[] => {
    const [was, is] = [old && kind.shown(old, after), after && kind.shown(after, old)]
    return [
      {
        action,
        subject: { kind: kind.subject, name },
        ...(kind.subject === 'channel' && { channelCode: name }),
        changes: trail.changes(was, is, kind.hidden),
      },
      ...(kind.more?.(name, was, is) ?? []),
    ]
  }
  return [
    ...changes.added.flatMap((one) => tell(added, kind.key(one), undefined, one)),
    ...changes.changed.flatMap(({ after }) =>
      tell(changed, kind.key(after), before.get(kind.key(after)), after),
    ),
    ...changes.removed.flatMap((one) => tell(removed, kind.key(one), one, undefined)),
  ]
}

const ENTITIES: Kind<LocalEntity> = {
  subject: 'entity',
  actions: ['ENTITY_CREATED', 'ENTITY_CHANGED', 'ENTITY_REMOVED'],
  key: ({ code }) => code,
  shown: (entity) => entity,
  hidden: [],
}

const ACCOUNTS: Kind<NewAccount> = {
  subject: 'user',
  actions: ['USER_CREATED', 'USER_CHANGED', 'USER_REMOVED'],
  key: ({ username }) => username,
  shown: shownAccount,
  hidden: HIDDEN_IN_USERS,
}

export function shownAccount(account: NewAccount & Partial<Account>): unknown {
  const { passwordHash, credentialVersion: _version, loginVersion: _login, id: _id, ...shown } = account
  return { ...shown, password: passwordHash }
}

const CALENDARS: Kind<Calendar> = {
  subject: 'calendar',
  actions: ['CALENDAR_CREATED', 'CALENDAR_CHANGED', 'CALENDAR_REMOVED'],
  key: ({ id }) => id,
  shown: (calendar) => calendar,
  hidden: [],
}

const EXPECTATIONS: Kind<Expectation> = {
  subject: 'expectation',
  actions: ['EXPECTATION_CREATED', 'EXPECTATION_CHANGED', 'EXPECTATION_REMOVED'],
  key: ({ id }) => id,
  shown: (expectation) => expectation,
  hidden: [],
}

function subscriptionKind(seal: Seal): Kind<SubscriptionPlan> {
  return {
    subject: 'subscription',
    actions: ['SUBSCRIPTION_CREATED', 'SUBSCRIPTION_CHANGED', 'SUBSCRIPTION_REMOVED'],
    key: ({ id }) => id,
    shown: (one) => toPlatformSubscription(one, seal),
    hidden: ['/webhook/secrets'],
  }
}

function contactKind(seal: Seal): Kind<ContactRecord> {
  return {
    subject: 'contact',
    actions: ['CONTACT_CREATED', 'CONTACT_CHANGED', 'CONTACT_REMOVED'],
    key: ({ id }) => id,
    shown: (contact, other) => shownContact(seal, contact, other),
    hidden: HIDDEN_IN_CONTACTS,
  }
}

function channelKind(seal: Seal): Kind<ChannelRecord> {
  return {
    subject: 'channel',
    actions: ['CHANNEL_CREATED', 'CHANNEL_CHANGED', 'CHANNEL_REMOVED'],
    key: ({ code }) => code,
    shown: (channel, other) => shownChannelRecord(seal, channel, other),
    hidden: HIDDEN_IN_CHANNELS,
    // As shownChannelRecord makes them.
    more: (code, before, after) =>
      uploadedKeys(code, before as Keyed | undefined, after as Keyed | undefined),
  }
}

/** A secret that is sealed alike on both sides did not change: it need not be opened. */
export function shownContact(seal: Seal, contact: ContactRecord, other: ContactRecord | undefined): unknown {
  const shown: Record<string, unknown> = structuredClone({
    ...contact.data,
    protocol: contact.protocol,
    ...contact.settings,
  })
  for (const [pointer, sealed] of Object.entries(contact.secrets)) {
    const value =
      sealed === other?.secrets[pointer] ? sealed : seal.open(contactPlace(contact.id, pointer), sealed)
    const steps = pointer.split('/').slice(1)
    const field = steps.pop() ?? ''
    let at = shown
    for (const step of steps) at = (at[step] ??= {}) as Record<string, unknown>
    at[field] = value
  }
  return shown
}

function shownChannelRecord(seal: Seal, channel: ChannelRecord, other: ChannelRecord | undefined): unknown {
  const secrets = Object.fromEntries(
    SECRET_FIELDS.flatMap((field) => {
      const sealed = channel.secrets[field]
      if (sealed === undefined) return []
      return [
        [
          field,
          sealed === other?.secrets[field] ? sealed : seal.open(channelPlace(channel.code, field), sealed),
        ],
      ]
    }),
  )
  const { contactId, alias, automation, calendar, keep, maxOpenedMegabytes, config } = channel
  const security = { ...config.security, ...secrets }
  return {
    contact: contactId,
    alias,
    automation,
    ...(calendar && { calendar }),
    ...(keep && { keep }),
    ...(maxOpenedMegabytes && { maxOpenedMegabytes }),
    ...config,
    ...(Object.keys(security).length > 0 && { security }),
  }
}
