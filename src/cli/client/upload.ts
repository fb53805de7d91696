// `esclusa upload`: a file into a channel's outbound directory, and sent from there if asked for.

import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { fromFileError, NodeError } from '../../errors.ts'
import { bytes, say, sayJson } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

type UploadFlags = ClientFlags & { name?: string; send?: boolean; watch?: boolean }

export async function upload(channelCode: string, path: string, options: UploadFlags): Promise<void> {
  const body = await contentOf(path)
  await withNode(options, async (client) => {
    const made = await client.platform.uploadFile({
      channelCode,
      fileName: options.name ?? basename(path),
      body,
    })
    if (options.json && !options.send) return sayJson(made)
    if (!options.json) say(`${made.path}: ${bytes(made.size)}, ${made.hash}`)
  })
  if (options.send) await (await import('./transfers.ts')).send(channelCode, options)
}

/** Read as it goes: a large file is never in memory whole. */
async function contentOf(path: string): Promise<Blob> {
  const there = await stat(path).catch((thrown: unknown) => {
    const { message } = fromFileError(thrown, path)
    throw new NodeError('bad_use', message, { cause: thrown })
  })
  if (!there.isFile()) throw new NodeError('bad_use', `${path} is no regular file`)
  return openAsBlob(path)
}
