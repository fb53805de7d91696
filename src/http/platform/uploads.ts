// Uploads into a channel's outbound directory, by whoever may send on it.

import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import type { UploadedFile } from '../../contract/transfer-actions.ts'
import { fileRootsOf } from '../../domain/file-roots.ts'
import { NodeError } from '../../errors.ts'
import { Upload, uploadPlace } from '../../files/upload.ts'
import type { UploadLimits } from '../../files/upload.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { findContact, findLocalEntity } from '../../store/contacts.ts'
import { requireOpen, requireOutbound } from '../../transfers/request.ts'
import { actorOf } from '../actor.ts'
import { unhurried } from '../body-deadline.ts'
import type { Context } from '../context.ts'
import { asDiskConflict } from '../error-reply.ts'
import { reachChannel } from '../guard.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'

const IDLE_MS = 60_000
const MEGABYTE = 1024 * 1024

const uploadFile: PlatformHandler<'uploadFile'> = async (context, call) => {
  const { input, user, request } = call
  const channel = await reachChannel(context, user, input.channelCode)
  requireOutbound(channel)
  if (channel.config.keyExchangeChannel)
    throw new NodeError('bad_request', `channel ${channel.code} exchanges keys: it sends no files`)
  requireOpen(channel.config)
  const local = await findLocalEntity(context.store.db, channel.localCode)
  const roots = fileRootsOf(context.roots.fileRoots, local?.fileRoots)
  const target = await uploadPlace(channel.config, input.fileName, roots)
  const { raw } = request
  try {
    const upload = await Upload.begin(target, announced(raw), await limitsOf(context, channel))
    try {
      const { size, sha256 } = await upload.write(unhurried(raw, IDLE_MS))
      requireWhole(raw, size)
      const path = await upload.place()
      const made = { fileName: basename(path), path, size, hash: `sha256:${sha256}` }
      await note(context, call, channel, made).catch(async (thrown: unknown) => {
        await rm(path, { force: true })
        throw thrown
      })
      return made
    } finally {
      await upload.discard()
    }
  } catch (thrown) {
    // What is left of the body is taken and dropped, so that the answer can be read; not for long.
    raw.resume()
    // The request's own error: the client went away, or sent nothing for too long.
    throw thrown === raw.errored ? brokeOff(thrown) : asDiskConflict(thrown)
  }
}

export const uploadHandlers = { uploadFile } satisfies Partial<PlatformHandlers>

function announced({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** A body that broke off ends like one that is complete where the connection was closed in good order. */
function requireWhole(raw: IncomingMessage, size: number): void {
  const length = announced(raw)
  if (!raw.complete || (length !== undefined && length !== size)) throw brokeOff()
}

function brokeOff(cause?: unknown): NodeError {
  return new NodeError('bad_request', 'the upload broke off', { cause })
}

async function limitsOf({ store, uploads }: Context, { contactId }: ChannelRecord): Promise<UploadLimits> {
  const contact = await findContact(store.db, contactId)
  const { megabytes, files } = contact?.settings.quota ?? {}
  return {
    most: uploads.mostOctets,
    quota: {
      octets: megabytes === undefined ? uploads.quotaOctets : megabytes * MEGABYTE,
      files: files ?? uploads.quotaFiles,
    },
    diskReserveOctets: uploads.diskReserveOctets,
  }
}

async function note(
  { store, audit }: Context,
  call: Parameters<typeof uploadFile>[1],
  { code }: ChannelRecord,
  { fileName, path, size, hash }: UploadedFile,
): Promise<void> {
  await store.write((tx) =>
    audit.add(tx, actorOf(call), [
      {
        action: 'FILE_UPLOADED',
        subject: { kind: 'channel', name: code },
        channelCode: code,
        facts: { file: fileName, path, size, hash },
      },
    ]),
  )
}
