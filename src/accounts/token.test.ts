import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto'
import { test } from 'node:test'
import { NodeError } from '../errors.ts'
import { makeTokens, TOKEN_SECONDS } from './token.ts'

const SECRET = 'secret-'.repeat(12)
const ana = { id: 'a1', username: 'ana', credentialVersion: 3, loginVersion: 0 }
const now = Date.now()

const read = (part: string) =>
  JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function forge(header: object, claims: object, key = SECRET, hash = 'sha512'): string {
  const signed = `${b64(header)}.${b64(claims)}`
  return `${signed}.${createHmac(hash, key).update(signed).digest('base64url')}`
}

function refused(token: string, at = now, tokens = makeTokens(SECRET)): boolean {
  try {
    tokens.read(token, at)
    return false
  } catch (thrown) {
    assert.ok(thrown instanceof NodeError && thrown.code === 'unauthorized')
    return true
  }
}

const claims = { sub: 'ana', ver: 3, exp: Math.floor(now / 1000) + 60 }

test('a token is a JWT by HS512 for two hours, keyed by the UTF-8 bytes of the secret', () => {
  const { token, expiresAt } = makeTokens(SECRET).make(ana, now)
  const [header = '', body = '', signature] = token.split('.')
  assert.equal(read(header).alg, 'HS512')
  assert.equal(read(body).sub, 'ana')
  assert.equal(Number(read(body).exp) - Number(read(body).iat), TOKEN_SECONDS)
  assert.equal(TOKEN_SECONDS, 7200)
  assert.equal(expiresAt, Number(read(body).exp) * 1000)
  assert.equal(
    signature,
    createHmac('sha512', Buffer.from(SECRET, 'utf8')).update(`${header}.${body}`).digest('base64url'),
  )
})

test('a token is read until the very second at which it expires, also once it is known', () => {
  const tokens = makeTokens(SECRET)
  const { token, expiresAt } = tokens.make(ana, now)
  for (let i = 0; i < 2; i++) {
    assert.equal(tokens.read(token, now).sub, 'ana')
    assert.equal(tokens.read(token, expiresAt - 1).ver, 3)
    assert.equal(refused(token, expiresAt, tokens), true)
  }
})

test('a token made elsewhere with the same secret and HS512 is read', () => {
  assert.equal(refused(forge({ alg: 'HS512', typ: 'JWT' }, claims)), false)
})

test('no other algorithm, key or form is accepted', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const rsa = `${b64({ alg: 'RS512', typ: 'JWT' })}.${b64(claims)}`
  const forged = {
    'none without signature': `${b64({ alg: 'none' })}.${b64(claims)}.`,
    'None in capitals': `${b64({ alg: 'None' })}.${b64(claims)}.`,
    'none with a signature': forge({ alg: 'none' }, claims),
    HS256: forge({ alg: 'HS256', typ: 'JWT' }, claims, SECRET, 'sha256'),
    HS384: forge({ alg: 'HS384', typ: 'JWT' }, claims, SECRET, 'sha384'),
    'HS256 signed as HS512': forge({ alg: 'HS256' }, claims),
    'hs512 in small letters': forge({ alg: 'hs512' }, claims),
    'RS512 by a key of its own': `${rsa}.${signWith('sha512', Buffer.from(rsa), privateKey).toString('base64url')}`,
    'no alg': forge({ typ: 'JWT' }, claims),
    'another key': forge({ alg: 'HS512' }, claims, 'another-'.repeat(12)),
    'an empty key': forge({ alg: 'HS512' }, claims, ''),
    'no expiry': forge({ alg: 'HS512' }, { sub: 'ana', ver: 3 }),
    expired: forge({ alg: 'HS512' }, { ...claims, exp: Math.floor(now / 1000) - 1 }),
    'expiry as text': forge({ alg: 'HS512' }, { ...claims, exp: 'never' }),
    'no subject': forge({ alg: 'HS512' }, { ver: 3, exp: claims.exp }),
    'subject as number': forge({ alg: 'HS512' }, { ...claims, sub: 7 }),
    'no version': forge({ alg: 'HS512' }, { sub: 'ana', exp: claims.exp }),
    'claims that are no object': forge({ alg: 'HS512' }, [1]),
    'a cut signature': forge({ alg: 'HS512' }, claims).slice(0, -4),
    'two parts': forge({ alg: 'HS512' }, claims).split('.').slice(0, 2).join('.'),
    garbage: 'garbage',
    empty: '',
    dots: '..',
  }
  for (const [what, token] of Object.entries(forged)) assert.equal(refused(token), true, what)
})

test('a changed body does not ride on a known signature', () => {
  const tokens = makeTokens(SECRET)
  const [header, , signature] = tokens.make(ana, now).token.split('.')
  assert.equal(refused(`${header}.${b64({ ...claims, sub: 'admin' })}.${signature}`, now, tokens), true)
})
