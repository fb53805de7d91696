// The log: JSON lines by pino on standard output, written asynchronously. Code does not log secrets or personal data.
// The redaction is a second safeguard, for whole objects that are logged by mistake.

import { pino } from 'pino'
import type { Logger } from 'pino'
import { cleanWords } from './errors.ts'

export type Log = Logger

const SECRET_KEYS = [
  'password',
  'token',
  'localKey',
  'remoteKey',
  'rsaLocalKey',
  'rsaRemoteKey',
  'privateKey',
  'passphrase',
  'contactInfo',
  'authorization',
]

const LONGEST_MESSAGE = 2000
const LONGEST_STACK = 10_000

/** Behind our own error stands what a library threw, in which a partner's words may be as long as it likes. */
export function shownError(thrown: Error): unknown {
  const shown = pino.stdSerializers.err(thrown)
  // What is thrown need not be an error: such a thing is shown as it is.
  if (!(thrown instanceof Error)) return shown
  shown.message = cleanWords(shown.message, LONGEST_MESSAGE)
  shown.stack = shown.stack.slice(0, LONGEST_STACK)
  return shown
}

export function makeLog(level: string, node: string): Log {
  const paths = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`])
  return pino(
    {
      level,
      base: { node },
      serializers: { err: shownError },
      redact: { paths, censor: '[hidden]' },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 1, sync: false, minLength: 0 }),
  )
}
