// What the fields of `integrations` do.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { NodeError } from '../../src/errors.ts'
import { requestResend } from '../../src/transfers/resend.ts'
import { exists } from '../../src/files/place.ts'
import { waitFor } from '../support/harness.ts'
import { field } from './field.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig } from './rig.ts'

const TRAILER = 'echo more >> "$1"'

type Integrations = NonNullable<Channel['integrations']>

async function rigWith(
  t: TestContext,
  make: (rig: Rig) => Integrations | Promise<Integrations>,
  more: Channel = {},
): Promise<Rig> {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig, { ...more, integrations: await make(rig) }))
  await rig.put('a.txt', 'a file')
  return rig.run()
}

/** A script that notes its arguments and variables, and what the folders looked like when it ran. */
function notes(rig: Rig, name: string, exit = 0): Promise<string> {
  const note = join(rig.place.root, `${name}.note`)
  return rig.script(
    name,
    `{ echo "$@"; echo "$ESCLUSA_STEP $ESCLUSA_FILE_NAME"; ls ${rig.place.inbox} ${rig.place.files}/in; } > ${note}\necho "said by ${name}"\nexit ${exit}`,
  )
}

const noteOf = (rig: Rig, name: string) => readFile(join(rig.place.root, `${name}.note`), 'utf8')

field('integrations.preEmisionFile', 'runs before a file leaves, with the file as argument', async (t) => {
  const rig = await rigWith(t, async (rig) => ({ preEmisionFile: await notes(rig, 'pre') }))
  const { id, state } = await rig.sendAndEnd()
  assert.equal(state, 'COMPLETED')
  const note = await noteOf(rig, 'pre')
  assert.match(
    note,
    new RegExp(`^${join(rig.place.files, 'out', 'a.txt')} ${id} ${CODE}\npreEmision a.txt\n`),
  )
  assert.equal(note.split('a.txt').length, 3, 'the file had left already')
  assert.match(await rig.output(id), /\[preEmision\] said by pre/)
})

field('integrations.preEmisionFile', 'what it makes of the file is what leaves', async (t) => {
  const rig = await rigWith(t, async (rig) => ({
    preEmisionFile: await rig.script('pre', 'echo more >> "$1"'),
    postEmisionAction: 'EMISION_DELETE',
  }))
  const { state, error, files } = await rig.sendAndEnd()
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.equal((await rig.delivered('a.txt')).toString(), 'a filemore\n')
  assert.equal(files[0]?.size, 11)
  assert.equal(files[0].hash, createHash('sha256').update('a filemore\n').digest('hex'))
  assert.deepEqual(await rig.list('out'), [], 'it is the file that was sent, so it is deleted')
})

field('integrations.preEmisionFile', 'a non-zero exit fails the transfer and nothing leaves', async (t) => {
  const rig = await rigWith(t, async (rig) => ({ preEmisionFile: await notes(rig, 'pre', 3) }))
  const { id, state, error } = await rig.sendAndEnd()
  assert.equal(state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'script_failed')
  assert.match(error ?? '', /exited with 3: said by pre/)
  assert.match(await rig.output(id), /said by pre/)
  assert.deepEqual(await rig.inbox(), [])
})

field('integrations.preEmisionFile', 'runs once for a file, however often that is tried', async (t) => {
  const compressed = { connection: { advancedConfigurationTransmission: { compression: 'LZW' as const } } }
  for (const [form, name] of [
    [{}, 'a.txt'],
    [compressed, 'a.txt.gz'],
  ] as const)
    for (const how of ['send', 'retry'] as const) {
      const rig = await rigWith(
        t,
        async (rig) => ({ preEmisionFile: await rig.script('pre', TRAILER) }),
        form,
      )
      const taken = await rig.put(name, 'of somebody else', rig.place.inbox)
      assert.equal((await rig.sendAndEnd()).state, 'FAILED')
      for (let time = 0; time < 2; time++)
        assert.equal((await rig.ended((await rig[how]()).id)).state, 'FAILED')
      await rm(taken)
      const { state, error } = await rig.ended((await rig[how]()).id)
      assert.equal(state, 'COMPLETED', error ?? '')
      const delivered = await rig.delivered(name)
      const text = name === 'a.txt' ? delivered : gunzipSync(delivered)
      assert.equal(text.toString(), 'a filemore\n', `${name}, ${how}`)
    }
})

