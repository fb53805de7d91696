// Follows a transfer until it ends, with one line on the terminal that is written over; where standard error is no
// terminal it is silent. A node that restarts meanwhile is waited for: the transfer goes on by itself.

import { setTimeout as delay } from 'node:timers/promises'
import { UnreachableError } from '../../sdk/index.ts'
import type { Client, Transfer } from '../../sdk/index.ts'
import { isOver } from '../domain/transfer.ts'
import { bytes } from './print.ts'

const POLL_MS = 300
const PATIENCE_MS = 60_000
const BAR_WIDTH = 20

export async function watch(client: Client, started: Transfer): Promise<Transfer> {
  const { channelCode = '', transferId = '' } = started
  const startedAt = Date.now()
  let transfer = started
  let answeredAt = startedAt
  try {
    while (transfer.status && !isOver(transfer.status)) {
      draw(transfer, Date.now() - startedAt)
      await delay(POLL_MS)
      try {
        transfer = await client.transferDetail({ channelCode, transferId })
        answeredAt = Date.now()
      } catch (thrown) {
        if (!(thrown instanceof UnreachableError) || Date.now() - answeredAt > PATIENCE_MS) throw thrown
      }
    }
    return transfer
  } finally {
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  }
}

function draw({ status = 'PENDING', files = [] }: Transfer, elapsedMs: number): void {
  if (!process.stderr.isTTY) return
  const size = bytes(files.reduce((sum, file) => sum + Number(file.size ?? 0), 0))
  const what = `${files.length} file${files.length === 1 ? '' : 's'}, ${size}`
  process.stderr.write(`\r${bar(elapsedMs)} ${status.padEnd(11)} ${what}  ${clock(elapsedMs)}\u001b[K`)
}

/** The interface does not tell how far a transfer is: the bar shows that it is looked at. */
function bar(elapsedMs: number): string {
  const place = Math.floor(elapsedMs / POLL_MS) % BAR_WIDTH
  return `[${Array.from({ length: BAR_WIDTH }, (_, index) => (Math.abs(index - place) < 2 ? '=' : ' ')).join('')}]`
}

function clock(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}
