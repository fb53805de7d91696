// Changes of a channel that concern trust: whom it believes, whom it calls, who may reach it, what the node runs for
// it. They need more than the permission to edit channels. Sending the same value again is no change.

import { SCRIPT_FIELDS, SECRET_FIELDS } from '../contract/channel.ts'
import type { Channel, SecretField } from '../contract/channel.ts'
import { canonicalAddress } from './network/addresses.ts'
import { hasAuth } from './user.ts'
import type { User } from './user.ts'
import { isObject } from '../json.ts'
import type { JsonObject } from '../json.ts'

/** What a change lacks; `needs` goes on from the field's name. */
export type MissingTrust = { pointer: string; needs: string }

export type TrustChange = {
  user: User
  before: Channel
  after: Channel
  /** What the request itself says, without what was there. */
  given: Channel
  /** Addresses that the contact is known to have. */
  contactAddresses: readonly string[]
}

/** What concerns signatures. */
export const SIGNATURE_FIELDS: ReadonlySet<string> = new Set([
  '/svcff',
  '/emissionff',
  '/receptionff',
  '/security/rsaLocalKey',
  '/security/rsaRemoteKey',
  '/security/rsaLocalKeyName',
  '/security/rsaRemoteKeyName',
])
const ADDRESSES = new Set(['/connection/ips', '/connection/proxyIps'])
const TRUSTED = new Set([
  '/keyExchangeChannel',
  '/users',
  '/connection/advancedConfigurationConnection/validateIp',
  ...SCRIPT_FIELDS.map((field) => `/integrations/${field}`),
])

/** Roles for signing only. Of a channel they may change only what concerns signatures. */
const SIGNERS = new Set(['ROLE_ADMINFF', 'ROLE_ADMINCONTROLATORFF'])

export function missingTrust(change: TrustChange): MissingTrust[] {
  const changed = new Set([...changedFields(change.before, change.after), ...guessedSecrets(change)])
  return [...changed].flatMap((pointer) => {
    const needs = needOf(pointer, change)
    return needs === undefined ? [] : [{ pointer, needs }]
  })
}

function needOf(pointer: string, { user, after, contactAddresses }: TrustChange): string | undefined {
  const administers = user.auths.administration
  if (SIGNATURE_FIELDS.has(pointer))
    return hasAuth(user, 'administrationFF') ? undefined : lacks('administration or administrationFF', user)
  if (SIGNERS.has(user.role))
    return `may not be changed by ${user.role}, which changes svcff, emissionff, receptionff and the rsa… fields of security alone`
  if (administers) return undefined
  if (TRUSTED.has(pointer) || pointer.startsWith('/security')) return lacks('administration', user)
  if (ADDRESSES.has(pointer)) {
    const field = pointer === '/connection/ips' ? 'ips' : 'proxyIps'
    const unknown = unknownAddress(after.connection?.[field] ?? [], contactAddresses)
    return unknown && `${lacks('administration', user)}: ${unknown} is not one of the contact’s remoteIPs`
  }
  return undefined
}

function lacks(auth: string, { username }: User): string {
  return `needs the permission ${auth}, which is off for ${username}`
}

function unknownAddress(addresses: readonly string[], known: readonly string[]): string | undefined {
  const spelled = new Set(known.map(canonicalAddress))
  return addresses.find((address) => !spelled.has(canonicalAddress(address)))
}

/**
 * A user who may not see secrets must not find one out by guessing. For that user, even the right value is a change.
 */
function guessedSecrets({ given }: TrustChange): string[] {
  return SECRET_FIELDS.filter((field: SecretField) => given.security?.[field] !== undefined).map(
    (field) => `/security/${field}`,
  )
}

/** JSON pointers of the fields that differ. A list counts as one value. */
export function changedFields(before: object, after: object, base = ''): string[] {
  const [one, other] = [before as JsonObject, after as JsonObject]
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((name) => {
    const [old, now] = [one[name], other[name]]
    const pointer = `${base}/${name}`
    if (isObject(old) || isObject(now))
      return changedFields(isObject(old) ? old : {}, isObject(now) ? now : {}, pointer)
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [pointer]
  })
}
