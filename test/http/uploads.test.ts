// Files put into a channel's outbound directory over HTTP: whole or not at all, within limits, never over another.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, rmdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { createClient } from '../../sdk/index.ts'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { limitBodies, unhurried } from '../../src/http/body-deadline.ts'
import { makeLog } from '../../src/log.ts'
import { attempt } from '../../src/upkeep/upkeep.ts'
import { uploadsTask } from '../../src/upkeep/uploads.ts'
import { request } from '../support/call.ts'
import { closeAfter, startTestHttp, testOnBoth, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { CLOSED, PLAIN } from '../support/seed.ts'

const pathOf = (name: string, code = PLAIN) =>
  `${BASE_PATH}/platform/v1/channels/${code}/outbound/${encodeURIComponent(name)}`

async function put(
  node: TestNode,
  name: string,
  body: string | Uint8Array<ArrayBuffer>,
  { as = 'operator', code = PLAIN, type = 'application/octet-stream' } = {},
) {
  const headers = { authorization: `Bearer ${await node.token(as)}`, 'content-type': type }
  return request(node.url + pathOf(name, code), { method: 'PUT', headers, body })
}

/** An upload that has begun: some octets are there, more are to come. */
async function begun(node: TestNode, name: string, octets: Buffer) {
  const { hostname, port } = new URL(node.url)
  const headers = { authorization: `Bearer ${await node.token('operator')}`, 'transfer-encoding': 'chunked' }
  const asked = httpRequest({ hostname, port, method: 'PUT', path: pathOf(name), headers })
  asked.on('error', () => {}) // broken off on purpose
  asked.write(octets)
  return asked
}

const hidden = async (folder: string) => (await readdir(folder)).filter((name) => name.startsWith('.'))

testOnBoth(
  'an uploaded file lies whole in the outbound directory, and the trail has it',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const folder = join(node.files, 'out')
    const bytes = new Uint8Array(randomBytes(3_000_000))
    const hash = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const done = await put(node, 'nómina 1.json', bytes, { type: 'application/json' })
    assert.equal(done.status, 200, done.text)
    const path = join(folder, 'nómina 1.json')
    assert.deepEqual(done.body, { fileName: 'nómina 1.json', path, size: bytes.length, hash })
    assert.ok((await readFile(path)).equals(bytes))
    assert.deepEqual(await hidden(folder), [])
    const entry = await node.store.db
      .selectFrom('audit')
      .selectAll()
      .where('action', '=', 'FILE_UPLOADED')
      .executeTakeFirstOrThrow()
    assert.equal(entry.who, 'operator')
    assert.ok(entry.detail?.includes(hash) && entry.detail.includes(String(bytes.length)), entry.detail ?? '')

    const again = await put(node, 'nómina 1.json', 'other')
    assert.equal(again.status, 409, again.text)
    assert.match(again.body.message, /exists already/)
    assert.ok((await readFile(path)).equals(bytes), 'not overwritten')
    assert.equal((await put(node, 'empty.txt', '')).body.size, 0)

    const client = createClient({ url: node.url, token: await node.token('operator') })
    const made = await client.platform.uploadFile({
      channelCode: PLAIN,
      fileName: 'by-client.txt',
      body: new Blob(['ho', 'la']),
    })
    assert.equal(made.size, 4)
    const sent = await client.sendTransfer({ channelCode: PLAIN })
    assert.deepEqual(sent.files?.map(({ fileName }) => fileName).sort(), [
      'by-client.txt',
      'empty.txt',
      'nómina 1.json',
    ])
  },
)

