// The log: JSON lines by pino on standard output, written asynchronously. Code does not log secrets or personal data.
// The redaction is a second safeguard, for whole objects that are logged by mistake.

import { pino } from 'pino'
import type { Logger } from 'pino'

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

export function makeLog(level: string, node: string): Log {
  const paths = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`])
  return pino(
    {
      level,
      base: { node },
      redact: { paths, censor: '[hidden]' },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 1, sync: false, minLength: 0 }),
  )
}
