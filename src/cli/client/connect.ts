// Connects a client command to a node, by its options and environment. Turns what the client throws into the errors
// that decide the exit code.

import { ClientError, createClient, UnreachableError } from '../../../sdk/index.ts'
import type { Client } from '../../../sdk/index.ts'
import { ERROR_CODES, NodeError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'

export type ClientFlags = { url?: string; token?: string; json?: boolean }

const DEFAULT_URL = 'http://127.0.0.1:8080'

export async function withNode<T>(flags: ClientFlags, run: (client: Client) => Promise<T>): Promise<T> {
  const url = flags.url ?? (process.env.ESCLUSA_URL || DEFAULT_URL)
  if (!/^https?:\/\//.test(url))
    throw new NodeError('bad_use', `the node’s address must start with http:// or https://, not "${url}"`)
  const token = flags.token ?? (process.env.ESCLUSA_TOKEN || undefined)
  try {
    return await run(createClient({ url, token }))
  } catch (thrown) {
    throw translate(thrown, token !== undefined)
  }
}

const CODE_OF_STATUS = new Map<number, ErrorCode>()
for (const [code, { status }] of Object.entries(ERROR_CODES) as [ErrorCode, { status: number }][])
  if (!CODE_OF_STATUS.has(status)) CODE_OF_STATUS.set(status, code)

function translate(thrown: unknown, hadToken: boolean): unknown {
  if (thrown instanceof UnreachableError)
    return new NodeError('unreachable', thrown.message, { cause: thrown })
  if (!(thrown instanceof ClientError)) return thrown
  const { status, message } = thrown
  const code = CODE_OF_STATUS.get(status) ?? (status < 500 ? 'bad_request' : 'internal')
  const hint =
    status === 401 && !hadToken ? '\n  export ESCLUSA_TOKEN=$(npx esclusa login --username <you>)' : ''
  return new NodeError(code, `${status} ${message}${hint}`, { cause: thrown })
}
