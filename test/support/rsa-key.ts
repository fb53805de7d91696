// One RSA key for all tests that need any: making one takes a fifth of a second, and nearly every test file would.

import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'

export const RSA_PRIVATE_KEY = readFileSync(new URL('../fixtures/rsa-key.pem', import.meta.url), 'utf8')
export const RSA_PUBLIC_KEY = createPublicKey(RSA_PRIVATE_KEY)
  .export({ type: 'spki', format: 'pem' })
  .toString()
