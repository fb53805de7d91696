// Quarantined files through the platform operations: who sees them, what a release does, and that it is done once.

import assert from 'node:assert/strict'
import { link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { QuarantinedFileFacts } from '../../src/contract/administration/quarantine.ts'
import { openedBeside } from '../../src/files/quarantine.ts'
import { finishDecisions } from '../../src/quarantine/adopt.ts'
import { removeChannels } from '../../src/store/channel-batches.ts'
import { findChannel, sealChannel, openChannel, updateChannel } from '../../src/store/channels.ts'
import { putLocalEntity } from '../../src/store/contacts.ts'
import { findQuarantined, moveQuarantined } from '../../src/store/quarantine.ts'
import { callPlatform } from '../support/call.ts'
import { startTestHttp, testOnBoth, waitFor } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'
import type { TestContext } from 'node:test'
import { putIntoQuarantine } from '../support/quarantine.ts'
import { CLOSED, PLAIN } from '../support/seed.ts'

const CONTROLLER = 'controlator'

/** PLAIN gets an inbound directory, whose path it returns. */
async function setUp(t: TestContext, database: TestDatabase, rename = false) {
  const node = await startTestHttp(t, { database })
  const inbound = join(node.files, 'in')
  await node.store.write(async (tx) => {
    const before = await findChannel(tx, PLAIN)
    assert.ok(before)
    const channel = {
      ...openChannel(node.context.seal, before),
      directories: [{ direction: 'RECEPCION' as const, filePath: inbound }],
      integrations: { postReceptionRename: rename },
    }
    await updateChannel(tx, { ...before, ...sealChannel(node.context.seal, PLAIN, channel, before) })
  })
  return { node, inbound }
}

function act(node: TestNode, what: 'releaseQuarantined' | 'discardQuarantined', id: string, as = CONTROLLER) {
  return callPlatform(node, what, as, { params: { fileId: id } })
}

async function told({ store }: TestNode): Promise<string[]> {
  const rows = await store.db
    .selectFrom('event_outbox')
    .select(['type', 'body'])
    .where('type', 'like', 'file.%')
    .execute()
  return rows
    .map(({ type, body }) => `${type} ${(JSON.parse(body) as { fileName?: string }).fileName}`)
    .sort()
}

async function noted({ store }: TestNode): Promise<string[]> {
  const rows = await store.db.selectFrom('audit').select(['action', 'who', 'outcome']).orderBy('id').execute()
  return rows
    .filter(({ action }) => /QUARANTINE|FILE/.test(action))
    .map((row) => `${row.action} ${row.who} ${row.outcome}`)
}

testOnBoth(
  'a quarantined file is listed, downloaded in both forms, and released once into the inbound directory',
  async (t, database) => {
    const { node, inbound } = await setUp(t, database)
    const path = await putIntoQuarantine(node, 'q1', { channelCode: PLAIN })
    const listed = await callPlatform(node, 'listQuarantine', CONTROLLER, { query: { state: 'WAITING' } })
    const [file] = listed.body.content as QuarantinedFileFacts[]
    assert.deepEqual(
      [file?.id, file?.channelCode, file?.fileName, file?.opened, file?.state, file?.errorCode],
      ['q1', PLAIN, 'pay.txt', true, 'WAITING', 'bad_signature'],
    )
    const download = (form: string) =>
      callPlatform(node, 'downloadQuarantined', CONTROLLER, { params: { fileId: 'q1' }, query: { form } })
    const received = await download('received')
    assert.equal(received.text, 'as it came: the content')
    assert.match(
      received.headers.get('content-disposition') ?? '',
      /^attachment; filename\*=UTF-8''pay\.txt$/,
    )
    assert.equal((await download('opened')).text, 'the content')
    const done = await act(node, 'releaseQuarantined', 'q1')
    assert.equal(done.status, 200, done.text)
    assert.deepEqual(
      [done.body.state, done.body.decidedBy, done.body.path],
      ['RELEASED', CONTROLLER, join(inbound, 'pay.txt')],
    )
    assert.equal(await readFile(join(inbound, 'pay.txt'), 'utf8'), 'the content')
    await assert.rejects(stat(path), { code: 'ENOENT' })
    for (const again of ['releaseQuarantined', 'discardQuarantined'] as const) {
      const { status, body } = await act(node, again, 'q1')
      assert.deepEqual([status, body.message], [409, 'pay.txt was released or discarded already'])
    }
    assert.equal((await download('received')).status, 409)
    assert.deepEqual(await told(node), ['file.quarantined pay.txt', 'file.received pay.txt'])
    assert.deepEqual(await noted(node), [
      `FILE_DOWNLOADED ${CONTROLLER} DONE`,
      `FILE_DOWNLOADED ${CONTROLLER} DONE`,
      `QUARANTINE_RELEASED ${CONTROLLER} DONE`,
    ])
  },
)

testOnBoth('nothing is released out of the file roots', async (t, database) => {
  const { node, inbound } = await setUp(t, database)
  await putIntoQuarantine(node, 'q1', { channelCode: PLAIN })
  const refused = async (why: RegExp) => {
    const answer = await act(node, 'releaseQuarantined', 'q1')
    assert.equal(answer.status, 409, answer.text)
    assert.match(String(answer.body.message), why)
    assert.equal((await findQuarantined(node.store.db, 'q1'))?.state, 'WAITING')
  }
  const outside = join(node.dataDir, 'outside')
  await mkdir(outside)
  await rm(inbound, { recursive: true, force: true })
  await symlink(outside, inbound)
  await refused(/leads out of the node’s roots/)
  assert.deepEqual(await readdir(outside), [])
  await rm(inbound)
  const entity = { code: 'BANCO', name: 'Banco', oftp2Id: null, fileRoots: [join(node.files, 'elsewhere')] }
  await node.store.write((tx) => putLocalEntity(tx, entity))
  await refused(/leads out of the node’s roots/)
})

testOnBoth(
  'of several who decide at once one does: the file is released or discarded, never both',
  async (t, database) => {
    const { node, inbound } = await setUp(t, database, true)
    for (let round = 0; round < 5; round++) {
      const id = `q${round}`
      await putIntoQuarantine(node, id, { channelCode: PLAIN, name: `${id}.txt` })
      const answers = await Promise.all([
        act(node, 'releaseQuarantined', id),
        act(node, 'discardQuarantined', id, 'globaladmin'),
        act(node, 'releaseQuarantined', id, 'admin'),
      ])
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409, 409],
      )
      const file = await findQuarantined(node.store.db, id)
      const placed = (await readdir(inbound)).filter((name) => name.startsWith(id))
      assert.deepEqual(placed, file?.state === 'RELEASED' ? [`${id}.txt`] : [], file?.state)
    }
  },
)

