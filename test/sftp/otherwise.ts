// Loaded into a node before all else (`node --import`): makes ssh2 or Node differ from what the SSH swaps take for
// granted, in ways that work by themselves. SSH_OTHERWISE says which of the two.

import { createRequire } from 'node:module'
import net from 'node:net'
import type { CipherModule } from '../../src/engine/transports/ssh/ssh2-ciphers.ts'

if (process.env['SSH_OTHERWISE'] === 'ciphers') holdPackets()
if (process.env['SSH_OTHERWISE'] === 'sockets') renamePlace()

/** A cipher that writes a packet after the turn in which it encrypts it. */
function holdPackets(): void {
  const ciphers = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js') as CipherModule
  const { createCipher } = ciphers
  ciphers.createCipher = (config) => {
    const onWrite = (packet: Buffer) => queueMicrotask(() => config.outbound.onWrite(packet))
    return createCipher({ ...config, outbound: { ...config.outbound, onWrite } })
  }
}

/** A Node whose sockets have another name for the place they read into. */
function renamePlace(): void {
  const emit = Reflect.get(net.Server.prototype, 'emit')
  net.Server.prototype.emit = function (event: string, ...given: unknown[]): boolean {
    if (event === 'connection') {
      const socket = given[0] as Record<symbol, unknown>
      const place = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'kBuffer')
      if (place) delete socket[place]
    }
    return Reflect.apply(emit, this, [event, ...given])
  }
}