field('integrations.preEmisionFile', 'is not run on what it has made, when that is sent again', async (t) => {
  const rig = await rigWith(t, async (rig) => ({ preEmisionFile: await rig.script('pre', TRAILER) }))
  const { id, state } = await rig.sendAndEnd()
  assert.equal(state, 'COMPLETED')
  await rm(join(rig.place.inbox, 'a.txt'))
  const { store, context } = rig
  const asking = { store, fileRoots: context.roots.fileRoots, requestedBy: null, now: context.now }
  await requestResend(asking, await rig.channel(), await rig.transfer(id), 'lost there')
  rig.wake()
  await waitFor('the file', async () => (await rig.inbox()).length === 1)
  assert.equal((await rig.delivered('a.txt')).toString(), 'a filemore\n')
})

field('integrations.preEmisionFile', 'a file that it refuses holds up no other', async (t) => {
  const rig = await rigWith(t, async (rig) => ({
    preEmisionFile: await rig.script('pre', 'case "$1" in */b.txt) exit 3;; esac'),
  }))
  for (const name of ['b.txt', 'c.txt']) await rig.put(name, name)
  const { state, error } = await rig.sendAndEnd()
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /^b\.txt: script .* exited with 3$/)
  assert.deepEqual(await rig.inbox(), ['a.txt', 'c.txt'])
})

field(
  'integrations.preReceptionFile',
  'runs before a received file is put in place, and may refuse it',
  async (t) => {
    for (const exit of [0, 1]) {
      const rig = await rigWith(t, async (rig) => ({ preReceptionFile: await notes(rig, 'pre', exit) }))
      await rig.offer('b.txt', 'b')
      await rig.fetch()
      const { id, state } = await rig.lastReception()
      assert.match(await noteOf(rig, 'pre'), /preReception b\.txt/)
      assert.doesNotMatch(await noteOf(rig, 'pre'), /^b\.txt$/m, 'it was in place already')
      assert.equal(state, exit === 0 ? 'COMPLETED' : 'FAILED')
      assert.deepEqual(await rig.list('in'), exit === 0 ? ['b.txt'] : [])
      assert.deepEqual(await readdir(rig.place.outbox), exit === 0 ? [] : ['b.txt'])
      assert.match(await rig.output(id), /said by pre/)
    }
  },
)

field('integrations.preReceptionFile', 'what it makes of the file is what is recorded', async (t) => {
  const rig = await rigWith(t, async (rig) => ({
    preReceptionFile: await rig.script('pre', 'echo more >> "$1"'),
  }))
  await rig.offer('b.txt', 'b')
  await rig.fetch()
  const { state, files } = await rig.lastReception()
  assert.equal(state, 'COMPLETED')
  assert.equal(await readFile(join(rig.place.files, 'in', 'b.txt'), 'utf8'), 'bmore\n')
  assert.equal(files[0]?.size, 6)
  assert.equal(files[0].hash, createHash('sha256').update('bmore\n').digest('hex'))
})

for (const [left, script] of [
  ['nothing', 'rm "$1"'],
  ['a link', 'rm "$1" && ln -s /etc/hostname "$1"'],
  ['a pipe', 'rm "$1" && mkfifo "$1"'],
] as const)
  field('integrations.preReceptionFile', `if it leaves ${left}, the file is refused`, async (t) => {
    const rig = await rigWith(t, async (rig) => ({ preReceptionFile: await rig.script('pre', script) }))
    await rig.offer('b.txt', 'b')
    await rig.fetch()
    const { id, error } = await rig.lastReception()
    assert.equal(await rig.errorCode(id), 'script_failed')
    assert.match(error ?? '', /^b\.txt: script .*pre has removed the file, or left no regular file$/)
    assert.deepEqual([await rig.list('in'), await readdir(rig.place.outbox)], [[], ['b.txt']])
  })

field('integrations.postEmisionAction', 'EMISION_DELETE and EMISION_NO', async (t) => {
  for (const [postEmisionAction, left] of [
    ['EMISION_DELETE', []],
    ['EMISION_NO', ['a.txt']],
  ] as const) {
    const rig = await rigWith(t, () => ({ postEmisionAction }))
    const { files } = await rig.sendAndEnd()
    assert.deepEqual(await rig.list('out'), left)
    assert.equal(files[0]?.actionPost, postEmisionAction)
  }
})

