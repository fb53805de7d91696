// The node's settings: read once from the environment, checked, frozen. Nothing else in the node reads process.env. A
// wrong setting stops the node at once; the message has its name and says what it should be.

import { availableParallelism } from 'node:os'
import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'
import { isZone } from './domain/time.ts'
import { NodeError } from './errors.ts'
import { homeFolder, IS_RELEASE, usualDataDir } from './root.ts'

type Env = Record<string, string | undefined>

export type Config = Readonly<{
  dataDir: string
  host: string
  port: number
  tls: { certPath: string; keyPath: string } | undefined
  trustedProxies: readonly string[]
  metricsToken: string | undefined
  metricsNetworks: readonly string[]
  metricsChannels: number
  otlpEndpoint: string | undefined
  databaseUrl: string | undefined
  jwtSecret: string | undefined
  masterKey: string | undefined
  jwtSecretOld: string | undefined
  masterKeyOld: string | undefined
  timezone: string
  maxPageSize: number
  fileRoots: readonly string[]
  scriptRoots: readonly string[]
  listenHost: string
  oftp2Port: number | undefined
  oftp2TlsPort: number | undefined
  oftp2Tls: { certPath: string; keyPath: string } | undefined
  sftpPort: number | undefined
  proxyProtocolFrom: readonly string[]
  signInSeconds: number
  callersPerAddress: number
  sshPacketMemory: boolean
  sshSocketMemory: boolean
  codePage: CodePage
  maxOpenedMegabytes: number
  diskReserveMegabytes: number
  maxUploadMegabytes: number
  contactQuotaMegabytes: number
  contactQuotaFiles: number
  leastDigest: (typeof LEAST_DIGESTS)[number]
  leastCipher: (typeof LEAST_CIPHERS)[number]
  leastRsaBits: number
  keepAuditDays: number | undefined
  workers: number
  drainSeconds: number
  leaseSeconds: number
  scriptSeconds: number
  logLevel: LogLevel
  publicUrl: string | undefined
  smtpUrl: string | undefined
  mailFrom: string | undefined
  webhookNetworks: readonly string[]
  keepEventsDays: number
  keepQuarantineDays: number
  keepTransfersDays: number | undefined
  keepHistoryDays: number | undefined
  archiveDir: string | undefined
}>

export const CODE_PAGES = ['1047', '037', '500', '1145', '1148'] as const
export type CodePage = (typeof CODE_PAGES)[number]
const LEAST_DIGESTS = ['SHA-1', 'SHA-256', 'SHA-512'] as const
const LEAST_CIPHERS = ['3DES', 'AES'] as const
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

