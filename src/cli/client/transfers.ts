// `esclusa transfers`, `transfer`, `send`, `fetch`, `retry` and `reset`.

import { collect, pages } from '../../../sdk/index.ts'
import type { Client, Transfer } from '../../../sdk/index.ts'
import { NodeError } from '../../errors.ts'
import { sayStatus } from './channels.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'
import type { SearchFlags } from './transfer-search.ts'
import { bytes, remarkPage, say, sayJson, sayTable, when } from '../print.ts'
import { waitInWords } from './waiting.ts'
import { watch } from './watch.ts'

/** What the interface's own list cannot look for is asked of the platform. */
const SEARCHING = [
  'file',
  'hash',
  'channels',
  'contact',
  'status',
  'direction',
  'type',
  'oldest',
  'csv',
] as const

export async function transfers(channelCode: string | undefined, options: SearchFlags): Promise<void> {
  if (channelCode === undefined && !options.all && !SEARCHING.some((name) => options[name] !== undefined))
    throw new NodeError('bad_use', 'name a channel, or give --all for the transfers of all channels')
  if (channelCode === undefined || SEARCHING.some((name) => options[name] !== undefined))
    return (await import('./transfer-search.ts')).searchTransfers(channelCode, options)
  const { page, size, from, to } = options
  const filter = { channelCode, ...(from && { initialDate: from }), ...(to && { endDate: to }) }
  await withNode(options, async (client) => {
    if (options.all) {
      const all = await collect(pages(client.listTransfers, filter))
      return options.json ? sayJson(all) : sayTransfers(all, await waitsOf(client, all))
    }
    const answer = await client.listTransfers({ ...filter, page, size })
    if (options.json) return sayJson(answer)
    sayTransfers(answer.content, await waitsOf(client, answer.content))
    remarkPage(answer)
  })
}

type Waits = ReadonlyMap<string, string>

/** What those wait for that are not over, two of a channel at the most; the interface itself does not say. */
async function waitsOf(client: Client, all: readonly Transfer[]): Promise<Waits> {
  const waits = new Map<string, string>()
  for (const { channelCode = '', transferId = '', status } of all) {
    if (status !== 'PENDING' && status !== 'IN_PROGRESS') continue
    const { waiting } = await client.platform.transferFacts({ channelCode, transferId })
    if (waiting) waits.set(transferId, waitInWords(waiting))
  }
  return waits
}

function sayTransfers(all: readonly Transfer[], waits: Waits): void {
  const rows = all.map((transfer) => ({
    ID: transfer.transferId,
    STATUS: transfer.status,
    DIRECTION: transfer.direction,
    TYPE: transfer.type,
    STARTED: when(transfer.transferStartDateTime) ?? '-',
    ENDED: when(transfer.transferEndDateTime) ?? '-',
    FILES: transfer.files?.length ?? 0,
    SIZE: bytes(sizeOf(transfer)),
    'WAITS FOR': waits.get(transfer.transferId ?? ''),
    ERROR: transfer.error,
  }))
  sayTable(rows, 'there is no transfer')
}

function sizeOf({ files = [] }: Transfer): number {
  return files.reduce((sum, file) => sum + Number(file.size ?? 0), 0)
}

export async function transfer(channelCode: string, transferId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async (client) =>
    sayTransfer(client, await client.transferDetail({ channelCode, transferId }), options),
  )
}

export async function sayTransfer(client: Client, transfer: Transfer, { json }: ClientFlags): Promise<void> {
  if (json) return sayJson(transfer)
  sayTransfers([transfer], await waitsOf(client, [transfer]))
  const rows = (transfer.files ?? []).map((file) => ({
    FILE: file.fileName,
    SIZE: bytes(file.size),
    PATH: file.path,
    HASH: file.hash,
    ACTION: file.actionPost,
    AFTER: file.filePathPost,
  }))
  if (rows.length === 0) return
  say('')
  sayTable(rows, '')
}

export type Starting = ClientFlags & { watch?: boolean }

export async function send(channelCode: string, options: Starting): Promise<void> {
  await start(options, (client) => client.sendTransfer({ channelCode }))
}

export async function fetch(channelCode: string, options: Starting): Promise<void> {
  await start(options, (client) => client.platform.fetchTransfer({ channelCode }))
}

export async function retry(channelCode: string, options: Starting): Promise<void> {
  await start(options, (client) => client.retryTransfer({ channelCode }))
}

export async function start(options: Starting, ask: (client: Client) => Promise<Transfer>): Promise<void> {
  await withNode(options, async (client) => {
    const started = await ask(client)
    const shown = options.watch ? await watch(client, started) : started
    await sayTransfer(client, shown, options)
    if (options.watch && shown.status !== 'COMPLETED') process.exitCode = 1
  })
}

export async function reset(channelCode: string, options: ClientFlags): Promise<void> {
  await withNode(options, async (client) => {
    const answer = await client.resetChannel({ channelCode })
    if (options.json) sayJson(answer)
    else sayStatus([answer])
  })
}
