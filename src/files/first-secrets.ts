// The password and the one-time code of the first administrator, in the data folder until somebody has read them.

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { replaceText } from './replace-text.ts'

type Secrets = { password: string; code: string }

export function firstSecretPaths(dataDir: string): Secrets {
  return { password: join(dataDir, 'first-password'), code: join(dataDir, 'first-run-code') }
}

export function keptFirstSecrets(dataDir: string) {
  const paths = firstSecretPaths(dataDir)
  return {
    write: ({ password, code }: Secrets): void => {
      replaceText(paths.password, `${password}\n`)
      replaceText(paths.code, `${code}\n`)
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

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}
