import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { discardRest, limitAnswers, limitBodies } from './body-deadline.ts'

test('requests with a body leave nothing on the connection that carries them', async (t) => {
  const server = createServer((asked, reply) => {
    asked.resume()
    asked.once('end', () => reply.end())
  })
  limitBodies(server, 60_000, () => assert.fail('none is late'))
  const connections: Socket[] = []
  server.on('connection', (socket) => void connections.push(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => {
    agent.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const post = async () => {
    const asking = request({ host: '127.0.0.1', port, agent, method: 'POST' })
    asking.end('a body')
    const [reply] = (await once(asking, 'response')) as [IncomingMessage]
    reply.resume()
    await once(reply, 'close')
    return connections[0]?.listenerCount('close')
  }
  const first = await post()
  for (let nth = 0; nth < 20; nth++) assert.equal(await post(), first)
  assert.equal(connections.length, 1)
})

test('a request that was answered before its body came is timed no more once its client is gone', async (t) => {
  const server = createServer((_asked, reply) => void reply.writeHead(413, { connection: 'close' }).end())
  limitBodies(server, 60_000, () => assert.fail('none is late'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const connected = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [served] = await connected
  const asked = once(server, 'request')
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\na part')
  await asked
  assert.equal(timers(), before + 1)
  client.resume()
  await once(served, 'close')
  assert.equal(timers(), before)
})

test('of a refused body no more than a bounded part is read, for a bounded time', async (t) => {
  const read = Promise.withResolvers<number>()
  const server = createServer((asked, reply) => {
    discardRest(asked, reply, { octets: 1_000_000, ms: 300 })
    asked.socket.once('close', () => read.resolve(asked.socket.bytesRead))
    reply.writeHead(413).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n`)
  client.write(Buffer.alloc(50_000_000))
  const octets = await read.promise
  assert.ok(octets > 1_000_000 && octets < 2_000_000, `${octets}`)
})

test('a client that stops reading its answer is cut off; one whose answer takes long is not, nor does it keep the connection for ever', async (t) => {
  /** More than the system keeps for a connection, on both of its sides. */
  const much = Buffer.alloc(64 * 1024 * 1024)
  const ms = 100
  const worked = Promise.withResolvers<void>()
  const server = createServer(
    { keepAliveTimeout: 200 },
    (asked, reply) =>
      void (asked.url === '/much' ? reply.end(much) : worked.promise.then(() => reply.end('done'))),
  )
  limitAnswers(server, ms)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const open = async (path: string) => {
    const connected = once(server, 'connection') as Promise<[Socket]>
    const client = connect(port, '127.0.0.1')
    t.after(() => client.destroy())
    client.on('error', () => {})
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const [served] = await connected
    return { client, served }
  }
  const patient = await open('/work')
  const frozen = await open('/much')
  await once(frozen.served, 'close')
  // It has waited for longer than the other one.
  assert.equal(patient.served.destroyed, false)
  worked.resolve()
  const [answer] = (await once(patient.client, 'data')) as [Buffer]
  assert.match(String(answer), /done/)
  await once(patient.served, 'close')
})
