// Examples for the OpenAPI document, made from the schemas: every field has the value that its name has in the table
// below, else one that its type allows. A test holds every example against its schema.

import { BASE_PATH } from '../../contract/operations.ts'
import type { Operation } from '../../contract/operations.ts'
import { shapeOf } from '../../contract/schema.ts'
import { SECRET_FIELDS } from '../../contract/channel.ts'
import { LoginV1, LoginV2 } from '../../contract/user.ts'
import { STATUS_CODES } from '../status-codes.ts'
import { nameOf } from './components.ts'
import type { Json } from './components.ts'

type Schema = {
  type?: string | string[]
  enum?: readonly unknown[]
  const?: unknown
  default?: unknown
  format?: string
  minimum?: number
  pattern?: string
  maxLength?: number
  items?: Schema
  properties?: Record<string, Schema>
}

const CODE = 'BANCO-ACME-NOMINA'
const START = '2026-03-02T08:30:00.000+01:00'
const END = '2026-03-02T08:30:04.125+01:00'

/** By field, or by component and field where the name alone does not say enough. */
const VALUES: Json = {
  channelCode: CODE,
  code: CODE,
  'channel-code': CODE,
  'channel-id': '0199a7c2-5f1e-7c30-9d52-3b1f6f0c8a11',
  transferId: '0199a7c8-0b44-7d1a-8e6f-52d94a7be203',
  contactId: 'acme',
  contactName: 'Acme SA',
  localEntity: 'BANCO',
  localName: 'Banco Azul',
  remoteEntity: 'ACME',
  remoteName: 'Acme main',
  application: 'NOMINA',
  channelName: 'Payroll',
  category: 'PAYROLL',
  version: '1',
  ips: ['192.0.2.10', '192.0.2.11'],
  proxyIps: ['198.51.100.7'],
  initialHour: '06:00',
  finishHour: '22:00',
  timeout: 10,
  timeoutSync: 30,
  timeoutAck: 60,
  retries: 3,
  registersBlock: 1024,
  registerLength: 80,
  filePath: '/srv/esclusa/files/payroll/out',
  path: '/srv/esclusa/files/payroll/out',
  fileGroupsName: 'NOMINA*.txt',
  postEmisionDirectory: '/srv/esclusa/files/payroll/sent',
  postReceptionDirectory: '/srv/esclusa/files/payroll/taken',
  exceptionFile: '/srv/esclusa/scripts/on-failure.sh',
  preEmisionFile: '/srv/esclusa/scripts/before-sending.sh',
  preReceptionFile: '/srv/esclusa/scripts/before-placing.sh',
  postEmisionFile: '/srv/esclusa/scripts/after-sending.sh',
  postReceptionFile: '/srv/esclusa/scripts/after-placing.sh',
  rsaLocalKeyName: 'banco-2026',
  rsaRemoteKeyName: 'acme-2026',
  deactivateChannel: false,
  keyExchangeChannel: false,
  users: ['ana'],
  username: 'ana',
  email: 'ana@banco.example',
  password: 'correct horse battery staple',
  name: 'Ana',
  lastName: 'Ruiz',
  secondLastName: 'Gil',
  role: 'ROLE_ADVOPERATOR',
  language: 'es',
  expiration_token: '02-03-2026 10:30:00',
  token: 'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbmEifQ.c2lnbmF0dXJl',
  refresh_token: 'q3fYh0cXb1kZr9Lw',
  'LoginResponseV1.token': 'Bearer eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbmEifQ.c2lnbmF0dXJl',
  'LoginResponseV1.refresh_token': 'Bearer q3fYh0cXb1kZr9Lw',
  administration: false,
  administrationFF: false,
  fingerprint: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  pem: '-----BEGIN CERTIFICATE-----\nMIID…\n-----END CERTIFICATE-----\n',
  subject: 'CN=Acme SA',
  issuer: 'CN=Acme SA',
  algorithm: 'rsa',
  bits: 3072,
  fileId: '0199a7c8-0b44-7000-8000-01f45c7be204',
  reason: 'the signature does not verify: no signature was made with the key that was given',
  'TestedLine.address': '192.0.2.10:6619',
  seen: '192.0.2.10:6619',
  hostKey: 'ssh-ed25519 SHA256:uNiVztksCsDhcc0u9e8BrzEGxPvkXSTtCrbQTuiUsE4',
  'QuarantinedFileFacts.errorCode': 'bad_signature',
  keyId: '0199a7c8-0b44-7000-8000-01f45c7be203',
  commonName: 'Banco Azul',
  keyName: 'banco-2026',
  controlatorFF: false,
  svcFF: false,
  signer: false,
  'ChannelResponse.name': 'Payroll',
  'ChannelResponse.direction': 'BIDIRECCIONAL',
  'ChannelResponse.reception': { active: true, direction: 'RECEPCION' },
  'ChannelResponse.svcff': false,
  'ChannelResponse.emissionff': false,
  'ChannelResponse.receptionff': false,
  'ChannelSummary.name': 'Payroll',
  'ChannelSecurityResponse.ciphrate': 'TRANSMISION',
  'ChannelStatusResponse.channel-direction': 'BIDIRECCIONAL',
  'ChannelStatusResponse.channel-status': 'IDLE',
  'ChannelHistoryResponse.event': 'TRANSFER_COMPLETED',
  'Transfer.status': 'COMPLETED',
  transferStartDateTime: START,
  transferEndDateTime: END,
  fileName: 'NOMINA-2026-03.txt',
  hash: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'TransferFile.size': '4096',
  'TransferFile.path': '/srv/esclusa/files/payroll/out/NOMINA-2026-03.txt',
  actionPost: 'EMISION_MOVE',
  filePathPost: '/srv/esclusa/files/payroll/sent/NOMINA-2026-03.txt',
  'Contact.id': 'acme',
  'Contact.name': 'Acme SA',
  'Contact.version': '5.2',
  os: 'LINUX',
  channels: [CODE],
  'RemoteCode.id': 'rc1',
  'RemoteCode.code': 'ACME',
  'RemoteCode.name': 'Acme main',
  'RemoteIp.id': 'ip1',
  ipAddress: '192.0.2.10',
  port: 6619,
  'ContactPerson.id': 'p1',
  'ContactPerson.name': 'Eva',
  'ContactPerson.email': 'eva@acme.example',
  phone: '+34 910 000 001',
  mobile: '+34 600 000 001',
  address: 'Calle del Pez 7, Madrid',
  ocupation: 'Treasurer',
  empty: false,
  unsorted: false,
  unpaged: false,
  offset: 0,
  timeZone: 'Europe/Madrid',
  'NodeEvent.id': '0199a7c8-0b44-7000-8000-01f45c7be203',
  'NodeEvent.type': 'transfer.failed',
  'NodeEvent.channel': CODE,
  'NodeEvent.contact': 'acme',
  data: {
    transferId: '0199a7c8-0b44-7d1a-8e6f-52d94a7be203',
    direction: 'EMISION',
    type: 'AUTOMATIC',
    error: 'acme cannot be reached',
    errorCode: 'connect_failed',
  },
  next: '0199a7c8-0b44-7000-8000-01f45c7be203',
  eventId: '0199a7c8-0b44-7000-8000-01f45c7be203',
  subscription: 'ops-hook',
  'SubscriptionFacts.id': 'ops-hook',
  'SubscriptionFacts.events': ['transfer.failed', 'expectation.*'],
  'SubscriptionFacts.channels': ['BANCO-*'],
  url: 'https://ops.example/hook',
  to: ['night@banco.example'],
  'DeliveryFacts.status': 200,
  day: '2026-03-02',
  'ExpectedDay.expectation': 'payroll-out',
  'ExpectedDay.files': 'NOMINA*.txt',
  'Expectation.id': 'payroll-out',
  'Expectation.channel': CODE,
  'Expectation.files': 'NOMINA*.txt',
  'Expectation.days': ['mon', 'last'],
  'Expectation.from': '18:00',
  'Expectation.by': '22:00',
  timezone: 'Europe/Madrid',
  calendar: 'target',
  warnBefore: '30m',
  comment: 'the bank is informed',
  acknowledgedBy: 'ana',
  'Calendar.id': 'madrid',
  'CalendarYear.id': 'madrid',
  country: 'ES',
  region: 'MD',
  closed: ['2026-12-24'],
  open: ['2026-12-26'],
  builtIn: ['always', 'weekdays', 'target'],
  year: 2026,
  workingDays: 251,
  cron: '0 6 * * 1-5',
  errorCode: 'connect_failed',
  contact: 'acme',
  'LocalEntityFacts.code': 'BANCO',
  'PlatformEntity.code': 'BANCO',
  every: '5m',
  alias: 'NOM',
  automation: { every: '5m' },
  hostKeys: ['SHA256:uFaHZ0SJ8mTq3kYx0c3m2M0yN2cN0oS1bqf1oV4a3dE'],
  inbox: '/in',
  outbox: '/out',
  lines: [`+ channel ${CODE}`],
  warnings: [],
  secrets: ['/sftp/password'],
}