testOnBoth(
  'a name that is taken is not overwritten: 409, or another name where the channel renames',
  async (t, database) => {
    for (const rename of [false, true]) {
      const { node, inbound } = await setUp(t, database, rename)
      await writeFile(join(inbound, 'pay.txt'), 'another file')
      await putIntoQuarantine(node, 'q1', { channelCode: PLAIN })
      const { status, body } = await act(node, 'releaseQuarantined', 'q1')
      assert.equal(status, rename ? 200 : 409)
      assert.equal(await readFile(join(inbound, 'pay.txt'), 'utf8'), 'another file')
      const state = (await findQuarantined(node.store.db, 'q1'))?.state
      assert.equal(state, rename ? 'RELEASED' : 'WAITING')
      if (rename) assert.equal(await readFile(body.path, 'utf8'), 'the content')
      if (rename) assert.match(body.path, /pay\.\d{17}\.txt$/)
      await rm(join(inbound, 'pay.txt'))
      if (!rename) assert.equal((await act(node, 'releaseQuarantined', 'q1')).status, 200)
    }
  },
)

testOnBoth(
  'what could not be opened, and what has no channel or directory, is not released, only discarded',
  async (t, database) => {
    const { node } = await setUp(t, database)
    await putIntoQuarantine(node, 'closed', { channelCode: PLAIN, opened: null })
    await putIntoQuarantine(node, 'out', { channelCode: CLOSED })
    assert.match((await act(node, 'releaseQuarantined', 'closed')).text, /could not be opened/)
    assert.match((await act(node, 'releaseQuarantined', 'out', 'admin')).text, /no inbound directory/)
    await node.store.write((tx) => removeChannels(tx, [CLOSED], { at: 1, detail: 'x' }))
    assert.match((await act(node, 'releaseQuarantined', 'out', 'admin')).text, /was removed/)
    for (const id of ['closed', 'out']) {
      const path = (await findQuarantined(node.store.db, id))?.path ?? ''
      assert.equal((await act(node, 'discardQuarantined', id, 'admin')).body.state, 'DISCARDED')
      await assert.rejects(stat(path), { code: 'ENOENT' })
    }
  },
)

