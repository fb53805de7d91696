// Events about transfers, files and channels. The store's own functions add them, in the transaction of the change, so
// that no caller can forget it.

import { sql } from 'kysely'
import type { HistoryEvent } from '../../contract/channel.ts'
import type { EventType } from '../../contract/event-types.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Tx } from '../database/store.ts'
import type { TransferFileRow, TransferRow } from '../database/tables.ts'
import { addEvent, addEvents } from './outbox.ts'

type TransferColumns = Pick<TransferRow, 'id' | 'channel_code' | 'direction' | 'type' | 'requested_by'>

const TOLD_STATES = {
  IN_PROGRESS: 'transfer.started',
  COMPLETED: 'transfer.completed',
  FAILED: 'transfer.failed',
  CANCELLED: 'transfer.cancelled',
} as const satisfies Partial<Record<TransferStatus, EventType>>

/** A reception that the partner began, or a look at its files, is asked for by nobody: it starts. */
export async function tellRequest(tx: Tx, row: TransferRow): Promise<void> {
  if (row.direction === 'RECEPCION' && row.type !== 'RETRY') return
  await addEvent(tx, {
    type: 'transfer.requested',
    at: row.requested_at,
    channelCode: row.channel_code,
    data: transferData(row),
  })
}

export async function tellMove(
  tx: Tx,
  row: TransferColumns,
  move: { to: TransferStatus; now: number; error?: { message: string; code: string } | null | undefined },
): Promise<void> {
  if (move.to === 'PENDING') return
  const error = move.error && { error: move.error.message, errorCode: move.error.code }
  await addEvent(tx, {
    type: TOLD_STATES[move.to],
    at: move.now,
    channelCode: row.channel_code,
    data: { ...transferData(row), ...error },
  })
}

function transferData({ id, direction, type, requested_by }: TransferColumns) {
  return {
    transferId: id,
    direction: direction as TransferDirection, // closed lists, written by the store alone
    type: type as TransferType,
    ...(requested_by !== null && { requestedBy: requested_by }),
  }
}

export type FileState = Pick<TransferFileRow, 'phase' | 'receipt'>

/** What is told of a file, and what decides when. */
export const TOLD_OF_FILE = ['transfer_id', 'name', 'size', 'hash', 'phase', 'receipt'] as const
export type ToldOfFile = Pick<TransferFileRow, (typeof TOLD_OF_FILE)[number]>

/**
 * A file has come to the partner when it has arrived and no receipt is awaited; it has come to us when it lies in its
 * place. Each is true from one change of its row on.
 */
export function isDelivered({ phase, receipt }: FileState): boolean {
  if (phase === 'PLACED') return true
  return (phase === 'ARRIVED' || phase === 'DONE') && receipt !== 'AWAITED' && receipt !== 'NEGATIVE'
}

/** The way it went, and its channel, are the transfer's: one statement finds them. */
export async function tellFile(tx: Tx, row: ToldOfFile, at: number): Promise<void> {
  const body = JSON.stringify({
    transferId: row.transfer_id,
    fileName: row.name,
    ...(row.size !== null && { size: row.size }),
    ...(row.hash !== null && { hash: `sha256:${row.hash}` }),
  })
  await insertToldFile(tx, { at, body, transferId: row.transfer_id })
}

const insertToldFile = hot((db, arg: Arg<{ at: number; body: string; transferId: string }>) => ({
  compile: () =>
    sql`insert into event_outbox (at, type, channel_code, body)
      select cast(${arg('at')} as bigint), case direction when 'EMISION' then 'file.sent' else 'file.received' end,
        channel_code, cast(${arg('body')} as text)
      from transfer where id = ${arg('transferId')}`.compile(db),
}))

const TOLD_HISTORY: Partial<Record<HistoryEvent, 'channel.created' | 'channel.updated'>> = {
  CHANNEL_CREATED: 'channel.created',
  CHANNEL_UPDATED: 'channel.updated',
  IPS_UPDATED: 'channel.updated',
  DIRECTORIES_UPDATED: 'channel.updated',
  OUTBOUND_PATH_UPDATED: 'channel.updated',
  INBOUND_PATH_UPDATED: 'channel.updated',
}

export type Entry = { at: number; event: HistoryEvent; detail?: string }

/** Entries about the channel itself; those about transfers are told with the transfer. */
export async function tellHistory(
  tx: Tx,
  codes: readonly string[],
  entries: readonly Entry[],
): Promise<void> {
  const events = codes.flatMap((channelCode) =>
    entries.flatMap(({ at, event, detail }) => {
      const type = TOLD_HISTORY[event]
      return type ? [{ type, at, channelCode, data: detail === undefined ? {} : { detail } }] : []
    }),
  )
  if (events.length > 0) await addEvents(tx, events)
}
