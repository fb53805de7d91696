// Compiling at the first request changes nothing but the moment.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import Fastify from 'fastify'
import type { FastifyServerOptions, InjectOptions } from 'fastify'
import { lazyCompilers } from './lazy-schemas.ts'

const schema = {
  body: {
    type: 'object',
    required: ['code'],
    additionalProperties: false,
    properties: { code: { type: 'string', minLength: 2 }, pages: { type: 'integer', default: 7 } },
  },
  response: { 200: { type: 'object', properties: { code: { type: 'string' }, pages: { type: 'integer' } } } },
}

function appWith(options: FastifyServerOptions) {
  const app = Fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false } }, ...options })
  app.post('/', { schema }, async ({ body }) => ({ ...(body as object), unsaid: 'not in the schema' }))
  return app
}

test('a request is answered as Fastify itself answers it, sound or not, the first time and the next', async () => {
  const [lazy, plain] = [appWith({ schemaController: { compilersFactory: lazyCompilers } }), appWith({})]
  const bodies = [{ code: 'ab' }, { code: 'a' }, {}, { code: 'ab', pages: 'x' }, { code: 'ab', more: 1 }]
  for (const payload of [...bodies, ...bodies]) {
    const request: InjectOptions = { method: 'POST', url: '/', payload }
    const [ours, theirs] = [await lazy.inject(request), await plain.inject(request)]
    assert.equal(ours.statusCode, theirs.statusCode)
    assert.deepEqual(ours.json(), theirs.json())
  }
  await Promise.all([lazy.close(), plain.close()])
})

test('nothing is compiled before a request needs it', async () => {
  const app = Fastify({ schemaController: { compilersFactory: lazyCompilers } })
  app.post('/', { schema: { body: { type: 'no such type' } } }, async () => 'done')
  await app.ready()
  const { statusCode } = await app.inject({ method: 'POST', url: '/', payload: {} })
  assert.equal(statusCode, 500)
  await app.close()
})

test('the compilers are the copies that Fastify takes by default', () => {
  const ours = createRequire(import.meta.url)
  const fastifys = createRequire(ours.resolve('fastify'))
  for (const name of ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'])
    assert.equal(ours.resolve(name), fastifys.resolve(name))
})
