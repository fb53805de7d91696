// How a contact is reached, one section for each way. The platform file, the store and the transports (with the secrets
// opened) all use this schema. A field is written here and nowhere else.

import type { Static } from 'typebox'
import { closed, integer, name, oneOf, secretText } from './schema.ts'
import { Type } from './type.ts'

export const PROTOCOLS = ['oftp2', 'sftp', 'folder'] as const
export type ProtocolName = (typeof PROTOCOLS)[number]

/** What OFTP2 lets stand in its text fields. */
const oftp2Text = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[A-Z0-9/.&() -]*$' })

export const Oftp2Id = oftp2Text(25)

/** A partner on the same file system. */
export const FolderSettings = closed({ inbox: name(4096), outbox: name(4096) })

/** What files are encrypted and signed with. */
export type Protection = {
  readonly cipher: 'AES-256-CBC' | '3DES-CBC'
  readonly digest: 'sha1' | 'sha256' | 'sha512'
}

/**
 * The cipher suites that OFTP2 names by two digits: 01 and 02 in RFC 5024, 03 to 06 added by Odette. All of them use RSA
 * with PKCS#1 v1.5, for key transport and for signatures.
 */
export const OFTP2_SUITES = {
  '01': { cipher: '3DES-CBC', digest: 'sha1' },
  '02': { cipher: 'AES-256-CBC', digest: 'sha1' },
  '03': { cipher: '3DES-CBC', digest: 'sha256' },
  '04': { cipher: 'AES-256-CBC', digest: 'sha256' },
  '05': { cipher: '3DES-CBC', digest: 'sha512' },
  '06': { cipher: 'AES-256-CBC', digest: 'sha512' },
} as const satisfies Record<string, Protection>
export type Oftp2Suite = keyof typeof OFTP2_SUITES
export const DEFAULT_SUITE: Oftp2Suite = '04'
export const SUITE_CODES = Object.keys(OFTP2_SUITES).sort() as Oftp2Suite[] // the table's own keys

export const Oftp2Tls = closed({
  /** PEM: certificates that may sign the partner's; without it the partner's own certificate is pinned if known. */
  ca: Type.Optional(secretText()),
  /** PEM: our certificate and key, where the partner asks for one. */
  cert: Type.Optional(secretText()),
  key: Type.Optional(secretText()),
  /** The name the partner's certificate must carry when it is called by address. */
  servername: Type.Optional(name()),
  /** A caller's certificate: asked for and checked where it shows one, or required. */
  clientCertificate: Type.Optional(oneOf(['asked', 'required'] as const, '')),
})

export const Oftp2Settings = closed({
  /** SSIDCODE of the partner; one of its remote codes where it is left out. */
  id: Type.Optional(Oftp2Id),
  /** SSIDSDEB: largest exchange buffer. */
  bufferSize: Type.Optional(integer(128, 99_999)),
  /** SSIDCRED: exchange buffers in flight. */
  credit: Type.Optional(integer(1, 999)),
  /** SSIDREST: whether files may go on from the middle. On where it is left out. */
  restart: Type.Optional(Type.Boolean()),
  /** SFIDCIPH: what files that go out are encrypted and signed with, and the hash of signed receipts. */
  suite: Type.Optional(oneOf(SUITE_CODES, '')),
  /** Seconds to wait for an end-to-end receipt; timeoutAck of the channel where it is left out. */
  receiptSeconds: Type.Optional(integer(1, 31 * 86_400)),
  /** SSIDUSER. */
  user: Type.Optional(oftp2Text(8)),
  /** How many sessions may be open with the partner at once. */
  sessions: Type.Optional(integer(1, 64)),
  tls: Type.Optional(Oftp2Tls),
})

/** This node calls the partner's SFTP server. A folder may contain `{application}`. */
export const SftpSettings = closed({
  username: name(),
  password: Type.Optional(secretText(1024)),
  /** PEM or OpenSSH format: ed25519, ecdsa or rsa (SHA-2 signatures only). */
  privateKey: Type.Optional(secretText()),
  passphrase: Type.Optional(secretText(1024)),
  /** `SHA256:…`, at least one: without a pinned key no connection is made. */
  hostKeys: Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 10 }),
  /** Where our files go. */
  inbox: Type.Optional(name(4096)),
  /** Where we fetch from. */
  outbox: Type.Optional(name(4096)),
  /** How many connections may carry one big file at once. */
  sessions: Type.Optional(integer(1, 64)),
})

/** The partner calls this node's SFTP server. */
export const AccessSettings = closed({
  username: name(),
  password: Type.Optional(secretText(1024)),
  authorizedKeys: Type.Optional(
    Type.Array(Type.String({ maxLength: 16_384 }), { minItems: 1, maxItems: 100 }),
  ),
})

/** What the partner may have lying here at once, under way, half or in quarantine; the node's settings without it. */
export const QuotaSettings = closed({
  megabytes: Type.Optional(integer(1, 1_000_000_000)),
  files: Type.Optional(integer(1, 1_000_000)),
})

export type FolderSettings = Static<typeof FolderSettings>
export type Oftp2Settings = Static<typeof Oftp2Settings>
export type SftpSettings = Static<typeof SftpSettings>
export type AccessSettings = Static<typeof AccessSettings>
export type QuotaSettings = Static<typeof QuotaSettings>

/** The sections of a contact, in the order an export has them. */
export type ContactSections = {
  folder?: FolderSettings
  oftp2?: Oftp2Settings
  sftp?: SftpSettings
  access?: AccessSettings
  quota?: QuotaSettings
}
export type SectionName = keyof ContactSections
export const SECTIONS = ['folder', 'oftp2', 'sftp', 'access', 'quota'] as const satisfies SectionName[]

/** Where a contact's secrets stand: kept sealed, left out of an export. The TLS certificates beside them are public. */
export const CONTACT_SECRETS = [
  '/sftp/password',
  '/sftp/privateKey',
  '/sftp/passphrase',
  '/access/password',
  '/oftp2/tls/key',
] as const

/** What a contact's files are encrypted and signed with where they go out, by what its protocol announces. */
export function protectionOf(protocol: string, { oftp2 }: ContactSections): Protection {
  return OFTP2_SUITES[(protocol === 'oftp2' ? oftp2?.suite : undefined) ?? DEFAULT_SUITE]
}
