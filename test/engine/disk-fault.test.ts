// A disk that fails in the very moment in which a received file gets its name. strace makes the call fail, once, in a
// process that receives the file (disk-fault-child.ts).

import { execFile, spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tempFolder } from '../support/harness.ts'

const CHILD = fileURLToPath(new URL('disk-fault-child.ts', import.meta.url))
const STRACE = ['--seccomp-bpf', '-f', '-o', '/dev/null']

const probe = spawnSync('strace', [...STRACE, '-e', 'inject=fsync:error=EIO', 'true'])
const skip = probe.status === 0 ? false : 'SKIPPED: strace is not here, or may not trace'

test(
  'a received file whose folder does not take its name stays, and the next claim records it',
  { skip },
  async (t) => {
    const folder = join(await tempFolder(t), 'in')
    await mkdir(folder)
    const fault = ['-P', folder, '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO:when=1']
    const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
    await promisify(execFile)('strace', [...STRACE, ...fault, process.execPath, CHILD, folder], {
      // strace counts the calls of each thread: with one for the disk, one call fails.
      env: { ...env, UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' },
    })
  },
)
