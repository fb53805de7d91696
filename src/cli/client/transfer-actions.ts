// `esclusa preview`, `cancel`, `resend` and `failures`.

import { collect, pages } from '../../../sdk/index.ts'
import type { FailedTransfer } from '../../../sdk/index.ts'
import { bytes, remark, remarkPage, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'
import type { ListFlags } from './contacts.ts'
import { sayTransfer, start } from './transfers.ts'
import type { Starting } from './transfers.ts'

export async function preview(channelCode: string, options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const answer = await platform.previewSend({ channelCode })
    if (options.json) return sayJson(answer)
    const rows = answer.files.map(({ fileName, size, path }) => ({
      FILE: fileName,
      SIZE: bytes(size),
      PATH: path,
    }))
    sayTable(rows, answer.refusal ?? 'there is no file to send')
    if (answer.total > rows.length)
      remark(`${rows.length} of ${answer.total} files, ${bytes(answer.bytes)} in all`)
  })
}

export async function cancel(
  channelCode: string,
  transferId: string,
  options: ClientFlags & { comment?: string },
): Promise<void> {
  const body = options.comment === undefined ? {} : { comment: options.comment }
  await withNode(options, async (client) =>
    sayTransfer(client, await client.platform.cancelTransfer({ channelCode, transferId, body }), options),
  )
}

export async function resend(
  channelCode: string,
  transferId: string,
  options: Starting & { comment: string },
): Promise<void> {
  const body = { comment: options.comment }
  await start(options, ({ platform }) => platform.resendTransfer({ channelCode, transferId, body }))
}

type FailureFlags = ListFlags & { hours: number; search?: string; contact?: string }

export async function failures(options: FailureFlags): Promise<void> {
  const { page, size, hours, search, contact } = options
  const filter = {
    hours,
    ...(search !== undefined && { search }),
    ...(contact !== undefined && { contactId: contact }),
  }
  await withNode(options, async ({ platform }) => {
    if (options.all) {
      const all = await collect(pages(platform.failedTransfers, filter))
      return options.json ? sayJson(all) : sayFailures(all)
    }
    const answer = await platform.failedTransfers({ ...filter, page, size })
    if (options.json) return sayJson(answer)
    sayFailures(answer.content)
    remarkPage(answer)
  })
}

function sayFailures(all: readonly FailedTransfer[]): void {
  const rows = all.map((one) => ({
    ID: one.transferId,
    CHANNEL: one.channelCode,
    ENDED: when(one.endedAt),
    RETRY: one.retry,
    ERROR: one.error,
  }))
  sayTable(rows, 'there is no such failure')
}
