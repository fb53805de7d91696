// The settings for nginx and HAProxy in docs/operate/proxies.md, run as they stand there but for TLS and ports: callers
// are told apart, whatever they say of themselves, and the event stream comes through while it is open.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import ssh2 from 'ssh2'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import { closeAfter, startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { ForeignLine, x } from '../support/oftp2/foreign.ts'
import { freePort } from '../support/free-port.ts'

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

/** Runs the proxy in the foreground until the test ends. */
async function run(
  t: TestContext,
  program: string,
  args: string[],
  answers: () => Promise<boolean>,
): Promise<void> {
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
    return answers()
  })
}

const ready = (url: string) => async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true

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
  await run(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], ready(url))
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
  await run(t, 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], ready(url))
  await passes(node, url)
})

const LINKS = { PLAIN: 'oftp2', SECURE: 'oftp2', SHELL: 'sftp' } as const

/** A partner of each kind, with channels that take calls from one address alone. */
async function putPartners({ context, dataDir, files }: TestNode): Promise<void> {
  const platform = {
    localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
    contacts: Object.entries(LINKS).map(([code, protocol]) => ({
      id: code,
      name: code,
      remoteCodes: [{ id: 'c', code }],
      protocol,
      ...(protocol === 'sftp' && { access: { username: 'shell', password: 'a password of twelve' } }),
    })),
    channels: Object.keys(LINKS).map((code) => ({
      code: `BANCO-${code}-FILES`,
      contact: code,
      direction: 'RECEPCION',
      directories: [{ direction: 'RECEPCION', filePath: join(files, code) }],
      connection: {
        ips: [CALLER],
        advancedConfigurationConnection: { callingEnd: 'REMOTO', validateIp: true },
      },
      ...(code === 'SECURE' && { security: { cryptography: true, ciphrate: 'TRANSMISION' } }),
    })),
  }
  const file = join(dataDir, 'platform.yaml')
  writeFileSync(file, JSON.stringify(platform))
  const read = readPlatform(file, { env: {}, roots: context.roots })
  await applyPlatform(context.store, context.seal, read.platform, { now: Date.now() })
}

/** What the node says to this partner's name: X when it takes the call, F when it does not. */
async function answerTo(t: TestContext, socket: Socket, name: string): Promise<string | undefined> {
  closeAfter(t, async () => void socket.destroy())
  const line = new ForeignLine(socket)
  await line.expect('I')
  line.say(`X5${x(name, 25)}${x('', 8)}02048BNYN004N    ${x('', 8)}\r`)
  return (await line.hear())?.toString('latin1', 0, 1)
}

test(
  'HAProxy in front of the partner listeners, as the guide sets it',
  { skip: missing('haproxy', '-v') },
  async (t) => {
    const [plain, secure, shell] = [await freePort(), await freePort(), await freePort()]
    const node = await startTestNode(t, {
      empty: true,
      settings: {
        ESCLUSA_PROXY_PROTOCOL_FROM: '127.0.0.1',
        ESCLUSA_OFTP2_PORT: String(plain),
        ESCLUSA_OFTP2_TLS_PORT: String(secure),
        ESCLUSA_SFTP_PORT: String(shell),
      },
    })
    await putPartners(node)
    const bound = [await freePort(), await freePort(), await freePort()] as const
    let nth = 0
    const text = settingsOf('cfg')
      .replaceAll(/bind .*/g, () => `bind 127.0.0.1:${bound[nth++]}`)
      .replace('127.0.0.1:13305', `127.0.0.1:${plain}`)
      .replace('127.0.0.1:16619', `127.0.0.1:${secure}`)
      .replace('127.0.0.1:10022', `127.0.0.1:${shell}`)
    const folder = await tempFolder(t)
    writeFileSync(join(folder, 'haproxy.cfg'), text)
    const call = (port: number, localAddress: string) => connect({ port, host: '127.0.0.1', localAddress })
    await run(t, 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], async () => {
      const socket = call(bound[2], CALLER)
      const heard = await once(socket, 'data').catch(() => [''])
      socket.destroy()
      return String(heard[0]).startsWith('SSH-')
    })
    const overTls = (from: string) => connectTls({ socket: call(bound[1], from), rejectUnauthorized: false })
    assert.equal(
      await answerTo(t, call(bound[0], CALLER), 'PLAIN'),
      'X',
      'where the partner calls from counts',
    )
    assert.equal(await answerTo(t, call(bound[0], '127.0.0.3'), 'PLAIN'), 'F')
    assert.equal(await answerTo(t, overTls(CALLER), 'SECURE'), 'X')
    assert.equal(await answerTo(t, overTls('127.0.0.3'), 'SECURE'), 'F')
    assert.equal(await signsIn(call(bound[2], CALLER)), true)
    assert.equal(await signsIn(call(bound[2], '127.0.0.3')), false)
    // Whoever is not named says nothing that counts: not past the proxy, and not in another's name.
    const liar = call(plain, '127.0.0.3')
    liar.write(`PROXY TCP4 ${CALLER} 127.0.0.1 40000 3305\r\n`)
    assert.notEqual(await answerTo(t, liar, 'PLAIN').catch(() => 'nothing'), 'X')
  },
)

/** With its password, over SSH. */
async function signsIn(sock: Socket): Promise<boolean> {
  const client = new ssh2.Client()
  const done = Promise.withResolvers<boolean>()
  client.on('ready', () => done.resolve(true)).on('error', () => done.resolve(false))
  client.connect({ sock, username: 'shell', password: 'a password of twelve' })
  try {
    return await done.promise
  } finally {
    client.destroy()
  }
}
