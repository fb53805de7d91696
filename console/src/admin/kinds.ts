// What administrators make, change and remove: users, local entities, partners, calendars, subscriptions and
// expectations. List, form and removal of each are made from this table.

import type { Client } from '../../../sdk/index.ts'
import type { Changed } from '../../../sdk/index.ts'
import { ON_HOLIDAY } from '../../../src/contract/calendar.ts'
import { SUITE_CODES, PROTOCOLS } from '../../../src/contract/contact-settings.ts'
import { MAIL_LANGUAGES } from '../../../src/contract/subscription.ts'
import { TRANSFER_DIRECTIONS } from '../../../src/contract/transfer.ts'
import { AUTHS, ROLES } from '../../../src/contract/user.ts'
import type { AnyOperation } from '../session/rights.ts'
import { textOf } from './fields.ts'
import type { Draft, Field, Label, Thing } from './fields.ts'

export const KIND_NAMES = [
  'users',
  'entities',
  'partners',
  'calendars',
  'subscriptions',
  'expectations',
] as const
export type KindName = (typeof KIND_NAMES)[number]

export type Listed = { things: Thing[]; pages: number; page: number; total: number }
type Asked = { search: string | undefined; page: number; size: number }
type Call = { signal?: AbortSignal; onTag?: (tag: string) => void; ifMatch?: string | undefined }
type DryRun = { dryRun: 'true' | 'false' }

export type Kind = {
  path: string
  /** Pointer of what it is called by; it cannot be changed. */
  id: string
  fields: readonly Field[]
  columns: readonly { label: Label; value: (thing: Thing) => string; words?: 'roles' | 'yesNo' | 'values' }[]
  may: { create: AnyOperation; change: AnyOperation; remove: AnyOperation }
  list(client: Client, asked: Asked, call: Call): Promise<Listed>
  read(client: Client, id: string, call: Call): Promise<Thing>
  /** Pointers of the secrets that are stored: only these can be taken away. */
  secretsOf?(thing: Thing): readonly string[]
  create(client: Client, id: string, body: Thing, query: DryRun): Promise<Changed>
  change(client: Client, id: string, body: Thing, query: DryRun, call: Call): Promise<Changed>
  remove(client: Client, id: string, query: DryRun): Promise<Changed>
}

const text = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(text).join(', ')
    : typeof value === 'string' || typeof value === 'number'
      ? String(value)
      : ''
const column = (name: string, label: Label): Kind['columns'][number] => ({
  label,
  value: (thing) => text(thing[name]),
})

type Paged = { content: object[]; totalPages: number; number: number; totalElements: number }
const paged = ({ content, totalPages, number, totalElements }: Paged): Listed => ({
  things: content as Thing[],
  pages: totalPages,
  page: number,
  total: totalElements,
})
/** A list that comes whole: searched here. */
function whole(all: readonly object[], { search = '' }: Asked): Listed {
  const words = search.toLowerCase().split(/\s+/)
  const things = (all as Thing[]).filter((thing) => {
    const said = JSON.stringify(thing).toLowerCase()
    return words.every((word) => said.includes(word))
  })
  return { things, pages: 1, page: 1, total: things.length }
}
/** The form gives what its fields say; the node checks it against the schema that this type is derived from. */
const asBody = (body: Thing) => body as never

const speaks = (protocol: string) => (draft: Draft) => (textOf(draft, '/protocol') || 'oftp2') === protocol
const isSftp = speaks('sftp')
const isOftp2 = speaks('oftp2')
const isFolder = speaks('folder')

const users: Kind = {
  path: '/users',
  id: '/username',
  fields: [
    { pointer: '/username', label: 'username', section: 'who', kind: 'text', required: true },
    { pointer: '/email', label: 'email', section: 'who', kind: 'text', required: true },
    { pointer: '/name', label: 'firstName', section: 'who', kind: 'text' },
    { pointer: '/lastName', label: 'lastName', section: 'who', kind: 'text' },
    { pointer: '/secondLastName', label: 'secondLastName', section: 'who', kind: 'text' },
    { pointer: '/language', label: 'language', section: 'who', kind: 'choice', choices: ['es', 'en'] },
    { pointer: '/password', label: 'newPassword', section: 'rights', kind: 'secret' },
    { pointer: '/role', label: 'role', section: 'rights', kind: 'choice', choices: ROLES, required: true },
    { pointer: '/disabled', label: 'disabled', section: 'rights', kind: 'flag' },
    ...AUTHS.map((name): Field => ({
      pointer: `/auths/${name}`,
      label: name,
      section: 'flags',
      kind: 'flag',
    })),
  ],
  columns: [
    column('username', 'username'),
    column('email', 'email'),
    { ...column('role', 'role'), words: 'roles' },
    { label: 'disabled', value: ({ disabled }) => String(disabled === true), words: 'yesNo' },
  ],
  may: { create: 'createUser', change: 'changeUser', remove: 'removeUser' },
  list: async ({ platform }, asked, call) => paged(await platform.listUsers(asked, call)),
  read: ({ platform }, username, call) => platform.readUser({ username }, call),
  secretsOf: ({ login }) => (login === 'PASSWORD' ? ['/password'] : []),
  create: ({ platform }, _id, body, query) => platform.createUser({ body: asBody(body), ...query }),
  change: ({ platform }, username, { username: _same, ...body }, query, call) =>
    platform.changeUser({ username, body: asBody(body), ...query }, call),
  remove: ({ platform }, username, query) => platform.removeUser({ username, ...query }),
}

