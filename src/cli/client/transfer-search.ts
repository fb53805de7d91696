// `esclusa transfers` across channels: found by what people know of them.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { TransferSummary } from '../../../sdk/index.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES, TRANSFER_TYPES } from '../../contract/transfer.ts'
import { NodeError } from '../../errors.ts'
import { bytes, remark, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ListFlags } from './contacts.ts'
import { waitInWords } from './waiting.ts'

export type SearchFlags = ListFlags & {
  file?: string
  hash?: string
  channels?: string
  contact?: string
  status?: string
  direction?: string
  type?: string
  from?: string
  to?: string
  oldest?: boolean
  csv?: boolean
}

export async function searchTransfers(channelCode: string | undefined, options: SearchFlags): Promise<void> {
  const filter = filterOf(channelCode, options)
  await withNode(options, async ({ platform }) => {
    if (options.csv) {
      const { body } = await platform.exportTransfers(filter, { timeoutMs: EXPORT_MS })
      // The same stream by two declarations: the browser's and Node's.
      if (body)
        await pipeline(Readable.fromWeb(body as ReadableStream<Uint8Array>), process.stdout, { end: false })
      return
    }
    const answer = await platform.searchTransfers({ ...filter, page: options.page, size: options.size })
    if (options.json) return sayJson(answer)
    sayFound(answer.content)
    const { counted, more, number, size, stoppedAt } = answer
    if (more || number * size < counted)
      remark(
        `page ${number}, ${more ? 'more than ' : ''}${counted} in all (--page N, --size N, --csv for all)`,
      )
    if (stoppedAt) remark(`looked back to ${when(stoppedAt)}: go on with --to ${stoppedAt.slice(0, 10)}`)
  })
}

const EXPORT_MS = 3_600_000

function filterOf(channelCode: string | undefined, options: SearchFlags) {
  const { file, hash, channels, contact, from, to } = options
  const status = oneOf('--status', options.status, TRANSFER_STATUSES)
  const direction = oneOf('--direction', options.direction, TRANSFER_DIRECTIONS)
  const type = oneOf('--type', options.type, TRANSFER_TYPES)
  return {
    ...(channelCode !== undefined && { channelCode }),
    ...(file !== undefined && { fileName: file }),
    ...(hash !== undefined && { hash }),
    ...(channels !== undefined && { channels }),
    ...(contact !== undefined && { contactId: contact }),
    ...(status && { status }),
    ...(direction && { direction }),
    ...(type && { type }),
    ...(from !== undefined && { initialDate: from }),
    ...(to !== undefined && { endDate: to }),
    ...(options.oldest && { sort: 'OLDEST' as const }),
  }
}

function oneOf<T extends string>(
  option: string,
  given: string | undefined,
  all: readonly T[],
): T | undefined {
  const found = all.find((one) => one === given)
  if (given !== undefined && found === undefined)
    throw new NodeError('bad_use', `${option} must be one of ${all.join(', ')}, not "${given}"`)
  return found
}

function sayFound(all: readonly TransferSummary[]): void {
  const rows = all.map((one) => ({
    ID: one.transferId,
    CHANNEL: one.channelCode,
    STATUS: one.status,
    DIRECTION: one.direction,
    TYPE: one.type,
    STARTED: when(one.startedAt ?? one.requestedAt),
    FILES: one.files,
    SIZE: bytes(one.bytes),
    NAMES: one.fileNames.join(', ') + (one.files > one.fileNames.length ? ', …' : ''),
    'WAITS FOR': one.waiting && waitInWords(one.waiting),
    ERROR: one.error,
  }))
  sayTable(rows, 'there is no such transfer')
}
