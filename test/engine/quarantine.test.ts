// Files that do not pass their checks: what the engine keeps of them, and that a node killed at any step of a release
// has released the file once.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { BY_ITSELF, makeAuditTrail } from '../../src/audit/trail.ts'
import type { TransferRecord } from '../../src/domain/transfer.ts'
import { quarantine } from '../../src/engine/receiving/quarantine.ts'
import { localPath } from '../../src/engine/staging/staging.ts'
import { signBuffer } from '../../src/engine/transforms/cms/messages.ts'
import { NodeError } from '../../src/errors.ts'
import { claimQuarantinePath, isClaim, openedBeside } from '../../src/files/quarantine.ts'
import { adoptStrays, finishDecisions } from '../../src/quarantine/adopt.ts'
import { releaseFile } from '../../src/quarantine/decide-file.ts'
import type { Deciding } from '../../src/quarantine/decide-file.ts'
import { findQuarantined, listQuarantined } from '../../src/store/quarantine.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import type { TestKey } from '../support/cms-keys.ts'
import { startTestHttp } from '../support/harness.ts'
import { putIntoQuarantine } from '../support/quarantine.ts'
import { FULL } from '../support/seed.ts'
import { channelOf, CODE, startRig } from './rig.ts'

const ours = await makeTestKey('ours')
const theirs = await makeTestKey('theirs')

function signedBy(key: TestKey): Promise<Buffer> {
  const privateKeyPem = `${key.privateKeyPem}\n${key.certificatePem}`
  return signBuffer(Buffer.from('content'), { privateKeyPem, digest: 'sha256', includeCertificate: false })
}

test('an unsigned or wrongly signed file is kept as it came and opened, with its reason, and told once', async (t) => {
  const rig = await startRig(t)
  const security = { rsaLocalKey: ours.privateKeyPem, rsaRemoteKey: theirs.certificatePem }
  await rig.putChannel(CODE, channelOf(rig, { svcff: true, receptionff: true, security }))
  rig.run()
  const came = { 'unsigned.txt': Buffer.from('content'), 'stranger.txt': await signedBy(ours) }
  for (const [name, bytes] of Object.entries(came)) {
    const path = await rig.offer(name, bytes)
    assert.equal(((await rig.fetch()) as { code?: string }).code, 'bad_signature')
    const { id } = await rig.lastReception()
    const [file] = await listQuarantined(rig.store.db, {})
    assert.deepEqual(
      [file?.transferId, file?.channelCode, file?.name, file?.code, file?.state],
      [id, CODE, name, 'bad_signature', 'WAITING'],
    )
    assert.match(file?.reason ?? '', /sign/)
    assert.deepEqual(await readFile(file?.path ?? ''), bytes)
    assert.equal(await readFile(file?.opened?.path ?? '', 'utf8'), 'content')
    await rm(path)
  }
  // A node of the version before keeps no rows, and one may be killed between file and row.
  await rig.store.db.deleteFrom('quarantined_file').execute()
  const deciding = { store: rig.store, now: Date.now } as unknown as Deciding
  await adoptStrays(deciding, rig.place.dataDir)
  await adoptStrays(deciding, rig.place.dataDir)
  const adopted = await listQuarantined(rig.store.db, {})
  assert.deepEqual(
    adopted.map(({ name, channelCode, opened }) => `${name} ${channelCode} ${opened?.size}`).sort(),
    [`stranger.txt ${CODE} 7`, `unsigned.txt ${CODE} 7`],
  )
  const events = await rig.store.db
    .selectFrom('event_outbox')
    .select('type')
    .where('type', '=', 'file.quarantined')
    .execute()
  assert.equal(events.length, 4, 'each once when it came, and once when its row was lost')
})

test('bad files of one name that come at once are all kept, each with what was taken out of it', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  const came = ['one', 'two', 'three']
  await mkdir(join(rig.place.dataDir, 'partial'))
  const paths = came.map((bytes) => join(rig.place.dataDir, 'partial', `${bytes}.part`))
  for (const [nth, path] of paths.entries()) {
    await writeFile(path, came[nth] ?? '')
    await writeFile(localPath(path), `in ${came[nth]}`)
  }
  const transfer = { id: 'T1', channelCode: CODE } as TransferRecord
  const reason = new NodeError('bad_signature', 'it is not signed')
  await Promise.all(paths.map((path) => quarantine(rig.context, transfer, 'x.xml', path, reason)))
  const kept = await listQuarantined(rig.store.db, {})
  const forms = kept.map(
    async ({ path, opened }) =>
      `${await readFile(path, 'utf8')}: ${await readFile(opened?.path ?? '', 'utf8')}`,
  )
  assert.deepEqual((await Promise.all(forms)).sort(), ['one: in one', 'three: in three', 'two: in two'])
  assert.deepEqual(await readdir(join(rig.place.dataDir, 'partial')), [])
})

