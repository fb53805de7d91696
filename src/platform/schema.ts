// The platform file's shape. Channels and contacts are the contract's own schemas with what the interface does not
// show added around them; no field is written twice. A reference ({ env } or { file }) is resolved before this shape is
// checked, so a secret is plain text here; null clears what the database has.

import { Type } from 'typebox'
import type { Static, TProperties, TSchema, TUnsafe } from 'typebox'
import { Channel, CHANNEL_CODE_PATTERN, CODE_PART, SECRET_FIELDS, Security } from '../contract/channel.ts'
import { Contact, RemoteCode } from '../contract/contact.ts'
import { oneOf, text } from '../contract/schema.ts'
import { AUTHS, ROLES } from '../contract/user.ts'
import type { Auth } from '../contract/user.ts'
import { PROTOCOLS } from '../store/contacts.ts'

const closed = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })
const optional = <S extends TSchema>(schema: S) => Type.Optional(schema)
const orNull = (schema: TSchema): TUnsafe<string | null> =>
  Type.Unsafe<string | null>({ ...schema, type: ['string', 'null'] })

const name = (maxLength = 255) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$' })
const secret = (maxLength = 65_536) => Type.String({ maxLength, pattern: '^[^\\u0000]*$' })
const integer = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })

/** What OFTP2 lets stand in an identification code. */
const Oftp2Id = Type.String({ minLength: 1, maxLength: 25, pattern: '^[A-Z0-9/.&() -]*$' })

export const PlatformEntity = closed({
  code: Type.String({ pattern: `^${CODE_PART}$` }),
  name: name(),
  oftp2: optional(closed({ id: optional(Oftp2Id) })),
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
  password: optional(orNull(secret(1024))),
  passwordHash: optional(Type.String({ maxLength: 1024 })),
  name: optional(text('')),
  lastName: optional(text('')),
  secondLastName: optional(text('')),
  language: optional(name(35)),
  role: oneOf(ROLES, ''),
  auths: optional(closed(flags)),
  disabled: optional(Type.Boolean()),
})

const Folder = closed({ inbox: name(4096), outbox: name(4096) })

const Oftp2 = closed({
  id: optional(Oftp2Id),
  bufferSize: optional(integer(128, 99_999)),
  credit: optional(integer(1, 999)),
  tls: optional(
    closed({
      ca: optional(secret()),
      cert: optional(secret()),
      key: optional(orNull(secret())),
      servername: optional(name()),
    }),
  ),
})

const Sftp = closed({
  username: name(),
  password: optional(orNull(secret(1024))),
  privateKey: optional(orNull(secret())),
  passphrase: optional(orNull(secret(1024))),
  hostKeys: Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 10 }),
  inbox: optional(name(4096)),
  outbox: optional(name(4096)),
})

const Access = closed({
  username: name(),
  password: optional(orNull(secret(1024))),
  authorizedKeys: optional(Type.Array(Type.String({ maxLength: 16_384 }), { minItems: 1, maxItems: 100 })),
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
  folder: optional(Folder),
  oftp2: optional(Oftp2),
  sftp: optional(Sftp),
  access: optional(Access),
})

/** The sections of a contact that are settings of a protocol, in the order an export has them. */
export const SECTIONS = ['folder', 'oftp2', 'sftp', 'access'] as const

const { localKey, remoteKey, rsaLocalKey, rsaRemoteKey } = Security.properties

export const PlatformChannel = closed({
  code: Type.String({ pattern: CHANNEL_CODE_PATTERN }),
  contact: name(64),
  alias: optional(name(32)),
  automation: optional(
    closed({
      watch: optional(Type.Literal(true)),
      every: optional(Type.String({ pattern: '^[1-9][0-9]{0,5}[smh]$' })),
      cron: optional(Type.String({ maxLength: 255 })),
    }),
  ),
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

export const Platform = closed({
  localEntities: optional(Type.Array(PlatformEntity)),
  users: optional(Type.Array(PlatformUser)),
  contacts: optional(Type.Array(PlatformContact)),
  channels: optional(Type.Array(PlatformChannel)),
})

export type PlatformEntity = Static<typeof PlatformEntity>
export type PlatformUser = Static<typeof PlatformUser>
export type PlatformContact = Static<typeof PlatformContact>
export type PlatformChannel = Static<typeof PlatformChannel>
export type Platform = Static<typeof Platform>

/** Where a contact's secrets stand: kept sealed, left out of an export. The TLS certificates beside them are public. */
export const CONTACT_SECRETS = [
  '/sftp/password',
  '/sftp/privateKey',
  '/sftp/passphrase',
  '/access/password',
  '/oftp2/tls/key',
] as const

/** Where { env: NAME } or { file: PATH } may stand; * is any place in a list. */
export const REFERENCE_PLACES = [
  '/users/*/password',
  '/users/*/passwordHash',
  ...['/oftp2/tls/ca', '/oftp2/tls/cert', ...CONTACT_SECRETS].map((pointer) => `/contacts/*${pointer}`),
  ...SECRET_FIELDS.map((field) => `/channels/*/security/${field}`),
]
