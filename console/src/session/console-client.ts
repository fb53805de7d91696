// The typed client as the console uses it: signed in by a cookie that scripts cannot read. Every request says that it
// comes from the console, which no page of another origin can make a browser say, and names the user that the page
// shows: the cookie may be another user's by now, and then the node refuses.

import { createClient } from '../../../sdk/index.ts'
import type { Client } from '../../../sdk/index.ts'
import { CONSOLE_HEADER, SHOWN_USER_HEADER } from '../../../src/contract/account/session.ts'

/** Without a user, whoever the cookie belongs to is meant. */
export function consoleClient(username?: string): Client {
  return createClient({
    url: location.origin,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(consoleHeaders(username))) headers.set(name, value)
      return fetch(input, { ...init, headers })
    },
  })
}

export function consoleHeaders(username: string | undefined): Record<string, string> {
  return {
    [CONSOLE_HEADER]: '1',
    ...(username !== undefined && { [SHOWN_USER_HEADER]: encodeURIComponent(username) }),
  }
}
