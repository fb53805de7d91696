// A long line: a TCP relay on loopback that hands every octet on half a round trip later, in both directions. Runs as a
// process of its own, so that it takes no time of either end's threads. What is under way is bounded, as on a real line.
//
//   node bench/end-to-end/delay-line.ts <round trip in ms> <port to relay to>     (by fork: says { port })

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

const UNDER_WAY = 64 * 2 ** 20

export type DelayLine = { port: number; stop(): void }

export async function startDelayLine(roundTripMs: number, to: number): Promise<DelayLine> {
  const child = fork(import.meta.filename, [String(roundTripMs), String(to)])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }] // what serve() says
  return { port, stop: () => child.kill() }
}

function relay(from: Socket, to: Socket, delayMs: number): void {
  const queue: { at: number; chunk: Buffer }[] = []
  let octets = 0
  let timer: NodeJS.Timeout | undefined
  const pass = () => {
    timer = undefined
    const now = performance.now()
    to.cork()
    for (let first = queue[0]; first && first.at <= now + 0.5; first = queue[0]) {
      queue.shift()
      octets -= first.chunk.length
      if (first.chunk.length > 0) to.write(first.chunk)
      else to.end()
    }
    to.uncork()
    if (octets < UNDER_WAY) from.resume()
    const next = queue[0]
    if (next) timer = setTimeout(pass, next.at - now)
  }
  const take = (chunk: Buffer) => {
    queue.push({ at: performance.now() + delayMs, chunk })
    octets += chunk.length
    if (octets >= UNDER_WAY) from.pause()
    timer ??= setTimeout(pass, delayMs)
  }
  from.on('data', take)
  from.on('end', () => take(Buffer.alloc(0)))
  from.on('close', () => setTimeout(() => to.destroy(), delayMs + 100))
  from.on('error', () => to.destroy())
}

function serve(roundTripMs: number, port: number): void {
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    for (const socket of [near, far]) socket.setNoDelay(true)
    relay(near, far, roundTripMs / 2)
    relay(far, near, roundTripMs / 2)
  })
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
  process.on('disconnect', () => process.exit())
}

if (import.meta.main) serve(Number(process.argv[2]), Number(process.argv[3]))