const entities: Kind = {
  path: '/entities',
  id: '/code',
  fields: [
    { pointer: '/code', label: 'code', section: 'who', kind: 'text', required: true },
    { pointer: '/name', label: 'name', section: 'who', kind: 'text', required: true },
    { pointer: '/oftp2/id', label: 'oftp2Id', section: 'who', kind: 'text' },
    { pointer: '/fileRoots', label: 'fileRoots', section: 'who', kind: 'lines' },
  ],
  columns: [column('code', 'code'), column('name', 'name'), column('channels', 'channels')],
  may: { create: 'createEntity', change: 'changeEntity', remove: 'removeEntity' },
  list: async ({ platform }, asked, call) => paged(await platform.listEntities(asked, call)),
  read: ({ platform }, code, call) => platform.readEntity({ code }, call),
  create: ({ platform }, _id, body, query) => platform.createEntity({ body: asBody(body), ...query }),
  change: ({ platform }, code, { code: _same, ...body }, query, call) =>
    platform.changeEntity({ code, body: asBody(body), ...query }, call),
  remove: ({ platform }, code, query) => platform.removeEntity({ code, ...query }),
}

const partners: Kind = {
  path: '/partners',
  id: '/id',
  fields: [
    { pointer: '/id', label: 'id', section: 'who', kind: 'text', required: true },
    { pointer: '/name', label: 'name', section: 'who', kind: 'text' },
    { pointer: '/version', label: 'version', section: 'who', kind: 'text' },
    { pointer: '/os', label: 'os', section: 'who', kind: 'text' },
    {
      pointer: '/remoteCodes',
      label: 'remoteCodes',
      section: 'who',
      kind: 'rows',
      columns: [
        { name: 'id', label: 'id' },
        { name: 'code', label: 'code' },
        { name: 'name', label: 'name' },
      ],
    },
    { pointer: '/protocol', label: 'protocol', section: 'reach', kind: 'choice', choices: PROTOCOLS },
    {
      pointer: '/remoteIPs',
      label: 'remoteIPs',
      section: 'reach',
      kind: 'rows',
      columns: [
        { name: 'id', label: 'id' },
        { name: 'ipAddress', label: 'ipAddress' },
        { name: 'port', label: 'port', number: true },
      ],
    },
    { pointer: '/oftp2/id', label: 'oftp2Id', section: 'oftp2', kind: 'text', when: isOftp2 },
    { pointer: '/oftp2/user', label: 'oftp2User', section: 'oftp2', kind: 'text', when: isOftp2 },
    { pointer: '/oftp2/bufferSize', label: 'bufferSize', section: 'oftp2', kind: 'number', when: isOftp2 },
    { pointer: '/oftp2/credit', label: 'credit', section: 'oftp2', kind: 'number', when: isOftp2 },
    { pointer: '/oftp2/sessions', label: 'sessions', section: 'oftp2', kind: 'number', when: isOftp2 },
    {
      pointer: '/oftp2/receiptSeconds',
      label: 'receiptSeconds',
      section: 'oftp2',
      kind: 'number',
      when: isOftp2,
    },
    { pointer: '/oftp2/restart', label: 'restart', section: 'oftp2', kind: 'flag', when: isOftp2 },
    {
      pointer: '/oftp2/suite',
      label: 'suite',
      section: 'oftp2',
      kind: 'choice',
      choices: SUITE_CODES,
      when: isOftp2,
    },
    { pointer: '/oftp2/tls/ca', label: 'tlsCa', section: 'oftp2', kind: 'area', when: isOftp2 },
    { pointer: '/oftp2/tls/cert', label: 'tlsCert', section: 'oftp2', kind: 'area', when: isOftp2 },
    { pointer: '/oftp2/tls/key', label: 'tlsKey', section: 'oftp2', kind: 'secret', when: isOftp2 },
    { pointer: '/oftp2/tls/servername', label: 'servername', section: 'oftp2', kind: 'text', when: isOftp2 },
    {
      pointer: '/oftp2/tls/clientCertificate',
      label: 'clientCertificate',
      section: 'oftp2',
      kind: 'choice',
      choices: ['asked', 'required'],
      when: isOftp2,
    },
    { pointer: '/sftp/username', label: 'username', section: 'sftp', kind: 'text', when: isSftp },
    { pointer: '/sftp/password', label: 'password', section: 'sftp', kind: 'secret', when: isSftp },
    { pointer: '/sftp/privateKey', label: 'privateKey', section: 'sftp', kind: 'secret', when: isSftp },
    { pointer: '/sftp/passphrase', label: 'passphrase', section: 'sftp', kind: 'secret', when: isSftp },
    { pointer: '/sftp/hostKeys', label: 'hostKeys', section: 'sftp', kind: 'lines', when: isSftp },
    { pointer: '/sftp/inbox', label: 'inbox', section: 'sftp', kind: 'text', when: isSftp },
    { pointer: '/sftp/outbox', label: 'outbox', section: 'sftp', kind: 'text', when: isSftp },
    { pointer: '/sftp/sessions', label: 'sessions', section: 'sftp', kind: 'number', when: isSftp },
    { pointer: '/access/username', label: 'username', section: 'access', kind: 'text', when: isSftp },
    { pointer: '/access/password', label: 'password', section: 'access', kind: 'secret', when: isSftp },
    {
      pointer: '/access/authorizedKeys',
      label: 'authorizedKeys',
      section: 'access',
      kind: 'lines',
      when: isSftp,
    },
    { pointer: '/folder/inbox', label: 'inbox', section: 'folder', kind: 'text', when: isFolder },
    { pointer: '/folder/outbox', label: 'outbox', section: 'folder', kind: 'text', when: isFolder },
    { pointer: '/quota/megabytes', label: 'quotaMegabytes', section: 'quota', kind: 'number' },
    { pointer: '/quota/files', label: 'quotaFiles', section: 'quota', kind: 'number' },
  ],
  columns: [
    column('id', 'id'),
    column('name', 'name'),
    { ...column('protocol', 'protocol'), words: 'values' },
    column('remoteCodes', 'remoteCodes'),
    column('addresses', 'remoteIPs'),
    column('channels', 'channels'),
  ],
  may: { create: 'createContact', change: 'changeContact', remove: 'removeContact' },
  list: async ({ platform }, asked, call) => paged(await platform.searchContacts(asked, call)),
  read: ({ platform }, contactId, call) => platform.readContact({ contactId }, call),
  secretsOf: ({ secrets }) => (Array.isArray(secrets) ? secrets : []),
  create: ({ platform }, _id, body, query) => platform.createContact({ body: asBody(body), ...query }),
  change: ({ platform }, contactId, { id: _same, ...body }, query, call) =>
    platform.changeContact({ contactId, body: asBody(body), ...query }, call),
  remove: ({ platform }, contactId, query) => platform.removeContact({ contactId, ...query }),
}

