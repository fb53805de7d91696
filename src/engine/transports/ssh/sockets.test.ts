// The sockets under SSH lines: nothing is lost before somebody listens, and everything arrives as it was.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'

import { acceptSocket, connectSocket } from './sockets.ts'

const EARLY = 10_000

function gather(socket: Socket): Promise<Buffer> {
  return new Promise((resolve) => {
    const read: Buffer[] = []
    // As a decipher does: what is read is copied before the next of it comes.
    socket.on('data', (chunk: Buffer) => read.push(Buffer.from(chunk)))
    socket.on('end', () => resolve(Buffer.concat(read)))
  })
}

/** Both ends of a connection, and a way to end all of it. */
async function line(oneBuffer: boolean) {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connectSocket({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  const far = acceptSocket(accepted, { oneBuffer })
  assert.equal(far.socket.remotePort, near.socket.localPort)
  const end = async () => {
    near.socket.destroy()
    far.socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { near, far, end }
}

const KINDS = [
  { oneBuffer: true, kind: 'a socket that reads into one place' },
  { oneBuffer: false, kind: 'the socket that Node gave' },
]

for (const { oneBuffer, kind } of KINDS)
  test(`everything arrives at both ends, with what came before anybody listened (${kind})`, async () => {
    const { near, far, end } = await line(oneBuffer)
    const [up, down] = [randomBytes(5_000_000), randomBytes(5_000_000)]
    // The first of it is with the kernel before anybody listens at the other end.
    near.socket.write(up.subarray(0, EARLY))
    far.socket.write(down.subarray(0, EARLY))
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    while (near.socket.connecting || near.socket.writableLength + far.socket.writableLength > 0) await turn()
    await turn()
    await turn()
    const got = Promise.all([gather(far.socket), gather(near.socket)])
    for (const { socket, keysAgreed } of [near, far]) {
      keysAgreed()
      socket.resume()
    }
    near.socket.write(up.subarray(EARLY))
    far.socket.write(down.subarray(EARLY))
    near.socket.end()
    far.socket.end()
    const [upThere, downHere] = await got
    assert.ok(upThere.equals(up))
    assert.ok(downHere.equals(down))
    await end()
  })

for (const { oneBuffer, kind } of KINDS)
  test(`until keys are agreed, what was read may be kept (${kind})`, async () => {
    const { near, far, end } = await line(oneBuffer)
    const kept: Buffer[] = []
    far.socket.on('data', (chunk: Buffer) => kept.push(chunk)).resume()
    const bytes = randomBytes(500_000)
    near.socket.write(bytes)
    near.socket.end()
    await once(far.socket, 'end')
    assert.ok(Buffer.concat(kept).equals(bytes))
    await end()
  })
