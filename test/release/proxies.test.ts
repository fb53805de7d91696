// The settings for nginx and HAProxy in docs/operate/proxies.md, run as they stand there but for TLS and ports: callers
// are told apart, whatever they say of themselves, and the event stream comes through while it is open.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/operate/proxies.md'), 'utf8')
const missing = (program: string, flag: string) =>
  spawnSync(program, [flag], { env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } }).error
    ? `${program} is not here`
    : false

function settingsOf(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(GUIDE)?.[1]
  assert.ok(found, `the guide has no settings for ${language}`)
  return found
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Runs the proxy in the foreground until the test ends. */
async function run(t: TestContext, program: string, args: string[], url: string): Promise<void> {
  const proxy = spawn(program, args, { env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } })
  const gone = once(proxy, 'exit')
  t.after(async () => {
    proxy.kill('SIGTERM')
    await gone
  })
  let said = ''
  for (const stream of [proxy.stdout, proxy.stderr]) stream.on('data', (piece) => (said += String(piece)))
  await waitFor(`${program} to answer`, async () => {
    assert.equal(proxy.exitCode, null, said)
    return (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true
  })
}

/** Another address of this machine than the proxy's. */
const CALLER = '127.0.0.2'

async function loginFrom(localAddress: string, url: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' }
  const path = '/connect-back/integration/v2/auth/login'
  const asked = request(url + path, { method: 'POST', headers, localAddress })
  asked.end(JSON.stringify({ username: 'nobody', password: 'wrong' }))
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

async function passes(node: TestNode, url: string): Promise<void> {
  const status = await loginFrom(CALLER, url)
  assert.equal(status, 401)
  const entry = await node.store.db
    .selectFrom('audit')
    .select('address')
    .where('action', '=', 'LOGIN_REFUSED')
    .executeTakeFirst()
  assert.equal(entry?.address, CALLER, 'where the caller is, not what he says')
  const leaving = new AbortController()
  const stream = await fetch(`${url}/connect-back/events`, {
    headers: { authorization: `Bearer ${await node.token('globaladmin')}` },
    signal: leaving.signal,
  })
  const first = await stream.body?.getReader().read()
  assert.ok((first?.value?.length ?? 0) > 0, 'the stream begins while it is open')
  leaving.abort()
}

const settings = { ESCLUSA_TRUSTED_PROXIES: '127.0.0.1' }

test('nginx as the guide sets it', { skip: missing('nginx', '-v') }, async (t) => {
  const node = await startTestNode(t, { settings })
  const [folder, port] = [await tempFolder(t), await freePort()]
  const server = settingsOf('nginx')
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_.*$/gm, '')
    .replace('http://127.0.0.1:8080', node.url)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; ${user} pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${temp} ${server} }`,
  )
  const url = `http://127.0.0.1:${port}`
  await run(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], url)
  await passes(node, url)
})

test('HAProxy as the guide sets it', { skip: missing('haproxy', '-v') }, async (t) => {
  const node = await startTestNode(t, { settings })
  const [folder, port] = [await tempFolder(t), await freePort()]
  const text = settingsOf('haproxy')
    .replace(/bind .*/, `bind 127.0.0.1:${port}`)
    .replace('127.0.0.1:8080', new URL(node.url).host)
  writeFileSync(join(folder, 'haproxy.cfg'), text)
  const url = `http://127.0.0.1:${port}`
  await run(t, 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], url)
  await passes(node, url)
})