field('integrations.postEmisionAction', 'never before the file is known to have arrived', async (t) => {
  for (const postEmisionAction of ['EMISION_DELETE', 'EMISION_MOVE', 'EMISION_EXECUTE'] as const) {
    const line = new Line({
      onPush: async (push) => {
        await push()
        throw new NodeError('remote_refused', 'the answer was no')
      },
    })
    const rig = await startRig(t, { transports: [line] })
    line.leadTo(rig)
    await rig.putContact({ id: 'acme', protocol: 'sftp' })
    const integrations = {
      postEmisionAction,
      postEmisionDirectory: join(rig.place.files, 'done'),
      postEmisionFile: await notes(rig, 'post'),
    }
    await rig.putChannel(CODE, channelOf(rig, { integrations, connection: { ips: ['127.0.0.1'] } }))
    await rig.put('a.txt', 'a file')
    assert.equal((await rig.run().sendAndEnd()).state, 'FAILED')
    assert.deepEqual(await rig.list('out'), ['a.txt'])
    assert.deepEqual(await rig.list('done'), [])
    assert.equal(await exists(join(rig.place.root, 'post.note')), false)
  }
})

field('integrations.postEmisionDirectory', 'where EMISION_MOVE puts the file', async (t) => {
  const rig = await rigWith(t, (rig) => ({
    postEmisionAction: 'EMISION_MOVE',
    postEmisionDirectory: join(rig.place.files, 'done'),
  }))
  const { files } = await rig.sendAndEnd()
  assert.deepEqual([await rig.list('out'), await rig.list('done')], [[], ['a.txt']])
  assert.equal(files[0]?.pathPost, join(rig.place.files, 'done', 'a.txt'))
})

for (const folder of ['out', 'same'])
  field(
    'integrations.postEmisionDirectory',
    `the directory where the file lies (${folder}): it stays, and is not lost`,
    async (t) => {
      const rig = await rigWith(t, async (rig) => {
        await symlink(join(rig.place.files, 'out'), join(rig.place.files, 'same'))
        return {
          postEmisionAction: 'EMISION_MOVE',
          postEmisionDirectory: join(rig.place.files, folder),
        }
      })
      const { state, files, error } = await rig.sendAndEnd()
      assert.equal(state, 'COMPLETED', error ?? '')
      assert.deepEqual(await rig.list('out'), ['a.txt'])
      assert.equal(files[0]?.pathPost, join(rig.place.files, 'out', 'a.txt'))
    },
  )

