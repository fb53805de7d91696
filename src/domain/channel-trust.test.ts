import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Channel, SECRET_FIELDS } from '../contract/channel.ts'
import type { Auths, Role } from '../contract/user.ts'
import { changedFields, missingTrust } from './channel-trust.ts'
import { authsOf } from './user.ts'
import type { User } from './user.ts'

function userOf(role: Role, flags: Partial<Auths> = {}): User {
  const auths = authsOf(role, { administration: false, administrationFF: false, ...flags })
  return { username: 'luis', email: 'luis@banco.example', language: 'es', role, auths, disabled: false }
}

type Shape = { type?: string; properties?: Record<string, Shape>; enum?: unknown[] }

/** A value for every field of a channel, by pointer, made from its schema: a new field cannot be forgotten. */
function leaves(shape: Shape, base = ''): [pointer: string, value: unknown][] {
  if (shape.properties)
    return Object.entries(shape.properties).flatMap(([name, field]) => leaves(field, `${base}/${name}`))
  if (shape.type === 'array')
    return [[base, base.endsWith('Ips') || base.endsWith('ips') ? ['192.0.2.1'] : []]]
  return [[base, shape.enum?.[0] ?? { boolean: true, integer: 7 }[shape.type ?? ''] ?? 'text']]
}
const LEAVES = leaves(Channel as Shape)

function channelWith(pointer: string, value: unknown): Channel {
  const [, ...steps] = pointer.split('/')
  return steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value) as Channel
}

function needs(
  user: User,
  pointer: string,
  value: unknown,
  contactAddresses: string[] = [],
): string | undefined {
  const after = channelWith(pointer, value)
  const missing = missingTrust({ user, before: {}, after, given: after, contactAddresses })
  assert.ok(missing.length <= 1)
  if (missing[0]) assert.equal(missing[0].pointer, pointer)
  return missing[0]?.needs
}

// The decisions' table, said once more by hand.
const SIGNATURE = [
  '/svcff',
  '/emissionff',
  '/receptionff',
  '/security/rsaLocalKey',
  '/security/rsaRemoteKey',
  '/security/rsaLocalKeyName',
  '/security/rsaRemoteKeyName',
]
const ADMINISTRATION = [
  '/keyExchangeChannel',
  '/users',
  '/connection/ips',
  '/connection/proxyIps',
  '/connection/advancedConfigurationConnection/validateIp',
  '/integrations/exceptionFile',
  '/integrations/preEmisionFile',
  '/integrations/preReceptionFile',
  '/integrations/postReceptionFile',
  '/integrations/postEmisionFile',
  '/security/cryptography',
  '/security/version',
  '/security/ciphrate',
  '/security/localKey',
  '/security/remoteKey',
  '/security/confidentiality',
  '/security/authentication',
]

test('an editor needs administration for each field that gives away trust, and for no other', () => {
  assert.ok(LEAVES.length > 50)
  for (const [pointer, value] of LEAVES) {
    const trusted = [...SIGNATURE, ...ADMINISTRATION].includes(pointer)
    const need = needs(userOf('ROLE_ADVOPERATOR'), pointer, value)
    assert.equal(need !== undefined, trusted, `${pointer}: ${need}`)
    if (need !== undefined) assert.match(need, /needs the permission administration.*off for luis/)
    for (const role of ['ROLE_ADVOPERATOR', 'ROLE_ADMIN'] as const)
      assert.equal(needs(userOf(role, { administration: true }), pointer, value), undefined, pointer)
    // An administrator's role does not stand for the permission.
    assert.equal(needs(userOf('ROLE_GLOBALADMIN'), pointer, value) !== undefined, trusted, pointer)
  }
})

test('administrationFF is enough for what has to do with signatures, and for nothing else', () => {
  for (const [pointer, value] of LEAVES) {
    const need = needs(userOf('ROLE_ADVOPERATOR', { administrationFF: true }), pointer, value)
    assert.equal(need !== undefined, ADMINISTRATION.includes(pointer), pointer)
  }
})

test('the roles that sign change signature fields and no others, whatever flags they have', () => {
  for (const role of ['ROLE_ADMINFF', 'ROLE_ADMINCONTROLATORFF'] as const)
    for (const flags of [{ administrationFF: true }, { administration: true }])
      for (const [pointer, value] of LEAVES) {
        const need = needs(userOf(role, { ...flags, editChannels: true }), pointer, value)
        assert.equal(need === undefined, SIGNATURE.includes(pointer), `${role} ${pointer}: ${need}`)
      }
})

test('addresses of the contact need no more, however they are spelled; one other does', () => {
  const luis = userOf('ROLE_ADVOPERATOR')
  const known = ['192.0.2.1', '2001:db8::1']
  for (const pointer of ['/connection/ips', '/connection/proxyIps']) {
    assert.equal(needs(luis, pointer, ['::ffff:192.0.2.1', '2001:DB8:0::1'], known), undefined)
    assert.equal(needs(luis, pointer, [], known), undefined)
    assert.match(needs(luis, pointer, ['192.0.2.1', '192.0.2.2'], known) ?? '', /192\.0\.2\.2 is not one of/)
  }
})

test('what stays as it was is no change, but a secret sent by whoever cannot see it is one', () => {
  const before: Channel = { users: ['luis'], security: { localKey: 'x', ciphrate: 'FILE' } }
  const asked = (given: Channel) =>
    missingTrust({
      user: userOf('ROLE_ADVOPERATOR'),
      before,
      after: before,
      given,
      contactAddresses: [],
    }).map(({ pointer }) => pointer)
  assert.deepEqual(asked({ users: ['luis'], security: { ciphrate: 'FILE' } }), [])
  for (const field of SECRET_FIELDS)
    assert.deepEqual(asked({ security: { [field]: 'x' } }), [`/security/${field}`])
})

test('changed fields are found at every depth, cleared ones too', () => {
  assert.deepEqual(changedFields({ a: 1, b: { c: [1], d: 2 } }, { a: 1, b: { c: [1], d: 3 } }), ['/b/d'])
  assert.deepEqual(changedFields({ b: { c: [1], d: 2 } }, {}), ['/b/c', '/b/d'])
  assert.deepEqual(changedFields({}, { b: {} }), [])
  assert.deepEqual(changedFields({ b: { c: [1] } }, { b: { c: [2] } }), ['/b/c'])
})
