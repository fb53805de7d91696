// A node whose clock is off the database's says so when it starts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeProcess } from '../crash/node-process.ts'
import { closeAfter, postgres, tempFolder } from '../support/harness.ts'

/** What a process loads before anything else to be five minutes ahead. */
const AHEAD = '--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+300000'

test(
  'a node whose clock is minutes off the database’s warns at its start',
  { skip: postgres.skip ?? false },
  async (t) => {
    const dataDir = await tempFolder(t)
    const settings = {
      ESCLUSA_DATA_DIR: dataDir,
      ESCLUSA_PORT: '0',
      ESCLUSA_DATABASE_URL: (await postgres.create(t, dataDir)) ?? '',
    }
    const warnings = async (more: Record<string, string>) => {
      const node = await NodeProcess.start({ ...settings, ...more })
      closeAfter(t, () => node.kill())
      await node.stop()
      return node.lines.filter((line) => line.includes('off the database’s'))
    }
    assert.equal((await warnings({ NODE_OPTIONS: AHEAD })).length, 1)
    assert.deepEqual(await warnings({}), [])
  },
)
