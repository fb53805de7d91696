// Yesterday's backup is restored: nothing that partners have is sent again by itself, nothing that came in is lost, and
// what nobody can know waits for a person.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { mkdir, open, readdir, readFile, rename, truncate, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { restore } from '../../src/backup/restore.ts'
import { verifyBackup } from '../../src/backup/verify-backup.ts'
import { openStore } from '../../src/store/database/open.ts'
import { nameKey } from '../../src/store/transfers/file-names.ts'
import { esclusa, launch, NodeProcess } from '../crash/node-process.ts'
import { postgres, sqlite, testOnBoth, waitFor } from '../support/harness.ts'
import { LEDGER, ORDERS, PAYMENTS, SALARIES, setScene } from './scene.ts'
import type { Scene } from './scene.ts'

/** A day of work: some before the backup, more after it. */
async function work(scene: Scene): Promise<void> {
  await scene.put('files/out/one.txt', 'one')
  await scene.put('files/waiting/ledger.txt', 'ledger')
  await scene.put('acme/out/order-one.txt', 'order one')
  await scene.start()
  await send(scene)
  assert.equal((await scene.ask('sendTransfer', LEDGER)).status, 200)
  assert.equal((await scene.ask('sendTransfer', PAYMENTS)).status, 200)
  await scene.until(LEDGER, 'IN_PROGRESS')
  await scene.until(ORDERS, 'COMPLETED')
  await scene.run('backup', scene.at('backup.tar.gz'))
  await scene.put('files/out/two.txt', 'two')
  await send(scene)
  await scene.put('acme/out/order-two.txt', 'order two')
  await waitFor('the second order', async () => (await scene.list('files/in')).includes('order-two.txt'))
  await scene.until(ORDERS, 'COMPLETED')
  await scene.stop()
  assert.deepEqual(await scene.list('acme/in'), ['one.txt', 'two.txt'])
  await takeAway(scene)
}

async function send(scene: Scene): Promise<void> {
  assert.equal((await scene.ask('sendTransfer', SALARIES)).status, 200)
  await scene.until(SALARIES, 'COMPLETED')
}

/** The partner takes its files away: only what is sent again would be seen there. */
async function takeAway(scene: Scene): Promise<void> {
  for (const name of await scene.list('acme/in')) await rename(scene.at('acme/in', name), scene.at(name))
}

async function held(scene: Scene): Promise<string[]> {
  const files = JSON.parse(await scene.run('held', 'list', '--json')) as {
    channelCode: string
    name: string
  }[]
  return files.map(({ channelCode, name }) => `${channelCode} ${name}`)
}

testOnBoth(
  'a restored platform sends nothing twice and loses nothing, and says what it cannot know',
  async (t, database) => {
    const scene = await setScene(t, database)
    await work(scene)
    await withTheOldDatabase(scene)
    await takeAway(scene)
    await scene.lose('data')
    await withoutIt(scene)
  },
)

async function withTheOldDatabase(scene: Scene): Promise<void> {
  const file = scene.at('backup.tar.gz')
  await assert.rejects(scene.run('restore', file), /there is a platform already: --replace/)
  const said = await scene.run('restore', file, '--replace')
  assert.match(said, /what it took the place of lies in/)
  assert.match(said, /nothing is left to decide/)
  await scene.start()
  await scene.put('files/out/three.txt', 'three')
  await send(scene)
  assert.deepEqual(await scene.list('acme/in'), ['three.txt'], 'one and two were sent before')
  await scene.until(LEDGER, 'IN_PROGRESS')
  await scene.until(PAYMENTS, 'PENDING')
  assert.deepEqual(await scene.list('files/in'), ['order-one.txt', 'order-two.txt'])
  await assert.rejects(scene.run('restore', file, '--replace'), /nodes are at work on this database/)
  await scene.stop()
}

