// Ports for servers of others that must be told one before they start.

import { randomInt } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const PORTS_TAKEN = join(tmpdir(), `esclusa-test-ports-${userInfo().uid}`)
const taken: string[] = []
process.once('exit', () => {
  for (const path of taken) rmSync(path, { force: true })
})

/** Of all test processes of this machine one has the port, until it ends. */
function takePort(port: number): boolean {
  const path = join(PORTS_TAKEN, String(port))
  mkdirSync(PORTS_TAKEN, { recursive: true })
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    taken.push(path)
    return true
  } catch {
    return false
  }
}

/**
 * A port for a server that is about to start. It lies below those that the system gives to connections, so that none of
 * them takes it in between.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; ; tries++) {
    // Those of processes that were killed are not given back.
    if (tries === 1000) rmSync(PORTS_TAKEN, { recursive: true, force: true })
    const port = randomInt(20_000, 32_000)
    if (!takePort(port)) continue
    const server = createServer().listen(port, '127.0.0.1')
    const free = await new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true)).once('error', () => resolve(false))
    })
    if (!free) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
