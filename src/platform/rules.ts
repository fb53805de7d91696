// What must be true across a platform: unique names, references that lead somewhere, rules of channels that a schema
// cannot express. Faults and warnings have the JSON pointer into the file. Nothing is thrown.

import { Cron } from 'croner'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Channel } from '../contract/channel.ts'
import { channelFaults } from '../domain/channel-faults.ts'
import { fileRoots as allowedRoots, pathFaults, unknownUsers } from '../domain/channel-rules.ts'
import type { Fault, Roots } from '../domain/channel-rules.ts'
import { otherCodeFields, parseCode } from '../domain/channel.ts'
import { rootsOf } from '../domain/file-roots.ts'
import { weakPassword } from '../domain/user.ts'
import { isPasswordHash } from '../accounts/password.ts'
import { diskFaults, placesOf } from '../files/roots.ts'
import { differentDemands } from './demands.ts'
import { carrierOf, contactFindings, channelFindings, oftp2IdFits } from './protocol-rules.ts'
import type { Carrier } from '../domain/fields/idle.ts'
import type { Findings } from './protocol-rules.ts'
import { calendarReference, noticeFindings } from './notice-rules.ts'
import type { NoticeSurroundings } from './notice-rules.ts'
import { UNREAD } from './references.ts'
import type {
  Platform,
  PlatformChannel,
  PlatformEntity,
  PlatformUser,
} from '../contract/administration/platform-file.ts'

/** What the database has beside the file, where that will stay. */
export type Known = {
  entityCodes: ReadonlySet<string>
  /** File roots of those that have their own. */
  entityRoots: ReadonlyMap<string, readonly string[]>
  usernames: ReadonlySet<string>
  contacts: ReadonlyMap<string, KnownContact>
} & NoticeSurroundings
export type KnownContact = Carrier & { remoteCodes: readonly string[] }

export const NOTHING_KNOWN: Known = {
  entityCodes: new Set(),
  entityRoots: new Map(),
  usernames: new Set(),
  contacts: new Map(),
  calendars: new Set(),
  channels: new Map(),
}

export function platformFindings(platform: Platform, roots: Roots, known: Known): Findings {
  const findings: Findings = { faults: [...uniqueFaults(platform), ...userFaults(platform)], warnings: [] }
  const add = (base: string, found: Findings) => {
    findings.faults.push(...found.faults.map((fault) => ({ ...fault, pointer: base + fault.pointer })))
    findings.warnings.push(...found.warnings.map((fault) => ({ ...fault, pointer: base + fault.pointer })))
  }
  for (const [index, entity] of (platform.localEntities ?? []).entries()) {
    add(`/localEntities/${index}`, { faults: entityRootFaults(entity, roots), warnings: [] })
    if (!entity.oftp2?.id && !oftp2IdFits(entity.code))
      add(
        `/localEntities/${index}`,
        warning('/code', 'cannot stand as an OFTP2 identification: give oftp2.id if it is to speak OFTP2'),
      )
  }
  for (const [index, contact] of (platform.contacts ?? []).entries())
    add(`/contacts/${index}`, contactFindings(contact, roots))
  const around = surroundings(platform, known)
  for (const [index, channel] of (platform.channels ?? []).entries())
    add(`/channels/${index}`, oneChannel(channel, around, roots))
  findings.warnings.push(...sharedApplications(platform), ...differentDemands(platform))
  add('', noticeFindings(platform, around))
  return findings
}

function warning(pointer: string, message: string): Findings {
  return { faults: [], warnings: [{ pointer, message }] }
}

// Unique names

type Entry = [pointer: string, value: string | undefined]

function uniqueFaults(platform: Platform): Fault[] {
  const { localEntities = [], users = [], contacts = [], channels = [] } = platform
  const lists: { what: string; entries: Entry[] }[] = [
    {
      what: 'local entity',
      entries: localEntities.map((one, at) => [`/localEntities/${at}/code`, one.code]),
    },
    {
      what: 'OFTP2 identification',
      entries: localEntities.map((one, at) => [`/localEntities/${at}/oftp2/id`, one.oftp2?.id]),
    },
    { what: 'username', entries: users.map((one, at) => [`/users/${at}/username`, one.username]) },
    {
      what: 'e-mail address',
      entries: users.map((one, at) => [`/users/${at}/email`, one.email.toLowerCase()]),
    },
    { what: 'contact', entries: contacts.map((one, at) => [`/contacts/${at}/id`, one.id]) },
    {
      what: 'OFTP2 identification',
      entries: contacts.map((one, at) => [`/contacts/${at}/oftp2/id`, one.oftp2?.id]),
    },
    {
      what: 'SFTP account',
      entries: contacts.map((one, at) => [`/contacts/${at}/access/username`, one.access?.username]),
    },
    {
      what: 'remote code',
      entries: contacts.flatMap((one, at) =>
        (one.remoteCodes ?? []).map(({ code }, place): Entry => [
          `/contacts/${at}/remoteCodes/${place}/code`,
          code,
        ]),
      ),
    },
    { what: 'channel', entries: channels.map((one, at) => [`/channels/${at}/code`, one.code]) },
    ...(['calendars', 'subscriptions', 'expectations'] as const).map((section) => ({
      what: section.slice(0, -1),
      entries: (platform[section] ?? []).map(({ id }, at): Entry => [`/${section}/${at}/id`, id]),
    })),
  ]
  return lists.flatMap(({ what, entries }) =>
    repeated(entries).map(([pointer, value]) => ({ pointer, message: `${what} ${value} is there twice` })),
  )
}