async function withoutIt(scene: Scene): Promise<void> {
  // As on a machine that takes over: its node was started when it was installed, and has begun a platform of its own.
  await (await NodeProcess.start(scene.settings)).stop()
  const said = await scene.run('restore', scene.at('backup.tar.gz'))
  assert.match(
    said,
    new RegExp(`to decide: transfer \\S+ of ${PAYMENTS}, 1 files: esclusa retry ${PAYMENTS}, or reset`),
  )
  // The ledger lies in one folder that two channels send from, and ready for the partner who calls.
  const lying = [
    `${SALARIES} three.txt`,
    `${SALARIES} two.txt`,
    `${LEDGER} ledger.txt`,
    `${LEDGER} ledger.txt`,
  ]
  assert.deepEqual(await held(scene), [...lying, `${PAYMENTS} ledger.txt`])
  assert.match(await scene.run('audit', 'verify'), /whole/)
  const made = await scene.run('audit', 'export', '--action', 'CHANNEL_CREATED')
  assert.match(made, new RegExp(SALARIES), 'the trail is that of the backup')
  await scene.start()
  assert.match((await scene.ask('sendTransfer', SALARIES)).message, /one\.txt was sent already/)
  await scene.until(PAYMENTS, 'FAILED')
  // The partner has the one, and does not have the other.
  await scene.run('held', 'drop', '--channel', SALARIES)
  assert.match((await scene.ask('sendTransfer', SALARIES)).message, /was sent already/)
  await scene.run('held', 'send', '--channel', LEDGER)
  assert.equal((await scene.ask('retryTransfer', PAYMENTS)).status, 200)
  assert.deepEqual(await held(scene), [])
  await scene.put('files/out/four.txt', 'four')
  await send(scene)
  assert.deepEqual(await scene.list('acme/in'), ['four.txt'])
  assert.deepEqual(await scene.list('files/in'), ['order-one.txt', 'order-two.txt'])
  await scene.stop()
}

testOnBoth(
  'a sealed backup opens with its key alone, and is restored into another folder',
  async (t, database) => {
    const scene = await setScene(t, database)
    await writeFile(scene.at('key'), 'a key for backups\n')
    await writeFile(scene.at('other-key'), 'another key for backups')
    const file = scene.at('sealed.backup')
    await scene.run('backup', file, '--key-file', scene.at('key'))
    const masterKey = readFileSync(scene.at('data/master-key'), 'utf8').trim()
    assert.equal((await readFile(file)).includes(masterKey), false)
    const verify = (key: string) => scene.run('backup', 'verify', file, '--key-file', scene.at(key))
    await assert.rejects(verify('other-key'), /ended with 2: .*is the passphrase right/)
    assert.match(await verify('key'), /is whole: made 20/)
    await assert.rejects(scene.run('backup', file), /exists already/)
    await scene.lose('data')
    const elsewhere = { ...scene.settings, ESCLUSA_DATA_DIR: scene.at('elsewhere') }
    await esclusa(elsewhere, 'restore', file, '--key-file', scene.at('key'))
    assert.equal(readFileSync(scene.at('elsewhere/master-key'), 'utf8').trim(), masterKey)
    assert.match(await esclusa(elsewhere, 'export', '--secrets'), /session-secret-of-ours/)
  },
)

test('a backup from before the master key was exchanged is restored where both keys are set', async (t) => {
  const scene = await setScene(t, sqlite)
  const file = scene.at('backup.tar.gz')
  await scene.run('backup', file)
  const elsewhere = {
    ...scene.settings,
    ESCLUSA_DATA_DIR: scene.at('elsewhere'),
    ESCLUSA_MASTER_KEY: 'the key that the platform has by now',
  }
  await assert.rejects(
    esclusa(elsewhere, 'restore', file),
    /nothing was changed: none of the \d+ secrets opens/,
  )
  const both = {
    ...elsewhere,
    ESCLUSA_MASTER_KEY_OLD: readFileSync(scene.at('data/master-key'), 'utf8').trim(),
  }
  await esclusa(both, 'restore', file)
  assert.match(await esclusa(both, 'export', '--secrets'), /session-secret-of-ours/)
})