/** A transfer that went well has no error, and whoever is no administrator sees no secret. */
const LEFT_OUT = new Set<string>([
  'Transfer.error',
  ...SECRET_FIELDS.map((name) => `ChannelSecurityResponse.${name}`),
])

export function exampleOf(schema: unknown, field = '', within = ''): unknown {
  const shape = shapeOf(schema) as Schema
  const component = nameOf(shape) ?? within
  const known = VALUES[`${within}.${field}`] ?? VALUES[field]
  if (known !== undefined && fits(known, shape)) return known
  if (shape.properties) {
    const fields = Object.entries(shape.properties).filter(([name]) => !LEFT_OUT.has(`${component}.${name}`))
    return Object.fromEntries(fields.map(([name, inner]) => [name, exampleOf(inner, name, component)]))
  }
  if (shape.items) return [exampleOf(shape.items, field, component)]
  return plainValue(shape)
}

function fits(value: unknown, { type, enum: allowed, pattern, maxLength = Infinity }: Schema): boolean {
  if (allowed) return allowed.includes(value)
  if (typeof value === 'string' && (value.length > maxLength || !new RegExp(pattern ?? '', 'u').test(value)))
    return false
  const given = Array.isArray(value) ? 'array' : typeof value === 'number' ? 'integer' : typeof value
  return type === undefined || type === given || (Array.isArray(type) && type.includes(given))
}

