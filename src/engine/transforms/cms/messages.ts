// The same CMS steps for what fits in memory: session challenges, receipts, keys. Nothing is returned before the whole
// message has proved good.

import { collect, once, type Step } from '../step.ts'
import { decrypt, type DecryptOptions } from './decrypt.ts'
import { encrypt, type EncryptOptions } from './encrypt.ts'
import { sign, type SignOptions } from './sign.ts'
import { verify, type VerifyOptions } from './verify.ts'

export function signBuffer(content: Uint8Array, options: SignOptions): Promise<Buffer> {
  return run(content, sign(options))
}

/** The content that was signed. For a signature without content, `detachedContent` is it. */
export function verifyBuffer(message: Uint8Array, options: VerifyOptions): Promise<Buffer> {
  return run(message, verify(options))
}

export function encryptBuffer(content: Uint8Array, options: EncryptOptions): Promise<Buffer> {
  return run(content, encrypt(options))
}

export function decryptBuffer(message: Uint8Array, options: DecryptOptions): Promise<Buffer> {
  return run(message, decrypt(options))
}

function run(bytes: Uint8Array, step: Step): Promise<Buffer> {
  return collect(step(once(bytes)))
}
