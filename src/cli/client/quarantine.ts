// `esclusa quarantine …`: received files that did not pass their checks.

import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { QuarantinedFileFacts } from '../../../sdk/index.ts'
import { messageOf, NodeError, systemCode } from '../../errors.ts'
import { bytes, remark, remarkPage, say, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

export type ListFlags = ClientFlags & { channel?: string; state?: string; page: number; size: number }

export async function listQuarantine(options: ListFlags): Promise<void> {
  const { channel, state, page, size } = options
  await withNode(options, async ({ platform }) => {
    const found = await platform.listQuarantine({
      ...(channel !== undefined && { channelCode: channel }),
      ...(state !== undefined && { state: state as QuarantinedFileFacts['state'] }), // the node says which there are
      page,
      size,
    })
    if (options.json) return sayJson(found.content)
    sayTable(found.content.map(rowOf), 'there is no quarantined file')
    remarkPage(found)
  })
}

function rowOf(file: QuarantinedFileFacts) {
  return {
    ID: file.id,
    STATE: file.state,
    CHANNEL: file.channelCode,
    FILE: file.fileName,
    SIZE: bytes(file.size),
    SINCE: when(file.quarantinedAt),
    OPENS: file.opened ? 'yes' : 'no',
    REASON: file.reason,
    BY: file.decidedBy,
    PATH: file.path,
  }
}

export type DownloadFlags = ClientFlags & { opened?: boolean }

/** Never replaces a file. */
export async function downloadQuarantined(fileId: string, to: string, options: DownloadFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const form = options.opened ? 'opened' : 'received'
    const { body } = await platform.downloadQuarantined({ fileId, form })
    if (!body) throw new NodeError('bad_use', 'the node sent nothing')
    const target = createWriteStream(to, { flags: 'wx', mode: 0o600 })
    await pipeline(Readable.fromWeb(body as ReadableStream<Uint8Array>), target).catch((thrown: unknown) => {
      const why = systemCode(thrown) === 'EEXIST' ? 'exists already' : messageOf(thrown)
      throw new NodeError('bad_use', `${to} was not written: ${why}`, { cause: thrown })
    })
    remark(`wrote ${to}`)
  })
}

export async function releaseQuarantined(fileId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const file = await platform.releaseQuarantined({ fileId })
    if (options.json) return sayJson(file)
    say(`${file.fileName} is released: ${file.path ?? ''}`)
  })
}

export async function discardQuarantined(fileId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const file = await platform.discardQuarantined({ fileId })
    if (options.json) return sayJson(file)
    say(`${file.fileName} is discarded`)
  })
}
