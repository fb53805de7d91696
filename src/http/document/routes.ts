// The OpenAPI documents and the reference page, which anybody may read. Making one takes as long as hundreds of other
// requests, so the octets of each are made once, when first asked for: most nodes never serve them.

import type { FastifyInstance } from 'fastify'
import { BASE_PATH } from '../../contract/operations.ts'
import { isUnchanged, showTag, tagOf } from '../revision.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const PAGE_TYPE = 'text/html; charset=utf-8'
const PAGE_POLICY = { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" }

export function addDocumentRoutes(app: FastifyInstance): void {
  addDocument(app, 'openapi.json', { 'Content-Type': JSON_TYPE }, async () => {
    const { openApiDocument } = await import('./openapi.ts')
    return JSON.stringify(openApiDocument())
  })
  addDocument(app, 'openapi-3.0.json', { 'Content-Type': JSON_TYPE }, async () => {
    const { openApiDocument30 } = await import('./openapi-3-0.ts')
    return JSON.stringify(openApiDocument30())
  })
  addDocument(app, 'docs', { 'Content-Type': PAGE_TYPE, ...PAGE_POLICY }, async () => {
    const { referencePage } = await import('./reference-page.ts')
    return referencePage()
  })
}

export function addDocument(
  app: FastifyInstance,
  name: string,
  headers: Record<string, string>,
  make: () => Promise<string>,
): void {
  let made: Promise<{ octets: Buffer; tag: string }> | undefined
  app.get(`${BASE_PATH}/${name}`, async (request, reply) => {
    made ??= make().then((text) => ({ octets: Buffer.from(text), tag: tagOf(text) }))
    const { octets, tag } = await made
    showTag(reply, tag)
    // Nothing in it is secret. It may be kept, and asked for again with its tag.
    void reply.header('Cache-Control', 'no-cache')
    return isUnchanged(request, tag) ? reply.code(304).send() : reply.headers(headers).send(octets)
  })
}