function oneOrOther(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** Every setting, its default (a value, or words) and its meaning. The docs' table comes from here too. */
export const SETTINGS = {
  ESCLUSA_DATA_DIR: [
    './data',
    'database, generated secrets (mode 0600), partial files. A release: /var/lib/esclusa for root, ~/.local/share/esclusa for a user',
  ],
  ESCLUSA_HOST: ['127.0.0.1', 'address of the HTTP listener'],
  ESCLUSA_PORT: ['8080', 'port of the HTTP listener; 0 takes a free one'],
  ESCLUSA_TLS_CERT: [
    'none',
    'PEM certificate chain: HTTP over TLS (with ESCLUSA_TLS_KEY); read again when it changes',
  ],
  ESCLUSA_TLS_KEY: ['none', 'PEM private key of that certificate'],
  ESCLUSA_TRUSTED_PROXIES: [
    'none',
    'addresses or networks whose X-Forwarded-For is believed, separated by commas',
  ],
  ESCLUSA_METRICS_TOKEN: [
    'none',
    'bearer token that may read /metrics, beside administrators; 16 bytes at least',
  ],
  ESCLUSA_METRICS_NETWORKS: ['none', 'addresses or networks that may read /metrics without a token'],
  ESCLUSA_METRICS_CHANNELS: ['1000', 'how many channels have figures of their own at /metrics; 0 names none'],
  OTEL_EXPORTER_OTLP_ENDPOINT: [
    'none',
    'where traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318',
  ],
  ESCLUSA_DATABASE_URL: ['SQLite in the data folder', 'postgres://… for several nodes on one platform'],
  ESCLUSA_JWT_SECRET: ['generated, kept', 'HMAC key of tokens, used as its UTF-8 bytes; 64 bytes at least'],
  ESCLUSA_MASTER_KEY: ['generated, kept', 'encrypts secrets at rest; 32 bytes at least'],
  ESCLUSA_JWT_SECRET_OLD: ['none', 'the one before, while its tokens live out (with ESCLUSA_JWT_SECRET)'],
  ESCLUSA_MASTER_KEY_OLD: ['none', 'one that also opens, while keys are exchanged (with ESCLUSA_MASTER_KEY)'],
  ESCLUSA_TIMEZONE: ['UTC', 'IANA name; hours windows, shown times and calendar days'],
  ESCLUSA_MAX_PAGE_SIZE: ['1000', 'largest page a list answers with'],
  ESCLUSA_FILE_ROOTS: ['files in the data folder', 'where channel paths may point, separated by colons'],
  ESCLUSA_SCRIPT_ROOTS: ['none', 'where integration scripts may lie, separated by colons'],
  ESCLUSA_LISTEN_HOST: ['127.0.0.1', 'address of the partner listeners'],
  ESCLUSA_OFTP2_PORT: ['off', 'OFTP2 listener, plain'],
  ESCLUSA_OFTP2_TLS_PORT: ['off', 'OFTP2 listener, TLS'],
  ESCLUSA_OFTP2_TLS_CERT: [
    'that of HTTP, else made once and kept',
    'PEM certificate chain of the OFTP2 TLS listener (with ESCLUSA_OFTP2_TLS_KEY); read again when it changes',
  ],
  ESCLUSA_OFTP2_TLS_KEY: ['as above', 'PEM private key of that certificate'],
  ESCLUSA_SFTP_PORT: ['off', 'SFTP listener'],
  ESCLUSA_PROXY_PROTOCOL_FROM: [
    'none',
    'addresses or networks of proxies in front of the partner listeners, separated by commas: they must say by PROXY protocol (1 or 2) who calls',
  ],
  ESCLUSA_SIGN_IN_SECONDS: ['30', 'time that a caller of the partner listeners has to sign in'],
  ESCLUSA_CALLERS_PER_ADDRESS: [
    '16',
    'connections that one address (IPv6: /64) may have at a partner listener before it signs in',
  ],
  ESCLUSA_SSH_PACKET_MEMORY: [
    'on',
    'on or off: memory of SSH packets is used again, inside the SSH library; off is the library as it comes',
  ],
  ESCLUSA_SSH_SOCKET_MEMORY: [
    'on',
    'on or off: SFTP callers’ sockets read into one place; off is Node as it comes',
  ],
  ESCLUSA_CODE_PAGE: ['1047', `EBCDIC code page: ${oneOrOther(CODE_PAGES)}`],
  ESCLUSA_MAX_OPENED_MEGABYTES: [
    '10240',
    'what one compressed file that is received may become, where its channel names no maxOpenedMegabytes',
  ],
  ESCLUSA_MAX_UPLOAD_MEGABYTES: ['10240', 'largest file that may be uploaded into a channel over HTTP'],
  ESCLUSA_DISK_RESERVE_MEGABYTES: ['256', 'room on the disks that partners’ files and uploads leave free'],
  ESCLUSA_CONTACT_QUOTA_MEGABYTES: [
    '102400',
    'what a partner may have here under way, half or in quarantine, where its contact names no quota',
  ],
  ESCLUSA_CONTACT_QUOTA_FILES: ['10000', 'how many such files, where its contact names no quota'],
  ESCLUSA_LEAST_DIGEST: [
    'SHA-256',
    `weakest digest of signatures that are taken on files: ${oneOrOther(LEAST_DIGESTS)}`,
  ],
  ESCLUSA_LEAST_CIPHER: [
    'AES',
    `weakest cipher of encrypted files that are taken: ${oneOrOther(LEAST_CIPHERS)}`,
  ],
  ESCLUSA_LEAST_RSA_BITS: ['2048', 'shortest RSA key that a channel may have'],
  ESCLUSA_KEEP_AUDIT_DAYS: ['for ever', 'entries of the audit trail older than this are taken away'],
  ESCLUSA_WORKERS: [
    'cores',
    'big files moved at once; for each of them up to 32 transfers are in hand, half of them to one partner',
  ],
  ESCLUSA_DRAIN_SECONDS: ['30', 'time that running transfers get to reach a checkpoint at a stop'],
  ESCLUSA_LEASE_SECONDS: ['15', 'how long a silent node keeps a transfer before another may take it over'],
  ESCLUSA_SCRIPT_SECONDS: ['300', 'time limit of integration scripts'],
  ESCLUSA_LOG_LEVEL: ['info', oneOrOther(LOG_LEVELS)],
  ESCLUSA_PUBLIC_URL: ['none', 'how people reach the console, for links in mail'],
  ESCLUSA_SMTP_URL: [
    'none',
    'mail server: smtp://user:password@host:587 (TLS where the server offers it) or smtps://…',
  ],
  ESCLUSA_MAIL_FROM: ['none', 'sender of mails; needed where ESCLUSA_SMTP_URL is set'],
  ESCLUSA_WEBHOOK_NETWORKS: [
    'none',
    'loopback or private networks that webhooks may call, separated by commas',
  ],
  ESCLUSA_KEEP_TRANSFERS_DAYS: [
    'for ever',
    'transfers that ended longer ago are taken away; a channel may say otherwise',
  ],
  ESCLUSA_KEEP_HISTORY_DAYS: ['for ever', 'the same for entries of channels’ histories'],
  ESCLUSA_ARCHIVE_DIR: ['none', 'where transfers and history that are taken away are written first'],
  ESCLUSA_KEEP_QUARANTINE_DAYS: [
    '90',
    'received files that did not pass their checks are discarded when nobody has decided for so long',
  ],
  ESCLUSA_KEEP_EVENTS_DAYS: ['90', 'how long events and their deliveries are kept'],
} as const satisfies Record<string, readonly [string, string]>

export type SettingName = keyof typeof SETTINGS
type Name = SettingName

type SecretSetting = readonly [name: Name, minBytes: number, countsOnlyBeside?: Name]

/** The fields that hold a secret. Whoever shows settings shows none of these. */
export const SECRET_SETTINGS = {
  metricsToken: ['ESCLUSA_METRICS_TOKEN', 16],
  jwtSecret: ['ESCLUSA_JWT_SECRET', 64],
  masterKey: ['ESCLUSA_MASTER_KEY', 32],
  jwtSecretOld: ['ESCLUSA_JWT_SECRET_OLD', 64, 'ESCLUSA_JWT_SECRET'],
  masterKeyOld: ['ESCLUSA_MASTER_KEY_OLD', 32, 'ESCLUSA_MASTER_KEY'],
} as const satisfies Partial<Record<keyof Config, SecretSetting>>

export function readConfig(env: Env): Config {
  for (const name of Object.keys(env))
    if (name.startsWith('ESCLUSA_') && !(name in SETTINGS) && !CLIENT_SETTINGS.has(name))
      throw wrong(name, 'is not a setting of Esclusa; see the operator’s guide for the list')
  const get = (name: Name) => (env[name] === '' ? undefined : env[name])
  const getOrDefault = (name: Name) => get(name) ?? SETTINGS[name][0]
  const integer = (name: Name, min: number, max: number) => readInteger(name, getOrDefault(name), min, max)
  const port = (name: Name) => readPort(name, getOrDefault(name))
  const onOrOff = (name: Name) => oneOf(name, getOrDefault(name), ['on', 'off']) === 'on'
  const dataDir = resolve(get('ESCLUSA_DATA_DIR') ?? usualDataDir(callerOf(env)))
  const pair = (cert: Name, key: Name) => readPair([cert, get(cert)], [key, get(key)])
  const secret = (field: keyof typeof SECRET_SETTINGS) => readSecret(SECRET_SETTINGS[field], get)
  return Object.freeze({
    dataDir,
    host: getOrDefault('ESCLUSA_HOST'),
    port: integer('ESCLUSA_PORT', 0, 65_535),
    tls: pair('ESCLUSA_TLS_CERT', 'ESCLUSA_TLS_KEY'),
    trustedProxies: networks('ESCLUSA_TRUSTED_PROXIES', get('ESCLUSA_TRUSTED_PROXIES')),
    metricsToken: secret('metricsToken'),
    metricsNetworks: networks('ESCLUSA_METRICS_NETWORKS', get('ESCLUSA_METRICS_NETWORKS')),
    metricsChannels: integer('ESCLUSA_METRICS_CHANNELS', 0, 100_000),
    otlpEndpoint: address('OTEL_EXPORTER_OTLP_ENDPOINT', get('OTEL_EXPORTER_OTLP_ENDPOINT'), [
      'http:',
      'https:',
    ]),
    databaseUrl: databaseUrl(get('ESCLUSA_DATABASE_URL')),
    jwtSecret: secret('jwtSecret'),
    masterKey: secret('masterKey'),
    jwtSecretOld: secret('jwtSecretOld'),
    masterKeyOld: secret('masterKeyOld'),
    timezone: timezone(getOrDefault('ESCLUSA_TIMEZONE')),
    maxPageSize: integer('ESCLUSA_MAX_PAGE_SIZE', 1, 100_000),
    fileRoots: roots('ESCLUSA_FILE_ROOTS', get('ESCLUSA_FILE_ROOTS')) ?? [resolve(dataDir, 'files')],
    scriptRoots: roots('ESCLUSA_SCRIPT_ROOTS', get('ESCLUSA_SCRIPT_ROOTS')) ?? [],
    listenHost: getOrDefault('ESCLUSA_LISTEN_HOST'),
    oftp2Port: port('ESCLUSA_OFTP2_PORT'),
    oftp2TlsPort: port('ESCLUSA_OFTP2_TLS_PORT'),
    oftp2Tls: pair('ESCLUSA_OFTP2_TLS_CERT', 'ESCLUSA_OFTP2_TLS_KEY'),
    sftpPort: port('ESCLUSA_SFTP_PORT'),
    proxyProtocolFrom: networks('ESCLUSA_PROXY_PROTOCOL_FROM', get('ESCLUSA_PROXY_PROTOCOL_FROM')),
    signInSeconds: integer('ESCLUSA_SIGN_IN_SECONDS', 1, 600),
    callersPerAddress: integer('ESCLUSA_CALLERS_PER_ADDRESS', 1, 10_000),
    sshPacketMemory: onOrOff('ESCLUSA_SSH_PACKET_MEMORY'),
    sshSocketMemory: onOrOff('ESCLUSA_SSH_SOCKET_MEMORY'),
    codePage: oneOf('ESCLUSA_CODE_PAGE', getOrDefault('ESCLUSA_CODE_PAGE'), CODE_PAGES),
    maxOpenedMegabytes: integer('ESCLUSA_MAX_OPENED_MEGABYTES', 1, 1_000_000_000),
    maxUploadMegabytes: integer('ESCLUSA_MAX_UPLOAD_MEGABYTES', 1, 1_000_000_000),
    contactQuotaMegabytes: integer('ESCLUSA_CONTACT_QUOTA_MEGABYTES', 1, 1_000_000_000),
    contactQuotaFiles: integer('ESCLUSA_CONTACT_QUOTA_FILES', 1, 1_000_000),
    diskReserveMegabytes: integer('ESCLUSA_DISK_RESERVE_MEGABYTES', 0, 1_000_000_000),
    leastDigest: oneOf('ESCLUSA_LEAST_DIGEST', getOrDefault('ESCLUSA_LEAST_DIGEST'), LEAST_DIGESTS),
    leastCipher: oneOf('ESCLUSA_LEAST_CIPHER', getOrDefault('ESCLUSA_LEAST_CIPHER'), LEAST_CIPHERS),
    leastRsaBits: integer('ESCLUSA_LEAST_RSA_BITS', 1024, 16_384),
    keepAuditDays: days('ESCLUSA_KEEP_AUDIT_DAYS', get('ESCLUSA_KEEP_AUDIT_DAYS')),
    workers: workers(get('ESCLUSA_WORKERS')),
    drainSeconds: integer('ESCLUSA_DRAIN_SECONDS', 0, 3600),
    leaseSeconds: integer('ESCLUSA_LEASE_SECONDS', 1, 3600),
    scriptSeconds: integer('ESCLUSA_SCRIPT_SECONDS', 1, 86_400),
    logLevel: oneOf('ESCLUSA_LOG_LEVEL', getOrDefault('ESCLUSA_LOG_LEVEL'), LOG_LEVELS),
    publicUrl: address('ESCLUSA_PUBLIC_URL', get('ESCLUSA_PUBLIC_URL'), ['http:', 'https:']),
    smtpUrl: address('ESCLUSA_SMTP_URL', get('ESCLUSA_SMTP_URL'), ['smtp:', 'smtps:']),
    mailFrom: mailFrom(get('ESCLUSA_MAIL_FROM'), get('ESCLUSA_SMTP_URL')),
    webhookNetworks: networks('ESCLUSA_WEBHOOK_NETWORKS', get('ESCLUSA_WEBHOOK_NETWORKS')),
    keepQuarantineDays: integer('ESCLUSA_KEEP_QUARANTINE_DAYS', 1, 36_500),
    keepTransfersDays: days('ESCLUSA_KEEP_TRANSFERS_DAYS', get('ESCLUSA_KEEP_TRANSFERS_DAYS')),
    keepHistoryDays: days('ESCLUSA_KEEP_HISTORY_DAYS', get('ESCLUSA_KEEP_HISTORY_DAYS')),
    archiveDir: folder('ESCLUSA_ARCHIVE_DIR', get('ESCLUSA_ARCHIVE_DIR')),
    keepEventsDays: integer('ESCLUSA_KEEP_EVENTS_DAYS', 1, 36_500),
  })
}

/** Read by the client commands only. */
export const CLIENT_SETTINGS = new Set(['ESCLUSA_URL', 'ESCLUSA_TOKEN', 'ESCLUSA_PASSWORD'])

function callerOf(env: Env) {
  return { isRelease: IS_RELEASE, uid: process.getuid?.() ?? 0, home: homeFolder, xdg: env.XDG_DATA_HOME }
}

function wrong(name: string, should: string): NodeError {
  return new NodeError('bad_use', `setting ${name} ${should}`)
}

function readInteger(name: Name, value: string, min: number, max: number): number {
  const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= max))
    throw wrong(name, `must be a whole number from ${min} to ${max}, not "${value}"`)
  return number
}

