import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { hashPassword } from '../src/accounts/password.ts'
import { operations } from '../src/contract/operations.ts'
import { platformOperations } from '../src/contract/platform.ts'
import { findAccount, putAccount } from '../src/store/accounts.ts'
import { closeAfter, startTestNode } from '../test/support/harness.ts'
import { FULL, PASSWORD } from '../test/support/seed.ts'
import { ClientError, collect, createClient, pages, UnreachableError } from './index.ts'

const credentials = { username: 'globaladmin', password: PASSWORD }

/** The client's own fetch, with every request noted as `METHOD path`. */
function noting() {
  const requests: string[] = []
  const fetch: typeof globalThis.fetch = (input, init) => {
    assert.equal(typeof input, 'string')
    requests.push(
      `${init?.method} ${new URL(input as string).pathname.replace('/connect-back/integration', '')}`,
    )
    return globalThis.fetch(input, init)
  }
  return { requests, fetch }
}

test('every operation of the contract is a function of the client', () => {
  const client = createClient({ url: 'http://127.0.0.1:1' })
  assert.deepEqual(Object.keys(client), [...Object.keys(operations), 'platform'])
  assert.deepEqual(Object.keys(client.platform), Object.keys(platformOperations))
})

test('operations are called with parameters, query and body, and answer what the node answers', async (t) => {
  const node = await startTestNode(t)
  const client = createClient({ url: `${node.url}/connect-back/`, token: await node.token('globaladmin') })
  const [channel] = await client.channelConfiguration({ channelCode: FULL })
  assert.equal(channel?.application, 'NOMINA')
  const updated = await client.updateIps({ channelCode: FULL, body: ['10.1.2.3'] })
  assert.deepEqual(updated.connection?.ips, ['10.1.2.3'])
  const patched = await client.updateChannel({ channelCode: FULL, body: { name: 'patched', category: null } })
  assert.equal(patched.name, 'patched')
  assert.equal(patched.category, undefined)
  const page = await client.listChannels({ size: 2, page: 1 })
  assert.equal(page.content.length, 2)
  assert.equal(page.totalElements, 3)
  assert.equal((await client.listChannels()).content.length, 1)
  assert.equal((await client.listContacts({ contactId: 'nobody & nothing', size: 9 })).empty, true)
  const { user } = await client.loginV2({ body: credentials })
  assert.equal(user.role, 'ROLE_GLOBALADMIN')
})

test('a refusal is a ClientError with the node’s own body', async (t) => {
  const node = await startTestNode(t)
  const client = createClient({ url: node.url, token: await node.token('globaladmin') })
  await assert.rejects(client.channelStatus({ channelCode: 'NO-SUCH-CHANNEL' }), (thrown) => {
    assert.ok(thrown instanceof ClientError)
    assert.equal(thrown.status, 404)
    assert.equal(thrown.message, 'channel NO-SUCH-CHANNEL does not exist')
    assert.equal(thrown.body.path, '/connect-back/integration/v2/channels/NO-SUCH-CHANNEL/status')
    return true
  })
  await assert.rejects(createClient({ url: node.url }).listChannels(), { name: 'ClientError', status: 401 })
})

test('with credentials the first call logs in, and so does a call that finds its token ended', async (t) => {
  const node = await startTestNode(t)
  const { requests, fetch } = noting()
  const client = createClient({ url: node.url, credentials, fetch })
  await Promise.all([client.listChannels(), client.listChannels(), client.listContacts()])
  assert.equal(
    requests.filter((one) => one === 'POST /v2/auth/login').length,
    1,
    'three calls share one login',
  )
  requests.length = 0

  await endTokens(node.store)
  await Promise.all([client.listChannels(), client.listChannels(), client.listContacts()])
  assert.deepEqual(requests.toSorted(), [
    'GET /v2/channels',
    'GET /v2/channels',
    'GET /v2/channels',
    'GET /v2/channels',
    'GET /v2/contacts',
    'GET /v2/contacts',
    'POST /v2/auth/login',
  ])
  requests.length = 0
  await client.listChannels()
  assert.deepEqual(requests, ['GET /v2/channels'], 'the new token is kept')

  async function endTokens(store: typeof node.store): Promise<void> {
    const account = await findAccount(store.db, credentials.username)
    assert.ok(account)
    await store.write((tx) =>
      putAccount(tx, { ...account, credentialVersion: account.credentialVersion + 1 }),
    )
  }
})

