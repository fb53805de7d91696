import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AUTHS, ROLES } from '../contract/user.ts'
import { authsOf, mayReach, seesSecrets, weakPassword } from './user.ts'
import type { User } from './user.ts'

const userOf = (role: User['role'], auths = authsOf(role)): User => ({
  username: 'ana',
  email: 'ana@banco.example',
  language: 'es',
  role,
  auths,
  disabled: false,
})

const on = (role: User['role']) => AUTHS.filter((name) => authsOf(role)[name])

test('each role has its flags by default, and those given win', () => {
  assert.deepEqual(on('ROLE_GLOBALADMIN'), [...AUTHS])
  assert.deepEqual(on('ROLE_ADMIN'), [...AUTHS])
  assert.deepEqual(on('ROLE_ADVOPERATOR'), ['operate', 'editChannels', 'contactChannels'])
  assert.deepEqual(on('ROLE_OPERATOR'), ['operate', 'contactChannels'])
  assert.deepEqual(on('ROLE_CONTROLATOR'), ['controlatorFF', 'contactChannels'])
  assert.deepEqual(on('ROLE_ADMINFF'), ['administrationFF', 'svcFF', 'contactChannels', 'signer'])
  assert.deepEqual(on('ROLE_ADMINCONTROLATORFF'), [
    'administrationFF',
    'controlatorFF',
    'svcFF',
    'contactChannels',
  ])
  assert.equal(authsOf('ROLE_OPERATOR', { operate: false, signer: true }).operate, false)
  assert.equal(authsOf('ROLE_OPERATOR', { operate: false, signer: true }).signer, true)
})

test('a channel that names users is open to them and to the two administrators alone', () => {
  for (const role of ROLES) {
    const administrator = role === 'ROLE_GLOBALADMIN' || role === 'ROLE_ADMIN'
    assert.equal(mayReach(userOf(role), ['eva']), administrator, role)
    for (const open of [undefined, [], ['eva', 'ana']]) assert.equal(mayReach(userOf(role), open), true, role)
  }
})

test('secrets are for administrators with the administration flag', () => {
  for (const role of ROLES) {
    const administrator = role === 'ROLE_GLOBALADMIN' || role === 'ROLE_ADMIN'
    assert.equal(seesSecrets(userOf(role, authsOf(role, { administration: true }))), administrator, role)
    assert.equal(seesSecrets(userOf(role, authsOf(role, { administration: false }))), false, role)
  }
})

test('a password has twelve characters at least and is not the name or address', () => {
  const ana = { username: 'administrator', email: 'Ana@Banco.example' }
  assert.equal(weakPassword('twelve chars', ana), undefined)
  assert.match(weakPassword('eleven char', ana) ?? '', /12/)
  assert.match(weakPassword('ADMINISTRATOR', ana) ?? '', /username/)
  assert.match(weakPassword('ana@banco.example', ana) ?? '', /email/)
})
