// The node's own secrets: taken from the settings, or generated once and kept in the data folder with mode 0600.
//
// Once a platform has begun, a master key that is gone is not made anew: nothing sealed would open, and the audit trail
// would go on under another key. Without the old secret of tokens only tokens and logins end, so that one is.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { fixedKey } from '../domain/key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { NodeError } from '../errors.ts'
import { addReader, removeReader, ringOfFile } from './key-file.ts'
import { keepFirst, textAt } from './replace-text.ts'

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

/** Which of them are neither set nor kept in the data folder. */
export function missingSecrets({ dataDir, jwtSecret, masterKey }: Given): { jwt: boolean; master: boolean } {
  const isGone = (path: string) => statSync(path, { throwIfNoEntry: false }) === undefined
  return {
    jwt: jwtSecret === undefined && isGone(jwtPath(dataDir)),
    master: masterKey === undefined && isGone(masterPath(dataDir)),
  }
}

/** For whoever works with a database in which something is sealed or signed already. */
export function requireMasterKey(config: Given): void {
  if (missingSecrets(config).master) throw new NodeError('bad_use', masterKeyMissing(config.dataDir))
}

export function masterKeyMissing(dataDir: string): string {
  return `master-key is missing in ${dataDir}: put it back from a backup, or set ESCLUSA_MASTER_KEY`
}

/** Never makes one. */
export function readMasterKey(config: Given): KeyRing {
  requireMasterKey(config)
  const { dataDir, masterKey, masterKeyOld } = config
  return masterKey === undefined ? ringOfFile(masterPath(dataDir)) : fixed(masterKey, masterKeyOld)
}

/** Makes what is missing. */
export function readSecrets(config: Given): NodeSecrets {
  const { dataDir, jwtSecret, jwtSecretOld, masterKey, masterKeyOld } = config
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const jwt = ringOf(jwtPath(dataDir), JWT_BYTES, jwtSecret, jwtSecretOld)
  const master = ringOf(masterPath(dataDir), MASTER_BYTES, masterKey, masterKeyOld)
  return { jwtSecret: jwt.current(), masterKey: master.current(), jwt, master }
}

/** Says in the data folder that this node takes its keys from there, as far as the settings do not give them. */
export function noteReader(config: Given, node: string, atWork: ReadonlySet<string>): { remove(): void } {
  const paths = [
    ...(config.jwtSecret === undefined ? [jwtPath(config.dataDir)] : []),
    ...(config.masterKey === undefined ? [masterPath(config.dataDir)] : []),
  ]
  for (const path of paths) addReader(path, node, atWork)
  return {
    remove: () => {
      for (const path of paths) removeReader(path, node)
    },
  }
}

function ringOf(path: string, bytes: number, given: string | undefined, old: string | undefined): KeyRing {
  if (given !== undefined) return fixed(given, old)
  keep(path, bytes)
  return ringOfFile(path)
}

function fixed(given: string, old: string | undefined): KeyRing {
  return fixedKey(given, old === undefined ? [] : [old])
}

function keep(path: string, bytes: number): void {
  if (textAt(path) === undefined) keepFirst(path, `${randomBytes(bytes).toString('base64url')}\n`)
  else if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600)
}
