// A process that has no file descriptor left, for as long as some work takes. Another process moves the limit, since
// starting one needs descriptors itself.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

const probe = spawnSync('prlimit', ['--version'])
export const skipWithoutPrlimit = probe.status === 0 ? false : 'SKIPPED: prlimit is not here'

/** Nothing more can be opened by this process during the work; what is open stays usable. */
export async function withNothingToOpen<T>(work: () => Promise<T>): Promise<T> {
  const set = `prlimit --pid ${process.pid} --nofile`
  const script = `${set}=3: && echo none && read -r go; ${set}="$(ulimit -Hn)":`
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const none = await Promise.race([once(child.stdout, 'data').then(() => true), ended.then(() => false)])
  if (!none) throw new Error(`prlimit refused to take the file descriptors away (exit ${child.exitCode})`)
  try {
    return await work()
  } finally {
    child.stdin.end('\n')
    await ended
  }
}
