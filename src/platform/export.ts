// The platform as a file. The same platform always gives the same text, in an order in which people find things,
// without default values. Secrets are left out unless asked for. Applying an export changes nothing.

import { setImmediate } from 'node:timers/promises'
import type { TSchema } from 'typebox'
import { AUTHS } from '../contract/user.ts'
import { authsOf } from '../domain/user.ts'
import { listAccounts } from '../store/accounts.ts'
import type { Account } from '../store/accounts.ts'
import { listChannels } from '../store/channels.ts'
import { listContacts, listLocalEntities } from '../store/contacts.ts'
import type { LocalEntity } from '../store/contacts.ts'
import type { Db } from '../store/database/store.ts'
import { listSubscriptions } from '../store/events/subscriptions.ts'
import { listCalendars } from '../store/expectations/calendars.ts'
import { listExpectations } from '../store/expectations/expectations.ts'
import type { Seal } from '../store/seal.ts'
import { toPlatformChannel } from './channel-record.ts'
import { toPlatformContact } from './contact-record.ts'
import { Platform } from '../contract/administration/platform-file.ts'
import type { PlatformEntity, PlatformUser } from '../contract/administration/platform-file.ts'
import { toPlatformSubscription } from './subscription-record.ts'
import { toYaml } from './yaml-source.ts'

export type ExportOptions = {
  /** Password hashes and keys too: opened with the seal. */
  secrets: boolean
  /** Whose password hash is left out all the same: applied, such a user keeps the password. */
  hidesHash?: ((account: Account) => boolean) | undefined
  /** Contact persons are left out. */
  withoutPeople?: boolean | undefined
}

export async function exportPlatform(db: Db, seal: Seal, options: ExportOptions): Promise<string> {
  const head = options.secrets
    ? '# A platform file WITH its secrets: keep it as you keep a key.\n'
    : '# A platform file without its secrets: applied to the same platform it keeps those that are there.\n'
  const platform = await describePlatform(db, options.secrets ? seal : undefined, options)
  const parts = [head]
  for (const [section, items] of Object.entries(platform)) {
    if (items.length === 0) parts.push(toYaml({ [section]: items }))
    for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
      const text = toYaml({ [section]: items.slice(at, at + ITEMS_AT_ONCE) })
      // The section's name stands above its first items alone.
      parts.push(at === 0 ? text : text.slice(section.length + 2))
      await setImmediate()
    }
  }
  return parts.join('')
}

/** Writing fifty thousand channels takes seconds, and a node answers others meanwhile: it pauses after so many. */
const ITEMS_AT_ONCE = 20

/** The platform as the object that such a file holds; with a seal the secrets too. */
export async function describePlatform(
  db: Db,
  seal: Seal | undefined,
  { hidesHash, withoutPeople = false }: Omit<ExportOptions, 'secrets'> = {},
): Promise<Platform> {
  const entities = byKey(await listLocalEntities(db), ({ code }) => code)
  const contacts = byKey(await listContacts(db), ({ id }) => id)
  const accounts = byKey(await listAccounts(db), ({ username }) => username)
  const channels = byKey(await listChannels(db), ({ code }) => code)
  return inOrder(Platform, {
    localEntities: entities.map(toEntity),
    users: accounts.map((account) => toUser(account, seal !== undefined && !hidesHash?.(account))),
    contacts: contacts
      .map((contact) => toPlatformContact(contact, seal))
      .map(({ contactInfo, ...rest }) => (withoutPeople ? rest : { ...rest, contactInfo })),
    channels: channels.map((channel) => toPlatformChannel(channel, seal)),
    ...(await describeNotices(db, seal)),
  })
}

/** Sections that most platforms do not have are left out where there is nothing in them. */
async function describeNotices(db: Db, seal: Seal | undefined): Promise<Partial<Platform>> {
  const calendars = byKey(await listCalendars(db), ({ id }) => id)
  const subscriptions = byKey(await listSubscriptions(db), ({ id }) => id)
  const expectations = byKey(await listExpectations(db), ({ id }) => id)
  return {
    ...(calendars.length > 0 && { calendars }),
    ...(subscriptions.length > 0 && {
      subscriptions: subscriptions.map((one) => toPlatformSubscription(one, seal)),
    }),
    ...(expectations.length > 0 && { expectations }),
  }
}

/** Sorted by code unit: each database has its own collation. */
function byKey<T>(items: readonly T[], key: (item: T) => string): T[] {
  return items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

function toEntity({ code, name, oftp2Id, fileRoots }: LocalEntity): PlatformEntity {
  return {
    code,
    name,
    ...(oftp2Id !== null && { oftp2: { id: oftp2Id } }),
    ...(fileRoots && { fileRoots: [...fileRoots] }),
  }
}

function toUser(account: Account, withHash: boolean): PlatformUser {
  const { username, email, name, lastName, secondLastName, language, role, auths, disabled, passwordHash } =
    account
  const byDefault = authsOf(role)
  const own = AUTHS.filter((flag) => auths[flag] !== byDefault[flag]).map((flag) => [flag, auths[flag]])
  return {
    username,
    email,
    ...(withHash && passwordHash !== null && { passwordHash }),
    ...(name !== undefined && { name }),
    ...(lastName !== undefined && { lastName }),
    ...(secondLastName !== undefined && { secondLastName }),
    language,
    role,
    ...(own.length > 0 && { auths: Object.fromEntries(own) as PlatformUser['auths'] }),
    ...(disabled && { disabled }),
  }
}

type Shape = { properties?: Record<string, Shape>; items?: Shape }

/** Fields in the order of the schema, at every depth. */
function inOrder<T>(schema: TSchema | Shape, value: T): T {
  const shape = schema as Shape
  if (Array.isArray(value)) return value.map((item: unknown) => inOrder(shape.items ?? {}, item)) as T
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Record<string, unknown>
  const known = Object.keys(shape.properties ?? {}).filter((name) => fields[name] !== undefined)
  const others = Object.keys(fields).filter((name) => shape.properties?.[name] === undefined)
  return Object.fromEntries(
    [...known, ...others].map((name) => [name, inOrder(shape.properties?.[name] ?? {}, fields[name])]),
  ) as T
}
