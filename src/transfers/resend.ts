// Sends the files of a completed emission once more, because somebody says why. They must be there as they were sent. One
// that the post-action moved goes back to where it was sent from first, so that the same happens to it as before.

import { lstat } from 'node:fs/promises'
import { fileRootsOf } from '../domain/file-roots.ts'
import type { TransferFileRecord, TransferRecord } from '../domain/transfer.ts'
import { NodeError, systemCode } from '../errors.ts'
import { hashFile } from '../files/hash.ts'
import { exists, placeFile } from '../files/place.ts'
import { confined } from '../files/roots.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { findLocalEntity } from '../store/contacts.ts'
import { activeTransfers } from '../store/transfers/transfers.ts'
import { keyOf } from './file-keys.ts'
import { firstPhase, insert, newFile, requireOpen } from './request.ts'
import type { Asking } from './request.ts'

export async function requestResend(
  asking: Asking,
  channel: ChannelRecord,
  completed: TransferRecord,
  comment: string,
): Promise<TransferRecord> {
  if (completed.direction !== 'EMISION' || completed.state !== 'COMPLETED')
    throw new NodeError(
      'conflict',
      'only an emission that was completed is sent again; a failed one is retried',
    )
  requireOpen(channel.config)
  const active = (await activeTransfers(asking.store.db, channel.code)).find(
    ({ direction }) => direction === 'EMISION',
  )
  if (active)
    throw new NodeError('conflict', `an emission of channel ${channel.code} is ${active.state}: ${active.id}`)
  const local = await findLocalEntity(asking.store.db, channel.localCode)
  const roots = fileRootsOf(asking.fileRoots, local?.fileRoots)
  const moved: [from: string, to: string][] = []
  try {
    const places: string[] = []
    for (const file of completed.files) places.push(await placeOf(file, roots))
    for (const [index, { path }] of completed.files.entries()) {
      const place = places[index] ?? path
      if (place === path) continue
      await placeFile(place, path)
      moved.push([place, path])
    }
    const now = asking.now()
    const phase = firstPhase(channel)
    const files = await Promise.all(
      completed.files.map(async (file, index) => ({ ...(await again(file, index, now)), phase })),
    )
    return await insert(asking, channel, {
      type: 'MANUAL',
      files,
      now,
      retryOf: null,
      comment,
      resendOf: completed.id,
    })
  } catch (thrown) {
    for (const [from, to] of moved) await placeFile(to, from).catch(() => {})
    throw isGone(thrown)
      ? new NodeError('conflict', 'one of its files was moved or taken away meanwhile: try again', {
          cause: thrown,
        })
      : thrown
  }
}

/** Somebody was faster, between two looks at it. */
function isGone(thrown: unknown): boolean {
  return (thrown instanceof NodeError && thrown.code === 'file_missing') || systemCode(thrown) === 'ENOENT'
}

/** Where the file lies now, unchanged. */
async function placeOf(file: TransferFileRecord, roots: readonly string[]): Promise<string> {
  const { name, path, pathPost, hash, content } = file
  if (content !== 'FILE')
    throw new NodeError('conflict', `${name} was made for that transfer: send the channel anew`)
  for (const place of [path, pathPost]) {
    if (!place || !(await exists(place))) continue
    if (confined(place, roots) === undefined)
      throw new NodeError('conflict', `${place} leads out of the node’s file roots by a link`)
    if ((await lstat(place)).isFile() && (await hashFile(place)) === hash) return place
    if (place === path) throw new NodeError('conflict', `${place} is another file by now: send it anew`)
  }
  throw new NodeError('conflict', `${name} is no longer there, neither at ${path} nor where it was moved to`)
}

async function again(file: TransferFileRecord, index: number, now: number): Promise<TransferFileRecord> {
  const stat = await lstat(file.path)
  const candidate = {
    directory: file.directory ?? 0,
    name: file.name,
    path: file.path,
    size: stat.size,
    modifiedAt: Math.floor(stat.mtimeMs),
  }
  return { ...newFile(candidate, index), ...keyOf(now, index) }
}
