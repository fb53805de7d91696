// Calls of a node's operations by name, over real HTTP, as loosely as a test needs: wrong parameters, other bodies and
// other tokens are what most tests are about.

import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import type { PlatformOperationName } from '../../src/contract/platform.ts'

export type CallOptions = {
  /** Username of a seeded user; null sends no token. */
  as?: string | null
  code?: string
  transferId?: string
  query?: Record<string, string | number>
  /** Sent as JSON; `raw` sends the text as it is. */
  body?: unknown
  raw?: string | Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

// The one loose type of the tests: an answer's body is looked into field by field and compared whole.
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = { status: number; headers: Headers; text: string; body: any }

export type CallOperation = (name: OperationName, options?: CallOptions) => Promise<Answer>

export function pathOf(name: OperationName, options: CallOptions = {}): string {
  const path = operations[name].path
    .replace('{channelCode}', encodeURIComponent(options.code ?? ''))
    .replace('{transferId}', encodeURIComponent(options.transferId ?? ''))
  const query = new URLSearchParams(
    Object.entries(options.query ?? {}).map(([key, value]) => [key, String(value)]),
  )
  return `${BASE_PATH}${path}${query.size > 0 ? `?${query}` : ''}`
}

export function caller(url: string, token: (username: string) => Promise<string>): CallOperation {
  return async (name, options = {}) => {
    const headers: Record<string, string> = { ...options.headers }
    const as = options.as === undefined ? 'globaladmin' : options.as
    if (as !== null) headers.authorization ??= `Bearer ${await token(as)}`
    if (options.body !== undefined) headers['content-type'] ??= 'application/json'
    const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    return request(url + pathOf(name, options), {
      method: operations[name].method,
      headers,
      body: body ?? null,
    })
  }
}

export type PlatformGiven = {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
}

/** What the node adds to the interface, by name. */
export async function callPlatform(
  node: { url: string; token(username: string): Promise<string> },
  name: PlatformOperationName,
  as: string,
  { params = {}, query = {}, body }: PlatformGiven = {},
): Promise<Answer> {
  const operation: Operation = platformOperations[name]
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(params[key] ?? ''),
  )
  return request(`${node.url}${BASE_PATH}${path}?${new URLSearchParams(query)}`, {
    method: operation.method,
    headers: {
      authorization: `Bearer ${await node.token(as)}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

export async function request(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text ? JSON.parse(text) : undefined,
  }
}