test(
  'a platform moves from one kind of database to the other and back by its backup',
  { skip: postgres.skip ?? false },
  async (t) => {
    const scene = await setScene(t, sqlite)
    await scene.put('files/out/one.txt', 'one')
    await scene.start()
    await send(scene)
    await scene.stop()
    const exported = await scene.run('export', '--secrets')
    const found = await namesAndKeys(scene.settings)
    assert.deepEqual(found, [{ name: 'one.txt', name_key: nameKey('one.txt') }])
    await scene.run('backup', scene.at('backup.tar.gz'))
    const databaseUrl = (await postgres.createEmpty(t)) ?? ''
    const there = {
      ...scene.settings,
      ESCLUSA_DATA_DIR: scene.at('there'),
      ESCLUSA_DATABASE_URL: databaseUrl,
    }
    await esclusa(there, 'restore', scene.at('backup.tar.gz'))
    assert.equal(await esclusa(there, 'export', '--secrets'), exported)
    assert.deepEqual(await namesAndKeys(there), found)
    await esclusa(there, 'backup', scene.at('back-again.tar.gz'))
    const back = { ...scene.settings, ESCLUSA_DATA_DIR: scene.at('back') }
    await esclusa(back, 'restore', scene.at('back-again.tar.gz'))
    assert.equal(await esclusa(back, 'export', '--secrets'), exported)
    assert.deepEqual(await namesAndKeys(back), found)
  },
)

/** Of all files of transfers: what a search goes by is octets. */
async function namesAndKeys(settings: Record<string, string>) {
  const store = await openStore({
    dataDir: settings.ESCLUSA_DATA_DIR ?? '',
    databaseUrl: settings.ESCLUSA_DATABASE_URL,
  })
  try {
    return await store.db.selectFrom('transfer_file').select(['name', 'name_key']).execute()
  } finally {
    await store.close()
  }
}

test('after a restore that failed into an empty folder no empty platform is begun there', async (t) => {
  const scene = await setScene(t, sqlite)
  await scene.run('backup', scene.at('b.tar.gz'))
  const bytes = await readFile(scene.at('b.tar.gz'))
  await writeFile(scene.at('cut.tar.gz'), bytes.subarray(0, bytes.length / 2))
  const there = { ...scene.settings, ESCLUSA_DATA_DIR: scene.at('there') }
  await assert.rejects(esclusa(there, 'restore', scene.at('cut.tar.gz')))
  assert.deepEqual(await readdir(scene.at('there/restoring')), [], 'secrets that were unpacked')
  for (const command of [['serve'], ['user', 'list']])
    await assert.rejects(
      esclusa(there, ...command),
      /did not end, and nothing else is there: run esclusa restore/,
    )
  await esclusa(there, 'restore', scene.at('b.tar.gz'))
  assert.equal(await esclusa(there, 'export', '--secrets'), await scene.run('export', '--secrets'))
})

testOnBoth(
  'two restores of the same second take effect both, and what each of them sets aside stays',
  async (t, database) => {
    const scene = await setScene(t, database)
    await scene.run('backup', scene.at('b.tar.gz'))
    const place = { dataDir: scene.at('data'), databaseUrl: scene.settings.ESCLUSA_DATABASE_URL }
    const now = Date.now()
    for (const time of ['first', 'second']) {
      const marked = await openStore(place)
      await marked.db.insertInto('meta').values({ name: time, value: time }).execute()
      await marked.close()
      await restore(scene.at('b.tar.gz'), {
        ...place,
        fileRoots: [scene.at('files')],
        passphrase: undefined,
        replace: true,
        check: () => Promise.resolve(),
        warn: () => {},
        now,
      })
      const restored = await openStore(place)
      const rows = await restored.db.selectFrom('meta').select('name').where('name', '=', time).execute()
      await restored.close()
      assert.deepEqual(rows, [], `the ${time} restore`)
    }
    const aside = (await readdir(scene.at('data')))
      .filter((name) => name.startsWith('before-restore-'))
      .sort()
    assert.equal(aside.length, 2)
    assert.equal(aside[1], `${aside[0]}_2`)
    for (const name of aside) assert.ok((await readdir(scene.at('data', name))).includes('master-key'))
  },
)

