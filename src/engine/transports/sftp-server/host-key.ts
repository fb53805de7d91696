// The host key that the SFTP listener shows: made once, and kept in the data folder, as partners pin it.

import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'

import { NodeError } from '../../../errors.ts'
import { keepFirst, textAt } from '../../../files/replace-text.ts'
import { isHostKey } from '../ssh/keys.ts'

const BITS = 3072

/** Makes one where there is none. */
export function hostKeyIn(dataDir: string): string {
  return keptHostKey(dataDir) ?? keepFirst(pathIn(dataDir), makeKey())
}

/** Undefined where none was made yet. Throws where the file is none. */
export function keptHostKey(dataDir: string): string | undefined {
  const path = pathIn(dataDir)
  const text = textAt(path)
  if (text === undefined || isHostKey(text)) return text
  throw new NodeError(
    'bad_use',
    `${path} is no private key for SFTP: put it back from a backup, or remove it, and the node makes another when it starts, which partners then have to pin`,
  )
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'sftp-host-key.pem')
}

function makeKey(): string {
  return generateKeyPairSync('rsa', {
    modulusLength: BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  }).privateKey
}
