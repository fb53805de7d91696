// Channels of one partner that ask for different things of whoever is at the other end. That is allowed: a session
// reaches those whose demands it has met. It is warned about, because it often is a slip.

import type { Fault } from '../domain/channel-rules.ts'
import { canonicalAddress } from '../domain/network/addresses.ts'
import type { Platform, PlatformChannel, PlatformContact } from '../contract/administration/platform-file.ts'

export function differentDemands({ channels = [], contacts = [] }: Platform): Fault[] {
  const first = new Map<string, PlatformChannel>()
  const partners = new Map(contacts.map((contact) => [contact.id, contact]))
  return channels.flatMap((channel, index) => {
    const other = first.get(channel.contact)
    if (!other) first.set(channel.contact, channel)
    const partner = partners.get(channel.contact)
    const field = other && FIELDS.find((one) => textOf(channel, one, partner) !== textOf(other, one, partner))
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
  'rsaRemoteKey',
  'validateIp',
  'ips',
] as const

/** The field's value, in one spelling: two that make the same session are not told of. */
function textOf(
  { security = {}, connection }: PlatformChannel,
  field: (typeof FIELDS)[number],
  partner: PlatformContact | undefined,
): string {
  const { validateIp = false } = connection?.advancedConfigurationConnection ?? {}
  const { cryptography = false, ciphrate = 'NO', authentication } = security
  const encrypted = cryptography && (ciphrate === 'TRANSMISION' || ciphrate === 'ALL')
  const inAnyCase = (partner?.protocol ?? 'oftp2') === 'oftp2'
  const password = (key: string | null | undefined) =>
    inAnyCase && typeof key === 'string' ? key.trimEnd().toUpperCase() : key
  const own = (partner?.remoteIPs ?? []).flatMap(({ ipAddress }) => ipAddress ?? [])
  const values = {
    authentication,
    cryptography,
    ciphrate,
    localKey: password(security.localKey),
    remoteKey: password(security.remoteKey),
    // Where it neither proves the partner nor is compared with what the line shows, it concerns files alone.
    rsaRemoteKey:
      encrypted || authentication === 'CERTIFICATE' ? security.rsaRemoteKey?.replace(/\s/g, '') : undefined,
    validateIp,
    ips: (connection?.ips ?? (validateIp ? [] : own)).map(canonicalAddress),
  }
  return JSON.stringify(values[field] ?? null)
}
