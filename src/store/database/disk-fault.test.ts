// SQLite on a disk that fails while the database is open. strace makes the calls fail in a process of its own, for files
// under one path: the process moves the open database there when the disk is to fail, and back when it is sound again.

import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { tempFolder } from '../../../test/support/harness.ts'

const STRACE = ['--seccomp-bpf', '-f', '-o', '/dev/null']
const probe = spawnSync('strace', [...STRACE, '-e', 'inject=fsync:error=EIO', 'true'])
const skip = probe.status === 0 ? false : 'SKIPPED: strace is not here, or may not trace'

const CALLS = 'pread64,pwrite64,fsync,fdatasync'

/** Runs `work` with an open `store`, an `other` one on the same file, and `fails`, which says whether the disk does. */
async function onDisk(folder: string, error: string, work: string): Promise<void> {
  const [sound, failing] = [join(folder, 'sound'), join(folder, 'failing')]
  const at = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
  const program = `import assert from 'node:assert/strict'
    import { renameSync } from 'node:fs'
    import { setImmediate as turn } from 'node:timers/promises'
    import { openStore } from ${at('./open.ts')}
    import { hot } from ${at('./prepared-queries.ts')}
    const [sound, failing] = ${JSON.stringify([sound, failing])}
    const fails = (yes) => renameSync(yes ? sound : failing, yes ? failing : sound)
    const store = await openStore({ dataDir: sound })
    const other = await openStore({ dataDir: sound })
    const put = (to, value) => to.write((tx) => tx.updateTable('meta').set({ value }).where('name', '=', 'directory_version').execute())
    const named = hot((db, arg) => db.selectFrom('meta').select('value').where('name', '=', arg('name')))
    const value = async () => (await named(store.db, { name: 'directory_version' }))[0].value
    ${work}
    await store.close()
    await other.close()`
  const paths = ['esclusa.db', 'esclusa.db-wal'].flatMap((name) => ['-P', join(failing, name)])
  const fault = [...paths, '-e', `trace=${CALLS}`, '-e', `inject=${CALLS}:error=${error}`]
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  const node = [process.execPath, '--input-type=module', '--eval', program]
  await promisify(execFile)('strace', [...STRACE, ...fault, ...node], { env })
}

test(
  'SQLite: a disk that cannot be read fails the reads alone, and they go on when it can',
  { skip },
  async (t) => {
    await onDisk(
      await tempFolder(t),
      'EIO',
      `assert.equal(await value(), '1')
      await put(other, 'changed')
      fails(true)
      for (let nth = 0; nth < 3; nth++) {
        await assert.rejects(value(), { code: 'unavailable' })
        await turn()
      }
      fails(false)
      assert.equal(await value(), 'changed')`,
    )
  },
)

test(
  'SQLite: an error of the disk is told as a database that cannot be used now, in reads and writes',
  { skip },
  async (t) => {
    await onDisk(
      await tempFolder(t),
      'ESTALE',
      `const told = { code: 'unavailable', message: 'the database cannot be used: its disk reports an error, or its file is damaged' }
      const all = () => store.db.selectFrom('meta').selectAll().execute()
      await Promise.all([value(), all(), put(store, 'before')])
      await put(other, 'changed')
      fails(true)
      await assert.rejects(value(), told)
      await assert.rejects(all(), told)
      await assert.rejects(put(store, 'never'), told)
      fails(false)
      assert.equal(await value(), 'changed')
      await put(store, 'later')
      assert.equal(await value(), 'later')`,
    )
  },
)
