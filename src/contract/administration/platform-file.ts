// The shape of the platform file. Channels and contacts are the contract's own schemas, with the fields added that the
// interface does not show. No field is written twice. References ({ env } or { file }) are resolved before this shape
// is checked, so a secret is plain text here. Null clears what is in the database.

import type { Static, TSchema, TUnsafe } from 'typebox'
import { Calendar, Expectation, name as calendarName, onHoliday } from '../calendar.ts'
import { Channel, CHANNEL_CODE_PATTERN, CODE_PART, SECRET_FIELDS, Security } from '../channel.ts'
import { Contact, RemoteCode } from '../contact.ts'
import {
  AccessSettings,
  CONTACT_SECRETS,
  FolderSettings,
  Oftp2Id,
  Oftp2Settings,
  Oftp2Tls,
  PROTOCOLS,
  QuotaSettings,
  SftpSettings,
} from '../contact-settings.ts'
import { closed, integer, name, oneOf, secretText, text } from '../schema.ts'
import { Subscription } from '../subscription.ts'
import { Type } from '../type.ts'
import { AUTHS, ROLES } from '../user.ts'
import type { Auth } from '../user.ts'

const optional = <S extends TSchema>(schema: S) => Type.Optional(schema)
const orNull = (schema: TSchema): TUnsafe<string | null> =>
  Type.Unsafe<string | null>({ ...schema, type: ['string', 'null'] })
/** A secret of a section. Left out, it stays as it is in the database; null clears it. */
const clearable = (schema: TSchema) => optional(orNull(schema))

export const PlatformEntity = closed({
  code: Type.String({ pattern: `^${CODE_PART}$` }),
  name: name(),
  oftp2: optional(closed({ id: optional(Oftp2Id) })),
  fileRoots: optional(Type.Array(name(4096), { minItems: 1, maxItems: 100 })),
})

const flags = Object.fromEntries(AUTHS.map((auth) => [auth, optional(Type.Boolean())])) as Record<
  Auth,
  FlagSchema
>
type FlagSchema = ReturnType<typeof Type.Optional<ReturnType<typeof Type.Boolean>>>

export const PlatformUser = closed({
  username: name(64),
  email: Type.String({
    maxLength: 255,
    pattern: '^[^\\s@\\u0000-\\u001f\\u007f]+@[^\\s@\\u0000-\\u001f\\u007f]+$',
  }),
  password: optional(orNull(secretText(1024))),
  passwordHash: optional(Type.String({ maxLength: 1024 })),
  name: optional(text('')),
  lastName: optional(text('')),
  secondLastName: optional(text('')),
  language: optional(name(35)),
  role: oneOf(ROLES, ''),
  auths: optional(closed(flags)),
  disabled: optional(Type.Boolean()),
})

const { tls: _tls, ...oftp2Fields } = Oftp2Settings.properties
const Oftp2 = closed({
  ...oftp2Fields,
  tls: optional(closed({ ...Oftp2Tls.properties, key: clearable(Oftp2Tls.properties.key) })),
})

const { password, privateKey, passphrase } = SftpSettings.properties
const Sftp = closed({
  ...SftpSettings.properties,
  password: clearable(password),
  privateKey: clearable(privateKey),
  passphrase: clearable(passphrase),
})

const Access = closed({
  ...AccessSettings.properties,
  password: clearable(AccessSettings.properties.password),
})

const { channels: _channels, ...contactFields } = Contact.properties

export const PlatformContact = closed({
  ...contactFields,
  id: name(64),
  remoteCodes: optional(
    Type.Array(closed({ ...RemoteCode.properties, code: Type.String({ pattern: `^${CODE_PART}$` }) }), {
      maxItems: 1000,
    }),
  ),
  protocol: optional(oneOf(PROTOCOLS, '')),
  folder: optional(FolderSettings),
  oftp2: optional(Oftp2),
  sftp: optional(Sftp),
  access: optional(Access),
  quota: optional(QuotaSettings),
})

const { localKey, remoteKey, rsaLocalKey, rsaRemoteKey } = Security.properties

const days = Type.Integer({ minimum: 1, maximum: 36_500 })

export const PlatformChannel = closed({
  code: Type.String({ pattern: CHANNEL_CODE_PATTERN }),
  contact: name(64),
  alias: optional(name(32)),
  automation: optional(
    closed({
      watch: optional(Type.Literal(true)),
      every: optional(Type.String({ pattern: '^[1-9][0-9]{0,5}[smh]$' })),
      cron: optional(Type.String({ maxLength: 255 })),
      calendar: optional(calendarName('')),
      onHoliday: optional(onHoliday),
    }),
  ),
  calendar: optional(calendarName('')),
  keep: optional(closed({ transfersDays: optional(days), historyDays: optional(days) })),
  /** What one received file may become when it is opened; ESCLUSA_MAX_OPENED_MEGABYTES without it. */
  maxOpenedMegabytes: optional(integer(1, 1_000_000_000)),
  ...Channel.properties,
  security: optional(
    closed({
      ...Security.properties,
      localKey: optional(orNull(localKey)),
      remoteKey: optional(orNull(remoteKey)),
      rsaLocalKey: optional(orNull(rsaLocalKey)),
      rsaRemoteKey: optional(orNull(rsaRemoteKey)),
    }),
  ),
})

const { webhook, ...subscriptionFields } = Subscription.properties

/** What stands in place of a secret is looked at before this shape is; its form by the rules. */
export const PlatformSubscription = closed({
  ...subscriptionFields,
  webhook: optional(
    closed({
      ...webhook.properties,
      secrets: optional(Type.Array(secretText(1024), { minItems: 1, maxItems: 5 })),
    }),
  ),
})

export const Platform = closed({
  localEntities: optional(Type.Array(PlatformEntity)),
  users: optional(Type.Array(PlatformUser)),
  contacts: optional(Type.Array(PlatformContact)),
  channels: optional(Type.Array(PlatformChannel)),
  calendars: optional(Type.Array(Calendar)),
  subscriptions: optional(Type.Array(PlatformSubscription)),
  expectations: optional(Type.Array(Expectation)),
})

export type PlatformEntity = Static<typeof PlatformEntity>
export type PlatformUser = Static<typeof PlatformUser>
export type PlatformContact = Static<typeof PlatformContact>
export type PlatformChannel = Static<typeof PlatformChannel>
export type PlatformSubscription = Static<typeof PlatformSubscription>
export type Platform = Static<typeof Platform>

/** Where { env: NAME } or { file: PATH } is allowed; * is any place in a list. */
export const REFERENCE_PLACES = [
  '/users/*/password',
  '/users/*/passwordHash',
  ...['/oftp2/tls/ca', '/oftp2/tls/cert', ...CONTACT_SECRETS].map((pointer) => `/contacts/*${pointer}`),
  ...SECRET_FIELDS.map((field) => `/channels/*/security/${field}`),
  '/subscriptions/*/webhook/secrets/*',
]
