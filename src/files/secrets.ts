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
import { systemCode } from '../errors.ts'

export type NodeSecrets = { jwtSecret: string; masterKey: string }

export function readSecrets(config: Pick<Config, 'dataDir' | 'jwtSecret' | 'masterKey'>): NodeSecrets {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  return {
    jwtSecret: config.jwtSecret ?? kept(join(config.dataDir, 'jwt-secret'), 64),
    masterKey: config.masterKey ?? kept(join(config.dataDir, 'master-key'), 32),
  }
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
