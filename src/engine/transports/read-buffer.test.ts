// Sockets that read into one place: nothing is lost or out of order, over TCP and TLS and at both ends; and the proof that
// comes before the first caller passes here, and says what is wrong where Node is otherwise.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { before, test } from 'node:test'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'

import { makeTestKey } from '../../../test/support/cms-keys.ts'
import type { TlsIdentity } from '../../files/tls-pair.ts'
import { readBuffer, readInto, whyNotReadInto } from './read-buffer.ts'

let tls: TlsIdentity
before(async () => {
  const { privateKeyPem, certificatePem } = await makeTestKey('one place')
  tls = { key: privateKeyPem, cert: certificatePem }
})
const KINDS = { TCP: () => undefined, TLS: () => tls }

for (const [kind, pair] of Object.entries(KINDS))
  test(`an accepted socket can be made to read into one place (${kind})`, async () => {
    assert.equal(await whyNotReadInto(pair()), undefined)
  })

const OTHERWISE: Record<string, [give: typeof readInto, says: RegExp]> = {
  'has no such name for the open connection': [
    (accepted, onread) => {
      Object.defineProperty(accepted, '_handle', { value: undefined, configurable: true, writable: true })
      readInto(accepted, onread)
    },
    /other names inside/,
  ],
  'has no such names for the place': [
    (accepted, onread) => {
      const named = Object.getOwnPropertySymbols(accepted).find(
        ({ description }) => description === 'kBuffer',
      )
      if (named) delete (accepted as unknown as Record<symbol, unknown>)[named]
      readInto(accepted, onread)
    },
    /other names inside/,
  ],
  'takes no notice': [() => {}, /reads beside the one place/],
  'reads nothing any more': [(accepted) => accepted.pause().on('resume', () => accepted.pause()), /silent/],
  'closes the connection': [
    (accepted, onread) => {
      readInto(accepted, onread)
      accepted.end()
    },
    /ended by itself/,
  ],
  'reads wrong octets': [
    (accepted, { buffer, callback }) =>
      readInto(accepted, { buffer, callback: (length, into) => callback(length, into.fill(7, 0, 1)) }),
    /does not read what was sent/,
  ],
  'writes nothing': [
    (accepted, onread) => {
      readInto(accepted, onread)
      const end = accepted.end.bind(accepted)
      accepted.end = () => end()
    },
    /does not send what is written/,
  ],
}

for (const [how, [give, says]] of Object.entries(OTHERWISE))
  test(`a Node that ${how} keeps its sockets`, async () => {
    const made: Socket[] = []
    const noted: typeof readInto = (accepted, onread) => {
      made.push(accepted)
      give(accepted, onread)
    }
    assert.match((await whyNotReadInto(undefined, noted)) ?? '', says)
    assert.ok(made.length === 1 && made.every((socket) => socket.destroyed), 'a socket is left open')
  })

/** Both ends of a connection, each reading into one place, and a way to end all of it. */
async function line(pair: TlsIdentity | undefined) {
  const accepted = Promise.withResolvers<Socket>()
  const take = (socket: Socket) => {
    readInto(
      socket,
      readBuffer(() => socket),
    )
    accepted.resolve(socket)
  }
  const server = pair ? createTlsServer({ ...pair }, take) : createServer(take)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const at = { host: '127.0.0.1', port, rejectUnauthorized: false, onread: readBuffer(() => near) }
  const near: Socket = pair ? connectTls(at) : connect(at)
  const far = await accepted.promise
  const end = async () => {
    near.destroy()
    far.destroy()
    server.close()
    await once(server, 'close')
  }
  return { near, far, end }
}

/** As a session does: looks at what came while it is being told of it, and now and then wants nothing for a while. */
function gather(socket: Socket, places: Map<ArrayBufferLike, number>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const read: Buffer[] = []
    socket.on('error', reject)
    socket.on('data', (chunk: Buffer) => {
      read.push(Buffer.from(chunk))
      places.set(chunk.buffer, (places.get(chunk.buffer) ?? 0) + 1)
      if (read.length % 7 !== 0) return
      socket.pause()
      setImmediate(() => setImmediate(() => socket.resume()))
    })
    socket.on('end', () => resolve(Buffer.concat(read)))
  })
}

for (const [kind, pair] of Object.entries(KINDS))
  test(`everything arrives in order, from one place, also over a line that is held now and then (${kind})`, async () => {
    const { near, far, end } = await line(pair())
    const [up, down] = [randomBytes(8_000_000), randomBytes(8_000_000)]
    // Nobody listens to the first of it yet.
    near.write(up.subarray(0, 10_000))
    far.write(down.subarray(0, 10_000))
    while (near.connecting || near.writableLength + far.writableLength > 0)
      await new Promise((resolve) => setImmediate(resolve))
    const [upPlaces, downPlaces] = [new Map<ArrayBufferLike, number>(), new Map<ArrayBufferLike, number>()]
    const got = Promise.all([gather(far, upPlaces), gather(near, downPlaces)])
    near.end(up.subarray(10_000))
    far.end(down.subarray(10_000))
    const [upThere, downHere] = await got
    assert.ok(upThere.equals(up))
    assert.ok(downHere.equals(down))
    for (const places of [upPlaces, downPlaces]) {
      const reads = [...places.values()]
      const all = reads.reduce((sum, one) => sum + one, 0)
      assert.ok(Math.max(...reads) > all / 2, `${Math.max(...reads)} of ${all} reads in one place`)
    }
    await end()
  })
