// Where the project is, and which version. Both the sources (src/) and the files they are joined into (build/) are one
// folder below it, so a path from here is right in either case.

import { readFileSync } from 'node:fs'

/** A place in the project, by its path from the root. */
export function fromRoot(path: string): URL {
  return new URL(`../${path}`, import.meta.url)
}

export const { version: VERSION } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
  version: string
}