function readPair(
  [certName, cert]: [Name, string | undefined],
  [keyName, key]: [Name, string | undefined],
): { certPath: string; keyPath: string } | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw wrong(cert ? keyName : certName, 'must be set too: TLS needs both')
  return { certPath: resolve(cert), keyPath: resolve(key) }
}

function readPort(name: Name, value: string): number | undefined {
  return value === 'off' ? undefined : readInteger(name, value, 0, 65_535)
}

function workers(value: string | undefined): number {
  return value === undefined ? availableParallelism() : readInteger('ESCLUSA_WORKERS', value, 1, 1024)
}

function days(name: Name, value: string | undefined): number | undefined {
  return value === undefined ? undefined : readInteger(name, value, 1, 36_500)
}

function folder(name: Name, value: string | undefined): string | undefined {
  if (value !== undefined && !isAbsolute(value)) throw wrong(name, `must be an absolute path, not "${value}"`)
  return value
}

function oneOf<T extends string>(name: Name, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value)
  if (found === undefined) throw wrong(name, `must be one of ${allowed.join(', ')}, not "${value}"`)
  return found
}

/**
 * The value itself is never shown. An old one alone would count for nothing: a key that is kept in the data folder has
 * its old ones there.
 */
function readSecret(
  [name, minBytes, current]: SecretSetting,
  get: (name: Name) => string | undefined,
): string | undefined {
  const value = get(name)
  if (value === undefined) return undefined
  if (Buffer.byteLength(value) < minBytes)
    throw wrong(name, `must have at least ${minBytes} bytes; it has ${Buffer.byteLength(value)}`)
  if (current !== undefined && get(current) === undefined)
    throw wrong(current, `must be set too: ${name} counts only beside it`)
  return value
}