function plainValue({
  type,
  enum: allowed,
  const: only,
  default: byDefault,
  format,
  minimum,
  pattern,
}: Schema): unknown {
  if (only !== undefined) return only
  if (byDefault !== undefined) return byDefault
  if (allowed) return allowed[0]
  const [kind] = Array.isArray(type) ? type : [type]
  if (kind === 'integer' || kind === 'number') return minimum ?? 1
  if (kind === 'boolean') return true
  if (format === 'date-time') return START
  return format === 'date' ? '2026-03-02' : TEXTS.find((text) => new RegExp(pattern ?? '', 'u').test(text))
}

/** The first that a pattern allows. */
const TEXTS = ['text', 'ACME', '5m', CODE, 'ana@banco.example']

const MESSAGES: Record<number, string> = {
  400: '/connection/ips/0 "x" is not an IPv4 or IPv6 address',
  401: 'the token is no longer valid: log in again',
  403: 'role ROLE_CONTROLATOR may not do this',
  404: `channel ${CODE} does not exist`,
  409: `an emission of channel ${CODE} is IN_PROGRESS: ${String(VALUES.transferId)}`,
  412: 'somebody has changed it since you read it: read it again, then send your change with the new ETag',
  413: 'the body is larger than this operation takes (1 MiB)',
  429: 'too many failed logins: try again in 30 s',
  500: 'internal error; the log has it as request req-4q',
}

/** Where a code comes from; an update answers neither of these. */
const PATHS: Record<number, string> = {
  409: `/integration/v2/channels/${CODE}/transfers/send`,
  429: '/integration/v2/auth/login',
}

