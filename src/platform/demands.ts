// Channels of one partner that ask for different things of whoever is at the other end. That is allowed: a session
// reaches those whose demands it has met. It is warned about, because it often is a slip.

import type { Fault } from '../domain/channel-rules.ts'
import type { Platform, PlatformChannel } from '../contract/administration/platform-file.ts'

export function differentDemands({ channels = [] }: Platform): Fault[] {
  const first = new Map<string, PlatformChannel>()
  return channels.flatMap((channel, index) => {
    const other = first.get(channel.contact)
    if (!other) first.set(channel.contact, channel)
    const field = other && FIELDS.find((one) => textOf(channel, one) !== textOf(other, one))
    if (!other || !field) return []
    const message =
      `asks for something else than ${other.code} of the same partner (${field}): a session that meets the demands of ` +
      'one does not reach the other'
    return [{ pointer: `/channels/${index}`, message }]
  })
}

const FIELDS = [
  'authentication',
  'cryptography',
  'ciphrate',
  'localKey',
  'remoteKey',
  'validateIp',
  'ips',
] as const

function textOf({ security, connection }: PlatformChannel, field: (typeof FIELDS)[number]): string {
  const { validateIp = false } = connection?.advancedConfigurationConnection ?? {}
  const values = { cryptography: false, ciphrate: 'NO', ...security, validateIp, ips: connection?.ips ?? [] }
  return JSON.stringify((values as Partial<Record<string, unknown>>)[field] ?? null)
}
