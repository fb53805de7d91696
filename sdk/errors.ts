// The two ways in which a call fails.

import type { ErrorBody } from '../src/contract/error-body.ts'

/** The node answered, and the answer is no. `body` is the node's own words. */
export class ClientError extends Error {
  readonly status: number
  readonly body: ErrorBody

  constructor(body: ErrorBody) {
    super(body.message)
    this.name = 'ClientError'
    this.status = body.status
    this.body = body
  }
}

/** No answer, or none in time: whether the request was carried out is not known. */
export class UnreachableError extends Error {
  readonly url: string

  constructor(url: string, why: string, cause: unknown) {
    super(`${url} is not reachable: ${why}`, { cause })
    this.name = 'UnreachableError'
    this.url = url
  }
}
