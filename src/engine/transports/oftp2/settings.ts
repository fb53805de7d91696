// What follows from a contact's `oftp2` section, and what the parties to a session know of each other.

import { DEFAULT_SUITE } from '../../../contract/contact-settings.ts'
import type { Oftp2Settings } from '../../../contract/contact-settings.ts'
import { NodeError } from '../../../errors.ts'
import type { Admission, Digest } from '../transport.ts'

/** What is known of the other end once it is known at all; a Call has the same fields. */
export type Party = Admission<Oftp2Settings>

/** Work with keys that the session needs and does not do itself. */
export interface SessionCrypto {
  /** CMS EnvelopedData of `challenge` for the partner's certificate. */
  encryptChallenge(partnerPem: string, challenge: Uint8Array): Promise<Uint8Array> | Uint8Array
  decryptChallenge(ownPem: string, enveloped: Uint8Array): Promise<Uint8Array> | Uint8Array
  /** CMS SignedData with `content` inside. */
  signReceipt(ownPem: string, content: Uint8Array, digest: Digest): Promise<Uint8Array> | Uint8Array
  /** Why the signature is not the partner's for exactly `content`, inside or detached; undefined where it is. */
  signatureFault(
    partnerPem: string,
    signature: Uint8Array,
    content: Uint8Array,
  ): Promise<string | undefined> | string | undefined
}

/**
 * The most that the standard has: 100 MB travel before the way back is waited for. A long line needs many, nothing here
 * holds them, and TCP's own window keeps a fast end from running ahead of a slow one.
 */
const DEFAULTS = { bufferSize: 99_999, credit: 999 } as const

export function exchangeLimits(settings: Oftp2Settings): { bufferSize: number; credit: number } {
  const { bufferSize = DEFAULTS.bufferSize, credit = DEFAULTS.credit } = settings
  if (!Number.isInteger(bufferSize) || bufferSize < 128 || bufferSize > 99_999)
    throw new NodeError('bad_use', `bufferSize ${bufferSize}: from 128 to 99999`)
  if (!Number.isInteger(credit) || credit < 1 || credit > 999)
    throw new NodeError('bad_use', `credit ${credit}: from 1 to 999`)
  return { bufferSize, credit }
}

/** SFIDCIPH of what goes out: for the file's envelope, and for the signed receipt that is asked for. */
export function outgoingSuite(settings: Oftp2Settings): string {
  return settings.suite ?? DEFAULT_SUITE
}
