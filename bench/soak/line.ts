// The line between two nodes: a TCP relay that hands octets on, slowly where asked, and that can be cut.

import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export type Line = { port: number; cut(): number; close(): Promise<void> }

/** Octets at a time on a slow line; small, so that one cut hits the middle of a file. */
const PIECE = 16 * 1024

export async function startLine(to: number, bytesPerSecond = Number.POSITIVE_INFINITY): Promise<Line> {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port: to, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.on('error', () => other.destroy())
      from.on('close', () => {
        open.delete(from)
        other.destroy()
      })
      if (bytesPerSecond === Number.POSITIVE_INFINITY) from.pipe(other)
      else void slowly(from, other, bytesPerSecond)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    const all = [...open]
    for (const socket of all) socket.resetAndDestroy()
    return all.length / 2
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function slowly(from: Socket, to: Socket, bytesPerSecond: number): Promise<void> {
  try {
    for await (const chunk of from)
      for (let at = 0; at < (chunk as Buffer).length; at += PIECE) {
        const piece = (chunk as Buffer).subarray(at, at + PIECE)
        to.write(piece)
        await new Promise((resolve) => setTimeout(resolve, (piece.length / bytesPerSecond) * 1000))
      }
    to.end()
  } catch {
    to.destroy()
  }
}