export function errorExample(
  code: number,
  message = MESSAGES[code],
  path = PATHS[code] ?? `/integration/v2/channels/${CODE}/update`,
): Json {
  return { timestamp: START, status: code, error: STATUS_CODES[code], message, path: BASE_PATH + path }
}

/** Whoever logs in names no channel and has no token yet. */
const LOGIN_MESSAGES: Record<number, string> = {
  400: '/password is required',
  401: 'the user or the password is not right',
}

/** Of a login, where the example that the other operations share would say something else. */
export function ownErrorExample({ body, path }: Operation, code: number): Json | undefined {
  const message = body === LoginV1 || body === LoginV2 ? LOGIN_MESSAGES[code] : undefined
  return message === undefined ? undefined : errorExample(code, message, path)
}

const { fileName, 'TransferFile.path': filePath, 'TransferFile.size': size } = VALUES

/** What was asked for has not begun. */
const ASKED_FOR = {
  channelCode: CODE,
  transferId: VALUES.transferId,
  direction: 'EMISION',
  status: 'PENDING',
  type: 'MANUAL',
  encryption: false,
  files: [{ fileName, path: filePath, size }],
}

/** Answers that are not what the component's own example shows. */
const ANSWERS: Record<string, unknown> = {
  sendTransfer: ASKED_FOR,
  retryTransfer: { ...ASKED_FOR, type: 'RETRY' },
  resendTransfer: ASKED_FOR,
  fetchTransfer: { ...ASKED_FOR, direction: 'RECEPCION', files: [] },
  cancelTransfer: {
    ...ASKED_FOR,
    transferEndDateTime: END,
    status: 'CANCELLED',
    error: 'cancelled by ana',
  },
}

export function ownAnswer(operation: string): unknown {
  return ANSWERS[operation]
}

/** What a request looks like: of a channel only what is to change. */
const REQUESTS: Record<string, unknown> = {
  updateChannel: { name: 'Payroll', connection: { advancedConfigurationConnection: { retries: 5 } } },
  setOutboundPath: { path: VALUES.path, verifyExists: true },
  setInboundPath: { path: '/srv/esclusa/files/payroll/in', verifyExists: true },
  putExpectation: {
    channel: CODE,
    direction: 'EMISION',
    files: 'NOMINA*.txt',
    from: '18:00',
    by: '22:00',
    calendar: 'target',
    onHoliday: 'previous',
    warnBefore: '30m',
  },
  putSubscription: {
    webhook: { url: 'https://ops.example/hook', secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] },
    events: ['transfer.failed', 'expectation.*'],
    channels: ['BANCO-*'],
  },
  createContact: {
    id: 'acme',
    name: 'Acme SA',
    protocol: 'sftp',
    remoteCodes: [{ id: 'rc1', code: 'ACME', name: 'Acme main' }],
    remoteIPs: [{ id: 'ip1', ipAddress: '192.0.2.10', port: 22 }],
    sftp: {
      username: 'banco',
      password: VALUES.password,
      hostKeys: VALUES.hostKeys,
      inbox: '/in',
      outbox: '/out',
    },
  },
  changeContact: {
    name: 'Acme SA',
    protocol: 'oftp2',
    remoteCodes: [{ id: 'rc1', code: 'ACME', name: 'Acme main' }],
    remoteIPs: [{ id: 'ip1', ipAddress: '192.0.2.10', port: 6619 }],
    oftp2: { id: 'O0013ACME' },
  },
  createChannel: {
    code: CODE,
    contact: 'acme',
    direction: 'EMISION',
    directories: [{ direction: 'EMISION', filePath: VALUES.filePath }],
    automation: { watch: true },
  },
  copyChannel: { code: 'BANCO-ACME-FACTURA' },
  applyPlatformFile: { file: 'localEntities:\n  - { code: BANCO, name: Banco Azul }\n' },
}

export function requestExample(operation: string, body: unknown): unknown {
  const field = operation === 'updateIps' ? 'ips' : ''
  return REQUESTS[operation] ?? exampleOf(body, field)
}
