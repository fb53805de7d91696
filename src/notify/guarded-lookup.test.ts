import assert from 'node:assert/strict'
import type { lookup } from 'node:dns'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { networksOf } from '../domain/network/networks.ts'
import { refusedBecause } from '../domain/network/webhook-addresses.ts'
import { makePoster } from './webhook.ts'

const none = networksOf([])

test('public addresses may be called', () => {
  for (const address of [
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '2a00:1450:4003::1',
    '64:ff9b::808:808',
    '2002:808:808::1',
  ])
    assert.equal(refusedBecause(address, none), undefined, address)
})

test('inner addresses may be called where a setting names their network', () => {
  const inner = [
    '127.0.0.1',
    '127.8.9.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd12::1',
  ]
  const disguised = ['::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:a00:1::1', '::10.0.0.1', '::ffff:7f00:1']
  for (const address of [...inner, ...disguised])
    assert.match(refusedBecause(address, none) ?? '', /inner network/, address)
  const open = networksOf([
    '127.0.0.0/8',
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '100.64.0.0/10',
    '::1',
    'fc00::/7',
  ])
  for (const address of [...inner, ...disguised])
    assert.equal(refusedBecause(address, open), undefined, address)
})

test('the link, metadata and what is no host are never called, whatever a setting says', () => {
  const all = networksOf(['0.0.0.0/0', '::/0'])
  const never = [
    '169.254.169.254',
    '169.254.0.1',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::',
    '0.0.0.0',
    '0.1.2.3',
    '224.0.0.1',
    '255.255.255.255',
    '100.100.100.200',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    'fd00:ec2::254',
  ]
  for (const address of never) assert.match(refusedBecause(address, all) ?? '', /may never call/, address)
})

test('of the addresses of a name only those that may be called are connected to', async (t) => {
  const called: string[] = []
  const server = createServer((request, response) => {
    called.push(String(request.socket.localAddress))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  // The name has an address that may not be called, first; asked again it would have that one alone.
  let asked = 0
  const resolve = ((_name: string, _options: object, done: (error: null, found: object[]) => void) => {
    const first = [{ address: '127.0.0.1', family: 4 }]
    done(null, asked++ === 0 ? [...first, { address: '127.0.0.2', family: 4 }] : first)
  }) as unknown as typeof lookup
  const poster = makePoster(networksOf(['127.0.0.2']), 'test', { resolve })
  t.after(() => poster.close())
  const event = { id: 'x', type: 'node.stopped', timestamp: '', data: { node: 'n' } } as const
  const { signal } = new AbortController()
  const post = () => poster.post({ url: `http://name.example:${port}/`, secrets: [], event, now: 0, signal })
  assert.equal((await post()).verdict, 'delivered')
  assert.deepEqual(called, ['127.0.0.2'])
  assert.equal(asked, 1)
  poster.close()
  assert.match((await post()).error ?? '', /127.0.0.1 is on an inner network/)
})
