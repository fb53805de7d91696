// A request must be complete in time, or it is cut off: a slow body holds a connection. Node has this limit for all
// requests alike; an upload of a large file takes longer, so the limit is kept here, and such a request is excused from it
// as soon as it is known to be one. It must then keep moving. An answer must keep moving, too: a client that has stopped
// reading would hold its connection, and a file that it downloads, for as long as it likes.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/** `late` gets a request whose body was not complete after so many milliseconds. */
export function limitBodies(server: Server, ms: number, late: (request: IncomingMessage) => void): void {
  server.prependListener('request', (request: IncomingMessage) => {
    const { headers } = request
    if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) return
    const timer = setTimeout(() => late(request), ms)
    const { socket } = request
    const done = () => {
      clearTimeout(timer)
      socket.off('close', done)
    }
    request.once('end', done)
    request.once('close', done)
    // One that was answered before it was complete is told of no end if its connection breaks.
    socket.once('close', done)
    timers.set(request, timer)
  })
}

/** A connection is cut off when no octet of a waiting answer has left for so many milliseconds. */
export function limitAnswers(server: Server, ms: number): void {
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // An answer that is still being worked on has nothing waiting, and takes its time.
    response.setTimeout(ms, () => {
      if (socket.writableLength > 0) socket.destroy()
    })
  })
}

/** How much is discarded of a body that was refused, and how long its client may take to see the answer. */
const REST = { octets: 8 * 1_048_576, ms: 5000 }

/**
 * What is left of a body that is refused. Most clients read the answer only once they have sent their body, and a
 * connection that is closed before would take the answer with it. So the rest is read and discarded. A client that sends
 * more than that finds the connection full, and then closed.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse, { octets, ms } = REST): void {
  const { socket } = request
  const staysOpen = response.shouldKeepAlive
  // Or Node would close the connection right behind the answer.
  response.shouldKeepAlive = true
  let left = octets
  const timer = setTimeout(() => socket.destroy(), ms)
  const done = () => {
    clearTimeout(timer)
    socket.off('close', done)
  }
  socket.once('close', done)
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.pause()
  })
  request.once('end', () => {
    done()
    if (staysOpen) return
    if (response.writableFinished) socket.end()
    else response.once('finish', () => socket.end())
  })
}

/** The octets of a body that may take as long as it likes while some come within every `idleMs`. */
export async function* unhurried(request: IncomingMessage, idleMs: number): AsyncGenerator<Uint8Array> {
  clearTimeout(timers.get(request))
  const idle = setTimeout(() => request.destroy(new Error('no octets came for too long')), idleMs)
  try {
    // The connection stays open when the reader stops early: it must carry the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      idle.refresh()
      yield chunk
    }
  } finally {
    clearTimeout(idle)
  }
}
