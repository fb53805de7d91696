// OFTP2 over TLS against OpenSSH on loopback: the transport in two processes, file to file, without the engine above
// it. One big file against `scp`, many small ones in one session against `sftp` and `rclone`, all to the same disk; a
// ratio above 1 is faster than them. The best of some rounds each, in turns; cleans up after itself.
//
// node bench/oftp2.ts [MiB=1024] [files=2000] [rounds=3]

import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, open, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeSessionCrypto } from '../src/engine/sessions/session-crypto.ts'
import { generateSelfSigned } from '../src/engine/transforms/cms/self-signed.ts'
import { MemoryHost } from '../test/support/transport-ends.ts'
import { createOftp2, listenOftp2 } from '../src/engine/transports/oftp2/oftp2.ts'
import type { Oftp2Settings } from '../src/contract/contact-settings.ts'
import { commandExists, noOpenSsh, startOpenSsh } from '../test/support/sftp/openssh.ts'
import type { OpenSsh } from '../test/support/sftp/openssh.ts'
import type { Admission, Session, SessionHost } from '../src/engine/transports/transport.ts'
import { bestOf, offerPlainly, withFile } from './plain.ts'
import { reachAll } from '../test/support/reach.ts'

const SMALL = 10 * 1024
const ENDS = { own: 'O0013BANCO', partner: 'O0013ACME' }
const never = new AbortController().signal

function party(localId: string, remoteId: string, pem: string): Admission<Oftp2Settings> {
  return {
    contactId: 'partner',
    localId,
    remoteId,
    settings: {},
    reach: reachAll('partner'),
    ways: 'B',
    timeouts: { connectMs: 30_000, syncMs: 30_000, ackMs: 60_000, idleMs: 60_000 },
    security: {
      encrypted: true,
      authentication: 'NONE',
      localKey: undefined,
      remoteKey: undefined,
      rsaLocalKey: undefined,
      rsaRemoteKey: pem,
    },
    compression: false,
  }
}

/** The called end, in a process of its own as a node would be. */
async function serve(folder: string, pemFile: string): Promise<void> {
  const pem = await readFile(pemFile, 'utf8')
  const host: SessionHost = Object.assign(new MemoryHost(), {
    offer: offerPlainly(folder),
    admit: <Settings>() => Promise.resolve(party(ENDS.partner, ENDS.own, pem) as Admission<Settings>), // the only ones here
    opened: () => {},
  })
  const tls = { key: pem, cert: pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')) }
  const listener = await listenOftp2({
    host: '127.0.0.1',
    port: 0,
    tls,
    sessionHost: host,
    crypto: makeSessionCrypto(),
  })
  const idle = process.memoryUsage().rss
  let most = idle
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50)
  process.on('message', () => {
    clearInterval(watch)
    process.send?.({ idle, most })
    void listener.close().then(() => process.disconnect())
  })
  process.send?.({ port: listener.address.port })
}

