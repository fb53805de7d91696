// Bearer tokens: JWT with HS512 and nothing else. A token says which account it belongs to, by an id that is never used
// twice, and until when it is valid. Roles and flags are read from the account at each request. The credential version
// ends tokens older than a password change. Tokens for systems say so: they are listed, and can be revoked one by one.
//
// Verifying HS512 costs about as much as the rest of a small request, so verified tokens are kept in a map of limited
// size. Expiry is still checked at each use, and so is the account.

import { createSigner, createVerifier } from 'fast-jwt'
import { newest } from '../domain/newest.ts'
import { randomUUID } from 'node:crypto'
import { asRing, derived } from '../domain/key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { NodeError } from '../errors.ts'

export const TOKEN_SECONDS = 7200

export type Claims = {
  sub: string
  /** Id of the account; tokens of the version before have none. */
  uid?: string
  ver: number
  /** Version of the account's logins; a token for a system has none, nor has one of the version before. */
  log?: number
  iat?: number
  exp: number
  jti?: string
  /** A token for a system, known to the store by its jti. */
  sys?: true
}

type Subject = { id: string; username: string; credentialVersion: number; loginVersion: number }
export type MadeToken = { token: string; id: string; expiresAt: number }

export type Tokens = {
  make(subject: Subject, nowMs: number, seconds?: number): MadeToken
  /** For a system: to be kept by its id. */
  makeForSystem(subject: Subject, nowMs: number, seconds: number): MadeToken
  /** Throws `unauthorized`. */
  read(token: string, nowMs: number): Claims
}

/** Tokens of an older secret are good for as long as the ring has it. */
export function makeTokens(secret: string | KeyRing): Tokens {
  const secrets = derived(asRing(secret), signing)
  const verified = newest<Claims>(10_000)
  let verifiedWith = secrets()
  const current = () => {
    const now = secrets()
    if (now !== verifiedWith) verified.clear()
    verifiedWith = now
    return now
  }
  const made = (claims: FullClaims) => ({
    token: current()[0].sign(claims),
    id: claims.jti,
    expiresAt: claims.exp * 1000,
  })
  return {
    make: (subject, nowMs, seconds = TOKEN_SECONDS) =>
      made({ ...claimsFor(subject, nowMs, seconds), log: subject.loginVersion }),
    makeForSystem: (subject, nowMs, seconds) => made({ ...claimsFor(subject, nowMs, seconds), sys: true }),
    read(token, nowMs) {
      const now = current()
      let claims = verified.get(token)
      if (!claims) {
        claims = checkWithAny(token, now)
        verified.set(token, claims)
      }
      if (claims.exp * 1000 <= nowMs) throw refused('the token has expired: log in again')
      return claims
    },
  }
}

type Signing = ReturnType<typeof signing>

function signing(secret: string) {
  const key = Buffer.from(secret, 'utf8')
  return {
    sign: createSigner({ algorithm: 'HS512', key }),
    verify: createVerifier({ algorithms: ['HS512'], key, cache: false, requiredClaims: ['sub', 'exp'] }),
  }
}

/** What the current secret says of it is the answer, unless an older one signed it. */
function checkWithAny(token: string, [{ verify }, ...older]: readonly [Signing, ...Signing[]]): Claims {
  try {
    return check(token, verify)
  } catch (thrown) {
    for (const { verify: before } of older)
      try {
        return check(token, before)
      } catch {
        // Nor by this one.
      }
    throw thrown
  }
}

type FullClaims = Claims & { jti: string }

function claimsFor({ id, username, credentialVersion }: Subject, nowMs: number, seconds: number): FullClaims {
  const iat = Math.floor(nowMs / 1000)
  return { sub: username, uid: id, ver: credentialVersion, iat, exp: iat + seconds, jti: randomUUID() }
}

function check(token: string, verify: (token: string) => unknown): Claims {
  let claims: unknown
  try {
    claims = verify(token)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : ''
    throw refused(
      code === 'FAST_JWT_EXPIRED' ? 'the token has expired: log in again' : 'the token is not valid',
      cause,
    )
  }
  if (!isClaims(claims)) throw refused('the token is not valid')
  return claims
}

function isClaims(value: unknown): value is Claims {
  const claims = value as Partial<Claims> | null
  return typeof claims?.sub === 'string' && typeof claims.ver === 'number' && typeof claims.exp === 'number'
}

function refused(message: string, cause?: unknown): NodeError {
  return new NodeError('unauthorized', message, { cause })
}
