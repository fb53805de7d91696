// One error class and one closed table of codes. The code decides the HTTP status, whether the engine tries again, and
// the exit code of the command line. Nothing compares message texts, and there is no class per error. Errors from
// outside (driver, socket, file system) are translated once, where they enter, and kept as `cause`.

type Row = { status: number; retry: boolean; exit: number; means: string }

export const ERROR_CODES = {
  bad_request: {
    status: 400,
    retry: false,
    exit: 3,
    means: 'The request is malformed; the message names the field.',
  },
  unauthorized: { status: 401, retry: false, exit: 3, means: 'No valid token; log in again.' },
  forbidden: {
    status: 403,
    retry: false,
    exit: 3,
    means: 'The role, a permission flag or the channel’s user list does not allow it.',
  },
  not_found: { status: 404, retry: false, exit: 3, means: 'No such channel, transfer or route.' },
  method_not_allowed: {
    status: 405,
    retry: false,
    exit: 3,
    means: 'The path exists, but not with this method; see the Allow header.',
  },
  conflict: {
    status: 409,
    retry: false,
    exit: 3,
    means: 'The state of the channel does not allow it now; the message says why.',
  },
  changed_meanwhile: {
    status: 412,
    retry: false,
    exit: 3,
    means: 'Somebody has changed the thing since it was read (If-Match); read it again.',
  },
  too_large: { status: 413, retry: false, exit: 3, means: 'The body is over the limit.' },
  unsupported_media: { status: 415, retry: false, exit: 3, means: 'The body is not JSON.' },
  too_many: {
    status: 429,
    retry: true,
    exit: 3,
    means: 'Too many failed logins or open event streams; wait as long as Retry-After says.',
  },
  internal: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'A fault of the node; the log has it under the request id.',
  },
  unavailable: {
    status: 503,
    retry: true,
    exit: 1,
    means: 'The node is draining or its database does not answer.',
  },

  bad_use: { status: 500, retry: false, exit: 2, means: 'Wrong command line, setting or platform file.' },
  unreachable: { status: 500, retry: true, exit: 4, means: 'The node does not answer at that address.' },

  connect_failed: { status: 500, retry: true, exit: 1, means: 'No connection to the partner’s address.' },
  connection_lost: { status: 500, retry: true, exit: 1, means: 'The connection to the partner broke.' },
  timed_out: { status: 500, retry: true, exit: 1, means: 'The partner did not answer in time.' },
  remote_busy: { status: 500, retry: true, exit: 1, means: 'The partner asks to try again later.' },
  remote_refused: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'The partner refused the file or the session.',
  },
  login_refused: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'One end does not accept the other’s identity, password or key.',
  },
  host_key_mismatch: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'The partner’s host key is not the pinned one.',
  },
  insecure_session: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'The session would be less secure than the channel asks.',
  },
  protocol_violation: { status: 500, retry: false, exit: 1, means: 'The partner broke the protocol.' },
  hash_mismatch: { status: 500, retry: true, exit: 1, means: 'What arrived is not what was sent.' },
  receipt_negative: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'The partner’s end-to-end receipt says the file was not delivered.',
  },
  receipt_late: { status: 500, retry: false, exit: 1, means: 'The partner’s receipt did not come in time.' },

  file_missing: { status: 500, retry: false, exit: 1, means: 'A file to send is gone.' },
  file_changed: { status: 500, retry: false, exit: 1, means: 'A file changed while it was sent.' },
  file_refused: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'A file does not fit the channel (format, group, duplicate).',
  },
  duplicate_file: { status: 500, retry: false, exit: 1, means: 'The file was received before.' },
  bad_signature: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'The signature is missing or wrong; the file is in quarantine.',
  },
  bad_envelope: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'An encrypted, signed or compressed file does not open.',
  },
  name_taken: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'A file of that name exists already and must not be overwritten.',
  },
  no_space: {
    status: 503,
    retry: true,
    exit: 1,
    means: 'There is no room: a disk is full (also that of the database), or the partner’s quota is met.',
  },
  disk_fault: {
    status: 500,
    retry: true,
    exit: 1,
    means: 'A disk reports an error, or no more files can be opened or scripts be started at once.',
  },
  no_rights: { status: 500, retry: false, exit: 1, means: 'The node may not read or write there.' },
  script_failed: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'An integration script failed or took too long.',
  },
  cancelled: { status: 500, retry: false, exit: 1, means: 'The transfer was stopped by a reset.' },
  restored: {
    status: 500,
    retry: false,
    exit: 1,
    means: 'The database was restored from a backup, and what became of the transfer since is not known.',
  },
  damaged: { status: 500, retry: false, exit: 1, means: 'A backup is damaged or cut off.' },
  lease_lost: { status: 500, retry: false, exit: 1, means: 'Another node has taken the transfer over.' },
} as const satisfies Record<string, Row>

