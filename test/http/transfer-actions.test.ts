// What people do with single transfers: preview, cancel, send again, download.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BASE_PATH } from '../../src/contract/operations.ts'
import type { TransferDirection } from '../../src/contract/transfer.ts'
import { putLocalEntity } from '../../src/store/contacts.ts'
import { newId } from '../../src/store/database/ids.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { newFile } from '../../src/transfers/request.ts'
import { request } from '../support/call.ts'
import { beforeNextWrite, startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'

const at = async (node: TestNode, path: string, body?: unknown) =>
  request(`${node.url}${BASE_PATH}/platform/v1/channels/${PLAIN}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${await node.token('operator')}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

async function outbound(node: TestNode): Promise<string> {
  const folder = join(node.files, 'actions')
  await mkdir(folder, { recursive: true })
  const set = await node.call('setOutboundPath', { code: PLAIN, body: { path: folder } })
  assert.equal(set.status, 200, set.text)
  return folder
}

/** A transfer that has ended well, with one file. */
async function completed(
  node: TestNode,
  direction: TransferDirection,
  path: string,
  pathPost: string | null = null,
) {
  const id = newId(Date.now())
  const text = await readFile(pathPost ?? path).catch(() => Buffer.from(''))
  const file = {
    ...newFile({ directory: 0, name: 'a.txt', path, size: text.length, modifiedAt: 1 }, 0),
    keyDate: '20260101',
    keyTime: '0000000001',
    phase: 'DONE' as const,
    hash: createHash('sha256').update(text).digest('hex'),
    pathPost,
  }
  await node.store.write(async (tx) => {
    const made = { channelCode: PLAIN, direction, type: 'MANUAL', requestedBy: null, retryOf: null } as const
    await insertTransfer(tx, { id, ...made, now: Date.now(), files: [file] })
    await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: Date.now() })
    await moveTransfer(tx, id, { from: 'IN_PROGRESS', to: 'COMPLETED', now: Date.now() })
  })
  return id
}

const actions = async (node: TestNode) =>
  (await node.store.db.selectFrom('audit').select(['action', 'who']).execute())
    .filter(({ who }) => who === 'operator')
    .map(({ action }) => action)

testOnBoth(
  'a preview shows what would go; one transfer is cancelled with a word, once',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const folder = await outbound(node)
    assert.match((await at(node, '/send-preview')).body.refusal, /there is no file to send/)
    await writeFile(join(folder, 'a.txt'), 'hola')
    const { body } = await at(node, '/send-preview')
    assert.deepEqual(body, {
      files: [{ fileName: 'a.txt', path: join(folder, 'a.txt'), size: 4 }],
      total: 1,
      bytes: 4,
    })
    const sent = await node.call('sendTransfer', { as: 'operator', code: PLAIN })
    assert.match((await at(node, '/send-preview')).body.refusal, /PENDING/)
    const path = `/transfers/${sent.body.transferId}/cancel`
    const done = await at(node, path, { comment: 'the wrong month' })
    assert.equal(done.body.status, 'CANCELLED', done.text)
    assert.match(done.body.error, /operator: the wrong month/)
    assert.equal((await at(node, path, {})).status, 409)
    assert.equal((await at(node, '/transfers/nothing/cancel', {})).status, 404)
    assert.ok((await actions(node)).includes('TRANSFER_CANCELLED'))
  },
)

testOnBoth(
  'a completed emission is sent again with a comment; a moved file goes back first',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const folder = await outbound(node)
    await mkdir(join(folder, 'done'))
    const [path, moved] = [join(folder, 'a.txt'), join(folder, 'done', 'a.txt')]
    await writeFile(moved, 'hola')
    const id = await completed(node, 'EMISION', path, moved)
    assert.equal((await at(node, `/transfers/${id}/resend`, {})).status, 400, 'without a comment')
    const deactivate = (deactivateChannel: boolean) =>
      node.call('updateChannel', { code: PLAIN, body: { deactivateChannel } })
    beforeNextWrite(node, () => deactivate(true))
    assert.equal((await at(node, `/transfers/${id}/resend`, { comment: 'too late' })).status, 409)
    assert.equal(await readFile(moved, 'utf8'), 'hola', 'it is not back where it had been moved to')
    await deactivate(false)
    const again = await at(node, `/transfers/${id}/resend`, { comment: 'they lost it' })
    assert.equal(again.status, 200, again.text)
    assert.equal(again.body.status, 'PENDING')
    assert.equal(await readFile(path, 'utf8'), 'hola')
    const row = await node.store.db
      .selectFrom('transfer')
      .select(['comment', 'resend_of'])
      .where('id', '=', again.body.transferId)
      .executeTakeFirst()
    assert.deepEqual({ ...row }, { comment: 'they lost it', resend_of: id })
    const facts = (await at(node, `/transfers/${again.body.transferId}`)).body
    assert.deepEqual([facts.comment, facts.resendOf], ['they lost it', id])
    assert.equal(
      (await at(node, `/transfers/${id}/resend`, { comment: 'again' })).status,
      409,
      'one is under way',
    )
    await node.call('resetChannel', { as: 'operator', code: PLAIN })
    await writeFile(path, 'other')
    assert.match(
      (await at(node, `/transfers/${id}/resend`, { comment: 'again' })).body.message,
      /another file by now/,
    )
    await rename(path, join(folder, 'elsewhere'))
    assert.match(
      (await at(node, `/transfers/${id}/resend`, { comment: 'again' })).body.message,
      /no longer there/,
    )
    assert.ok((await actions(node)).includes('TRANSFER_RESENT'))
  },
)

testOnBoth('a received file is downloaded, and nothing that a link leads to', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const folder = await outbound(node)
  const path = join(folder, 'in ñ.txt')
  await writeFile(path, 'received')
  const id = await completed(node, 'RECEPCION', path)
  const got = await at(node, `/transfers/${id}/files/0/content`)
  assert.equal(got.text, 'received')
  assert.match(got.headers.get('content-disposition') ?? '', /^attachment; filename\*=UTF-8''a\.txt$/)
  assert.equal((await at(node, `/transfers/${id}/files/1/content`)).status, 404)
  assert.ok((await actions(node)).includes('FILE_DOWNLOADED'))
  const secret = join(node.dataDir, 'master-key')
  const link = join(folder, 'link')
  await symlink(secret, link)
  const linked = await completed(node, 'RECEPCION', link)
  const refused = await at(node, `/transfers/${linked}/files/0/content`)
  assert.ok(refused.status >= 400 && refused.status < 500, String(refused.status))
  const near = join(folder, 'near')
  await symlink(path, near)
  const toNear = await completed(node, 'RECEPCION', near)
  assert.equal(
    (await at(node, `/transfers/${toNear}/files/0/content`)).status,
    409,
    'a link inside the file roots is followed',
  )
  const sent = await completed(node, 'EMISION', path)
  assert.equal((await at(node, `/transfers/${sent}/files/0/content`)).status, 409)
})

testOnBoth(
  'a local entity’s own file roots hold for what is downloaded, sent again and uploaded',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const folder = await outbound(node)
    const path = join(folder, 'a.txt')
    await writeFile(path, 'hola')
    const received = await completed(node, 'RECEPCION', path)
    const sent = await completed(node, 'EMISION', path)
    // The entity was given them after its channel’s directory was set.
    const own = { code: 'BANCO', name: 'Banco', oftp2Id: null }
    const confineTo = (...fileRoots: string[]) =>
      node.store.write((tx) => putLocalEntity(tx, { ...own, fileRoots }))
    const upload = async () =>
      request(`${node.url}${BASE_PATH}/platform/v1/channels/${PLAIN}/outbound/b.txt`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${await node.token('operator')}` },
        body: 'b',
      })
    const answers = async () => [
      (await at(node, `/transfers/${received}/files/0/content`)).status,
      (await at(node, `/transfers/${sent}/resend`, { comment: 'again' })).status,
      (await upload()).status,
    ]
    await confineTo(join(node.files, 'elsewhere'))
    assert.deepEqual(await answers(), [409, 409, 409])
    await confineTo(folder)
    assert.deepEqual(await answers(), [200, 200, 200])
  },
)
