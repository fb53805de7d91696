// Single transfers: what a send would take, cancelling, sending again, downloading what was received.

import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { fileRootsOf } from '../../domain/file-roots.ts'
import type { TransferRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { exists } from '../../files/place.ts'
import { confined } from '../../files/roots.ts'
import type { Account } from '../../store/accounts.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { findLocalEntity } from '../../store/contacts.ts'
import type { Tx } from '../../store/database/store.ts'
import { findTransfer } from '../../store/transfers/transfers.ts'
import { cancelTransfer as cancel } from '../../transfers/cancel.ts'
import { previewSend as preview } from '../../transfers/request.ts'
import { requestResend } from '../../transfers/resend.ts'
import { actorOf } from '../actor.ts'
import type { Caller } from '../actor.ts'
import type { Context } from '../context.ts'
import { attachment } from '../attachment.ts'
import { reachChannel } from '../guard.ts'
import { toWire } from '../integration/transfers.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'

const MOST_SHOWN = 1000

const previewSend: PlatformHandler<'previewSend'> = async (context, { input, user }) => {
  const channel = await reachChannel(context, user, input.channelCode)
  const asking = askingFor(context, user.username)
  try {
    const files = await preview(asking, channel)
    const shown = files.slice(0, MOST_SHOWN).map(({ name, path, size }) => ({ fileName: name, path, size }))
    return { files: shown, total: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) }
  } catch (thrown) {
    if (!(thrown instanceof NodeError) || (thrown.code !== 'conflict' && thrown.code !== 'bad_request'))
      throw thrown
    return { files: [], total: 0, bytes: 0, refusal: thrown.message }
  }
}

const cancelTransfer: PlatformHandler<'cancelTransfer'> = async (context, call) => {
  const { input, body, user } = call
  const { channel, transfer } = await reachTransfer(context, user, input)
  const { comment } = body
  await cancel(context.store, {
    channel,
    transferId: transfer.id,
    now: context.now(),
    by: user.username,
    comment,
    audited: noted(context, call, 'TRANSFER_CANCELLED', transfer, comment),
  })
  context.wake({ kind: 'cancelled', transferId: transfer.id })
  return toWire((await findTransfer(context.store.db, transfer.id)) ?? transfer, context.zone)
}

const resendTransfer: PlatformHandler<'resendTransfer'> = async (context, call) => {
  const { input, body, user } = call
  const { channel, transfer } = await reachTransfer(context, user, input)
  const asking = {
    ...askingFor(context, user.username),
    audited: noted(context, call, 'TRANSFER_RESENT', transfer, body.comment),
  }
  const made = await requestResend(asking, channel, transfer, body.comment)
  context.wake({ kind: 'due' })
  return toWire(made, context.zone)
}

const downloadFile: PlatformHandler<'downloadFile'> = async (context, call) => {
  const { input, user, reply } = call
  const { channel, transfer } = await reachTransfer(context, user, input)
  const file = transfer.files[Number(input.fileIndex)]
  if (!file) throw new NodeError('not_found', `transfer ${transfer.id} has no file ${input.fileIndex}`)
  if (transfer.direction !== 'RECEPCION')
    throw new NodeError('conflict', 'only received files are downloaded: this transfer sent them')
  const local = await findLocalEntity(context.store.db, channel.localCode)
  const roots = fileRootsOf(context.roots.fileRoots, local?.fileRoots)
  const places = [file.pathPost, file.path].filter((place) => place !== null && place !== '')
  let place: string | undefined
  for (const one of places) if (one !== null && (await exists(one))) place ??= one
  if (place === undefined) throw new NodeError('conflict', `${file.name} is no longer where it was put`)
  // A link is not followed: it may lead anywhere.
  const real = (await lstat(place)).isFile() ? confined(place, roots) : undefined
  if (real === undefined)
    throw new NodeError('conflict', `${file.name} is no longer a file inside the file roots`)
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new NodeError('conflict', `${place} is no file`)
    await context.store.write((tx) =>
      noted(context, call, 'FILE_DOWNLOADED', transfer, undefined, file.name)(tx),
    )
    return attachment(reply, file.name, stat.size).send(
      handle.createReadStream({ end: Math.max(0, stat.size - 1) }),
    )
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

export const transferActionHandlers = {
  previewSend,
  cancelTransfer,
  resendTransfer,
  downloadFile,
} satisfies Partial<PlatformHandlers>

function askingFor(context: Context, requestedBy: string) {
  const { store, roots, now } = context
  return { store, fileRoots: roots.fileRoots, now, requestedBy }
}

async function reachTransfer(
  context: Context,
  user: Account,
  { channelCode, transferId }: { channelCode: string; transferId: string },
): Promise<{ channel: ChannelRecord; transfer: TransferRecord }> {
  const channel = await reachChannel(context, user, channelCode)
  const transfer = await findTransfer(context.store.db, transferId)
  if (transfer?.channelCode !== channel.code)
    throw new NodeError('not_found', `channel ${channel.code} has no transfer ${transferId}`)
  return { channel, transfer }
}

function noted(
  { audit }: Context,
  caller: Caller,
  action: 'TRANSFER_CANCELLED' | 'TRANSFER_RESENT' | 'FILE_DOWNLOADED',
  { id, channelCode }: TransferRecord,
  note?: string,
  file?: string,
) {
  return async (tx: Tx, made?: string): Promise<string> => {
    const subject = { kind: 'transfer', name: made ?? id } as const
    const facts = { ...(made !== undefined && { resendOf: id }), ...(file !== undefined && { file }) }
    const [entry = ''] = await audit.add(tx, actorOf(caller), [{ action, subject, channelCode, note, facts }])
    return entry
  }
}
