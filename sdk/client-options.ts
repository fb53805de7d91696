// What a client is made with, and what one call may be given.

export type ClientOptions = {
  /** Where the node is, e.g. http://127.0.0.1:8080; with or without /connect-back. */
  url: string
  token?: string | undefined
  credentials?: Credentials | undefined
  /** How long one request may take; 30 seconds if left out. */
  timeoutMs?: number | undefined
  fetch?: typeof globalThis.fetch | undefined
}

export type Credentials = { username: string; password: string }

export type CallOptions = {
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  /** Change it only if it still is the revision of this tag; else the node answers 412. */
  ifMatch?: string | undefined
  /** Only make it: where it exists already the node answers 412. */
  onlyNew?: boolean | undefined
  /** Told the tag of the revision that was read, where the node gives one. */
  onTag?: ((tag: string) => void) | undefined
}