test('a file that is compressed on its way is refused, and not kept compressed', async (t) => {
  const node = await startTestHttp(t)
  const authorization = `Bearer ${await node.token('operator')}`
  const upload = (coding: string) =>
    request(node.url + pathOf('a.txt'), {
      method: 'PUT',
      headers: { authorization, 'content-encoding': coding },
      body: new Uint8Array(gzipSync('hello')),
    })
  const refused = await upload('gzip')
  assert.equal(refused.status, 415, refused.text)
  assert.match(refused.body.message, /Content-Encoding/)
  assert.deepEqual(await readdir(join(node.files, 'out')), [])
  assert.equal((await upload('identity')).status, 200)
})

test('what a send would not take, and where nobody may send, is refused', async (t) => {
  const node = await startTestHttp(t)
  const folder = join(node.files, 'out')
  for (const name of [
    '.hidden',

    'a/b',
    '../escape',
    '-rf',
    'a.part',
    'a.lock',
    'a\u202Eb',
    'x'.repeat(256),
  ])
    assert.equal((await put(node, name, 'x')).status, 400, name)
  assert.equal((await put(node, 'a.txt', 'x', { code: CLOSED, as: 'advoperator' })).status, 403)
  assert.equal((await put(node, 'a.txt', 'x', { as: 'controlator' })).status, 403)
  assert.equal((await put(node, 'a.txt', 'x', { code: 'NO-SUCH-CHANNEL' })).status, 404)
  const update = (body: unknown) => node.call('updateChannel', { code: PLAIN, body })
  await update({ directories: [{ direction: 'EMISION', filePath: folder, fileGroupsName: '*.csv' }] })
  assert.match((await put(node, 'a.txt', 'x')).body.message, /fits no outbound directory.*\*\.csv/)
  assert.equal((await put(node, 'a.csv', 'x')).status, 200)
  await update({ directories: [{ direction: 'EMISION', filePath: join(folder, 'N*.txt') }] })
  assert.equal((await put(node, 'other.txt', 'x')).status, 400)
  assert.equal((await put(node, 'N1.txt', 'x')).status, 200)
  await update({ deactivateChannel: true })
  assert.equal((await put(node, 'N2.txt', 'x')).status, 409)
  await update({ deactivateChannel: false, direction: 'RECEPCION' })
  assert.equal((await put(node, 'N2.txt', 'x')).status, 400)

  await update({
    direction: 'EMISION',
    directories: [{ direction: 'EMISION', filePath: join(folder, 'new') }],
  })
  assert.equal((await put(node, 'first.txt', 'x')).status, 200, 'a directory that is not there yet')
  const wayOut = join(folder, 'way-out')
  await mkdir(wayOut)
  await update({ directories: [{ direction: 'EMISION', filePath: wayOut }] })
  const outside = join(node.files, '..', 'outside')
  await mkdir(outside)
  await rmdir(wayOut)
  await symlink(outside, wayOut)
  assert.equal((await put(node, 'a.txt', 'x')).status, 409)
  assert.deepEqual(await readdir(outside), [])
})

test('an upload stays within its limits: size, quota, room on the disk', async (t) => {
  const node = await startTestHttp(t)
  const folder = join(node.files, 'out')
  const { uploads } = node.context
  uploads.mostOctets = 1000
  assert.equal((await put(node, 'a.txt', 'x'.repeat(1001))).status, 413, 'as announced')
  const chunked = await begun(node, 'a.txt', Buffer.alloc(1001))
  const [answer] = await once(chunked, 'response')
  assert.equal(answer.statusCode, 413, 'as counted')
  chunked.destroy()
  uploads.quotaOctets = 1500
  assert.equal((await put(node, 'a.txt', 'x'.repeat(1000))).status, 200)
  assert.match((await put(node, 'b.txt', 'x'.repeat(501))).body.message, /quota/)
  assert.equal((await put(node, 'b.txt', 'x'.repeat(500))).status, 200)
  uploads.quotaOctets = 10_000
  uploads.quotaFiles = 2
  assert.match((await put(node, 'c.txt', 'x')).body.message, /2 files/)
  uploads.quotaFiles = 10
  uploads.diskReserveOctets = Number.MAX_SAFE_INTEGER
  const full = await put(node, 'c.txt', 'x')
  assert.equal(full.status, 409, full.text)
  assert.match(full.body.message, /left on the disk/)
  assert.deepEqual((await readdir(folder)).sort(), ['a.txt', 'b.txt'])
})

