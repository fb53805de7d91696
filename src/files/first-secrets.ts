// The password and the one-time code of the first administrator, in the data folder until somebody has read them.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceText, textAt } from './replace-text.ts'

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
      const [password, code] = [textAt(paths.password), textAt(paths.code)]
      return password === undefined || code === undefined
        ? undefined
        : { password: password.trim(), code: code.trim() }
    },
  }
}

export function removeFirstSecrets(dataDir: string): void {
  for (const path of Object.values(firstSecretPaths(dataDir))) rmSync(path, { force: true })
}
