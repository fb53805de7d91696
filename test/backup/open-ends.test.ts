// What was open when a backup is restored: files that lie ready for partners who call, files held since an earlier
// restore, receipts owed, quarantine. None of it is lost, and none of it is decided by the restore.

import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { openedBeside } from '../../src/files/quarantine.ts'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import { holdFile, undecidedFiles } from '../../src/store/held-files.ts'
import {
  acceptKeyProposal,
  insertKeyProposal,
  listKeyProposals,
  refuseKeyProposal,
} from '../../src/store/keys/proposals.ts'
import { listQuarantined, moveQuarantined } from '../../src/store/quarantine.ts'
import { rememberSent, sentHashes } from '../../src/store/transfers/sent-files.ts'
import { esclusa } from '../crash/node-process.ts'
import type { Settings } from '../crash/node-process.ts'
import { sqlite, testOnBoth } from '../support/harness.ts'
import { putIntoQuarantine } from '../support/quarantine.ts'
import { takeAsBeta } from '../upgrade/take-as-beta.ts'
import { LEDGER, PAYMENTS, SALARIES, setScene } from './scene.ts'
import type { Scene } from './scene.ts'

const OUT = '/LIBRO/out'

/** What lies ready for beta counts as sent from then on. */
async function handsOver(scene: Scene): Promise<void> {
  const platform = JSON.parse(await readFile(scene.at('platform.yaml'), 'utf8')) as {
    channels: { code: string; connection?: object }[]
  }
  for (const channel of platform.channels) if (channel.code === LEDGER) delete channel.connection
  await writeFile(scene.at('platform.yaml'), JSON.stringify(platform))
  await scene.run('apply', scene.at('platform.yaml'))
}

async function send(scene: Scene, code: string): Promise<void> {
  assert.equal((await scene.ask('sendTransfer', code)).status, 200)
  await scene.until(code, 'COMPLETED')
}

/** But for those of another channel that sends from the same folder. */
async function held(scene: Scene): Promise<string[]> {
  const files = JSON.parse(await scene.run('held', 'list', '--json')) as {
    channelCode: string
    name: string
    outboxId: string | null
  }[]
  return files
    .filter(({ channelCode }) => channelCode !== PAYMENTS)
    .map(({ channelCode, name, outboxId }) => `${channelCode} ${name}${outboxId ? ' (ready)' : ''}`)
}

