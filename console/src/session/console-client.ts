// The typed client as the console uses it: signed in by a cookie that scripts cannot read. Every request says that it
// comes from the console, which no page of another origin can make a browser say.

import { createClient } from '../../../sdk/index.ts'
import type { Client } from '../../../sdk/index.ts'
import { CONSOLE_HEADER } from '../../../src/contract/account/session.ts'

export function consoleClient(): Client {
  return createClient({
    url: location.origin,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set(CONSOLE_HEADER, '1')
      return fetch(input, { ...init, headers })
    },
  })
}
