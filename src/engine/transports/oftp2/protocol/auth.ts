// How the two ends prove themselves: the 8-character password of SSID, and the challenge of AUCH and AURP.
//
// Passwords: the standard has no lower case. So a password is sent in upper case and compared without regard to case. One
// that is longer than 8, or has other characters, cannot be sent and is a wrong setting. Without a remoteKey, or with
// authentication NONE, the partner's password is not checked.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { NodeError } from '../../../../errors.ts'
import type { SessionSecurity } from '../../transport.ts'
import { fitsText } from './fields.ts'
import { ending } from './reasons.ts'
import type { SessionCrypto } from '../settings.ts'

const CHALLENGE = 20

/** Whether a key can be a password of OFTP2. */
export function fitsPassword(key: string): boolean {
  return key.trim() === key && fitsText(key.toUpperCase(), 8)
}

export function ownPassword(security: SessionSecurity): string {
  const { localKey, authentication } = security
  if (localKey === undefined || authentication === 'NONE') return ''
  if (!fitsPassword(localKey))
    throw new NodeError('bad_use', 'localKey cannot be an OFTP2 password: at most 8 of A-Z 0-9 / - . & ( )')
  return localKey.toUpperCase()
}

/** Whether the partner has to give a password, which could be guessed. */
export function asksPassword({ remoteKey, authentication }: SessionSecurity): boolean {
  return remoteKey !== undefined && authentication !== 'NONE'
}

export function isPassword({ remoteKey }: SessionSecurity, given: string): boolean {
  return remoteKey !== undefined && samePassword(remoteKey, given)
}

export function checkPassword(security: SessionSecurity, given: string): void {
  if (asksPassword(security) && !isPassword(security, given))
    throw ending('login_refused', '04', 'the partner’s password is wrong')
}

/** No password, which is sent as blanks, is never the right one: older databases may hold an empty key. */
export function samePassword(expected: string, given: string): boolean {
  return expected.trim() !== '' && sameOctets(digest(expected), digest(given))
}

function digest(password: string): Uint8Array {
  return createHash('sha256').update(password.trimEnd().toUpperCase(), 'utf8').digest()
}

function sameOctets(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

/** One end's share of secure authentication: challenges the partner once and answers the partner's challenge. */
export class Authentication {
  readonly #crypto: SessionCrypto
  readonly #own: string
  /** PEM: whom the challenge is for. */
  readonly partner: string
  readonly #challenge = randomBytes(CHALLENGE)

  constructor(crypto: SessionCrypto, security: SessionSecurity) {
    const { rsaLocalKey, rsaRemoteKey } = security
    if (rsaLocalKey === undefined || rsaRemoteKey === undefined)
      throw new NodeError('bad_use', 'authentication by certificate needs rsaLocalKey and rsaRemoteKey')
    this.#crypto = crypto
    this.#own = rsaLocalKey
    this.partner = rsaRemoteKey
  }

  async challenge(): Promise<Uint8Array> {
    return this.#crypto.encryptChallenge(this.partner, this.#challenge)
  }

  /** Opens the partner's challenge. One that does not open was not made for this key. */
  async respond(enveloped: Uint8Array): Promise<Uint8Array> {
    let opened: Uint8Array
    try {
      opened = await this.#crypto.decryptChallenge(this.#own, enveloped)
    } catch (cause) {
      throw new NodeError('login_refused', 'the partner’s challenge does not open with rsaLocalKey', {
        cause: { esid: '11', cause },
      })
    }
    if (opened.length !== CHALLENGE)
      throw ending('login_refused', '11', 'the partner’s challenge is not 20 octets long')
    return opened
  }

  check(response: Uint8Array): void {
    if (!sameOctets(this.#challenge, response))
      throw ending('login_refused', '11', 'the partner could not open the challenge')
  }
}