testOnBoth(
  'files of channels that are closed to the user, or gone, are not shown to it',
  async (t, database) => {
    const { node } = await setUp(t, database)
    await putIntoQuarantine(node, 'q1', { channelCode: CLOSED })
    await putIntoQuarantine(node, 'q2', { channelCode: '' })
    assert.equal((await callPlatform(node, 'listQuarantine', CONTROLLER)).body.totalElements, 0)
    for (const name of ['downloadQuarantined', 'releaseQuarantined', 'discardQuarantined'] as const) {
      assert.equal(
        (await callPlatform(node, name, CONTROLLER, { params: { fileId: 'q1' } })).status,
        403,
        name,
      )
      assert.equal(
        (await callPlatform(node, name, CONTROLLER, { params: { fileId: 'q2' } })).status,
        404,
        name,
      )
    }
    assert.equal((await callPlatform(node, 'listQuarantine', 'admin')).body.totalElements, 2)
  },
)

testOnBoth(
  'a release that a crash cut off is finished, once, whatever became of the file meanwhile',
  async (t, database) => {
    const { node, inbound } = await setUp(t, database)
    const deciding = { ...node.context, now: () => Date.now() + 3_600_000 }
    const cutOff = async (id: string) => {
      const path = await putIntoQuarantine(node, id, { channelCode: PLAIN, name: `${id}.txt` })
      const found = await stat(openedBeside(path), { bigint: true })
      // A file system's clock has ticks: a link within the same one would leave no mark. People are slower.
      await waitFor('the next tick', () => Date.now() > Number(found.ctimeMs) + 100)
      const target = join(inbound, `${id}.txt`)
      const openedMark = `${found.ino}:${found.ctimeNs}`
      const move = {
        from: 'WAITING',
        to: 'RELEASING',
        target,
        openedMark,
        by: 'eva',
        at: Date.now(),
      } as const
      assert.ok(await node.store.write((tx) => moveQuarantined(tx, id, move)))
      return { opened: openedBeside(path), target }
    }
    const decided = await cutOff('decided')
    const linked = await cutOff('linked')
    await link(linked.opened, linked.target)
    const taken = await cutOff('taken')
    await link(taken.opened, taken.target)
    await rm(taken.target) // by whoever reads the inbound directory
    const clash = await cutOff('clash')
    await writeFile(clash.target, 'another file')
    const fresh = { ...node.context, now: Date.now }
    await finishDecisions(fresh)
    assert.equal(
      (await findQuarantined(node.store.db, 'decided'))?.state,
      'RELEASING',
      'whoever decided may be at it',
    )
    await finishDecisions(deciding)
    await finishDecisions(deciding)
    assert.equal(await readFile(decided.target, 'utf8'), 'the content')
    assert.equal(await readFile(linked.target, 'utf8'), 'the content')
    await assert.rejects(
      stat(taken.target),
      { code: 'ENOENT' },
      'it was delivered before, and is not delivered again',
    )
    assert.equal(await readFile(clash.target, 'utf8'), 'another file')
    for (const [id, state] of [
      ['decided', 'RELEASED'],
      ['linked', 'RELEASED'],
      ['taken', 'RELEASED'],
      ['clash', 'WAITING'],
    ] as const)
      assert.equal((await findQuarantined(node.store.db, id))?.state, state, id)
    assert.deepEqual(
      (await told(node)).filter((one) => one.startsWith('file.received')),
      ['file.received decided.txt', 'file.received linked.txt', 'file.received taken.txt'],
    )
    assert.deepEqual(await readdir(join(node.dataDir, 'quarantine')), ['clash'])
  },
)
