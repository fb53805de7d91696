// Files that change, vanish or are replaced under the engine's hands, and names that are hard to carry.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFile,
  mkdir,
  readdir,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { waitFor } from '../support/harness.ts'
import { Line } from './line.ts'
import type { LineOptions } from './line.ts'
import { CODE, channelOf, runningRig, startRig, withDirectories } from './rig.ts'
import type { Rig } from './rig.ts'

async function lineRig(t: TestContext, options: LineOptions, change: (rig: Rig) => Channel = () => ({})) {
  const line = new Line(options)
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'sftp' })
  await rig.putChannel(CODE, channelOf(rig, { connection: { ips: ['127.0.0.1'] }, ...change(rig) }))
  return rig.run()
}

/** Does something to the file between its pick-up and its sending; the transfer must end in that error. */
async function disturbed(
  t: TestContext,
  disturb: (path: string) => Promise<unknown>,
  code: string,
): Promise<void> {
  let path = ''
  const rig = await lineRig(t, {
    onPush: async (push, file) => {
      // In the middle: the first octets have been read already.
      await file.source.read(Buffer.alloc(10), 0)
      await disturb(path)
      return push()
    },
  })
  path = await rig.put('a.bin', Buffer.alloc(3_000_000, 'x'))
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'FAILED')
  assert.equal(await rig.errorCode(done.id), code, done.error ?? '')
  assert.ok(done.error?.includes(path), done.error ?? '')
  assert.deepEqual(await readdir(rig.place.inbox), [], 'something of it is at the partner’s')
}

test('a file that grows while it is read fails the transfer before the partner sees it', (t) =>
  disturbed(t, (path) => appendFile(path, 'more'), 'file_changed'))

test('a file that is written over while it is read fails likewise, though its size is the same', (t) =>
  disturbed(t, (path) => writeFile(path, Buffer.alloc(3_000_000, 'y')), 'file_changed'))

test('a file that becomes shorter fails likewise', (t) =>
  disturbed(t, (path) => writeFile(path, ''), 'file_changed'))

test('a file that vanishes while it is read fails likewise', (t) =>
  disturbed(t, (path) => rm(path), 'file_missing'))

test('a file that is replaced by another of the same size and time fails likewise', (t) =>
  disturbed(
    t,
    async (path) => {
      await writeFile(`${path}.new`, Buffer.alloc(3_000_000, 'z'))
      await utimes(`${path}.new`, 1_700_000_000, 1_700_000_000)
      await rename(`${path}.new`, path)
    },
    'file_changed',
  ))

test('a file that vanished or became a link or a pipe before its turn fails with a clear error', async (t) => {
  for (const [disturb, code] of [
    [(path: string) => rm(path), 'file_missing'],
    [(path: string) => rm(path).then(() => symlink('/etc/passwd', path)), 'no_rights'],
    [(path: string) => rm(path).then(() => symlink(`${path}.b`, path)), 'no_rights'],
    [(path: string) => rm(path).then(() => execFileSync('mkfifo', [path])), 'file_refused'],
    [(path: string) => rm(path).then(() => mkdir(path)), 'file_refused'],
  ] as const) {
    const rig = await startRig(t)
    await rig.putChannel(CODE, channelOf(rig))
    const path = await rig.put('a.txt', 'a')
    const { id } = await rig.send()
    await disturb(path)
    const done = await rig.run().ended(id)
    assert.equal(done.state, 'FAILED')
    assert.equal(await rig.errorCode(id), code, done.error ?? '')
    assert.deepEqual(await rig.inbox(), [])
  }
})

test('a file that is written anew before its turn is neither sent nor handed to the script', async (t) => {
  const rig = await startRig(t)
  const preEmisionFile = await rig.script('pre', `touch ${rig.place.root}/ran`)
  await rig.putChannel(CODE, channelOf(rig, { integrations: { preEmisionFile } }))
  const path = await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await writeFile(path, 'half of')
  assert.equal((await rig.run().ended(id)).state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'file_changed')
  assert.deepEqual([await rig.inbox(), (await readdir(rig.place.root)).includes('ran')], [[], false])
})

test('a link inside the roots that took the file’s place is not followed', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  const path = await rig.put('a.txt', 'a')
  const other = await rig.put('other.txt', 'o', join(rig.place.files, 'in'))
  const { id } = await rig.send()
  await rm(path)
  await symlink(other, path)
  assert.equal((await rig.run().ended(id)).state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'file_changed')
})

test('a change while the wire form is made fails it, and what was staged is gone', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, withDirectories(rig, { compression: true }))
  const path = await rig.put('a.txt', 'a')
  const { staging } = rig.context
  const outgoing = staging.outgoing.bind(staging)
  Object.assign(staging, {
    outgoing: async (...about: Parameters<typeof outgoing>) => {
      await appendFile(path, 'more')
      return outgoing(...about)
    },
  })
  const done = await rig.run().sendAndEnd()
  assert.equal(await rig.errorCode(done.id), 'file_changed', done.error ?? '')
  assert.ok(done.error?.includes(path))
  assert.deepEqual(await rig.inbox(), [])
})