function repeated(entries: readonly Entry[]): Entry[] {
  const seen = new Set<string>()
  return entries.filter(([, value]) => {
    if (value === undefined) return false
    if (seen.has(value)) return true
    seen.add(value)
    return false
  })
}

// Users

function userFaults({ users = [] }: Platform): Fault[] {
  return users.flatMap((user, index) => {
    const why = passwordFault(user)
    return why ? [{ pointer: `/users/${index}/${why.field}`, message: why.message }] : []
  })
}

function passwordFault(user: PlatformUser): { field: string; message: string } | undefined {
  const { password, passwordHash } = user
  if (passwordHash !== undefined && password !== undefined)
    return { field: 'passwordHash', message: 'cannot stand beside password' }
  if (passwordHash !== undefined && passwordHash !== UNREAD && !isPasswordHash(passwordHash))
    return { field: 'passwordHash', message: 'is not an Argon2id hash of the form $argon2id$v=19$…' }
  const weak = typeof password === 'string' && password !== UNREAD ? weakPassword(password, user) : undefined
  return weak === undefined ? undefined : { field: 'password', message: weak }
}

// Channels

type Surroundings = Known

function surroundings(platform: Platform, known: Known): Surroundings {
  const { localEntities = [], users = [], contacts = [], channels = [], calendars = [] } = platform
  const described = contacts.map((one): [string, KnownContact] => [
    one.id,
    {
      ...carrierOf(one.protocol ?? 'oftp2', one),
      remoteCodes: (one.remoteCodes ?? []).map(({ code }) => code),
    },
  ])
  return {
    entityCodes: new Set([...known.entityCodes, ...localEntities.map(({ code }) => code)]),
    entityRoots: entityRootsOf(known, localEntities),
    usernames: new Set([...known.usernames, ...users.map(({ username }) => username)]),
    contacts: new Map([...known.contacts, ...described]),
    calendars: new Set([...known.calendars, ...calendars.map(({ id }) => id)]),
    channels: new Map([
      ...known.channels,
      ...channels.map(({ code, direction }): [string, string | undefined] => [code, direction]),
    ]),
  }
}

function oneChannel(channel: PlatformChannel, around: Surroundings, nodeRoots: Roots): Findings {
  const plain = plainChannel(channel)
  const { localCode: code = '' } = parseCode(channel.code) ?? {}
  const roots = rootsOf(nodeRoots, { code, fileRoots: around.entityRoots.get(code) })
  const values = channelFaults(plain, roots)
  const links = touchesDisk(plain, roots) ? diskFaults(plain, roots) : []
  const faults = [
    ...referenceFaults(channel, around),
    ...automationFaults(channel, around.calendars),
    ...(channel.calendar === undefined
      ? []
      : calendarReference('/calendar', channel.calendar, around.calendars)),
    ...values,
    // If the text of the path is outside already, there is no second fault.
    ...links.filter(({ pointer }) => !values.some((fault) => fault.pointer === pointer)),
  ]
  const unknown = unknownUsers(channel.users, around.usernames)
  const contact = around.contacts.get(channel.contact)
  const carried = contact ? channelFindings(channel, contact) : { faults: [], warnings: [] }
  return { faults: [...faults, ...carried.faults], warnings: [...unknown, ...carried.warnings] }
}

function entityRootFaults({ fileRoots = [] }: PlatformEntity, roots: Roots): Fault[] {
  return fileRoots.flatMap((root, index) => pathFaults(root, `/fileRoots/${index}`, allowedRoots(roots)))
}