function run(command: string, args: readonly string[], input = ''): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'] })
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}`)),
    )
    child.stdin.end(input)
  })
}

function say(what: string, { ours = NaN, ...theirs }: Record<string, number>): void {
  const others = Object.entries(theirs).map(
    ([name, seconds]) => `${name} ${seconds.toFixed(2)} s (ratio ${(seconds / ours).toFixed(2)})`,
  )
  console.log(`${what.padEnd(30)} OFTP2/TLS ${ours.toFixed(2)} s   ${others.join('   ')}`)
}

async function push(session: Session, folder: string, name: string): Promise<void> {
  const progress = { moved: () => {}, safe: () => {}, placing: () => Promise.resolve() }
  await withFile(join(folder, name), { name, application: 'FILES' }, (file) =>
    session.push(file, progress, never),
  )
}

/** Not all zeroes, and made quickly. */
async function makeFiles(folder: string, mib: number, files: number): Promise<void> {
  const block = Buffer.from(Array.from({ length: 1024 * 1024 }, (_, at) => (at * 31 + (at >> 8)) % 253))
  await using big = await open(join(folder, 'big.bin'), 'w')
  for (let at = 0; at < mib; at++) await big.write(block)
  for (let at = 0; at < files; at++)
    await writeFile(join(folder, `small-${at}`), block.subarray(at, at + SMALL))
}

type Amounts = { mib: number; files: number; rounds: number }
type Place = { from: string; to: string; sshd: OpenSsh; server: ChildProcess; port: number; pem: string }

const SSH = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes', 'LogLevel=ERROR']

async function compare({ from, to, sshd, port, pem }: Place, { mib, files, rounds }: Amounts): Promise<void> {
  const call = {
    ...party(ENDS.own, ENDS.partner, pem),
    applications: async () => ['FILES'],
    host: '127.0.0.1',
    port,
    signal: never,
  }
  const options = ['-q', '-F', '/dev/null', '-P', String(sshd.port), '-i', sshd.userKey.path]
  options.push(...SSH.flatMap((option) => ['-o', option]))
  const names = Array.from({ length: files }, (_, at) => `small-${at}`)
  const oftp2 = createOftp2({ crypto: makeSessionCrypto() })
  // Call and goodbye count, as they do for the others.
  const inSession = (work: (session: Session) => Promise<unknown>) => async () => {
    const session = await oftp2.connect(call, new MemoryHost())
    await work(session)
    await session.close()
  }
  // As the engine does it: the next ones are opened while one is on the line.
  const pushSmall = (session: Session) => {
    const queue = names.values()
    const sender = async () => {
      for (const name of queue) await push(session, from, name)
    }
    return Promise.all(Array.from({ length: 4 }, sender))
  }
  const target = `${sshd.username}@127.0.0.1`
  const emptied = async () => {
    await rm(to, { recursive: true, force: true })
    await mkdir(join(to, 'rclone'), { recursive: true })
  }
  const big = {
    ours: inSession((session) => push(session, from, 'big.bin')),
    scp: () => run('scp', [...options, join(from, 'big.bin'), `${target}:${to}/scp.bin`]),
  }
  say(`${mib} MiB, one file`, await bestOf(rounds, big, emptied))
  const puts = names.map((name) => `put ${from}/${name} ${to}/sftp-${name}\n`).join('')
  const remote = `:sftp,host=127.0.0.1,port=${sshd.port},user=${sshd.username},key_file=${sshd.userKey.path},shell_type=none,disable_hashcheck=true:${to}/rclone`
  const small: Record<string, () => Promise<void>> = {
    ours: inSession(pushSmall),
    sftp: () => run('sftp', [...options, '-b', '-', target], puts),
  }
  if (commandExists('rclone'))
    small['rclone'] = () =>
      run('rclone', ['copy', from, remote, '--include', 'small-*', '--retries', '1', '-q'])
  say(`${files} files of 10 KiB`, await bestOf(rounds, small, emptied))
}

async function main(amounts: Amounts): Promise<void> {
  const { mib, files } = amounts
  if (noOpenSsh) {
    console.log(`SKIPPED: ${noOpenSsh}`)
    return
  }
  const root = await mkdtemp(join(tmpdir(), 'esclusa-bench-'))
  const sshd = await startOpenSsh()
  let server: ChildProcess | undefined
  try {
    const { bavail, bsize } = await statfs(root)
    if (bavail * bsize < (3 * mib + 512) * 1024 * 1024) throw new Error(`not enough room in ${root}`)
    const [from, to] = [join(root, 'from'), join(root, 'to')]
    await mkdir(from)
    await mkdir(to)
    await makeFiles(from, mib, files)
    const { privateKeyPem, certificatePem } = await generateSelfSigned({
      commonName: 'bench',
      bits: 2048,
      days: 2,
    })
    const pemFile = join(root, 'tls.pem')
    await writeFile(pemFile, `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`, { mode: 0o600 })
    server = fork(fileURLToPath(import.meta.url), ['serve', to, pemFile])
    const { port } = await heard<{ port: number }>(server)
    console.log(
      `load average at the start: ${loadavg()
        .map((one) => one.toFixed(1))
        .join(' ')}`,
    )
    const idle = process.memoryUsage().rss
    await compare({ from, to, sshd, server, port, pem: certificatePem }, amounts)
    server.send('stop')
    const memory = await heard<{ idle: number; most: number }>(server)
    const inMib = (octets: number) => Math.round(octets / 1024 / 1024)
    console.log(
      `resident memory, MiB: receiving end ${inMib(memory.idle)} idle, ${inMib(memory.most)} at most; ` +
        `sending end ${inMib(idle)} before, ${inMib(process.memoryUsage().rss)} after`,
    )
    console.log(
      `load average at the end: ${loadavg()
        .map((one) => one.toFixed(1))
        .join(' ')}`,
    )
  } finally {
    if (server?.connected) server.kill()
    await sshd.stop()
    await rm(root, { recursive: true, force: true })
  }
}

function heard<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T)) // what serve() sends
    child.once('exit', () => reject(new Error('the receiving end is gone')))
  })
}

const [first = '1024', second = '2000', third = '3'] = process.argv.slice(2)
if (first === 'serve') await serve(second, third)
else await main({ mib: Number(first), files: Number(second), rounds: Number(third) })
