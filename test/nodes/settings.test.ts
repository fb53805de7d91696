// Nodes of one platform with settings that differ: one that starts says so.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from '../../src/store/database/open.ts'
import { livingOwners } from '../../src/store/transfers/signs-of-life.ts'
import { NodeProcess } from '../crash/node-process.ts'
import { closeAfter, postgres, tempFolder, waitFor } from '../support/harness.ts'

type Warning = { msg: string; differences: { setting: string; here: unknown; there: unknown }[] }

test(
  'a node that has other settings than those at work warns at its start, without secrets',
  { skip: postgres.skip ?? false },
  async (t) => {
    const dataDir = await tempFolder(t)
    const databaseUrl = (await postgres.create(t, dataDir)) ?? ''
    const store = await openStore({ dataDir, databaseUrl })
    closeAfter(t, () => store.close())
    const settings = {
      ESCLUSA_DATA_DIR: dataDir,
      ESCLUSA_PORT: '0',
      ESCLUSA_DATABASE_URL: databaseUrl,
      ESCLUSA_MAIL_FROM: 'esclusa@banco.example',
      ESCLUSA_SMTP_URL: 'smtp://user:s3cret@mail.example:587',
    }
    const first = await NodeProcess.start(settings)
    closeAfter(t, () => first.kill())
    await waitFor('it to be at work', async () => (await livingOwners(store.db, Date.now())).size === 1)
    const warnings = async (more: Record<string, string>) => {
      const node = await NodeProcess.start({ ...settings, ...more })
      closeAfter(t, () => node.kill())
      await node.stop()
      assert.ok(!node.lines.join().includes('s3cret'))
      return node.lines
        .filter((line) => line.includes('other settings'))
        .map((line) => (JSON.parse(line) as Warning).differences)
        .map((all) => all.map(({ setting, here, there }) => [setting, here, there]))
    }
    // What a node may have of its own does not count.
    assert.deepEqual(await warnings({ ESCLUSA_WORKERS: '3', ESCLUSA_LOG_LEVEL: 'warn' }), [])
    const other = {
      ESCLUSA_TIMEZONE: 'Europe/Madrid',
      ESCLUSA_SMTP_URL: 'smtp://user:s3cret@post.example:587',
      ESCLUSA_KEEP_AUDIT_DAYS: '30',
    }
    assert.deepEqual(await warnings(other), [
      [
        ['ESCLUSA_TIMEZONE', 'Europe/Madrid', 'UTC'],
        ['ESCLUSA_SMTP_URL', 'smtp://post.example:587', 'smtp://mail.example:587'],
        ['ESCLUSA_KEEP_AUDIT_DAYS', 30, 'not set'],
      ],
    ])
  },
)
