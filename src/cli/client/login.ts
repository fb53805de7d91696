// `esclusa login`: prints a token and nothing else, so that a shell can take it.

import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'
import { readPassword } from '../password-input.ts'
import { say, sayJson } from '../print.ts'

export async function login(options: ClientFlags & { username: string }): Promise<void> {
  const { username } = options
  const password = await readPassword(`password of ${username}: `)
  await withNode(options, async (client) => {
    const answer = await client.loginV2({ body: { username, password } })
    if (options.json) sayJson(answer)
    else say(answer.token)
  })
}