/** If the file describes an entity, the file alone says what its roots are, even if it names none. */
function entityRootsOf(known: Known, described: readonly PlatformEntity[]): Known['entityRoots'] {
  const all = new Map(known.entityRoots)
  for (const { code, fileRoots } of described)
    if (fileRoots) all.set(code, fileRoots)
    else all.delete(code)
  return all
}

/** The part that the interface shows, without what is null or could not be read. */
export function plainChannel(channel: PlatformChannel): Channel {
  const {
    code: _code,
    contact: _contact,
    alias: _alias,
    automation: _automation,
    calendar: _calendar,
    keep: _keep,
    maxOpenedMegabytes: _maxOpenedMegabytes,
    security,
    ...shown
  } = channel
  return { ...readable(shown), ...(security && { security: readable(security) }) }
}

/** Where nothing exists yet, no link can lead out. That is quick to find out; following every path is not. */
function touchesDisk(channel: Channel, roots: Roots): boolean {
  return placesOf(channel, roots).some(({ path, allowed }) =>
    allowed.some((root) => path.startsWith(`${root}/`) && isThere(path, root)),
  )
}

function isThere(path: string, root: string): boolean {
  const [first = ''] = path.slice(root.length + 1).split('/')
  return lstatSync(join(root, first), { throwIfNoEntry: false }) !== undefined
}

function readable(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== UNREAD))
}

function referenceFaults(channel: PlatformChannel, around: Surroundings): Fault[] {
  const parts = parseCode(channel.code)
  if (!parts) return []
  const { localCode, remoteCode } = parts
  const faults: Fault[] = []
  if (!around.entityCodes.has(localCode))
    faults.push({ pointer: '/code', message: `there is no local entity ${localCode}` })
  for (const { field, part } of otherCodeFields(channel.code, channel))
    faults.push({ pointer: `/${field}`, message: `is part of the code and must be ${part}, or left out` })
  const contact = around.contacts.get(channel.contact)
  if (!contact) faults.push({ pointer: '/contact', message: `there is no contact ${channel.contact}` })
  else if (!contact.remoteCodes.includes(remoteCode))
    faults.push({ pointer: '/code', message: `contact ${channel.contact} has no remote code ${remoteCode}` })
  return faults
}

function automationFaults({ automation }: PlatformChannel, calendars: ReadonlySet<string>): Fault[] {
  if (!automation) return []
  const pointer = '/automation'
  const { calendar, onHoliday, ...when } = automation
  if (Object.keys(when).length !== 1)
    return [{ pointer, message: 'must have exactly one of watch, every and cron' }]
  const faults = calendar === undefined ? [] : calendarReference(`${pointer}/calendar`, calendar, calendars)
  if (calendar !== undefined && when.cron === undefined)
    faults.push({ pointer: `${pointer}/calendar`, message: 'stands only beside cron' })
  if (onHoliday !== undefined && calendar === undefined)
    faults.push({ pointer: `${pointer}/onHoliday`, message: 'stands only beside calendar' })
  if (when.cron !== undefined && !isCron(when.cron))
    faults.push({ pointer: `${pointer}/cron`, message: 'is not a cron expression such as "0 6 * * 1-5"' })
  return faults
}

function isCron(expression: string): boolean {
  try {
    return new Cron(expression, { paused: true }).nextRun() !== null
  } catch {
    return false
  }
}

/** Channels that look the same to the partner on the line; over SFTP those of two local entities do, too. */
function sharedApplications({ channels = [], contacts = [] }: Platform): Fault[] {
  const uploading = new Set(contacts.filter(({ access }) => access !== undefined).map(({ id }) => id))
  const entries = channels.map((channel, index) => {
    const parts = parseCode(channel.code)
    const onWire = parts && `${channel.contact} ${channel.alias ?? parts.application}`
    const takesUploads = uploading.has(channel.contact) && channel.direction !== 'EMISION'
    return {
      between: [`/channels/${index}/code`, onWire && `${parts.localCode} ${onWire}`] satisfies Entry,
      uploaded: [`/channels/${index}/code`, takesUploads ? onWire : undefined] satisfies Entry,
    }
  })
  const same = repeated(entries.map(({ between }) => between))
  const known = new Set(same.map(([pointer]) => pointer))
  const uploads = repeated(entries.map(({ uploaded }) => uploaded)).filter(([pointer]) => !known.has(pointer))
  return [
    ...same.map(([pointer]) => ({
      pointer,
      message: 'another channel between the same two has the same application on the wire: give one an alias',
    })),
    ...uploads.map(([pointer]) => ({
      pointer,
      message:
        'a channel of another local entity has the same application for this partner: over SFTP an upload does not say ' +
        'which of them it is for, and is refused: give one an alias',
    })),
  ]
}
