// What the node is compared with: a bare Fastify whose one route answers with a constant, made beforehand.
//
//   node bench/bare-server.ts FILE    serves the bytes of FILE as JSON on a free port, printed on standard output

import Fastify from 'fastify'
import { readFileSync } from 'node:fs'

const body = readFileSync(process.argv[2] ?? '', 'utf8')
const app = Fastify()
app.get('/', (_request, reply) => {
  void reply.header('content-type', 'application/json; charset=utf-8').send(body)
})
const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${address}\n`)
