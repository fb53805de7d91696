// Operations 3 to 11: channels read and changed.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import { BASE_PATH } from '../../contract/operations.ts'
import { makePage } from '../../contract/page.ts'
import { SECRET_FIELDS } from '../../contract/channel.ts'
import type { Channel, ChannelStatus } from '../../contract/channel.ts'
import type { HistoryEvent } from '../../contract/channel.ts'
import type { TransferDirection } from '../../contract/transfer.ts'
import { channelFaults, valueFaults } from '../../domain/channel-faults.ts'
import { unknownUsers } from '../../domain/channel-rules.ts'
import type { Fault, Roots } from '../../domain/channel-rules.ts'
import { rootsOf } from '../../domain/file-roots.ts'
import {
  mergeChannel,
  otherCodeFields,
  statusOf,
  withoutNulls,
  withoutUnseen,
  withPath,
} from '../../domain/channel.ts'
import { showTime } from '../../domain/time.ts'
import { mayReach, seesSecrets } from '../../domain/user.ts'
import { NodeError } from '../../errors.ts'
import { checkPathExists, diskFaults } from '../../files/roots.ts'
import { uploadedKeys } from '../../keys/uploaded-keys.ts'
import { usernamesAmong } from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import {
  addHistory,
  findChannel,
  findChannels,
  lockChannel,
  openChannel,
  pageOfHistory,
  sealChannel,
  updateChannel as writeChannel,
} from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { findContact, findLocalEntity } from '../../store/contacts.ts'
import type { Tx } from '../../store/database/store.ts'
import { carrierOf, channelFindings, knownChannelFindings } from '../../platform/protocol-rules.ts'
import { channelAccessChanged, lockChannelAccess } from '../../store/channel-access.ts'
import { hoursOfChannel, readCalendars } from '../../store/expectations/calendars.ts'
import { isInError } from '../../store/transfers/failures.ts'
import { activeTransfers } from '../../store/transfers/transfers.ts'
import { Written } from '../context.ts'
import type { Context, Handler } from '../context.ts'
import { actorOf } from '../actor.ts'
import { channelTag, requireMatch, showTag } from '../revision.ts'
import { checkReach, reachChannel } from '../guard.ts'
import { askedPage, writePage } from './paging.ts'
import { unparkTransfers } from '../../store/transfers/leases.ts'
import { requireTrust } from './trust.ts'

export const listChannels: Handler<'listChannels'> = async (context, { input, user }) => {
  const asked = askedPage(context, input)
  const view = await context.channelAccess(context.store.db, user)
  const codes = input.contactId === undefined ? view.codes : (view.codesByContact.get(input.contactId) ?? [])
  const channels = await findChannels(context.store.db, codes.slice(asked.offset, asked.offset + asked.size))
  channels.sort((a, b) => (a.code < b.code ? -1 : 1))
  return writePage(
    channels.map((channel) => write(toWire(context, user, channel))),
    codes.length,
    asked,
  )
}

export const channelConfiguration: Handler<'channelConfiguration'> = async (
  context,
  { input, user, reply },
) => {
  const channel = await reachChannel(context, user, input.channelCode)
  showTag(reply, channelTag(channel))
  return new Written(`[${write(toWire(context, user, channel))}]`)
}

export const channelStatus: Handler<'channelStatus'> = async (context, { input, user }) => {
  return [await readStatus(context, await reachChannel(context, user, input.channelCode))]
}

export const channelHistory: Handler<'channelHistory'> = async (context, { input, user }) => {
  const channel = await reachChannel(context, user, input.channelCode)
  const asked = askedPage(context, input)
  const { total, rows } = await pageOfHistory(context.store.db, channel.code, asked)
  const content = rows.map((row) => ({
    'channel-id': channel.id,
    'channel-code': channel.code,
    datetime: showTime(row.at, context.zone),
    event: row.event,
  }))
  return makePage(content, total, asked)
}

export async function readStatus(context: Context, channel: ChannelRecord): Promise<ChannelStatus> {
  const { db } = context.store
  const active = await activeTransfers(db, channel.code)
  if (channel.calendar) await readCalendars(db)
  const at = { now: context.now(), zone: context.zone, hours: hoursOfChannel(channel) }
  const activity = {
    active: active.map((one) => one.state),
    failed: await isInError(db, channel.code),
  }
  return {
    'channel-id': channel.id,
    'channel-code': channel.code,
    ...(channel.config.direction && { 'channel-direction': channel.config.direction }),
    'channel-status': statusOf(channel.config, activity, at),
  }
}

// Updates: one transaction takes the lock and writes the new configuration and its history entry. It does nothing else.