test('a login that fails is told once, and the next call tries again', async (t) => {
  const node = await startTestNode(t)
  const { requests, fetch } = noting()
  const client = createClient({
    url: node.url,
    credentials: { ...credentials, password: 'another one' },
    fetch,
  })
  const refused = { name: 'ClientError', status: 401, message: 'the user or the password is not right' }
  await assert.rejects(client.listChannels(), refused)
  assert.deepEqual(requests, ['POST /v2/auth/login'])
  const account = await findAccount(node.store.db, credentials.username)
  assert.ok(account)
  const passwordHash = await hashPassword('another one')
  await node.store.write((tx) => putAccount(tx, { ...account, passwordHash }))
  assert.equal((await client.listChannels()).totalElements, 3)
})

test('pages goes through all items of a list, whatever the size of a page', async (t) => {
  const node = await startTestNode(t)
  const client = createClient({ url: node.url, credentials })
  for (const name of ['one', 'two', 'three', 'four'])
    await client.updateChannel({ channelCode: FULL, body: { name } })
  const { totalElements } = await client.channelHistory({ channelCode: FULL })
  for (const size of [1, 2, 100]) {
    const events = await collect(pages(client.channelHistory, { channelCode: FULL, size }))
    assert.equal(events.length, totalElements)
    assert.equal(events[0]?.event, 'CHANNEL_UPDATED')
  }
  assert.equal((await collect(pages(client.listChannels, {}))).length, 3)
  assert.deepEqual(await collect(pages(client.listContacts, { contactId: 'nobody' })), [])
})

async function serverThat(
  t: TestContext,
  answer: (end: (status: number, body: string) => void) => void,
): Promise<string> {
  const server = createServer((_request, response) =>
    answer((status, body) => void response.writeHead(status).end(body)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeAfter(t, async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('no answer, or none in time, is an UnreachableError; a caller’s own abort stays what it is', async (t) => {
  await assert.rejects(createClient({ url: 'http://127.0.0.1:1' }).listChannels(), (thrown) => {
    assert.ok(thrown instanceof UnreachableError)
    assert.match(thrown.message, /^http:\/\/127.0.0.1:1 is not reachable: /)
    return true
  })
  const url = await serverThat(t, () => {})
  const slow = createClient({ url, timeoutMs: 50 })
  await assert.rejects(slow.listChannels(), {
    name: 'UnreachableError',
    message: `${url} is not reachable: no answer in time`,
  })
  const stop = new AbortController()
  const waiting = createClient({ url }).listChannels({}, { signal: stop.signal })
  stop.abort(new Error('enough'))
  await assert.rejects(waiting, { message: 'enough' })
})

test('an answer that is not the node’s is a ClientError that says so', async (t) => {
  const url = await serverThat(t, (end) => end(502, '<html>Bad Gateway</html>'))
  await assert.rejects(createClient({ url }).listChannels(), {
    name: 'ClientError',
    status: 502,
    message: /is not from an Esclusa node/,
  })
  const other = await serverThat(t, (end) => end(200, '<html>Welcome</html>'))
  await assert.rejects(createClient({ url: other }).listChannels(), {
    name: 'ClientError',
    message: /is not from an Esclusa node/,
  })
})

test('nothing the client is made of needs Node: a browser can load it', () => {
  const seen = new Set<string>()
  const load = (file: URL) => {
    if (seen.has(file.href)) return
    seen.add(file.href)
    const text = readFileSync(file, 'utf8')
    for (const [, kind, from = ''] of text.matchAll(/^(import|export) (?!type ).*?from '([^']+)'/gms)) {
      assert.ok(!from.startsWith('node:'), `${file.pathname} ${kind}s ${from}`)
      if (from.startsWith('.')) load(new URL(from, file))
      else assert.equal(from, 'typebox', `${file.pathname} needs ${from}`)
    }
    assert.doesNotMatch(text, /\b(process|Buffer|require)\b[.(]/)
  }
  load(new URL('./index.ts', import.meta.url))
  assert.ok(seen.size >= 5, 'it looked at the contract too')
})

test('a call refused late uses the token that another call got meanwhile', async () => {
  let logins = 0
  const late = Promise.withResolvers<void>()
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { pathname } = new URL(input as string)
    if (pathname.endsWith('/login')) return Response.json({ token: `token-${++logins}` })
    const authorization = new Headers(init?.headers).get('authorization')
    if (authorization === 'Bearer token-1') return Response.json({ content: [], last: true })
    if (pathname.endsWith('/contacts')) await late.promise
    return Response.json({ status: 401, message: 'ended' }, { status: 401 })
  }
  const client = createClient({ url: 'http://node.example', token: 'old', credentials, fetch })
  const slow = client.listContacts()
  await client.listChannels()
  late.resolve()
  await slow
  assert.equal(logins, 1)
})
