// The settings as they may be shown: secrets by a fingerprint, addresses without what may hold credentials.

import { SECRET_SETTINGS } from './config.ts'
import type { Config } from './config.ts'

export function shownSettings(
  config: Config,
  fingerprint: (secret: string) => string,
): Record<string, unknown> {
  const shown = ([name, value]: [string, unknown]): [string, unknown] => {
    if (typeof value !== 'string') return [name, value]
    return [name, name in SECRET_SETTINGS ? fingerprint(value) : withoutCredentials(value)]
  }
  return Object.fromEntries(Object.entries(config).map(shown))
}

/** User and password go, and the query: databases and collectors take passwords and keys there too. */
function withoutCredentials(value: string): string {
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(value)?.[0]
  if (scheme === undefined) return value
  if (!URL.canParse(value)) return `${scheme}…`
  const { host, pathname, search } = new URL(value)
  return `${scheme}${host}${pathname}${search && '?…'}`
}