function timezone(name: string): string {
  if (isZone(name)) return name
  throw wrong('ESCLUSA_TIMEZONE', `must be an IANA time zone such as Europe/Madrid, not "${name}"`)
}

function roots(name: Name, value: string | undefined): string[] | undefined {
  const paths = value?.split(':').filter((path) => path !== '')
  for (const path of paths ?? [])
    if (!isAbsolute(path))
      throw wrong(name, `must list absolute paths separated by colons; "${path}" is not absolute`)
  return paths?.map((path) => resolve(path))
}

function networks(name: Name, value: string | undefined): string[] {
  const listed = (value ?? '').split(/[,\s]+/).filter((one) => one !== '')
  for (const one of listed)
    if (!isNetwork(one)) throw wrong(name, `must list addresses or networks such as 10.0.0.0/8, not "${one}"`)
  return listed
}

function isNetwork(text: string): boolean {
  const [address = '', prefix = '0', ...more] = text.split('/')
  const version = isIP(address)
  const longest = version === 6 ? 128 : 32
  return version !== 0 && more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest
}

/** The value is never shown: it may hold a password. */
function address(name: Name, value: string | undefined, protocols: readonly string[]): string | undefined {
  if (value === undefined) return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !protocols.includes(url.protocol) || url.hostname === '')
    throw wrong(name, `must be an address that begins with ${protocols.join('// or ')}//`)
  return value
}

function mailFrom(value: string | undefined, smtpUrl: string | undefined): string | undefined {
  if (value === undefined && smtpUrl !== undefined)
    throw wrong('ESCLUSA_MAIL_FROM', 'must be set too: a mail needs a sender')
  if (value !== undefined && !/^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]* <[^\s@<>]+@[^\s@<>]+>$/.test(value))
    throw wrong('ESCLUSA_MAIL_FROM', `must be an e-mail address, or a name and <address>, not "${value}"`)
  return value
}

function databaseUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (!/^postgres(ql)?:\/\/[^\s]+$/.test(value))
    throw wrong('ESCLUSA_DATABASE_URL', 'must be a postgres:// address')
  return value
}
