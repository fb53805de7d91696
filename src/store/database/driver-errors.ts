// Turns what the database drivers throw into our own errors. Every error of a database passes through here.

import { NodeError, systemCode } from '../../errors.ts'

/** A unique index refused the row. This is the one driver error that callers expect and handle. */
export function isUniqueViolation(thrown: unknown): boolean {
  const code = systemCode(thrown instanceof NodeError ? thrown.cause : thrown)
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505'
}

/** SQLite: another connection has the lock. */
export function isBusy(thrown: unknown): boolean {
  return BUSY.test(systemCode(thrown instanceof NodeError ? thrown.cause : thrown) ?? '')
}

/** Also where another process is just putting its log in order, as after a crash (SQLITE_BUSY_RECOVERY). */
const BUSY = /^SQLITE_BUSY(_|$)/

/** Messages of pg that have no code: the connection is gone, none came free in time, or no answer came. */
const GONE =
  /^(connection terminated|client (has encountered|was closed)|timeout exceeded when trying|timeout expired|query read timeout)/i

const SILENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/**
 * PostgreSQL: a broken connection, a server that stops or starts, too many connections, a session or a transaction left
 * idle, a statement that took too long.
 */
const SILENT_POSTGRES = /^(08...|57P0[1-35]|57014|53300|25P03)$/
/** It answers, and takes no writes: it was told so, or has become another one's copy. */
const READ_ONLY = '25006'
/**
 * A file of the database cannot be read, written, synced or opened. Where the disk cannot be read, SQLite says that the file is
 * damaged (SQLITE_CORRUPT). Neither is a reason to fail transfers for good.
 */
const DISK_FAULT = /^(SQLITE_(IOERR|CANTOPEN|CORRUPT|NOTADB)|58030$)/

export function translate(thrown: unknown): unknown {
  if (thrown instanceof NodeError) return thrown
  const code = systemCode(thrown) ?? ''
  const gone = code === '' && thrown instanceof Error && GONE.test(thrown.message)
  if (gone || BUSY.test(code) || SILENT.has(code) || SILENT_POSTGRES.test(code)) return noAnswer(thrown)
  if (code === READ_ONLY)
    return new NodeError('unavailable', 'the database is read-only: its server may be a standby', {
      cause: thrown,
      retryAfterSeconds: 1,
    })
  if (DISK_FAULT.test(code))
    return new NodeError(
      'unavailable',
      'the database cannot be used: its disk reports an error, or its file is damaged',
      {
        cause: thrown,
        retryAfterSeconds: 1,
      },
    )
  if (code === 'SQLITE_FULL' || code === '53100')
    return new NodeError('no_space', 'the database’s disk is full', { cause: thrown, retryAfterSeconds: 60 })
  return thrown
}

export function noAnswer(cause: unknown): NodeError {
  return new NodeError('unavailable', 'the database does not answer', { cause, retryAfterSeconds: 1 })
}
