// PROXY headers by themselves: what the two versions say, in however many pieces it comes, and what is none.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { waitFor } from '../../../test/support/harness.ts'
import { networksOf } from '../../domain/network/networks.ts'
import { behindProxies, originOf, parseProxyHeader } from './proxy-header.ts'

const SIGNATURE = '0d0a0d0a000d0a515549540a'
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

const HEADERS: [string, Buffer, { address: string; port: number } | undefined][] = [
  [
    'version 1, IPv4',
    Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 40000 3305\r\n'),
    { address: '192.0.2.7', port: 40_000 },
  ],
  [
    'version 1, IPv6',
    Buffer.from('PROXY TCP6 2001:db8::7 2001:db8::1 40000 3305\r\n'),
    { address: '2001:db8::7', port: 40_000 },
  ],
  ['version 1, the proxy itself', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
  [
    'version 2, IPv4',
    hex(`${SIGNATURE} 21 11 000c c0000207 c0000201 9c40 0ce9`),
    { address: '192.0.2.7', port: 40_000 },
  ],
  [
    'version 2, IPv6, with more behind it',
    hex(
      `${SIGNATURE} 21 21 0027 20010db8000000000000000000000007 20010db8000000000000000000000001 9c40 0ce9 030000`,
    ),
    { address: '2001:db8:0:0:0:0:0:7', port: 40_000 },
  ],
  ['version 2, the proxy itself', hex(`${SIGNATURE} 20 00 0000`), undefined],
]

for (const [what, octets, origin] of HEADERS)
  test(`${what}: who calls, and nothing until it is whole`, () => {
    for (let length = 0; length < octets.length; length++)
      assert.equal(parseProxyHeader(octets.subarray(0, length)), undefined, `${length} octets`)
    const behind = Buffer.concat([octets, Buffer.from('SSH-2.0-x\r\n')])
    assert.deepEqual(parseProxyHeader(behind), { length: octets.length, origin })
  })

test('what is no header is refused, and none is gathered without end', () => {
  for (const octets of [
    Buffer.from('SSH-2.0-OpenSSH\r\n'),
    Buffer.from('PROXY TCP4 300.0.0.1 192.0.2.1 1 2\r\n'),
    Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 1\r\n'),
    Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 99999 2\r\n'),
    Buffer.from(`PROXY ${'x'.repeat(200)}`),
    hex(`${SIGNATURE} 11 11 000c c0000207 c0000201 9c40 0ce9`),
    hex(`${SIGNATURE} 21 11 ffff`),
    hex(`${SIGNATURE} 21 11 0002 c000`),
    hex(`${SIGNATURE} 21 31 0002 0000`),
  ])
    assert.throws(() => parseProxyHeader(octets), Error, octets.toString('latin1'))
})

test('a header counts from the proxies named, and what follows it is read as if it had come alone', async () => {
  const server = createServer()
  const taken: Promise<[string, string]>[] = []
  behindProxies(server, networksOf(['127.0.0.2']), (socket) => {
    const { address } = originOf(socket)
    taken.push(once(socket, 'data').then(([data]) => [address, String(data)]))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const lines: Socket[] = []
  const from = async (localAddress: string, said: string) => {
    const line = connect({ port, host: '127.0.0.1', localAddress })
    lines.push(line.on('error', () => undefined))
    await once(line, 'connect')
    line.write(said)
    return line
  }
  const header = 'PROXY TCP4 192.0.2.7 192.0.2.1 40000 3305\r\n'
  await from('127.0.0.2', `${header}hello`)
  await from('127.0.0.1', `${header}hello`)
  const silent = await from('127.0.0.2', 'SSH-2.0-x\r\n')
  await once(silent, 'close')
  await waitFor('both to be taken', () => taken.length === 2)
  const heard = await Promise.all(taken)
  for (const line of lines) line.destroy()
  server.close()
  assert.deepEqual(
    new Map(heard),
    new Map([
      ['192.0.2.7', 'hello'],
      ['127.0.0.1', `${header}hello`],
    ]),
  )
})
