// The node's own secrets: taken from the settings, or generated once and kept in the data folder with mode 0600.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { fixedKey } from '../domain/key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { systemCode } from '../errors.ts'
import { ringOfFile } from './key-file.ts'

export type NodeSecrets = {
  jwtSecret: string
  masterKey: string
  /** The same, with those before them, for programs that run while they are exchanged. */
  jwt: KeyRing
  master: KeyRing
}

type Given = Pick<Config, 'dataDir' | 'jwtSecret' | 'masterKey'> &
  Partial<Pick<Config, 'jwtSecretOld' | 'masterKeyOld'>>

export const JWT_BYTES = 64
export const MASTER_BYTES = 32

export function jwtPath(dataDir: string): string {
  return join(dataDir, 'jwt-secret')
}

export function masterPath(dataDir: string): string {
  return join(dataDir, 'master-key')
}

export function readSecrets(config: Given): NodeSecrets {
  const { dataDir, jwtSecret, jwtSecretOld, masterKey, masterKeyOld } = config
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const jwt = ringOf(jwtPath(dataDir), JWT_BYTES, jwtSecret, jwtSecretOld)
  const master = ringOf(masterPath(dataDir), MASTER_BYTES, masterKey, masterKeyOld)
  return { jwtSecret: jwt.current(), masterKey: master.current(), jwt, master }
}

function ringOf(path: string, bytes: number, given: string | undefined, old: string | undefined): KeyRing {
  if (given !== undefined) return fixedKey(given, old === undefined ? [] : [old])
  kept(path, bytes)
  return ringOfFile(path)
}

function kept(path: string, bytes: number): string {
  try {
    const text = readFileSync(path, 'utf8').trim()
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600)
    return text
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
  }
  // Written under another name, then linked. If two processes start together, both read the secret of the first.
  const draft = `${path}.${process.pid}`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, `${randomBytes(bytes).toString('base64url')}\n`)
  fsyncSync(file)
  closeSync(file)
  try {
    linkSync(draft, path)
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8').trim()
}