test('an upload that breaks off leaves nothing; what a crash left is swept, what is fresh is not', async (t) => {
  const errors: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) })
  const node = await startTestHttp(t, { log })
  const folder = join(node.files, 'out')
  const asked = await begun(node, 'half.txt', Buffer.alloc(100_000))
  await waitFor('a hidden part', async () => (await hidden(folder)).length === 1)
  asked.destroy()
  await waitFor('nothing left', async () => (await readdir(folder)).length === 0)
  assert.equal((await put(node, 'other.txt', 'x')).status, 200)
  await rm(join(folder, 'other.txt'))
  assert.deepEqual(errors, [], 'a client that goes away is nothing that an operator must see to')

  const [old, fresh] = ['0', '1'].map((digit) => `.esclusa-upload-${digit.repeat(36)}.part`) as [
    string,
    string,
  ]
  for (const name of [old, fresh]) await writeFile(join(folder, name), 'half')
  const longAgo = new Date(Date.now() - 7_200_000)
  await utimes(join(folder, old), longAgo, longAgo)
  const { store, roots, now } = node.context
  await attempt(
    { store, owner: 'test', log: makeLog('silent', 'test'), now },
    uploadsTask({ store, fileRoots: roots.fileRoots, now }),
  )
  assert.deepEqual(
    (await hidden(folder)).map((name) => basename(name)),
    [fresh],
  )
})

test('half copies between file systems that a crash left are swept from inbound and post-action folders', async (t) => {
  const node = await startTestHttp(t)
  const longAgo = new Date(Date.now() - 7_200_000)
  const uuid = '0b5fd1c2-8f0a-4c53-9d2e-6f1f0e0a7c11'
  // The last one is what a partner's node writes; it is its own to sweep.
  const names = [`.esclusa-${uuid}.part`, `.esclusa-${'a'.repeat(32)}.part`]
  const folders = ['in', 'done'].map((name) => join(node.files, name))
  for (const folder of folders) {
    await mkdir(folder, { recursive: true })
    for (const name of names) {
      await writeFile(join(folder, name), 'half')
      await utimes(join(folder, name), longAgo, longAgo)
    }
  }
  const { store, roots, now } = node.context
  await attempt(
    { store, owner: 'test', log: makeLog('silent', 'test'), now },
    uploadsTask({ store, fileRoots: roots.fileRoots, now }),
  )
  for (const folder of folders) assert.deepEqual(await readdir(folder), [names[1]])
})

test('a slow body is cut off, unless it is an upload that keeps moving', async (t) => {
  let taken: (() => void) | undefined
  const server = createServer((request, response) => {
    if (request.url !== '/upload') request.resume().on('end', () => response.end('whole'))
    else
      void (async () => {
        let size = 0
        for await (const chunk of unhurried(request, 60_000)) {
          size += chunk.length
          taken?.()
        }
        response.end(String(size))
      })()
  })
  limitBodies(server, 200, ({ socket }) =>
    socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeAfter(t, async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = (path: string) => {
    const asked = httpRequest({
      host: '127.0.0.1',
      port,
      path,
      method: 'PUT',
      headers: { 'content-length': 4 },
    })
    asked.on('error', () => {})
    asked.write('ho')
    return asked
  }
  const moved = new Promise<void>((resolve) => (taken = resolve))
  const upload = ask('/upload')
  await moved
  // It began later, so the upload has been there for longer than the limit when this one is cut off.
  const [late] = await once(ask('/other'), 'response')
  assert.equal(late.statusCode, 408)
  upload.end('la')
  const [done] = await once(upload, 'response')
  assert.equal(String((await done.toArray())[0]), '4')
})