const calendars: Kind = {
  path: '/calendars',
  id: '/id',
  fields: [
    { pointer: '/id', label: 'id', section: 'who', kind: 'text', required: true },
    { pointer: '/holidays/country', label: 'country', section: 'days', kind: 'text' },
    { pointer: '/holidays/region', label: 'region', section: 'days', kind: 'text' },
    { pointer: '/closed', label: 'closed', section: 'days', kind: 'lines' },
    { pointer: '/open', label: 'open', section: 'days', kind: 'lines' },
  ],
  columns: [
    column('id', 'id'),
    {
      label: 'country',
      value: ({ holidays }) => Object.values((holidays as object | undefined) ?? {}).join(' '),
    },
    column('closed', 'closed'),
    column('open', 'open'),
  ],
  may: { create: 'putCalendar', change: 'putCalendar', remove: 'removeCalendar' },
  list: async ({ platform }, asked, call) => whole((await platform.listCalendars({}, call)).calendars, asked),
  read: ({ platform }, calendarId, call) => platform.readCalendar({ calendarId }, call),
  create: ({ platform }, calendarId, { id: _id, ...body }, query) =>
    platform.putCalendar({ calendarId, body: asBody(body), ...query }, { onlyNew: true }),
  change: ({ platform }, calendarId, { id: _id, ...body }, query, call) =>
    platform.putCalendar({ calendarId, body: asBody(body), ...query }, call),
  remove: ({ platform }, calendarId, query) => platform.removeCalendar({ calendarId, ...query }),
}