field('integrations.postReceptionDirectory', 'the inbound directory itself: the file stays', async (t) => {
  const rig = await rigWith(t, (rig) => ({
    postReceptionAction: 'RECEPTION_MOVE',
    postReceptionDirectory: join(rig.place.files, 'in'),
  }))
  await rig.offer('b.txt', 'b')
  assert.equal(await rig.fetch(), undefined)
  assert.equal((await rig.lastReception()).state, 'COMPLETED')
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

field('integrations.postEmisionFile', 'what EMISION_EXECUTE runs, after the arrival', async (t) => {
  const rig = await rigWith(t, async (rig) => ({
    postEmisionAction: 'EMISION_EXECUTE',
    postEmisionFile: await notes(rig, 'post'),
  }))
  const { id, state } = await rig.sendAndEnd()
  assert.equal(state, 'COMPLETED')
  assert.match(await noteOf(rig, 'post'), /postEmision a\.txt\n(.*\n)*a\.txt$/m)
  assert.match(await rig.output(id), /\[postEmision\] said by post/)
})

field(
  'integrations.postEmisionRename',
  'a taken name gets a stamp, or the transfer fails and nothing is overwritten',
  async (t) => {
    for (const postEmisionRename of [true, false]) {
      const rig = await rigWith(t, (rig) => ({
        postEmisionAction: 'EMISION_MOVE',
        postEmisionDirectory: join(rig.place.files, 'done'),
        postEmisionRename,
      }))
      await rig.put('a.txt', 'an older one', join(rig.place.files, 'done'))
      const { id, state } = await rig.sendAndEnd()
      const done = await rig.list('done')
      assert.equal((await rig.read('done', 'a.txt')).toString(), 'an older one')
      if (postEmisionRename) {
        assert.equal(state, 'COMPLETED')
        assert.equal(done.length, 2)
        assert.match(done.find((name) => name !== 'a.txt') ?? '', /^a\.\d{17}\.txt$/)
      } else {
        assert.equal(state, 'FAILED')
        assert.equal(await rig.errorCode(id), 'name_taken')
        assert.deepEqual(await rig.list('out'), ['a.txt'])
      }
    }
  },
)

field('integrations.postReceptionAction', 'RECEPTION_NO leaves the file where it was put', async (t) => {
  const rig = await rigWith(t, () => ({ postReceptionAction: 'RECEPTION_NO' }))
  await rig.offer('b.txt', 'b')
  await rig.fetch()
  const { files } = await rig.lastReception()
  assert.equal(files[0]?.actionPost, 'RECEPTION_NO')
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

field('integrations.postReceptionDirectory', 'where RECEPTION_MOVE puts the file', async (t) => {
  const rig = await rigWith(t, (rig) => ({
    postReceptionAction: 'RECEPTION_MOVE',
    postReceptionDirectory: join(rig.place.files, 'sorted'),
  }))
  await rig.offer('b.txt', 'b')
  await rig.fetch()
  const { files, state } = await rig.lastReception()
  assert.equal(state, 'COMPLETED')
  assert.deepEqual([await rig.list('in'), await rig.list('sorted')], [[], ['b.txt']])
  assert.equal(files[0]?.pathPost, join(rig.place.files, 'sorted', 'b.txt'))
})

field(
  'integrations.postReceptionFile',
  'what RECEPTION_EXECUTE runs, once the file is in place',
  async (t) => {
    const rig = await rigWith(t, async (rig) => ({
      postReceptionAction: 'RECEPTION_EXECUTE',
      postReceptionFile: await notes(rig, 'post'),
    }))
    await rig.offer('b.txt', 'b')
    await rig.fetch()
    const { id, state } = await rig.lastReception()
    assert.equal(state, 'COMPLETED')
    assert.match(await noteOf(rig, 'post'), new RegExp(`^${join(rig.place.files, 'in', 'b.txt')} ${id} `))
    assert.match(await noteOf(rig, 'post'), /^b\.txt$/m)
  },
)

field(
  'integrations.postReceptionRename',
  'a taken name gets a stamp, or the file is refused; in the inbound folder and where it is moved',
  async (t) => {
    for (const postReceptionRename of [true, false]) {
      const rig = await rigWith(t, () => ({ postReceptionRename }))
      await rig.put('b.txt', 'an older one', join(rig.place.files, 'in'))
      await rig.offer('b.txt', 'b')
      await rig.fetch()
      const { id, state } = await rig.lastReception()
      assert.equal((await rig.read('in', 'b.txt')).toString(), 'an older one')
      assert.equal(state, postReceptionRename ? 'COMPLETED' : 'FAILED')
      assert.equal(await rig.errorCode(id), postReceptionRename ? null : 'name_taken')
      assert.equal((await rig.list('in')).length, postReceptionRename ? 2 : 1)
      assert.deepEqual(await readdir(rig.place.outbox), postReceptionRename ? [] : ['b.txt'])
    }
  },
)

field('integrations.exceptionFile', 'runs once when a transfer fails for good, and only then', async (t) => {
  const rig = await rigWith(t, async (rig) => ({
    exceptionFile: await rig.script(
      'exception',
      `echo "$ESCLUSA_STEP: $ESCLUSA_ERROR" >> ${rig.place.root}/exception.note`,
    ),
    preEmisionFile: await rig.script('pre', `test ! -e ${rig.place.root}/broken`),
  }))
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  assert.equal(await exists(join(rig.place.root, 'exception.note')), false)
  await rig.put('broken', '', rig.place.root)
  await rig.put('c.txt', 'c')
  assert.equal((await rig.sendAndEnd()).state, 'FAILED')
  const note = join(rig.place.root, 'exception.note')
  // The shell makes the file before it writes the line.
  const text = await waitFor('the exception script', () => readFile(note, 'utf8').catch(() => ''))
  assert.match(text, /^exception: c\.txt: script .* exited with 1\n$/)
})