export type ErrorCode = keyof typeof ERROR_CODES

export class NodeError extends Error {
  readonly code: ErrorCode
  /** Sent as Retry-After where the status is 429 or 503. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'NodeError'
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  get status(): number {
    return ERROR_CODES[this.code].status
  }

  /** Whether the same attempt may succeed later without anybody changing anything. */
  get retry(): boolean {
    return ERROR_CODES[this.code].retry
  }
}

/** So much of a partner's words anybody reads. */
const MOST_WORDS = 500
/** A whole message has names and paths beside them. */
const MOST_MESSAGE = 2000

/**
 * Words of a partner or a library, as they may stand in a message: without control and format characters, which move the
 * cursor of a terminal or turn the text around, and of which no database keeps NUL; and cut.
 */
export function cleanWords(words: string, most = MOST_WORDS): string {
  return cut(words.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim(), most)
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`.toWellFormed()
}

/** The message of whatever was thrown, for a person. What is not our own may be the words of whoever is at the other end. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof NodeError) return thrown.message
  const reason = opensslReason(thrown)
  if (reason !== undefined) return `a cryptographic step failed (${cleanWords(reason)})`
  return cleanWords(thrown instanceof Error ? thrown.message : String(thrown))
}

/** Work on many files: the error says which one it is about. */
export function naming(thrown: unknown, name: string): unknown {
  const message = messageOf(thrown)
  if (!(thrown instanceof NodeError) || message.includes(name)) return thrown
  const { code, retryAfterSeconds } = thrown
  return new NodeError(code, `${name}: ${message}`, {
    cause: thrown,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

const OPENSSL_TEXT = /(?:^|:|\s)error:[0-9A-F]{8}:[^:]*:[^:]*:([^:\n]*)/

/** OpenSSL's messages are for its own developers, with file names and addresses. Only the reason in them is shown. */
function opensslReason(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined
  const text = OPENSSL_TEXT.exec(thrown.message)
  const isOpenssl = text !== null || /^ERR_(SSL|OSSL)_/.test(systemCode(thrown) ?? '')
  if (!isOpenssl) return undefined
  return 'reason' in thrown && typeof thrown.reason === 'string' ? thrown.reason : (text?.[1] ?? 'unknown')
}

const TLS_FAULTS: [RegExp, string][] = [
  [
    /wrong version number|packet length|http request|record (type|length)/,
    'the other end does not speak TLS there',
  ],
  [
    /protocol version|unsupported protocol|no shared cipher|no protocols/,
    'the two ends have no TLS version or cipher in common',
  ],
  [
    /certificate|unknown ca|access denied|decrypt error/,
    'the other end asks for our certificate, or does not accept it',
  ],
  [/handshake failure|internal error/, 'the other end refused the handshake'],
]

/** Why TLS failed, in words. Undefined if it was not TLS. */
export function tlsFault(thrown: unknown): string | undefined {
  const reason = opensslReason(thrown)
  if (reason === undefined) return undefined
  return (
    TLS_FAULTS.find(([pattern]) => pattern.test(reason))?.[1] ?? `the encrypted session broke (${reason})`
  )
}

/** The `code` of a system error (ENOENT, ECONNRESET, …), if it is one. */
export function systemCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : undefined
}

/** Translates an error of the local file system where it enters the engine. */
export function fromFileError(thrown: unknown, path: string): NodeError {
  if (thrown instanceof NodeError) return thrown
  const code = systemCode(thrown)
  if (code === 'ENOENT') return new NodeError('file_missing', `${path} does not exist`, { cause: thrown })
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new NodeError('no_rights', `the node has no rights on ${path} (${code})`, { cause: thrown })
  if (code === 'EEXIST') return new NodeError('name_taken', `${path} exists already`, { cause: thrown })
  return (
    noSpace(thrown, ` to write to ${path}`) ??
    diskFault(thrown, ` at ${path}`) ??
    new NodeError('internal', `${path}: ${messageOf(thrown)}`, { cause: thrown })
  )
}

/** Undefined: it is something else, as below. */
function noSpace(thrown: unknown, where: string): NodeError | undefined {
  const code = systemCode(thrown)
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EFBIG') return undefined
  return new NodeError('no_space', `no space left${where}`, { cause: thrown })
}

/** Undefined: it is something else. The system's own message is not shown, it may name paths of the data folder. */
function diskFault(thrown: unknown, where: string): NodeError | undefined {
  const code = systemCode(thrown)
  if (code === 'EIO' || code === 'ESTALE')
    return new NodeError('disk_fault', `the disk reports an error${where} (${code})`, { cause: thrown })
  return tooManyOpen(thrown)
}

/** Undefined: it is something else. Files and connections count together, and it is the node that has too many. */
export function tooManyOpen(thrown: unknown): NodeError | undefined {
  const code = systemCode(thrown)
  if (code !== 'EMFILE' && code !== 'ENFILE') return undefined
  return new NodeError(
    'disk_fault',
    `too many files and connections are open at once (${code}): raise the node’s limit of open files`,
    { cause: thrown },
  )
}

/**
 * Whatever ended a transfer, with a message that any database keeps: else the end could not be written, and the transfer
 * would run again and again. What nobody expected is a fault of the node.
 */
export function toNodeError(thrown: unknown): NodeError {
  if (thrown instanceof NodeError) return storable(thrown)
  return (
    noSpace(thrown, '') ??
    diskFault(thrown, '') ??
    new NodeError('internal', messageOf(thrown), { cause: thrown })
  )
}

/** Words of others were cleaned where they came in; this is for those that were forgotten there. */
function storable(error: NodeError): NodeError {
  const { code, message, cause, retryAfterSeconds } = error
  const clean = cut(message.replaceAll(/\p{Cc}+/gu, ' '), MOST_MESSAGE)
  if (clean === message) return error
  return new NodeError(code, clean, { cause, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) })
}

/** Translates an error of a TCP or TLS socket where it enters a transport. */
export function fromSocketError(thrown: unknown, peer: string): NodeError {
  if (thrown instanceof NodeError) return thrown
  const code = systemCode(thrown)
  if (code === 'ETIMEDOUT')
    return new NodeError('timed_out', `${peer} did not answer in time`, { cause: thrown })
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH' || code === 'ENOTFOUND')
    return new NodeError('connect_failed', `no connection to ${peer} (${code})`, { cause: thrown })
  const ours = tooManyOpen(thrown)
  if (ours) return ours
  const fault = tlsFault(thrown)
  if (fault !== undefined)
    return new NodeError('connection_lost', `no TLS with ${peer}: ${fault}`, { cause: thrown })
  return new NodeError('connection_lost', `the connection to ${peer} broke: ${messageOf(thrown)}`, {
    cause: thrown,
  })
}
