// Where the project lies, and which version it is. The sources (src/) and the files they are joined into (build/) are
// both one folder below it, so a path that starts here is right in either.

import { readFileSync } from 'node:fs'

/** A place in the project, by its path from the root. */
export function fromRoot(path: string): URL {
  return new URL(`../${path}`, import.meta.url)
}

export const { version: VERSION } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
  version: string
}