type Change = {
  code: string
  user: Account
  request: FastifyRequest
  reply: FastifyReply
  event: HistoryEvent
  change: (channel: Channel) => Channel
  /** It may change who reaches the channel, so channel access is locked too. */
  ofUsers?: boolean
  /** Turns the place of a fault in the channel into its place in the request's body. */
  inBody?: (pointer: string) => string
  /** A check on the disk, made only for somebody who may ask for it. */
  verify?: () => void
}

export const updateChannel: Handler<'updateChannel'> = (context, { input, body, user, request, reply }) => {
  const [other] = otherCodeFields(input.channelCode, body)
  if (other)
    throw new NodeError(
      'bad_request',
      `/${other.field} is part of the channel code and must stay ${other.part}`,
    )
  return change(context, {
    code: input.channelCode,
    user,
    request,
    reply,
    event: 'CHANNEL_UPDATED',
    change: (channel) => mergeChannel(channel, seesSecrets(user) ? body : withoutUnseen(body)),
    ofUsers: body.users !== undefined,
  })
}

export const updateIps: Handler<'updateIps'> = (context, { input, body, user, request, reply }) =>
  change(context, {
    code: input.channelCode,
    user,
    request,
    reply,
    event: 'IPS_UPDATED',
    change: (channel) => ({ ...channel, connection: { ...channel.connection, ips: body } }),
    inBody: (pointer) => pointer.replace('/connection/ips', ''),
  })

export const updateDirectories: Handler<'updateDirectories'> = (
  context,
  { input, body, user, request, reply },
) =>
  change(context, {
    code: input.channelCode,
    user,
    request,
    reply,
    event: 'DIRECTORIES_UPDATED',
    change: (channel) => ({
      ...channel,
      directories: body.map(withoutNulls) as NonNullable<Channel['directories']>,
    }),
    inBody: (pointer) => pointer.replace('/directories', ''),
  })

export const setOutboundPath: Handler<'setOutboundPath'> = (context, call) =>
  setPath(context, call, 'EMISION')
export const setInboundPath: Handler<'setInboundPath'> = (context, call) =>
  setPath(context, call, 'RECEPCION')

type PathCall = {
  input: { channelCode: string }
  body: { path: string; verifyExists?: boolean }
  user: Account
  request: FastifyRequest
  reply: FastifyReply
}

function setPath(
  context: Context,
  { input, body, user, request, reply }: PathCall,
  way: TransferDirection,
): Promise<Channel> {
  const wanted: Change = {
    code: input.channelCode,
    user,
    request,
    reply,
    event: way === 'EMISION' ? 'OUTBOUND_PATH_UPDATED' : 'INBOUND_PATH_UPDATED',
    change: (channel) => withPath(channel, way, body.path),
    inBody: (pointer) => pointer.replace(/^\/directories\/\d+\/filePath/, '/path'),
    ...(body.verifyExists && { verify: () => checkPathExists(body.path, way, context.roots, '/path') }),
  }
  return change(context, wanted)
}

/** A wrong value is reported before a missing or closed channel. So values are first checked on their own. */
async function checkValues(context: Context, wanted: Change): Promise<void> {
  const channel = await findChannel(context.store.db, wanted.code)
  if (channel && mayReach(wanted.user, channel.config.users)) return
  refuse(valueFaults(wanted.change({}), context.roots), wanted)
}

function refuse([fault]: readonly Fault[], { inBody = (pointer) => pointer }: Change): void {
  if (fault) throw new NodeError('bad_request', `${inBody(fault.pointer)} ${fault.message}`)
}

async function change(context: Context, wanted: Change): Promise<Channel> {
  const { code, user, event } = wanted
  await checkValues(context, wanted)
  const now = context.now()
  const { channel, isChanged, warnings } = await context.store.write(async (tx) => {
    if (wanted.ofUsers) await lockChannelAccess(tx, context.store.dialect)
    const before = await lockChannel(tx, context.store.dialect, code)
    checkReach(user, before)
    requireMatch(wanted.request, channelTag(before))
    const opened = openChannel(context.seal, before)
    const channel = wanted.change(opened)
    const roots = rootsOf(context.roots, await findLocalEntity(tx, before.localCode))
    const { found, warnings } = await findingsFor(tx, before, roots)
    refuse(newFaults(opened, channel, found), wanted)
    await requireTrust(tx, {
      user,
      contactId: before.contactId,
      before: opened,
      after: channel,
      given: wanted.change({}),
      inBody: wanted.inBody ?? ((pointer) => pointer),
    })
    wanted.verify?.()
    if (isDeepStrictEqual(channel, opened)) return { channel: before, isChanged: false, warnings: [] }
    const after = { ...before, ...sealChannel(context.seal, code, channel, before) }
    await writeChannel(tx, after)
    const [auditId] = await context.audit.add(tx, actorOf(wanted), [
      {
        action: 'CHANNEL_CHANGED',
        subject: { kind: 'channel', name: code },
        channelCode: code,
        changes: context.audit.changes(opened, channel, HIDDEN_FIELDS),
      },
      ...uploadedKeys(code, opened, channel),
    ])
    await addHistory(tx, code, [{ at: now, event, detail: `by ${user.username}`, auditId }])
    await unparkTransfers(tx, [code], now)
    if (wanted.ofUsers && !isDeepStrictEqual(before.config.users, after.config.users))
      await channelAccessChanged(tx)
    return { channel: after, isChanged: true, warnings: await warnings(channel) }
  })
  warn(wanted.reply, code, warnings)
  if (isChanged) context.wake({ kind: 'configuration', channelCode: code })
  return toWire(context, user, channel)
}

