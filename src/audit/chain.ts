// What is hashed and signed, as text. Each row's hash covers its own text, its place and the hash before it; a signed
// head covers the last hash, and so every row up to it.

import { createHash } from 'node:crypto'
import type { AuditRecord } from '../store/audit.ts'

/** Everything a row says, in one fixed form. */
export function textOf(row: Omit<AuditRecord, 'mac' | 'seq' | 'hash'>): string {
  return JSON.stringify([
    row.id,
    row.at,
    row.node,
    row.who,
    row.via,
    row.tokenId,
    row.address,
    row.action,
    row.outcome,
    row.subjectKind,
    row.subject,
    row.channelCode,
    row.detail,
  ])
}

/** Stands in the chain instead of a row's MAC that was not right when the row was to enter it. */
export const FORGED = 'not by the node'

/** The hash before the first row. */
export const FIRST = ''

export function linkHash(before: string, seq: number, row: AuditRecord): string {
  return createHash('sha256')
    .update(JSON.stringify([before, seq, textOf(row), row.mac]))
    .digest('base64url')
}

export type Point = { seq: number; hash: string; at: number }

export function pointText(name: 'last' | 'start', { seq, hash, at }: Point): string {
  return JSON.stringify(['esclusa audit', name, seq, hash, at])
}
