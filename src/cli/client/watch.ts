// Follows a transfer until it ends, with a progress bar on the terminal. Where standard error is no terminal it is
// silent. If the node restarts meanwhile, it waits for it: the transfer goes on by itself.

import { setTimeout as delay } from 'node:timers/promises'
import { ClientError, UnreachableError } from '../../../sdk/index.ts'
import type { Client, Transfer } from '../../../sdk/index.ts'
import { isOver } from '../../domain/transfer.ts'
import { bytes } from '../print.ts'
import { PHASES_AFTER_ARRIVAL } from '../../contract/platform.ts'

const POLL_MS = 300
const PATIENCE_MS = 60_000
const BAR_WIDTH = 24

export async function watch(client: Client, started: Transfer): Promise<Transfer> {
  const { channelCode = '', transferId = '' } = started
  const startedAt = Date.now()
  const draws = process.stderr.isTTY
  let transfer = started
  let answeredAt = startedAt
  const pace = makePace()
  try {
    while (transfer.status && !isOver(transfer.status)) {
      try {
        if (draws) {
          const moved = await movedOf(client, channelCode, transferId)
          draw(transfer, moved, Date.now() - startedAt, moved && pace(moved, Date.now()))
        }
        await delay(POLL_MS)
        transfer = await client.transferDetail({ channelCode, transferId })
        answeredAt = Date.now()
      } catch (thrown) {
        if (!(thrown instanceof UnreachableError) || Date.now() - answeredAt > PATIENCE_MS) throw thrown
        await delay(POLL_MS)
      }
    }
    return transfer
  } finally {
    if (draws) process.stderr.write('\r\u001b[K')
  }
}

type Moved = { bytes: number; total: number }

/** How many octets are safe at the other end, and how many there are. Undefined if the node does not say. */
async function movedOf(client: Client, channelCode: string, transferId: string): Promise<Moved | undefined> {
  try {
    const { files } = await client.platform.transferFacts({ channelCode, transferId })
    return {
      bytes: files.reduce(
        (sum, { phase, position, size = 0 }) =>
          sum + (PHASES_AFTER_ARRIVAL.has(phase) ? size : Math.min(position, size)),
        0,
      ),
      total: files.reduce((sum, { size = 0 }) => sum + size, 0),
    }
  } catch (thrown) {
    if (thrown instanceof ClientError) return undefined
    throw thrown
  }
}

/** How fast it goes, over the last seconds, and how long the rest takes at that rate. */
type Pace = { rate: number; leftMs: number }

const PACE_MS = 5_000

export function makePace(): (moved: Moved, now: number) => Pace | undefined {
  let seen: { at: number; bytes: number }[] = []
  return ({ bytes, total }, now) => {
    seen = [...seen.filter(({ at }) => now - at <= PACE_MS), { at: now, bytes }]
    const [first] = seen
    if (!first || first.at === now || bytes <= first.bytes) return undefined
    const rate = ((bytes - first.bytes) * 1000) / (now - first.at)
    return { rate, leftMs: ((total - bytes) * 1000) / rate }
  }
}

function draw(
  { status = 'PENDING', files = [] }: Transfer,
  moved: Moved | undefined,
  elapsedMs: number,
  pace: Pace | undefined,
): void {
  const count = `${files.length} file${files.length === 1 ? '' : 's'}`
  const size = moved ? `, ${bytes(moved.bytes)} of ${bytes(moved.total)}` : ''
  const speed = pace ? `  ${bytes(pace.rate)}/s, ${clock(pace.leftMs)} left` : ''
  const line = `${bar(moved)} ${status.padEnd(11)} ${count}${size}  ${clock(elapsedMs)}${speed}`
  process.stderr.write(`\r${line.slice(0, (process.stderr.columns || 80) - 1)}\u001b[K`)
}

function bar(moved: Moved | undefined): string {
  const part = moved && moved.total > 0 ? moved.bytes / moved.total : 0
  const full = Math.round(part * BAR_WIDTH)
  return `[${'='.repeat(full)}${' '.repeat(BAR_WIDTH - full)}] ${String(Math.floor(part * 100)).padStart(3)} %`
}

function clock(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}