const HIDDEN_FIELDS = SECRET_FIELDS.map((field) => `/security/${field}`)

type FindFaults = (channel: Channel) => Fault[]

/** What is wrong with the channel, and what is allowed and may not be meant: by its own rules and by its protocol's. */
async function findingsFor(
  tx: Tx,
  { code, contactId, alias }: ChannelRecord,
  roots: Roots,
): Promise<{ found: FindFaults; warnings: (channel: Channel) => Promise<Fault[]> }> {
  const contact = await findContact(tx, contactId)
  const carrier = contact && carrierOf(contact.protocol, contact.settings)
  const onWire = (channel: Channel) => ({
    ...channel,
    code,
    contact: contactId,
    ...(alias !== null && { alias }),
  })
  return {
    found: (channel) => [
      ...channelFaults(channel, roots),
      ...diskFaults(channel, roots),
      ...(carrier ? channelFindings(onWire(channel), carrier).faults : []),
    ],
    warnings: async (channel) => {
      const { faults, warnings } = carrier ? knownChannelFindings(onWire(channel), carrier) : NONE
      const usernames = await usernamesAmong(tx, channel.users)
      // Faults that it still has it had before; a key that is missing is no fault of an update: null takes away what may be left out.
      return [...faults, ...unknownUsers(channel.users, usernames), ...warnings]
    },
  }
}

const NONE = { faults: [], warnings: [] }

/** A fault that was there before (say, a root removed from the settings) must not prevent other changes. */
function newFaults(before: Channel, after: Channel, faultsOf: FindFaults): Fault[] {
  const known = new Set(faultsOf(before).map((fault) => faultKey(before, fault)))
  return faultsOf(after).filter((fault) => !known.has(faultKey(after, fault)))
}

/** Clients and proxies take a few KiB of headers: past that they would report a change as failed that was made. */
const WARNING_OCTETS = 2048

/** In the words of `check` and `apply`; the body is the channel alone. */
function warn(reply: FastifyReply, code: string, warnings: readonly Fault[]): void {
  const lines: string[] = []
  let room = WARNING_OCTETS
  for (const [index, { pointer, message }] of warnings.entries()) {
    const line = warningLine(`${pointer} ${message}`)
    room -= line.length
    if (room < 0) {
      const rest = `${warnings.length - index} more: GET ${BASE_PATH}/platform/v1/channels/${code} has all`
      lines.push(warningLine(rest))
      break
    }
    lines.push(line)
  }
  if (lines.length > 0) void reply.header('Warning', lines)
}

function warningLine(text: string): string {
  return `299 - ${JSON.stringify(plain(text))}`
}

/** Headers are ASCII. */
function plain(text: string): string {
  return text
    .replaceAll('’', "'")
    .replaceAll('…', '...')
    .replaceAll(/[^ -~]/g, '?')
}

/** The fault with its value: another wrong value in the same place is another fault. */
function faultKey(channel: Channel, fault: Fault): string {
  let value: unknown = channel
  for (const step of fault.pointer.split('/').slice(1))
    value = (value as Record<string, unknown> | undefined)?.[step]
  return JSON.stringify([fault, value])
}

const written = new WeakMap<Channel, string>()

/** The store returns the same record until the channel changes, so its text is made once. */
function write(channel: Channel): string {
  let json = written.get(channel)
  if (json === undefined) written.set(channel, (json = JSON.stringify(channel)))
  return json
}

/** Secrets are shown to administrators only. Others do not get the four fields. */
function toWire(context: Context, user: Account, channel: ChannelRecord): Channel {
  return seesSecrets(user) ? openChannel(context.seal, channel) : channel.config
}
