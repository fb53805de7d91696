// The audit trail read: searched, taken out as a file, and checked.

import { Readable } from 'node:stream'
import { keptHead, sealAudit, warnOfForged } from '../../audit/sealer.ts'
import { csvLines, jsonLines } from '../../audit/export.ts'
import { verifyAudit } from '../../audit/read-trail.ts'
import { searchTrail, walkTrail } from '../../audit/search.ts'
import type { TrailFilter } from '../../audit/search.ts'
import type { AuditEntry } from '../../contract/audit.ts'
import { showTime } from '../../domain/time.ts'
import type { Zone } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import type { AuditRecord } from '../../store/audit.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import { spanOf } from '../integration/transfers.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'

const auditTrail: PlatformHandler<'auditTrail'> = async (context, { input }) => {
  const { rows, next, complete } = await searchTrail(context.store.db, filterOf(context, input), {
    beyond: input.before,
    size: input.size ?? 50,
  })
  return {
    content: rows.map((row) => toWire(row, context.zone)),
    ...(next !== undefined && { next }),
    complete,
  }
}

const auditExport: PlatformHandler<'auditExport'> = async (context, { input, user, request, reply }) => {
  const { format = 'jsonl', ...asked } = input
  const filter = filterOf(context, asked)
  await context.store.write((tx) =>
    context.audit.add(tx, actorOf({ user, request }), [{ action: 'AUDIT_EXPORTED', facts: { ...input } }]),
  )
  await sealAudit(context.store, context.audit.keys, context.now(), warnOfForged(request.log))
  const rows = walkTrail(context.store.db, filter, 'asc')
  const lines = format === 'csv' ? csvLines(rows, context.zone) : jsonLines(rows)
  return reply
    .type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="audit.${format}"`)
    .header('Cache-Control', 'no-store')
    .send(Readable.from(lines))
}

const auditVerification: PlatformHandler<'auditVerification'> = (context) => {
  const seen = keptHead(context.dataDir)
  return verifyAudit(context.store.db, context.audit.keys, seen ? [seen] : [])
}

export const auditHandlers = {
  auditTrail,
  auditExport,
  auditVerification,
} satisfies Partial<PlatformHandlers>

type Asked = Omit<Parameters<typeof auditTrail>[1]['input'], 'before' | 'size'>

function filterOf(context: Context, asked: Asked): TrailFilter {
  const { user, initialDate, endDate, search, ...same } = asked
  if (same.subject !== undefined && same.subjectKind === undefined)
    throw new NodeError('bad_request', 'query parameter subject needs subjectKind')
  const span = spanOf(
    { ...(initialDate !== undefined && { initialDate }), ...(endDate !== undefined && { endDate }) },
    context.zone,
  )
  return { ...same, ...span, who: user, search }
}

export function toWire(row: AuditRecord, zone: Zone): AuditEntry {
  const detail = JSON.parse(row.detail) as Pick<AuditEntry, 'note' | 'changes' | 'facts'> // written by the trail alone
  return {
    id: row.id,
    ...(row.seq !== null && { seq: row.seq }),
    at: showTime(row.at, zone),
    node: row.node,
    ...(row.who !== null && { user: row.who }),
    via: row.via,
    ...(row.tokenId !== null && { tokenId: row.tokenId }),
    ...(row.address !== null && { address: row.address }),
    action: row.action,
    outcome: row.outcome,
    ...(row.subjectKind !== null && { subjectKind: row.subjectKind }),
    ...(row.subject !== null && { subject: row.subject }),
    ...(row.channelCode !== null && { channelCode: row.channelCode }),
    ...detail,
  }
}
