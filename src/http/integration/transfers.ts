// Operations 12 to 16: transfers listed, read, started, retried and reset; and receptions asked for, which is the node's own.

import type { Transfer, TransferFile } from '../../contract/transfer.ts'
import { nextDay, showTime, startOfDay } from '../../domain/time.ts'
import type { Zone } from '../../domain/time.ts'
import type { TransferFileRecord, TransferRecord } from '../../domain/transfer.ts'
import { readTraceParent } from '../../domain/trace-context.ts'
import { NodeError } from '../../errors.ts'
import { pageOfTransfers } from '../../store/transfers/transfer-pages.ts'
import { findTransfer } from '../../store/transfers/transfers.ts'
import { putTraceParent } from '../../store/watching/traces.ts'
import { requestFetch } from '../../transfers/fetch.ts'
import { requestSend } from '../../transfers/request.ts'
import { requestRetry } from '../../transfers/retry.ts'
import type { Asking } from '../../transfers/request.ts'
import { resetChannel as reset } from '../../transfers/reset.ts'
import { actorOf } from '../actor.ts'
import type { Call, Context, Handler, Written } from '../context.ts'
import type { PlatformHandler } from '../platform/handler.ts'
import { readStatus } from './channels.ts'
import { reachChannel } from '../guard.ts'
import { askedPage, writePage } from './paging.ts'

export const listTransfers: Handler<'listTransfers'> = async (context, { input, user }) => {
  const asked = askedPage(context, input)
  const span = spanOf(input, context.zone)
  const channel = await reachChannel(context, user, input.channelCode)
  const { total, transfers } = await pageOfTransfers(context.store.db, channel.code, { ...asked, ...span })
  const known = pages.get(transfers)
  if (known?.total === total && known.page === asked.page && known.size === asked.size) return known.written
  const items = transfers.map((transfer) => write(transfer, context.zone))
  const page = { total, page: asked.page, size: asked.size, written: writePage(items, total, asked) }
  pages.set(transfers, page)
  return page.written
}

// The store returns the same objects for finished transfers, and for whole pages while nothing changes. So their text
// can be kept with them.
const pages = new WeakMap<
  readonly TransferRecord[],
  { total: number; page: number; size: number; written: Written }
>()
const written = new WeakMap<TransferRecord, string>()

function write(transfer: TransferRecord, zone: Zone): string {
  let json = written.get(transfer)
  if (!json) written.set(transfer, (json = JSON.stringify(toWire(transfer, zone))))
  return json
}

/** Whole days of the node's time zone, both included. */
export function spanOf(input: { initialDate?: string; endDate?: string }, zone: Zone) {
  const from = input.initialDate === undefined ? undefined : dayStart(input.initialDate, 'initialDate', zone)
  const end = input.endDate === undefined ? undefined : dayStart(input.endDate, 'endDate', zone)
  if (from !== undefined && end !== undefined && from > end)
    throw new NodeError('bad_request', 'query parameter initialDate must not be after endDate')
  const before = input.endDate === undefined ? undefined : startOfDay(nextDay(input.endDate), zone)
  return { from, before }
}

function dayStart(day: string, parameter: string, zone: Zone): number {
  const at = startOfDay(day, zone)
  if (at === undefined)
    throw new NodeError('bad_request', `query parameter ${parameter} must be a real date, yyyy-MM-dd`)
  return at
}

export const transferDetail: Handler<'transferDetail'> = async (context, { input, user }) => {
  const channel = await reachChannel(context, user, input.channelCode)
  const transfer = await findTransfer(context.store.db, input.transferId)
  if (transfer?.channelCode !== channel.code)
    throw new NodeError('not_found', `channel ${channel.code} has no transfer ${input.transferId}`)
  return toWire(transfer, context.zone)
}

export const sendTransfer: Handler<'sendTransfer'> = async (context, call) => {
  const channel = await reachChannel(context, call.user, call.input.channelCode)
  return started(context, await requestSend(asking(context, call, 'TRANSFER_SENT'), channel, 'MANUAL'))
}

export const retryTransfer: Handler<'retryTransfer'> = async (context, call) => {
  const channel = await reachChannel(context, call.user, call.input.channelCode)
  return started(context, await requestRetry(asking(context, call, 'TRANSFER_RETRIED'), channel))
}

export const fetchTransfer: PlatformHandler<'fetchTransfer'> = async (context, call) => {
  const channel = await reachChannel(context, call.user, call.input.channelCode)
  return started(context, await requestFetch(asking(context, call, 'TRANSFER_FETCHED'), channel))
}

function asking(
  context: Context,
  call: Pick<Call<'sendTransfer'>, 'user' | 'request' | 'input'>,
  action: 'TRANSFER_SENT' | 'TRANSFER_RETRIED' | 'TRANSFER_FETCHED',
): Asking {
  return {
    store: context.store,
    fileRoots: context.roots.fileRoots,
    now: context.now,
    requestedBy: call.user.username,
    audited: async (tx, transferId) => {
      const subject = { kind: 'transfer' as const, name: transferId }
      const { channelCode } = call.input
      const [id = ''] = await context.audit.add(tx, actorOf(call), [{ action, subject, channelCode }])
      const { traceparent } = call.request.headers
      if (typeof traceparent === 'string' && readTraceParent(traceparent))
        await putTraceParent(tx, transferId, traceparent)
      return id
    },
  }
}

function started(context: Context, transfer: TransferRecord): Transfer {
  context.wake({ kind: 'due' })
  return toWire(transfer, context.zone)
}

export const resetChannel: Handler<'resetChannel'> = async (context, call) => {
  const { user } = call
  const channel = await reachChannel(context, user, call.input.channelCode)
  const { code } = channel
  const { cancelled, settled } = await reset(
    context.store,
    channel,
    context.now(),
    user.username,
    async (tx, cancelled) => {
      const [id = ''] = await context.audit.add(tx, actorOf(call), [
        {
          action: 'CHANNEL_RESET',
          subject: { kind: 'channel', name: code },
          channelCode: code,
          facts: { cancelled },
        },
      ])
      return id
    },
  )
  // What failed transfers have left is removed too.
  for (const transferId of [...cancelled, ...(settled === undefined ? [] : [settled])])
    context.wake({ kind: 'cancelled', transferId })
  return readStatus(context, channel)
}

export function toWire(transfer: TransferRecord, zone: Zone): Transfer {
  return {
    channelCode: transfer.channelCode,
    transferId: transfer.id,
    ...(transfer.startedAt !== null && { transferStartDateTime: showTime(transfer.startedAt, zone) }),
    ...(transfer.endedAt !== null && { transferEndDateTime: showTime(transfer.endedAt, zone) }),
    direction: transfer.direction,
    status: transfer.state,
    ...(transfer.error !== null && { error: transfer.error }),
    type: transfer.type,
    encryption: transfer.encryption,
    files: transfer.files.map(fileToWire),
  }
}

function fileToWire(file: TransferFileRecord): TransferFile {
  return {
    fileName: file.name,
    // The file was never placed, or it is a certificate that is made when it is sent.
    ...(file.path !== '' && { path: file.path }),
    ...(file.hash !== null && { hash: `sha256:${file.hash}` }),
    ...(file.size !== null && { size: String(file.size) }),
    ...(file.actionPost !== null && { actionPost: file.actionPost }),
    ...(file.pathPost !== null && { filePathPost: file.pathPost }),
  }
}
