// For tests: an SFTP server whose every answer the test makes, packet by packet.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { ServerChannel } from 'ssh2'
import { fingerprintOf } from '../../../src/engine/transports/ssh/keys.ts'
import { loadSsh } from '../../../src/engine/transports/ssh/library.ts'
import { PacketSplitter } from '../../../src/engine/transports/ssh/packet-splitter.ts'
import { PacketReader, STATUS, TYPE, packet } from '../../../src/engine/transports/ssh/sftp-packet.ts'

export type Behaviour = (
  request: { type: number; id: number; body: PacketReader },
  channel: ServerChannel,
  socket: Socket,
) => void

const { ssh2 } = loadSsh()
// Of the Ed25519 keys that ssh2 makes, it cannot read one in two hundred itself.
const { private: hostKey, public: hostPublic } = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })

/** Of its host key. */
export function fingerprint(): string {
  const key = ssh2.utils.parseKey(hostPublic)
  if (key instanceof Error || Array.isArray(key)) throw new Error('no key')
  return fingerprintOf(key.getPublicSSH())
}

/** What the server asks for; `both`: the password, and then a key. */
export type SignIn = 'password' | 'question' | 'silence' | 'both'

export interface Raw {
  port: number
  sockets: Set<Socket>
  stop(): Promise<void>
}

export async function startRaw(behave: Behaviour, signIn: SignIn = 'password'): Promise<Raw> {
  const sockets = new Set<Socket>()
  const ssh = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    const [socket] = [...sockets].slice(-1)
    let knowsPassword = false
    connection.on('error', () => {})
    connection.on('authentication', (context) => {
      if (signIn === 'silence') return
      if (signIn === 'question' && context.method === 'keyboard-interactive')
        return context.prompt([{ prompt: 'Password?', echo: false }], (answers) =>
          answers[0] === 'secret' ? context.accept() : context.reject(),
        )
      if (signIn === 'password' && context.method === 'password' && context.password === 'secret')
        return context.accept()
      if (signIn === 'both' && context.method === 'password' && context.password === 'secret') {
        knowsPassword = true
        return context.reject(['publickey'], true)
      }
      if (knowsPassword && context.method === 'publickey') return context.accept()
      context.reject([signIn === 'question' ? 'keyboard-interactive' : 'password'])
    })
    connection.on('session', (accept) => {
      accept().on('subsystem', (acceptSubsystem) => {
        const channel = acceptSubsystem()
        const splitter = new PacketSplitter(300_000)
        channel.on('data', (chunk: Buffer) =>
          splitter.push(chunk, (whole) => {
            const body = new PacketReader(whole)
            const type = body.type
            const id = body.u32()
            if (socket !== undefined) behave({ type, id, body }, channel, socket)
          }),
        )
      })
    })
  })
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    ssh.injectSocket(socket)
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers as a good server would; tests change single answers. */
export function good(request: { type: number; id: number }, channel: ServerChannel): void {
  const { type, id } = request
  if (type === TYPE.INIT) channel.write(packet(TYPE.VERSION, 3))
  else if (type === TYPE.LSTAT) channel.write(packet(TYPE.STATUS, id, STATUS.NO_SUCH_FILE, '', ''))
  else if (type === TYPE.OPEN) channel.write(packet(TYPE.HANDLE, id, 'h'))
  else channel.write(packet(TYPE.STATUS, id, STATUS.OK, '', ''))
}
