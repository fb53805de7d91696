// The proof that comes before the first caller: it passes here, and says what is wrong where Node is otherwise.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'

import { adoptSocket, whyNotAdopted } from './adopted-socket.ts'

test('an adopted socket does all that the one it comes from would', async () => {
  assert.equal(await whyNotAdopted(), undefined)
})

const OTHERWISE: Record<string, [adopt: typeof adoptSocket, says: RegExp]> = {
  'has no such name for the open connection': [
    (accepted, onread) => {
      Object.defineProperty(accepted, '_handle', { value: undefined, configurable: true, writable: true })
      return adoptSocket(accepted, onread)
    },
    /an accepted socket has no handle/,
  ],
  'closes the connection with the socket it came with': [
    (accepted, onread) => {
      const far = adoptSocket(accepted, onread)
      far.destroy()
      return far
    },
    /does not know who called|silent|ended/,
  ],
  'reads wrong octets': [
    (accepted, { buffer, callback }) =>
      adoptSocket(accepted, { buffer, callback: (length, into) => callback(length, into.fill(7, 0, 1)) }),
    /does not read what was sent/,
  ],
  'writes nothing': [
    (accepted, onread) => {
      const far = adoptSocket(accepted, onread)
      const end = far.end.bind(far)
      far.end = () => end()
      return far
    },
    /does not send what is written/,
  ],
  'gives another connection': [
    (accepted, onread) => {
      adoptSocket(accepted, onread).resume()
      return connect({ host: '127.0.0.1', port: accepted.localPort ?? 0, onread })
    },
    /does not know who called/,
  ],
}

for (const [how, [adopt, says]] of Object.entries(OTHERWISE))
  test(`a Node that ${how} keeps its sockets`, async () => {
    const made: Socket[] = []
    const noted: typeof adoptSocket = (accepted, onread) => {
      const socket = adopt(accepted, onread)
      made.push(socket)
      return socket
    }
    assert.match((await whyNotAdopted(noted)) ?? '', says)
    assert.ok(
      made.every((socket) => socket.destroyed),
      'a socket is left open',
    )
  })
