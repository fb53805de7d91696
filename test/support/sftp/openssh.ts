// For tests and benchmarks: an unprivileged OpenSSH server on a loopback port with throw-away keys, and a TCP proxy
// that cuts connections. Nothing of the product imports it.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { startTcpLine } from '../tcp-line.ts'

export { freePort }

const SSHD = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find((path) => existsSync(path))

export function commandExists(name: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name)))
}

/** A reason to skip, or false: node:test shows the reason. */
export const noOpenSsh: string | false =
  SSHD !== undefined && commandExists('ssh-keygen') ? false : 'OpenSSH (sshd, ssh-keygen) is not installed'

function versionOf(): number {
  const { stderr } = spawnSync(SSHD ?? 'sshd', ['-V'], { encoding: 'utf8' })
  return Number(/OpenSSH_([0-9.]+)/.exec(stderr)?.[1] ?? Number.NaN)
}

export interface KeyPair {
  path: string
  private: string
  public: string
  fingerprint: string
}

export async function makeKey(
  folder: string,
  name: string,
  args: readonly string[] = ['-t', 'ed25519'],
): Promise<KeyPair> {
  const path = join(folder, name)
  execFileSync('ssh-keygen', ['-q', '-N', '', '-C', name, '-f', path, ...args])
  const printed = execFileSync('ssh-keygen', ['-lf', `${path}.pub`], { encoding: 'utf8' })
  return {
    path,
    private: await readFile(path, 'utf8'),
    public: (await readFile(`${path}.pub`, 'utf8')).trim(),
    fingerprint: printed.split(' ')[1] ?? '',
  }
}

async function untilListening(port: number): Promise<void> {
  const giveUpAt = Date.now() + 180_000
  while (Date.now() < giveUpAt) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => (socket.destroy(), resolve(true)))
      socket.once('error', () => resolve(false))
    })
    if (open) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error(`nothing listens on port ${port}`)
}

export interface OpenSsh {
  port: number
  folder: string
  /** What the server wrote of itself, as much as its LogLevel asks for. */
  log: string
  username: string
  hostKey: KeyPair
  rsaHostKey: KeyPair
  userKey: KeyPair
  stop(): Promise<void>
}

export async function startOpenSsh(extraConfig = ''): Promise<OpenSsh> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-sshd-'))
  await chmod(folder, 0o755)
  const hostKey = await makeKey(folder, 'host_ed25519')
  const rsaHostKey = await makeKey(folder, 'host_rsa', ['-t', 'rsa', '-b', '2048'])
  const userKey = await makeKey(folder, 'user_ed25519')
  const port = await freePort()
  const authorized = join(folder, 'authorized_keys')
  await writeFile(authorized, `${userKey.public}\n`)
  const config = join(folder, 'sshd_config')
  await writeFile(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey.path}`,
      `HostKey ${rsaHostKey.path}`,
      `AuthorizedKeysFile ${authorized}`,
      `PidFile ${join(folder, 'pid')}`,
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'PasswordAuthentication yes',
      'MaxStartups 100',
      'MaxSessions 50',
      'Subsystem sftp internal-sftp',
      // Tests cut lines before anybody has signed in. Later versions keep such a caller out for a while.
      ...(versionOf() >= 9.8 ? ['PerSourcePenalties no'] : []),
      extraConfig,
      '',
    ].join('\n'),
  )
  if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true })
  const log = join(folder, 'log')
  const child = spawn(SSHD ?? 'sshd', ['-D', '-E', log, '-f', config], { stdio: 'ignore' })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await untilListening(port)
  return {
    port,
    folder,
    log,
    username: userInfo().username,
    hostKey,
    rsaHostKey,
    userKey,
    async stop() {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface CuttingProxy {
  port: number
  /** Cuts the next connection after that many octets in both directions together; Infinity lets it be. */
  cutAfter(octets: number): void
  connections(): number
  stop(): Promise<void>
}

/**
 * A line that breaks: resets both ends once the agreed number of octets has passed. `delayMs`: everything arrives so much
 * later, each way.
 */
export async function startCuttingProxy(targetPort: number, delayMs = 0): Promise<CuttingProxy> {
  let budget = Infinity
  const open = new Set<Socket>()
  const server = createServer((near) => {
    let left = budget
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    near.setNoDelay(true)
    const cut = () => (near.resetAndDestroy(), far.resetAndDestroy())
    const pass = (from: Socket, to: Socket) => {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => (open.delete(from), setTimeout(() => to.destroy(), delayMs)))
      from.on('data', (chunk: Buffer) => {
        const given = Math.min(left, chunk.length)
        left -= given
        if (given > 0 && delayMs > 0) setTimeout(() => to.write(chunk.subarray(0, given)), delayMs)
        else if (given > 0 && !to.write(chunk.subarray(0, given))) {
          from.pause()
          to.once('drain', () => from.resume())
        }
        if (left <= 0) cut()
      })
    }
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (octets) => (budget = octets),
    connections: () => open.size,
    async stop() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface SleepyLine {
  port: number
  /** From now on, so many more of the caller's writes pass, and what comes after waits. */
  sleepAfter(writes: number): void
  /** So many of the writes that wait, or that come, go on. */
  wake(writes: number): void
  /** Whether the caller has written more than passes. */
  sleeps(): boolean
  /** How many times the other end has said something. */
  answers(): number
  cut(): void
  stop(): Promise<void>
}

/** A line whose caller falls asleep: to the other end it looks as if a node had been frozen in the middle of its work. */
export async function startSleepyLine(targetPort: number): Promise<SleepyLine> {
  let left = Infinity
  let answers = 0
  let held: (() => void)[] = []
  const line = await startTcpLine(
    () => targetPort,
    (near, far) => {
      far.on('data', (chunk) => {
        answers++
        near.write(chunk)
      })
      near.on('data', (chunk) => {
        if (held.length === 0 && left-- > 0) far.write(chunk)
        else held.push(() => far.write(chunk))
      })
    },
  )
  return {
    port: line.port,
    sleepAfter: (writes) => (left = writes),
    wake: (writes) => {
      const some = held.splice(0, writes)
      left = writes - some.length
      for (const pass of some) pass()
    },
    sleeps: () => held.length > 0,
    answers: () => answers,
    cut: () => {
      held = []
      for (const socket of line.open) socket.resetAndDestroy()
    },
    stop: () => line.stop(),
  }
}
