// One body for every error of every operation, and one wording for what does not fit a schema, wherever it is met.

import type { Static } from 'typebox'
import { Type } from './type.ts'

export const ErrorBody = Type.Object(
  {
    timestamp: Type.String({ description: 'yyyy-MM-dd’T’HH:mm:ss.SSSXXX' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    error: Type.String({ description: 'Text of the status.' }),
    message: Type.String({
      description: 'What is wrong and where: the field by JSON pointer, the allowed values.',
    }),
    path: Type.String({ description: 'Path of the request, with the prefix.' }),
  },
  { description: 'What went wrong.' },
)

export type ErrorBody = Static<typeof ErrorBody>

type Params = Record<string, unknown>

/** What a value should be that does not fit; undefined for a rule that has no words here. Never quotes the value. */
export function wordsFor(keyword: string, { limit, ...params }: Params): string | undefined {
  switch (keyword) {
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).filter((one) => one !== null).join(', ')}`
    case 'const':
      return `must be ${String(params.allowedValue)}`
    case 'minimum':
      return `must be at least ${String(limit)}`
    case 'maximum':
      return `must be at most ${String(limit)}`
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} characters`
    case 'maxLength':
      return `must have at most ${String(limit)} characters`
    case 'minItems':
      return `must have at least ${limit === 1 ? '1 item' : `${String(limit)} items`}`
    case 'maxItems':
      return `must have at most ${String(limit)} items`
    case 'format':
      return params.format === 'date' ? 'must be a date, yyyy-MM-dd' : `must be a ${String(params.format)}`
    case 'pattern':
      return patternMeaning(String(params.pattern))
    default:
      return undefined
  }
}

/** Each pattern by something that only it contains. */
const PATTERNS: [part: string, meaning: string][] = [
  ['[0-9]{4}-', 'must be a date, yyyy-MM-dd'],
  ['{0,63}', 'must be 1 to 64 of A-Z a-z 0-9 _ . - and not begin with -'],
  ['24:00', 'must be an hour such as "22:00", or "02:00+1" for the next day'],
  ['[smhd]', 'must be a time such as 30s, 5m, 2h or 1d'],
  ['last)', 'must be mon to sun, 1 to 31, or last'],
  ['^[A-Z]{2}$', 'must be a country’s two letters, such as ES'],
  ['[A-Z0-9]{1,3}', 'must be a region’s letters, such as MD'],
  ['^https?', 'must be an address that begins with https:// or http://'],
  ['[a-z*.]', 'must be a type of events such as transfer.failed or expectation.*'],
  ['_.*?-]', 'must be a channel’s code, with * for anything and ? for one character'],
  ['whsec', 'must be whsec_ and base64 of 24 to 64 octets, or whsk_ and base64 of an Ed25519 key'],
  ['sha256', 'must be a SHA-256 in hexadecimal, with sha256: before it or not'],
  ['}-[', 'must have the form <localCode>-<remoteCode>-<application>, each 1 to 32 of A-Z a-z 0-9 _ .'],
  ['_.]{1,32}', 'must be 1 to 32 of A-Z a-z 0-9 _ .'],
  ['[01][0-9]', 'must be an hour, HH:mm'],
  ['[smh]', 'must be a time such as 30s, 5m or 1h'],
  ['@', 'must be an e-mail address'],
  ['&()', 'must be made of A-Z 0-9 / - . & ( ) and spaces'],
]

function patternMeaning(pattern: string): string {
  return PATTERNS.find(([part]) => pattern.includes(part))?.[1] ?? 'must not contain control characters'
}
