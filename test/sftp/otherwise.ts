// Loaded into a node before all else (`node --import`): makes ssh2 or Node differ from what the SSH swaps take for
// granted, in ways that work by themselves. SSH_OTHERWISE says which of the two.

import { createRequire, syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import type { CipherModule } from '../../src/engine/transports/ssh/ssh2-ciphers.ts'

if (process.env['SSH_OTHERWISE'] === 'ciphers') holdPackets()
if (process.env['SSH_OTHERWISE'] === 'sockets') forgetOnread()

/** A cipher that writes a packet after the turn in which it encrypts it. */
function holdPackets(): void {
  const ciphers = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js') as CipherModule
  const { createCipher } = ciphers
  ciphers.createCipher = (config) => {
    const onWrite = (packet: Buffer) => queueMicrotask(() => config.outbound.onWrite(packet))
    return createCipher({ ...config, outbound: { ...config.outbound, onWrite } })
  }
}

/** A Node whose sockets take no place to read into together with an open connection. */
function forgetOnread(): void {
  const given: { Socket: unknown } = net
  given.Socket = class extends net.Socket {
    constructor(options: net.SocketConstructorOpts & { handle?: unknown }) {
      const { onread: _forgotten, ...rest } = options
      super('handle' in options ? rest : options)
    }
  }
  syncBuiltinESMExports()
}
