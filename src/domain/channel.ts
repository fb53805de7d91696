// What a channel is: its code, how an update changes it, which directions are open, what its status is.

import { CHANNEL_CODE_PATTERN, CODE_FIELDS, SECRET_FIELDS, Security } from '../contract/channel.ts'
import type { Channel, ChannelPatch, ChannelStatusValue, Directory } from '../contract/channel.ts'
import type { ProtocolName } from '../contract/contact-settings.ts'
import type { TransferDirection, TransferStatus } from '../contract/transfer.ts'
import { isOpenAt } from './time.ts'
import type { Hours, Zone } from './time.ts'
import { isObject } from '../json.ts'
import type { JsonObject } from '../json.ts'

const CODE = new RegExp(CHANNEL_CODE_PATTERN)

export type CodeParts = { localCode: string; remoteCode: string; application: string }

export function parseCode(code: string): CodeParts | undefined {
  if (!CODE.test(code)) return undefined
  const [localCode = '', remoteCode = '', application = ''] = code.split('-')
  return { localCode, remoteCode, application }
}

/** What names the channel to its partner: the alias, if it has one, else the application in its code. */
export function applicationOf({ alias, code }: { alias: string | null; code: string }): string {
  return alias ?? parseCode(code)?.application ?? ''
}

/** The code as a channel shows it. */
export function codeFields(code: string): Required<Pick<Channel, (typeof CODE_FIELDS)[number]>> {
  const { localCode = '', remoteCode = '', application = '' } = parseCode(code) ?? {}
  return { localEntity: localCode, remoteEntity: remoteCode, application }
}

/** The fields that name another code than the channel's; null would leave a part out. */
export function otherCodeFields(
  code: string,
  given: { readonly [F in (typeof CODE_FIELDS)[number]]?: string | null },
): { field: string; part: string }[] {
  const parts = codeFields(code)
  return CODE_FIELDS.filter((field) => given[field] !== undefined && given[field] !== parts[field]).map(
    (field) => ({ field, part: parts[field] }),
  )
}

/** Sent fields replace, nested objects merge, arrays replace as a whole, null clears. The original is not changed. */
export function mergeChannel(channel: Channel, patch: ChannelPatch): Channel {
  return merge(channel, patch)
}

function merge(into: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...into }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else if (isObject(value)) mergeObject(merged, name, value)
    else if (Array.isArray(value)) merged[name] = value.map(withoutNulls)
    else merged[name] = plainZero(value)
  }
  return merged
}

/** If there was no object and the new one sets nothing, there is still none: some clients write absent fields so. */
function mergeObject(merged: JsonObject, name: string, patch: JsonObject): void {
  const before = merged[name]
  const after = merge(isObject(before) ? before : {}, patch)
  if (isObject(before) || Object.keys(after).length > 0) merged[name] = after
}

/**
 * An update by a user who cannot see the secret fields. Null there, or for all of `security`, counts as left out: some
 * clients write fields so that they have not read.
 */
export function withoutUnseen(patch: ChannelPatch): ChannelPatch {
  const { security } = patch
  if (security === undefined) return patch
  const given = security ?? Object.fromEntries(Object.keys(Security.properties).map((name) => [name, null]))
  const seen = Object.entries(given).filter(([name, value]) => value !== null || !isSecretField(name))
  return { ...patch, security: Object.fromEntries(seen) }
}

function isSecretField(name: string): boolean {
  return (SECRET_FIELDS as readonly string[]).includes(name)
}

/** An array replaces as a whole, so null in one of its items means that the field is left out. */
export function withoutNulls<T>(value: T): T {
  if (!isObject(value)) return value
  const given = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(given.map(([name, field]) => [name, plainZero(field)])) as T
}

/** JSON has -0, which is stored and shown as 0: it is no other value. */
function plainZero(value: unknown): unknown {
  return value === 0 ? 0 : value
}

/** Sets the path of the directory for one direction, or of the one for both if there is none for it. */
export function withPath(channel: Channel, way: TransferDirection, filePath: string): Channel {
  const directories = [...(channel.directories ?? [])]
  let index = directories.findIndex((directory) => directory.direction === way)
  if (index < 0) index = directories.findIndex((directory) => allows(directory.direction, way))
  if (index < 0) directories.push({ direction: way, filePath })
  else directories[index] = { ...directories[index], filePath }
  return { ...channel, directories }
}

/** The directories for one direction, with their index in the channel's list. */
export function directoriesFor(
  channel: Channel,
  way: TransferDirection,
): { index: number; directory: Directory }[] {
  return (channel.directories ?? [])
    .map((directory, index) => ({ index, directory }))
    .filter(({ directory }) => isFor(directory, way))
}

function isFor({ direction, filePath }: Directory, way: TransferDirection): boolean {
  return allows(direction, way) && filePath !== undefined
}

/** A direction left out allows both ways. */
function allows(direction: string | undefined, way: TransferDirection): boolean {
  return direction === undefined || direction === 'BIDIRECCIONAL' || direction === way
}

/** Only the partner may call for the channel. Nobody calls through a folder: it is used whatever callingEnd says. */
export function partnerMustCall({ connection }: Channel, protocol: ProtocolName | undefined): boolean {
  return protocol !== 'folder' && connection?.advancedConfigurationConnection?.callingEnd === 'REMOTO'
}

/** Why files may not go in that direction, in words. Undefined if they may. */
export function closedBecause(channel: Channel, way: TransferDirection): string | undefined {
  const [planning, field] =
    way === 'EMISION' ? [channel.emission, 'emission'] : [channel.reception, 'reception']
  if (channel.deactivateChannel) return 'the channel is inactive (deactivateChannel is true)'
  if (planning?.active === false) return `the channel’s ${field}.active is false`
  if (!allows(planning?.direction, way)) return `the channel’s ${field}.direction does not allow ${way}`
  return undefined
}

export function goes(channel: Channel, way: TransferDirection): boolean {
  return allows(channel.direction, way)
}

export function hoursOf(channel: Channel): Hours {
  return channel.connection?.advancedConfigurationConnection ?? {}
}

export type Activity = {
  /** States of the active transfers, one per direction at most. */
  active: readonly TransferStatus[]
  /** In one direction at least, the last ended transfer failed and was neither retried nor reset. */
  failed: boolean
}

/** `hours` with the working days of the channel's calendar, where it has one. */
export function statusOf(
  channel: Channel,
  activity: Activity,
  { now, zone, hours = hoursOf(channel) }: { now: number; zone: Zone; hours?: Hours },
): ChannelStatusValue {
  if (channel.deactivateChannel) return 'INACTIVE'
  if (activity.active.includes('IN_PROGRESS')) return 'IN_PROGRESS'
  if (activity.active.includes('PENDING')) return 'PENDING'
  if (activity.failed) return 'ERROR'
  return isOpenAt(hours, now, zone) ? 'IDLE' : 'CLOSED'
}
