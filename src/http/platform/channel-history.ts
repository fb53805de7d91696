// A channel's history with what the audit trail and its own notes say of each entry: who, what was changed, which transfer.

import type { AuditEntry } from '../../contract/audit.ts'
import { makePage } from '../../contract/page.ts'
import type { HistoryFacts } from '../../contract/platform.ts'
import { TRANSFER_READERS } from '../../contract/user.ts'
import { showTime } from '../../domain/time.ts'
import { seesSecrets } from '../../domain/user.ts'
import type { User } from '../../domain/user.ts'
import { findAuditRows } from '../../store/audit.ts'
import type { AuditRecord } from '../../store/audit.ts'
import { pageOfHistory } from '../../store/channels.ts'
import type { Context } from '../context.ts'
import { reachChannel } from '../guard.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler } from './handler.ts'

type Entry = Awaited<ReturnType<typeof pageOfHistory>>['rows'][number]

/** Keys and passwords stand in the trail as fingerprints; even those are for administrators. */
const SECRET = '/security'
/** As the node writes it: a transfer, and why it failed. */
const OF_TRANSFER = /^([\w-]+)(?:: ([^]*))?$/
const BY = /^by (\S+)$/
/** The command; who ran it stands in the audit trail. */
const APPLY = 'apply'

export const channelHistoryFacts: PlatformHandler<'channelHistoryFacts'> = async (
  context,
  { input, user },
) => {
  const channel = await reachChannel(context, user, input.channelCode)
  const asked = askedPage(context, input)
  const { total, rows } = await pageOfHistory(context.store.db, channel.code, asked)
  const ids = rows.flatMap(({ auditId }) => auditId ?? [])
  const audited = new Map((await findAuditRows(context.store.db, ids)).map((row) => [row.id, row]))
  const content = rows.map((row) => factsOf(context, user, row, audited.get(row.auditId ?? '')))
  return makePage(content, total, asked)
}

function factsOf(context: Context, user: User, entry: Entry, audited: AuditRecord | undefined): HistoryFacts {
  const { at, event, detail } = entry
  const [, by] = BY.exec(detail ?? '') ?? []
  const who = audited?.who ?? (by === APPLY ? undefined : by)
  const [, transferId, why] = event.startsWith('TRANSFER_') ? (OF_TRANSFER.exec(detail ?? '') ?? []) : []
  const note = transferId !== undefined ? why : by !== undefined ? undefined : (detail ?? undefined)
  // All that a new channel has would be its configuration once more.
  const changes = audited && event !== 'CHANNEL_CREATED' ? changesOf(audited, user) : []
  const maySee = TRANSFER_READERS.some((role) => role === user.role)
  return {
    datetime: showTime(at, context.zone),
    event,
    ...(who !== undefined && { user: who }),
    ...(maySee && transferId !== undefined && { transferId }),
    ...(note !== undefined && (maySee || transferId === undefined) && { note }),
    ...(changes && changes.length > 0 && { changes }),
  }
}

function changesOf(audited: AuditRecord, user: User): AuditEntry['changes'] {
  const { changes = [] } = JSON.parse(audited.detail) as Pick<AuditEntry, 'changes'> // written by the trail alone
  if (seesSecrets(user)) return changes
  return changes.map((change) => (change.field.startsWith(SECRET) ? { field: change.field } : change))
}
