// The password and the one-time code of the first administrator, in the data folder until somebody has read them.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'

type Secrets = { password: string; code: string }

export function firstSecretPaths(dataDir: string): Secrets {
  return { password: join(dataDir, 'first-password'), code: join(dataDir, 'first-run-code') }
}

export function keptFirstSecrets(dataDir: string) {
  const paths = firstSecretPaths(dataDir)
  return {
    write: ({ password, code }: Secrets): void => {
      put(paths.password, password)
      put(paths.code, code)
      const folder = openSync(dataDir, 'r')
      fsyncSync(folder)
      closeSync(folder)
    },
    /** Undefined where somebody has taken one away. */
    read: (): Secrets | undefined => {
      const [password, code] = [textOf(paths.password), textOf(paths.code)]
      return password === undefined || code === undefined ? undefined : { password, code }
    },
  }
}

export function removeFirstSecrets(dataDir: string): void {
  for (const path of Object.values(firstSecretPaths(dataDir))) rmSync(path, { force: true })
}

/** In place of whatever has that name: a file or a link that somebody else has put there is not written to. */
function put(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  writeSync(file, `${text}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(draft, path)
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}
