// The PROXY protocol, versions 1 and 2: a proxy in front of a listener says ahead of everything else who is calling. It is
// read from the addresses that the settings name and from nobody else; from those it must come, within a time and a size.
// What follows the header stays in the socket, for TLS or the protocol itself.

import { isIPv4, isIPv6 } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { Networks } from '../../domain/network/networks.ts'

/** The longest line of version 1, as its description has it. */
const LONGEST_LINE = 107
/** Version 2: what may follow the addresses (TLVs) is skipped, up to this. */
const LONGEST_HEADER = 4096
const HEADER_MS = 5000
/** Connections of proxies that have said nothing yet; more are closed. */
const WAITING_AT_ONCE = 512
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** Whose headers are read. */
export type Proxies = Networks
export type Origin = { address: string; port: number }
/** Without an origin: the proxy speaks for itself, as in a health check. */
export type ProxyHeader = { length: number; origin: Origin | undefined }

/** Undefined: there is more to come. Throws what makes it no header. */
export function parseProxyHeader(octets: Buffer): ProxyHeader | undefined {
  const begins = (start: Buffer) =>
    octets.subarray(0, start.length).equals(start.subarray(0, Math.min(start.length, octets.length)))
  if (begins(SIGNATURE)) return parseBinary(octets)
  if (begins(Buffer.from('PROXY '))) return parseLine(octets)
  throw new Error('no PROXY header')
}

function parseLine(octets: Buffer): ProxyHeader | undefined {
  const end = octets.subarray(0, LONGEST_LINE).indexOf('\r\n')
  if (end < 0) {
    if (octets.length >= LONGEST_LINE) throw new Error('a PROXY header without an end')
    return undefined
  }
  const length = end + 2
  const words = octets.toString('latin1', 0, end).split(' ')
  const [, family, address = '', , portText = ''] = words
  if (family === 'UNKNOWN') return { length, origin: undefined }
  const fits = family === 'TCP4' ? isIPv4(address) : family === 'TCP6' && isIPv6(address)
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) : Number.NaN
  if (!fits || words.length !== 6 || !(port <= 65_535)) throw new Error('a PROXY header that makes no sense')
  return { length, origin: { address, port } }
}

function parseBinary(octets: Buffer): ProxyHeader | undefined {
  if (octets.length < 16) return undefined
  const kind = octets.readUInt8(12)
  const family = octets.readUInt8(13)
  const length = 16 + octets.readUInt16BE(14)
  if (length > LONGEST_HEADER) throw new Error('a PROXY header that is too long')
  if (octets.length < length) return undefined
  if (kind === 0x20) return { length, origin: undefined }
  if (kind !== 0x21) throw new Error('a PROXY header of another version')
  const body = octets.subarray(16, length)
  if (family === 0x11 && body.length >= 12)
    return { length, origin: { address: body.subarray(0, 4).join('.'), port: body.readUInt16BE(8) } }
  if (family === 0x21 && body.length >= 36)
    return { length, origin: { address: groupsOf(body.subarray(0, 16)), port: body.readUInt16BE(32) } }
  throw new Error('a PROXY header of another kind than TCP')
}

function groupsOf(octets: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, nth) => octets.readUInt16BE(2 * nth).toString(16))
  return groups.join(':')
}

const origins = new WeakMap<Socket, Origin>()

/** Who is at the other end: the caller that the proxy named, or the socket's own other end. */
export function originOf(socket: Socket): Origin {
  const { remoteAddress = '', remotePort = 0 } = socket
  return origins.get(socket) ?? { address: remoteAddress, port: remotePort }
}

/** Whether octets were read from the socket already, and lie in it. */
export function wasProxied(socket: Socket): boolean {
  return origins.has(socket)
}

/** `take` gets each connection of the server when it is known who calls. */
export function behindProxies(server: Server, proxies: Proxies, take: (socket: Socket) => void): void {
  const waiting = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    if (!proxies.has(socket.remoteAddress ?? '')) return take(socket)
    if (waiting.size >= WAITING_AT_ONCE) return void socket.destroy()
    waiting.add(socket)
    void readHeader(socket)
      .then((origin) => {
        origins.set(socket, origin ?? originOf(socket))
        waiting.delete(socket)
        take(socket)
      })
      .catch(() => socket.destroy())
      .finally(() => waiting.delete(socket))
  })
  server.on('close', () => {
    for (const socket of waiting) socket.destroy()
  })
}

function readHeader(socket: Socket): Promise<Origin | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Origin | undefined>()
  let read = Buffer.alloc(0)
  const late = setTimeout(() => reject(new Error('no PROXY header in time')), HEADER_MS)
  const look = () => {
    try {
      for (let piece; (piece = socket.read() as Buffer | null) !== null;) read = Buffer.concat([read, piece])
      const header = parseProxyHeader(read)
      if (header === undefined) return
      socket.off('readable', look)
      if (read.length > header.length) socket.unshift(read.subarray(header.length))
      resolve(header.origin)
    } catch (thrown) {
      reject(thrown)
    }
  }
  const gone = () => reject(new Error('gone before its PROXY header'))
  socket.on('readable', look)
  socket.on('error', gone)
  socket.once('close', gone)
  return promise.finally(() => {
    clearTimeout(late)
    socket.off('readable', look)
    socket.off('close', gone)
    socket.off('error', gone)
  })
}