test('a file whose node was killed before it had its name in the quarantine is found by upkeep', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  const folder = join(rig.place.dataDir, 'quarantine', 'T1')
  await mkdir(folder, { recursive: true })
  const came = join(rig.place.dataDir, 'came.part')
  await writeFile(came, 'bad octets')
  const { path } = await claimQuarantinePath(came, join(folder, 'x.xml'))
  await writeFile(openedBeside(path), 'octets')
  const kept = join(rig.place.dataDir, 'kept.part')
  await writeFile(kept, 'others')
  await claimQuarantinePath(kept, join(folder, 'y.xml'))
  // The reception it belonged to has failed and is cleared; the other one goes on.
  await rm(came)
  const at = (ms: number) => ({ store: rig.store, now: () => Date.now() + ms }) as unknown as Deciding
  await adoptStrays(at(0), rig.place.dataDir)
  assert.deepEqual(await listQuarantined(rig.store.db, {}), [], 'somebody may be at it')
  await adoptStrays(at(120_000), rig.place.dataDir)
  const found = await listQuarantined(rig.store.db, {})
  assert.equal(found.length, 1)
  assert.match(found[0]?.name ?? '', /^unfinished-/)
  assert.equal(await readFile(found[0]?.path ?? '', 'utf8'), 'bad octets')
  assert.equal(await readFile(found[0]?.opened?.path ?? '', 'utf8'), 'octets')
  assert.equal((await readdir(folder)).length, 2, 'no claim is left')
})

test('a step on the way into the quarantine that fails leaves no claim', async (t) => {
  const rig = await startRig(t)
  const transfer = { id: 'T1', channelCode: CODE } as TransferRecord
  const path = join(rig.place.dataDir, 'came.part')
  await writeFile(path, 'bad octets')
  await writeFile(localPath(path), 'octets')
  const folder = join(rig.place.dataDir, 'quarantine', 'T1')
  // What was taken out of the file cannot get its place.
  await mkdir(openedBeside(join(folder, 'x.xml')), { recursive: true })
  await assert.rejects(quarantine(rig.context, transfer, 'x.xml', path, new Error('bad')))
  assert.deepEqual((await readdir(folder)).filter(isClaim), [])
  assert.equal(await readFile(path, 'utf8'), 'bad octets')
})

test('a gzip file that did not pass its checks is released under the name of what is in it', async (t) => {
  const rig = await startRig(t)
  const security = { rsaLocalKey: ours.privateKeyPem, rsaRemoteKey: theirs.certificatePem }
  const inbound = join(rig.place.files, 'in')
  await rig.putChannel(CODE, {
    direction: 'RECEPCION',
    directories: [{ direction: 'RECEPCION', filePath: inbound, fileGroupsName: '*.txt' }],
    svcff: true,
    receptionff: true,
    security,
    connection: { advancedConfigurationTransmission: { compression: 'VARIABLE' } },
  })
  rig.run()
  await rig.offer('pay.txt.gz', gzipSync(await signedBy(ours)))
  assert.equal(((await rig.fetch()) as { code?: string }).code, 'bad_signature')
  const [file] = await listQuarantined(rig.store.db, {})
  assert.ok(file)
  assert.equal(file.name, 'pay.txt.gz', 'as it came')
  assert.equal(await readFile(file.opened?.path ?? '', 'utf8'), 'content')
  const { store, context } = rig
  const audit = makeAuditTrail('a master key for tests, 32 bytes long', 'test', Date.now)
  const deciding: Deciding = { store, audit, roots: context.roots, zone: context.zone, now: Date.now }
  await releaseFile(deciding, BY_ITSELF, file)
  assert.deepEqual(await readdir(inbound), ['pay.txt'])
  assert.equal(await readFile(join(inbound, 'pay.txt'), 'utf8'), 'content')
})

const CHILD = fileURLToPath(new URL('release-child.ts', import.meta.url))

for (const what of ['release', 'discard'])
  for (const killAt of ['before 1', 'after 1', 'before 2', 'after 2'])
    test(`a node killed ${killAt} of the writes of a ${what} has done it once, or not at all`, async (t) => {
      const node = await startTestHttp(t)
      const inbound = join(node.files, 'in')
      await putIntoQuarantine(node, 'q1', { channelCode: FULL })
      const child = spawn(process.execPath, [CHILD, node.dataDir, node.files, 'q1', what, killAt], {
        stdio: 'inherit',
      })
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
      assert.equal(signal, 'SIGKILL')
      const later = { ...node.context, now: () => Date.now() + 3_600_000 }
      await finishDecisions(later)
      const { state } = (await findQuarantined(node.store.db, 'q1')) ?? {}
      const done = what === 'release' ? 'RELEASED' : 'DISCARDED'
      assert.equal(state, killAt === 'before 1' ? 'WAITING' : done)
      // Received under a stamped name, as the channel asks.
      const placed = await readdir(inbound)
      assert.equal(placed.length, state === 'RELEASED' ? 1 : 0)
      for (const name of placed) {
        assert.match(name, /^pay\.\d{14}\.txt$/)
        assert.equal(await readFile(join(inbound, name), 'utf8'), 'the content')
      }
      const left = await readdir(join(node.dataDir, 'quarantine'))
      assert.deepEqual(left, state === 'WAITING' ? ['q1'] : [])
      const audit = await node.store.db
        .selectFrom('audit')
        .select('action')
        .where('action', 'like', 'QUARANTINE%')
        .execute()
      assert.equal(audit.length, state === 'WAITING' ? 0 : 1)
      const told = await node.store.db
        .selectFrom('event_outbox')
        .select('type')
        .where('type', '=', 'file.received')
        .execute()
      assert.equal(told.length, state === 'RELEASED' ? 1 : 0)
    })
