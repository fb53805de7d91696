import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import Fastify from 'fastify'
import { brotliDecompressSync } from 'node:zlib'
import { closeAfter, tempFolder } from '../../test/support/harness.ts'
import { addConsoleRoutes } from './console.ts'

async function served(t: TestContext) {
  const dist = join(await tempFolder(t), 'dist')
  const app = Fastify()
  addConsoleRoutes(app, dist)
  closeAfter(t, () => app.close())
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
  const build = async (script: string) => {
    await mkdir(join(dist, 'assets'), { recursive: true })
    await writeFile(join(dist, 'assets/index-abc123.js'), script)
    await writeFile(join(dist, 'index.html'), '<meta name="csp-nonce" content="__CSP_NONCE__">')
  }
  return { get, build }
}

test('before it is built the console says how to build it, and then is there without a restart', async (t) => {
  const { get, build } = await served(t)
  const before = await get('/console/')
  assert.equal(before.statusCode, 503)
  assert.match(before.body, /npm run build -w @esclusa\/console/)
  await build('1')
  assert.equal((await get('/console/')).statusCode, 200)
  assert.equal((await get('/console')).headers.location, '/console/')
})

test('the page is never kept, and allows nothing from elsewhere', async (t) => {
  const { get, build } = await served(t)
  await build('1')
  const pages = [await get('/console/'), await get('/console/channels/A.B-C-D')]
  const nonces = pages.map(({ headers, body }) => {
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    const policy = String(headers['content-security-policy'])
    const nonce = /style-src 'self' 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    assert.ok(body.includes(`content="${nonce}"`))
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      assert.ok(policy.includes(`${rule};`) || policy.includes(rule), rule)
    assert.ok(!policy.includes('unsafe'))
    return nonce
  })
  assert.notEqual(nonces[0], nonces[1])
})

test('files with a hash in their name are kept for ever and sent compressed', async (t) => {
  const { get, build } = await served(t)
  const script = 'console.log(1)\n'.repeat(1000)
  await build(script)
  const plain = await get('/console/assets/index-abc123.js')
  assert.equal(plain.body, script)
  assert.match(String(plain.headers['cache-control']), /immutable/)
  const small = await get('/console/assets/index-abc123.js', { 'accept-encoding': 'gzip, br' })
  assert.equal(small.headers['content-encoding'], 'br')
  assert.equal(brotliDecompressSync(small.rawPayload).toString(), script)
})

test('nothing outside the build can be had', async (t) => {
  const { get, build } = await served(t)
  await build('1')
  for (const path of ['assets/../../secret', 'assets/%2e%2e%2f%2e%2e%2fpackage.json', 'assets/missing.js'])
    assert.doesNotMatch((await get(`/console/${path}`)).body, /esclusa"/)
  assert.ok((await get('/console/assets/missing.js')).statusCode >= 400)
})
