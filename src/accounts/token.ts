// Bearer tokens: JWT with HS512 and nothing else. A token says who the user is and until when it is valid. Roles and
// flags are read from the account at each request. The credential version ends tokens older than a password change.
//
// Verifying HS512 costs about as much as the rest of a small request, so verified tokens are kept in a map of limited
// size. Expiry is still checked at each use, and so is the account.

import { createSigner, createVerifier } from 'fast-jwt'
import { LRUCache } from 'lru-cache'
import { randomUUID } from 'node:crypto'
import { asRing, derived } from '../domain/key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { NodeError } from '../errors.ts'

export const TOKEN_SECONDS = 7200

export type Claims = { sub: string; ver: number; exp: number; jti?: string }

export type Tokens = {
  make(
    subject: { username: string; credentialVersion: number },
    nowMs: number,
    seconds?: number,
  ): { token: string; expiresAt: number }
  /** Throws `unauthorized`. */
  read(token: string, nowMs: number): Claims
}

/** Tokens of an older secret are good for as long as the ring has it. */
export function makeTokens(secret: string | KeyRing): Tokens {
  const secrets = derived(asRing(secret), signing)
  const verified = new LRUCache<string, Claims>({ max: 10_000 })
  let verifiedWith = secrets()
  const current = () => {
    const now = secrets()
    if (now !== verifiedWith) verified.clear()
    verifiedWith = now
    return now
  }
  return {
    make({ username, credentialVersion }, nowMs, seconds = TOKEN_SECONDS) {
      const iat = Math.floor(nowMs / 1000)
      const claims = { sub: username, ver: credentialVersion, iat, exp: iat + seconds, jti: randomUUID() }
      return { token: current()[0].sign(claims), expiresAt: claims.exp * 1000 }
    },
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
