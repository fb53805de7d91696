// Where the project is, and which version. Both the sources (src/) and the files they are joined into (build/) are one
// folder below it, so a path from here is right in either case.

import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { NodeError } from './errors.ts'

/** A place in the project, by its path from the root. */
export function fromRoot(path: string): URL {
  return new URL(`../${path}`, import.meta.url)
}

export const { version: VERSION } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
  version: string
}

/** Installed from a release, without sources. */
export const IS_RELEASE = !existsSync(fromRoot('src/cli/'))

type Caller = { isRelease: boolean; uid: number; home: () => string; xdg: string | undefined }

/**
 * Where data lies if no setting says it. In a checkout beside it; a release is called from any folder, and a database
 * must not depend on which one: a service's place for root, the user's own for a user.
 */
export function usualDataDir({ isRelease, uid, home, xdg }: Caller): string {
  if (!isRelease) return './data'
  if (uid === 0) return '/var/lib/esclusa'
  return join(xdg?.startsWith('/') ? xdg : join(home(), '.local/share'), 'esclusa')
}

/** Asked for only where it is needed: a user whom the machine does not know by name may have none. */
export function homeFolder(): string {
  try {
    return homedir()
  } catch (cause) {
    throw new NodeError('bad_use', 'setting ESCLUSA_DATA_DIR must be set: this user has no home folder', {
      cause,
    })
  }
}