test('a wire form that is cut short fails the transfer without a path of the data folder', async (t) => {
  let outgoing = ''
  const rig = await lineRig(
    t,
    {
      onPush: async (push, file) => {
        await file.source.read(Buffer.alloc(10), 0)
        for (const name of await readdir(outgoing, { recursive: true }))
          if (name.includes('/')) await truncate(join(outgoing, name))
        return push()
      },
    },
    (rig) => withDirectories(rig, { compression: true }),
  )
  outgoing = join(rig.place.dataDir, 'outgoing')
  await rig.put('a.bin', randomBytes(3_000_000))
  const done = await rig.sendAndEnd()
  assert.equal(done.error, 'the prepared form of a.bin changed while it was sent')
})

test('a file replaced after it was sent is neither deleted nor moved', async (t) => {
  for (const postEmisionAction of ['EMISION_DELETE', 'EMISION_MOVE'] as const) {
    let path = ''
    const rig = await lineRig(
      t,
      {
        onPush: async (push) => {
          const result = await push()
          await writeFile(path, 'a new one under the same name')
          return result
        },
      },
      (rig) => ({ integrations: { postEmisionAction, postEmisionDirectory: join(rig.place.files, 'done') } }),
    )
    path = await rig.put('a.txt', 'a')
    const done = await rig.sendAndEnd()
    assert.equal((await rig.read('out', 'a.txt')).toString(), 'a new one under the same name')
    assert.deepEqual(await rig.list('done'), [])
    assert.equal((await rig.delivered('a.txt')).toString(), 'a')
    assert.equal(done.state, postEmisionAction === 'EMISION_DELETE' ? 'COMPLETED' : 'FAILED')
    if (done.state === 'FAILED') assert.equal(await rig.errorCode(done.id), 'file_changed')
  }
})

const NAMES = [
  'with  two spaces.txt',
  `quote' and "double".txt`,
  'line\nbreak.txt',
  'nómina €uro 日本.txt',
  '$(touch x);`y`|&.txt',
  '-rf',
  `${'n'.repeat(251)}.txt`,
  `a.${'e'.repeat(253)}`,
  'é'.repeat(127),
]
/** What may come in, too: a name that passes for an option, or has a break in it, is refused. */
const TAKEN = NAMES.filter((name) => !name.startsWith('-') && !name.includes('\n'))

test('odd names go out and come in, with stamps, moves and scripts', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(
    CODE,
    channelOf(rig, {
      connection: { advancedConfigurationTransmission: { stampLength: 17 } },
      integrations: {
        postEmisionAction: 'EMISION_MOVE',
        postEmisionDirectory: join(rig.place.files, 'done'),
        preEmisionFile: await rig.script('see', 'test -f "$1" && test "$1" = "$ESCLUSA_FILE"'),
        preReceptionFile: await rig.script('know', 'test -n "$ESCLUSA_FILE_NAME"'),
      },
    }),
  )
  for (const name of NAMES) {
    await rig.put(name, name)
    if (TAKEN.includes(name)) await rig.offer(name, name)
  }
  rig.run()
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  assert.deepEqual(await rig.inbox(), NAMES.toSorted())
  assert.deepEqual(await rig.list('done'), NAMES.toSorted())
  assert.equal(await rig.fetch(), undefined)
  await waitFor('all came in', async () => (await rig.list('in')).length === TAKEN.length)
  for (const name of await rig.list('in')) assert.ok(Buffer.byteLength(name) <= 255, name)
  const contents = await Promise.all((await rig.list('in')).map((name) => rig.read('in', name)))
  assert.deepEqual(contents.map(String).sort(), TAKEN.toSorted())
})

test('two files of one name for the same inbox: one arrives, the other ends in a clear error and stays', async (t) => {
  const rig = await runningRig(t, (rig) => ({
    directories: [
      { direction: 'EMISION', filePath: join(rig.place.files, 'out') },
      { direction: 'EMISION', filePath: join(rig.place.files, 'more') },
    ],
    integrations: { postEmisionAction: 'EMISION_DELETE' },
  }))
  await rig.put('same.txt', 'one')
  await rig.put('same.txt', 'two', join(rig.place.files, 'more'))
  const done = await rig.sendAndEnd()
  assert.equal(await rig.errorCode(done.id), 'name_taken')
  const left = [...(await rig.list('out')), ...(await rig.list('more'))]
  assert.deepEqual(left, ['same.txt'])
  assert.deepEqual(await rig.inbox(), ['same.txt'])
})