async function withStore<T>(settings: Settings, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({
    dataDir: settings.ESCLUSA_DATA_DIR ?? '',
    databaseUrl: settings.ESCLUSA_DATABASE_URL,
  })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

testOnBoth(
  'a file laid ready for a partner since the backup still is after the restore, and is held where its copy is lost',
  async (t, database) => {
    const scene = await setScene(t, database)
    await handsOver(scene)
    await scene.start()
    for (const name of ['left', 'taken']) await scene.put(`files/waiting/${name}.txt`, name)
    await send(scene, LEDGER)
    await scene.run('backup', scene.at('backup.tar.gz'))
    assert.equal(await takeAsBeta(scene.sftpPort, `${OUT}/taken.txt`), 'taken')
    const sinceThen = ['since', 'newest', 'lost']
    for (const name of sinceThen) await scene.put(`files/waiting/${name}.txt`, name)
    await send(scene, LEDGER)
    await scene.stop()
    for (const name of sinceThen) await rm(scene.at(`files/waiting/${name}.txt`))
    for (const name of await scene.list('data/outbox'))
      if ((await readFile(scene.at('data/outbox', name), 'utf8')) === 'lost')
        await rm(scene.at('data/outbox', name))
    const other = { channelCode: LEDGER, name: 'lost.txt', size: 4, hash: 'of other content' }
    await withStore(scene.settings, (store) => store.write((tx) => rememberSent(tx, other)))
    assert.match(
      await scene.run('restore', scene.at('backup.tar.gz'), '--replace'),
      /nothing is left to decide/,
    )
    await withStore(scene.settings, async ({ db }) => {
      assert.deepEqual(await sentHashes(db, LEDGER, 'lost.txt', 4), [other.hash])
    })
    await scene.start()
    await assert.rejects(takeAsBeta(scene.sftpPort, `${OUT}/taken.txt`))
    for (const name of ['left', 'newest'])
      assert.equal(await takeAsBeta(scene.sftpPort, `${OUT}/${name}.txt`), name)
    await scene.stop()
    await rm(scene.at('data/outbox'), { recursive: true })
    await scene.put('files/waiting/since.txt', 'since')
    await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
    await withStore(scene.settings, async ({ db }) => {
      const laid = await db.selectFrom('outbox_file').select('name').orderBy('name').execute()
      const kept = ['left.txt', 'taken.txt'] // of transfers that are known
      assert.deepEqual(
        laid.map(({ name }) => name),
        kept,
      )
    })
    assert.deepEqual(await held(scene), [`${LEDGER} since.txt`])
    await scene.run('held', 'send', '--all')
    await scene.start()
    await send(scene, LEDGER)
    assert.equal(await takeAsBeta(scene.sftpPort, `${OUT}/since.txt`), 'since')
    await scene.stop()
  },
)

testOnBoth(
  'a copy that cannot be brought over ends the restore, which then goes on with all that is known',
  async (t, database) => {
    const scene = await setScene(t, database)
    await handsOver(scene)
    await scene.start()
    await scene.run('backup', scene.at('backup.tar.gz'))
    await scene.put('files/waiting/since.txt', 'since')
    await send(scene, LEDGER)
    await scene.stop()
    await rm(scene.at('files/waiting/since.txt'))
    const [copy = ''] = await scene.list('data/outbox')
    await rename(scene.at('data/outbox', copy), scene.at('the-copy'))
    await mkdir(scene.at('data/outbox', copy)) // what cannot be read as a file, whoever reads it
    await assert.rejects(
      scene.run('restore', scene.at('backup.tar.gz'), '--replace'),
      ({ message }: Error) => {
        assert.ok(message.includes(copy), message)
        assert.doesNotMatch(message, /could not be read/)
        return true
      },
    )
    await rmdir(scene.at('data/outbox', copy))
    await rename(scene.at('the-copy'), scene.at('data/outbox', copy))
    await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
    await scene.start()
    assert.equal(await takeAsBeta(scene.sftpPort, `${OUT}/since.txt`), 'since')
    await scene.stop()
  },
)

testOnBoth(
  'what a restore holds is held after the next one too, also where the outbound directories were not there at first',
  async (t, database) => {
    const scene = await setScene(t, database)
    await handsOver(scene)
    await scene.start()
    await scene.put('files/waiting/ledger.txt', 'ledger')
    await send(scene, LEDGER)
    await scene.run('backup', scene.at('backup.tar.gz'))
    await scene.put('files/out/one.txt', 'one')
    await send(scene, SALARIES)
    await scene.stop()
    await scene.lose('data')
    await rename(scene.at('files'), scene.at('elsewhere'))
    await scene.run('restore', scene.at('backup.tar.gz'))
    assert.deepEqual(await held(scene), [`${LEDGER} ledger.txt (ready)`])
    await rename(scene.at('elsewhere'), scene.at('files'))
    const lying = [`${SALARIES} one.txt`, `${LEDGER} ledger.txt (ready)`]
    for (const time of ['second', 'third']) {
      await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
      assert.deepEqual(await held(scene), lying, `after the ${time} restore`)
    }
    await scene.start()
    assert.equal((await scene.ask('sendTransfer', SALARIES)).status, 409)
    await assert.rejects(takeAsBeta(scene.sftpPort, `${OUT}/ledger.txt`))
    await scene.run('held', 'send', '--channel', LEDGER)
    assert.equal(await takeAsBeta(scene.sftpPort, `${OUT}/ledger.txt`), 'ledger')
    await scene.stop()
  },
)

testOnBoth(
  'receipts owed and quarantine are as they were left, and files in quarantine are found in another data folder',
  async (t, database) => {
    const scene = await setScene(t, database)
    const dataDir = scene.at('data')
    const backup = scene.at('backup.tar.gz')
    const owe = (store: Store, id: string) =>
      store.db
        .insertInto('owed_receipt')
        .values({ id, contact_id: 'acme', body: '{}', created_at: 1, delivered_at: null })
        .execute()
    await withStore(scene.settings, async (store) => {
      for (const id of ['waits', 'decided', 'forgotten'])
        await putIntoQuarantine({ store, dataDir }, id, { channelCode: LEDGER })
      await owe(store, 'delivered since')
    })
    await scene.run('backup', backup)
    await withStore(scene.settings, async (store) => {
      await putIntoQuarantine({ store, dataDir }, 'came since', { channelCode: LEDGER })
      await store.write((tx) => moveQuarantined(tx, 'decided', { from: 'WAITING', to: 'DISCARDED', at: 2 }))
      for (const id of ['decided', 'forgotten'])
        await rm(scene.at('data/quarantine', id), { recursive: true })
      await store.db.deleteFrom('quarantined_file').where('id', '=', 'forgotten').execute()
      await store.db.deleteFrom('owed_receipt').execute()
      await owe(store, 'owed since')
    })
    await scene.run('restore', backup, '--replace')
    await withStore(scene.settings, async ({ db }) => {
      const states = (await listQuarantined(db, {})).map(({ id, state }) => `${id}: ${state}`).sort()
      assert.deepEqual(states, ['came since: WAITING', 'decided: DISCARDED', 'waits: WAITING'])
      const owed = await db.selectFrom('owed_receipt').select('id').execute()
      assert.deepEqual(owed, [{ id: 'owed since' }])
    })
    for (const [id, files] of Object.entries({ decided: 0, forgotten: 0, waits: 2, 'came since': 2 }))
      assert.equal((await readdir(scene.at('data/quarantine', id))).length, files, id)
    const cameSince = scene.at('data/quarantine/came since/pay.txt')
    assert.equal(await readFile(cameSince, 'utf8'), 'as it came: the content')
    assert.equal(await readFile(openedBeside(cameSince), 'utf8'), 'the content')
    await scene.lose('data')
    const elsewhere = { ...scene.settings, ESCLUSA_DATA_DIR: scene.at('elsewhere') }
    await esclusa(elsewhere, 'restore', backup)
    await withStore(elsewhere, async ({ db }) => {
      for (const { id, path, opened } of await listQuarantined(db, {})) {
        assert.equal(path, scene.at('elsewhere/quarantine', id, 'pay.txt'))
        assert.equal(await readFile(opened?.path ?? '', 'utf8'), 'the content')
      }
    })
  },
)

testOnBoth(
  'in another data folder what is held in outbound directories lies where it lay, and what lies ready has moved',
  async (t, database) => {
    const scene = await setScene(t, database)
    const paths = { lying: scene.at('data/files/out/one.txt'), ready: scene.at('data/outbox/one') }
    await withStore(scene.settings, (store) =>
      store.write(async (tx) => {
        for (const [id, path] of Object.entries(paths)) {
          const file = { path, name: 'one.txt', size: 1, modifiedAt: 1, heldAt: 1 }
          await holdFile(tx, {
            ...file,
            id,
            channelCode: LEDGER,
            outboxId: id === 'ready' ? 'its row' : null,
          })
        }
      }),
    )
    await scene.run('backup', scene.at('backup.tar.gz'))
    await scene.lose('data')
    const elsewhere = { ...scene.settings, ESCLUSA_DATA_DIR: scene.at('elsewhere') }
    await esclusa(elsewhere, 'restore', scene.at('backup.tar.gz'))
    await withStore(elsewhere, async ({ db }) => {
      const found = Object.fromEntries((await undecidedFiles(db)).map(({ id, path }) => [id, path]))
      assert.deepEqual(found, { ...paths, ready: scene.at('elsewhere/outbox/one') })
    })
  },
)

testOnBoth(
  'keys that partners have proposed since are there to be decided, also those that were accepted',
  async (t, database) => {
    const scene = await setScene(t, database)
    const at = { by: 'ana', now: 2 }
    const propose = (store: Store, id: string) =>
      store.write((tx) =>
        insertKeyProposal(tx, {
          id,
          contactId: 'acme',
          channelCode: SALARIES,
          pem: `the key ${id}`,
          fingerprint: id,
          receivedAt: 1,
        }),
      )
    await withStore(scene.settings, async (store) => {
      for (const id of ['in use', 'there', 'there, accepted']) await propose(store, id)
      await store.write((tx) => acceptKeyProposal(tx, 'in use', at))
    })
    await scene.run('backup', scene.at('backup.tar.gz'))
    await withStore(scene.settings, async (store) => {
      for (const id of ['since', 'since, accepted', 'since, refused']) await propose(store, id)
      for (const id of ['there, accepted', 'since, accepted'])
        await store.write((tx) => acceptKeyProposal(tx, id, at))
      await store.write((tx) => refuseKeyProposal(tx, 'since, refused', at))
    })
    await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
    await withStore(scene.settings, async ({ db }) => {
      const found = (await listKeyProposals(db)).map(({ id, pem, acceptedAt, refusedAt, decidedBy }) => {
        assert.equal(pem, `the key ${id}`)
        return `${id}: ${acceptedAt ? 'accepted' : refusedAt ? 'refused' : 'waits'} ${decidedBy ?? ''}`.trim()
      })
      assert.deepEqual(found.sort(), [
        'in use: accepted ana',
        'since, accepted: waits',
        'since, refused: refused ana',
        'since: waits',
        'there, accepted: waits',
        'there: waits',
      ])
    })
  },
)

test('a column that a table has got is restored with it', async (t) => {
  const scene = await setScene(t, sqlite)
  const dataDir = scene.at('data')
  await withStore(scene.settings, (store) =>
    sql`alter table quarantined_file add column later text`.execute(store.db),
  )
  await scene.run('backup', scene.at('backup.tar.gz'))
  await withStore(scene.settings, async (store) => {
    await putIntoQuarantine({ store, dataDir }, 'since', { channelCode: LEDGER })
    await sql`update quarantined_file set later = 'kept'`.execute(store.db)
  })
  await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
  await withStore(scene.settings, async (store) => {
    const { rows } = await sql`select later from quarantined_file`.execute(store.db)
    assert.deepEqual(rows, [{ later: 'kept' }])
  })
})