testOnBoth(
  'a node that starts while a backup is being read stops the restore, and keeps its data',
  async (t, database) => {
    const scene = await setScene(t, database)
    await scene.run('backup', scene.at('b.tar.gz'))
    const bytes = await readFile(scene.at('b.tar.gz'))
    execFileSync('mkfifo', [scene.at('slow')])
    const place = { dataDir: scene.at('data'), databaseUrl: scene.settings.ESCLUSA_DATABASE_URL }
    const restored = restore(scene.at('slow'), {
      ...place,
      fileRoots: [scene.at('files')],
      passphrase: undefined,
      replace: true,
      check: () => Promise.resolve(),
      warn: () => {},
      now: Date.now(),
    })
    // It opens when the other end does: the restore has looked for nodes by then.
    const slow = await open(scene.at('slow'), 'w')
    await scene.start()
    await slow.writeFile(bytes)
    await slow.close()
    await assert.rejects(restored, /nodes are at work on this database/)
    assert.equal((await readdir(scene.at('data'))).includes('restoring'), false)
    await scene.put('files/out/one.txt', 'one')
    await send(scene)
    await scene.stop()
    await scene.start()
    assert.match((await scene.ask('sendTransfer', SALARIES)).message, /was sent already/)
    await scene.stop()
  },
)

test('a backup that is stopped ends by the signal and leaves no copy of the database', async (t) => {
  const scene = await setScene(t, sqlite)
  // Nothing is written of it, but it takes long to read.
  await writeFile(scene.at('data/large'), '')
  await truncate(scene.at('data/large'), 64 * 2 ** 30)
  await mkdir(scene.at('backups'))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const child = launch(scene.settings, ['backup', scene.at('backups/b.tar.gz')])
    const ended = once(child, 'exit')
    await waitFor('the copy of the database', async () =>
      (await readdir(scene.at('backups'))).some((name) => name.endsWith('.db')),
    )
    child.kill(signal)
    assert.deepEqual(await ended, [null, signal])
    assert.deepEqual(await readdir(scene.at('backups')), [])
  }
})

function unpacked(packed: Buffer): Buffer {
  try {
    return gunzipSync(packed)
  } catch {
    return Buffer.alloc(0)
  }
}

const DAMAGED = { code: 'damaged', message: /damaged|cannot be read|no backup/ }

testOnBoth(
  'a backup with a wrong octet, or cut off, is refused and nothing is changed',
  async (t, database) => {
    const scene = await setScene(t, database)
    await scene.run('backup', scene.at('b.tar.gz'))
    const bytes = await readFile(scene.at('b.tar.gz'))
    await verifyBackup(scene.at('b.tar.gz'), undefined)
    const [plain, wrong] = [gunzipSync(bytes), Buffer.from(bytes)]
    for (let nth = 1; nth <= 20; nth++) {
      const at = Math.floor((bytes.length * nth) / 21)
      wrong[at] = (wrong[at] ?? 0) ^ 1
      await writeFile(scene.at('wrong'), wrong)
      const verified = verifyBackup(scene.at('wrong'), undefined)
      // Now and then it makes no difference: a repetition is taken from another place where the same octets are.
      if (plain.equals(unpacked(wrong))) await verified
      else await assert.rejects(verified, DAMAGED)
      wrong[at] ^= 1
      await writeFile(scene.at('cut'), bytes.subarray(0, at))
      await assert.rejects(verifyBackup(scene.at('cut'), undefined), DAMAGED)
    }
    const exported = await scene.run('export', '--secrets')
    await assert.rejects(
      scene.run('restore', scene.at('cut'), '--replace'),
      /ended with 1: .*(damaged|cannot be read|no backup)/,
    )
    await assert.rejects(scene.run('backup', 'verify', scene.at('cut')), /ended with 1: /)
    assert.equal(await scene.run('export', '--secrets'), exported)
  },
)
