// For tests: a port in front of another one. Whoever starts it decides what becomes of the octets of each connection.

import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface TcpLine {
  port: number
  /** Both ends of every connection there is. */
  open: ReadonlySet<Socket>
  stop(): Promise<void>
}

/** `carry` is given the caller's end and the other one. Where one of them closes, the other does too. */
export async function startTcpLine(
  target: () => number,
  carry: (near: Socket, far: Socket) => void,
): Promise<TcpLine> {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect({ port: target(), host: '127.0.0.1', noDelay: true })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => (open.delete(from), to.destroy()))
    }
    near.setNoDelay(true)
    carry(near, far)
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    open,
    async stop() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
