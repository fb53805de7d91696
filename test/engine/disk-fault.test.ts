// A disk that fails in one moment of a transfer, and is sound again after it. strace makes the calls fail, in a process that
// sends or receives a file (disk-fault-child.ts).

import { execFile, spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tempFolder } from '../support/harness.ts'

const CHILD = fileURLToPath(new URL('disk-fault-child.ts', import.meta.url))
const STRACE = ['--seccomp-bpf', '-f', '-o', '/dev/null']

const probe = spawnSync('strace', [...STRACE, '-e', 'inject=fsync:error=EIO', 'true'])
const skip = probe.status === 0 ? false : 'SKIPPED: strace is not here, or may not trace'

/** `calls` fail, `when` strace counts so far, on that path inside the folder that the child is given. */
async function failing(t: TestContext, scenario: string, path: string, calls: string, when: string) {
  const folder = join(await tempFolder(t), 'files')
  await mkdir(folder)
  const fault = [
    '-P',
    join(folder, path),
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:error=EIO:when=${when}`,
  ]
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  const times = when.split('..').at(-1) ?? ''
  const command = [process.execPath, CHILD, scenario, folder, times]
  await promisify(execFile)('strace', [...STRACE, ...fault, ...command], {
    // strace counts the calls of each thread: with one for the disk, as many fail as are meant.
    env: { ...env, UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' },
  })
}

test(
  'a received file whose folder does not take its name stays, and the next claim records it',
  { skip },
  (t) => failing(t, 'received', '', 'fsync', '1'),
)

test(
  'a received file whose folder goes on failing rests longer each time, says why, and is recorded when it does not',
  { skip },
  (t) => failing(t, 'received', '', 'fsync', '1..3'),
)

test(
  'a partner without keys for its files is told that its file is here once it is in place',
  { skip },
  (t) => failing(t, 'received by name', '', 'fsync', '1'),
)

test('a file that the disk cannot read is tried again, as the channel says', { skip }, (t) =>
  failing(t, 'sent', 'a.bin', 'read,pread64', '1'),
)

test('a received file of which a restart point could not be synced is not taken', { skip }, (t) =>
  failing(t, 'restart point', 'a.part', 'fdatasync', '1'),
)