const subscriptions: Kind = {
  path: '/subscriptions',
  id: '/id',
  fields: [
    { pointer: '/id', label: 'id', section: 'who', kind: 'text', required: true },
    { pointer: '/events', label: 'events', section: 'who', kind: 'lines', required: true },
    { pointer: '/channels', label: 'onlyChannels', section: 'who', kind: 'lines' },
    { pointer: '/webhook/url', label: 'url', section: 'webhook', kind: 'text' },
    { pointer: '/webhook/secrets', label: 'secrets', section: 'webhook', kind: 'lines' },
    { pointer: '/mail/to', label: 'to', section: 'mail', kind: 'lines' },
    {
      pointer: '/mail/language',
      label: 'language',
      section: 'mail',
      kind: 'choice',
      choices: MAIL_LANGUAGES,
    },
  ],
  columns: [
    column('id', 'id'),
    column('events', 'events'),
    {
      label: 'to',
      value: ({ webhook, mail }) =>
        text((webhook as Thing | undefined)?.url ?? (mail as Thing | undefined)?.to),
    },
    { ...column('state', 'state'), words: 'values' },
  ],
  may: { create: 'putSubscription', change: 'putSubscription', remove: 'removeSubscription' },
  list: async ({ platform }, asked, call) =>
    whole((await platform.listSubscriptions({}, call)).content, asked),
  // Secrets are not shown; those that are there stay.
  read: ({ platform }, subscriptionId, call) => platform.readSubscription({ subscriptionId }, call),
  create: ({ platform }, subscriptionId, { id: _id, ...body }, query) =>
    platform.putSubscription({ subscriptionId, body: asBody(body), ...query }, { onlyNew: true }),
  change: ({ platform }, subscriptionId, { id: _id, ...body }, query, call) =>
    platform.putSubscription({ subscriptionId, body: asBody(body), ...query }, call),
  remove: ({ platform }, subscriptionId, query) => platform.removeSubscription({ subscriptionId, ...query }),
}

const expectations: Kind = {
  path: '/expectations',
  id: '/id',
  fields: [
    { pointer: '/id', label: 'id', section: 'who', kind: 'text', required: true },
    { pointer: '/channel', label: 'channel', section: 'who', kind: 'text', required: true },
    {
      pointer: '/direction',
      label: 'direction',
      section: 'who',
      kind: 'choice',
      choices: TRANSFER_DIRECTIONS,
      required: true,
    },
    { pointer: '/files', label: 'files', section: 'who', kind: 'text' },
    { pointer: '/atLeast', label: 'atLeast', section: 'who', kind: 'number' },
    { pointer: '/atMost', label: 'atMost', section: 'who', kind: 'number' },
    { pointer: '/days', label: 'days', section: 'days', kind: 'lines' },
    { pointer: '/from', label: 'from', section: 'days', kind: 'text' },
    { pointer: '/by', label: 'by', section: 'days', kind: 'text', required: true },
    { pointer: '/timezone', label: 'timezone', section: 'days', kind: 'text' },
    { pointer: '/calendar', label: 'calendar', section: 'days', kind: 'text' },
    { pointer: '/onHoliday', label: 'onHoliday', section: 'days', kind: 'choice', choices: ON_HOLIDAY },
    { pointer: '/warnBefore', label: 'warnBefore', section: 'days', kind: 'text' },
  ],
  columns: [
    column('id', 'id'),
    column('channel', 'channel'),
    column('files', 'files'),
    column('by', 'by'),
    column('calendar', 'calendar'),
  ],
  may: { create: 'putExpectation', change: 'putExpectation', remove: 'removeExpectation' },
  list: async ({ platform }, asked, call) =>
    whole((await platform.expectationRules({}, call)).content, asked),
  read: ({ platform }, expectationId, call) => platform.readExpectation({ expectationId }, call),
  create: ({ platform }, expectationId, { id: _id, ...body }, query) =>
    platform.putExpectation({ expectationId, body: asBody(body), ...query }, { onlyNew: true }),
  change: ({ platform }, expectationId, { id: _id, ...body }, query, call) =>
    platform.putExpectation({ expectationId, body: asBody(body), ...query }, call),
  remove: ({ platform }, expectationId, query) => platform.removeExpectation({ expectationId, ...query }),
}

export const KINDS: Record<KindName, Kind> = {
  users,
  entities,
  partners,
  calendars,
  subscriptions,
  expectations,
}
