// The cipher suites OFTP2 names by two digits: 01 and 02 in RFC 5024, 03 to 06 added by Odette. All of them use RSA
// with PKCS#1 v1.5, for key transport and for signatures.

import type { Digest } from '../../transport.ts'

export type Suite = { cipher: 'AES-256-CBC' | '3DES-CBC'; digest: Digest }

export const SUITES = {
  '01': { cipher: '3DES-CBC', digest: 'sha1' },
  '02': { cipher: 'AES-256-CBC', digest: 'sha1' },
  '03': { cipher: '3DES-CBC', digest: 'sha256' },
  '04': { cipher: 'AES-256-CBC', digest: 'sha256' },
  '05': { cipher: '3DES-CBC', digest: 'sha512' },
  '06': { cipher: 'AES-256-CBC', digest: 'sha512' },
} as const satisfies Record<string, Suite>

export type SuiteCode = keyof typeof SUITES

/** The suite that is announced for files that wear a signature of that digest: always one with AES. */
export const SUITE_OF_DIGEST = { sha1: '02', sha256: '04', sha512: '06' } as const satisfies Record<
  Digest,
  SuiteCode
>

export function suiteOf(code: string): Suite | undefined {
  return Object.hasOwn(SUITES, code) ? SUITES[code as SuiteCode] : undefined // hasOwn is the proof
}
