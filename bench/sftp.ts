// SFTP against OpenSSH on loopback, same cipher, same disk: prints how fast this node is as a ratio to `sftp` (1.0 is
// the same, more is faster). Calling: our client, `sftp` and `rclone` at the same sshd. Being called: `sftp` at our server, run
// in a process of its own, and at sshd. Cleans up after itself.
//
// node bench/sftp.ts [MiB=1024] [files=2000] [rounds=5] [calling|called]

import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sftpClientTransport } from '../src/engine/transports/sftp-client/sftp-client.ts'
import type { SftpSettings } from '../src/contract/contact-settings.ts'
import { startTestListener } from '../test/support/sftp/listener.ts'
import { HostDouble } from '../test/support/sftp/session-host.ts'
import { nativeBinding } from '../src/engine/transports/ssh/native-binding.ts'
import { commandExists, noOpenSsh, startOpenSsh } from '../test/support/sftp/openssh.ts'
import type { Call, Session } from '../src/engine/transports/transport.ts'
import { bestOf, offerPlainly, openPlainly, withFile } from './plain.ts'

const CIPHER = 'aes128-gcm@openssh.com'
const SMALL = 10 * 1024
const [mib = 1024, files = 2000, rounds = 5] = process.argv
  .slice(2)
  .filter((a) => a !== 'serve')
  .map(Number)
const part = process.argv[5]
const never = new AbortController().signal

/** Runs as the server of the second half, in its own process as a node would be. */
async function serve(folder: string): Promise<void> {
  const server = await startTestListener()
  server.host.offer = offerPlainly(folder)
  server.outbox.list = async () => []
  // As a node finds it: in the database, without leaving its thread.
  server.outbox.find = async (_application, name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    return found === undefined ? undefined : { id: name, name, size: found.size, mtimeMs: found.mtimeMs }
  }
  server.outbox.open = async (_application, entry) => openPlainly(join(folder, entry.name))
  server.outbox.taken = async () => {}
  process.send?.({ port: server.port, key: server.userKey.path, idle: process.memoryUsage().rss })
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50)
  process.on('message', (message) => {
    if (message === 'memory') process.send?.({ most })
    if (message !== 'stop') return
    clearInterval(watch)
    void server.stop().then(() => process.disconnect())
  })
}

const inMib = (octets: number) => Math.round(octets / 1024 / 1024)

function finished(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${name} exited with ${code}`))))
  })
}

/** As it comes, but for the hashes, which it would ask sshd's shell for. */
function rclone(from: string, to: string): Promise<void> {
  const remote = `:sftp,host=127.0.0.1,port=${sshd.port},user=${sshd.username},key_file=${sshd.userKey.path},ciphers=${CIPHER},shell_type=none,disable_hashcheck=true,set_modtime=false:`
  const args = ['copy', from, to].map((path) => path.replace('sshd:', remote))
  const child = spawn('rclone', [...args, '--config', '/dev/null', '-q'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return finished(child, 'rclone')
}

function sftp(port: number, key: string, script: string): Promise<void> {
  const options = [
    'BatchMode=yes',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'LogLevel=ERROR',
  ]
  const args = ['-q', '-P', `${port}`, '-i', key, '-c', CIPHER, '-F', '/dev/null', '-b', '-']
  const user = port === sshd.port ? sshd.username : 'acme'
  const child = spawn('sftp', [...args, ...options.flatMap((o) => ['-o', o]), `${user}@127.0.0.1`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(script)
  return finished(child, 'sftp')
}

async function compare(
  what: string,
  reset: () => Promise<unknown>,
  theirs: () => Promise<unknown>,
  ours: () => Promise<unknown>,
  rclones?: () => Promise<unknown>,
): Promise<void> {
  const runs: Record<string, () => Promise<unknown>> = { theirs, ours }
  if (rclones && commandExists('rclone')) runs['rclone'] = rclones
  const best = await bestOf(rounds, runs, reset)
  const { theirs: openssh = NaN, ours: own = NaN, rclone } = best
  const ratio = (openssh / own).toFixed(2)
  const beside =
    rclone === undefined ? '' : `   (rclone ${rclone.toFixed(2)} s, ratio ${(rclone / own).toFixed(2)})`
  console.log(
    `${what.padEnd(44)} OpenSSH ${openssh.toFixed(2)} s   Esclusa ${own.toFixed(2)} s   ratio ${ratio}${beside}`,
  )
}

async function session(inbox: string, outbox: string, sync: boolean): Promise<Session> {
  const settings: SftpSettings = {
    username: sshd.username,
    privateKey: sshd.userKey.private,
    hostKeys: [sshd.hostKey.fingerprint],
    inbox,
    outbox,
  }
  const call: Call<SftpSettings> = {
    contactId: 'c',
    host: '127.0.0.1',
    port: sshd.port,
    localId: 'B',
    remoteId: 'A',
    settings,
    applications: ['A'],
    ways: 'B',
    timeouts: { connectMs: 5000, syncMs: 5000, ackMs: 30_000, idleMs: 60_000 },
    compression: false,
    security: {
      encrypted: true,
      authentication: 'NONE',
      localKey: undefined,
      remoteKey: undefined,
      rsaLocalKey: undefined,
      rsaRemoteKey: undefined,
    },
    signal: never,
  }
  return sftpClientTransport({ syncFiles: sync }).connect(call, host)
}

async function pushAll(names: readonly string[], from: string, to: string, sync: boolean): Promise<void> {
  const line = await session(to, '/', sync)
  const queue = names.values()
  const progress = { moved: () => {}, safe: () => {}, placing: () => Promise.resolve() }
  const worker = async () => {
    for (const name of queue)
      await withFile(join(from, name), { name, application: 'A' }, (file) => line.push(file, progress, never))
  }
  await Promise.all(Array.from({ length: Math.min(32, names.length) }, worker))
  await line.close()
}

async function empty(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
}

async function refill(folder: string, from: string): Promise<void> {
  await empty(folder)
  for (const name of await readdir(from)) {
    const [source, target] = [await open(join(from, name)), await open(join(folder, name), 'w')]
    const buffer = Buffer.alloc(1 << 20)
    for (let got = 1; got > 0;) {
      got = (await source.read(buffer, 0, buffer.length)).bytesRead
      await target.write(buffer, 0, got)
    }
    await source.close()
    await target.close()
  }
}

async function calling(at: { big: string; small: string; there: string; back: string }): Promise<void> {
  const { big, small, there, back } = at
  const key = sshd.userKey.path
  const small_ = await readdir(small)
  const clean = () => Promise.all([empty(there), empty(back)])
  const put = (folder: string, flag = '') =>
    sftp(sshd.port, key, `lcd ${folder}\ncd ${there}\nput ${flag} *\n`)
  const fetch = async () => {
    const line = await session('/', there, true)
    await line.fetch(never)
    await line.close()
  }
  const get = () => sftp(sshd.port, key, `lcd ${back}\ncd ${there}\nget *\n`)
  const stock = (from: string) => () => Promise.all([refill(there, from), empty(back)])
  await compare(
    `calling, up ${mib} MiB`,
    clean,
    () => put(big),
    () => pushAll(['big'], big, there, false),
    () => rclone(big, `sshd:${there}`),
  )
  await compare(
    `calling, up ${mib} MiB, synced`,
    clean,
    () => put(big, '-f'),
    () => pushAll(['big'], big, there, true),
  )
  await compare(
    `calling, up ${files} x 10 KiB`,
    clean,
    () => put(small),
    () => pushAll(small_, small, there, false),
    () => rclone(small, `sshd:${there}`),
  )
  await compare(
    `calling, up ${files} x 10 KiB, synced`,
    clean,
    () => put(small, '-f'),
    () => pushAll(small_, small, there, true),
  )
  await compare(`calling, down ${mib} MiB`, stock(big), get, fetch, () => rclone(`sshd:${there}`, back))
  await compare(`calling, down ${files} x 10 KiB (ours removes too)`, stock(small), get, fetch, () =>
    rclone(`sshd:${there}`, back),
  )
}

async function beingCalled(at: { big: string; small: string; there: string; back: string }): Promise<void> {
  const { big, small, there, back } = at
  const child = fork(import.meta.filename, ['serve'], { env: { ...process.env, BENCH_FOLDER: at.there } })
  const { port, key, idle } = await new Promise<{ port: number; key: string; idle: number }>((resolve) =>
    child.once('message', (message) => resolve(message as { port: number; key: string; idle: number })),
  )
  const clean = () => Promise.all([empty(there), empty(back)])
  const stock = (from: string) => () => Promise.all([refill(there, from), empty(back)])
  const put = (folder: string, theirs: boolean) =>
    theirs
      ? sftp(sshd.port, sshd.userKey.path, `lcd ${folder}\ncd ${there}\nput *\n`)
      : sftp(port, key, `lcd ${folder}\ncd /NOMINA/in\nput *\n`)
  const get = async (from: string, theirs: boolean) => {
    const lines = (await readdir(from)).map((name) => `get ${name}`).join('\n')
    const script = `lcd ${back}\ncd ${theirs ? there : '/NOMINA/out'}\n${lines}\n`
    return theirs ? sftp(sshd.port, sshd.userKey.path, script) : sftp(port, key, script)
  }
  await compare(
    `being called, up ${mib} MiB`,
    clean,
    () => put(big, true),
    () => put(big, false),
  )
  await compare(
    `being called, up ${files} x 10 KiB`,
    clean,
    () => put(small, true),
    () => put(small, false),
  )
  await compare(
    `being called, down ${mib} MiB`,
    stock(big),
    () => get(big, true),
    () => get(big, false),
  )
  await compare(
    `being called, down ${files} x 10 KiB`,
    stock(small),
    () => get(small, true),
    () => get(small, false),
  )
  child.send('memory')
  const { most } = await new Promise<{ most: number }>((resolve) =>
    child.once('message', (m) => resolve(m as { most: number })),
  )
  console.log(`server memory: ${inMib(idle)} MiB idle, ${inMib(most)} MiB at most`)
  child.send('stop')
  await new Promise((resolve) => child.once('exit', resolve))
}

let sshd: Awaited<ReturnType<typeof startOpenSsh>>
let host: HostDouble

async function main(): Promise<void> {
  if (noOpenSsh) return console.log(`skipped: ${noOpenSsh}`)
  if (!nativeBinding().loaded) console.log(nativeBinding().advice)
  const root = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'esclusa-bench-'))
  sshd = await startOpenSsh()
  host = new HostDouble(join(root, 'back'))
  host.offer = offerPlainly(join(root, 'back'))
  try {
    const at = {
      big: join(root, 'big'),
      small: join(root, 'small'),
      there: join(root, 'there'),
      back: join(root, 'back'),
    }
    for (const folder of Object.values(at)) await mkdir(folder)
    const big = await open(join(at.big, 'big'), 'w')
    const block = Buffer.alloc(1 << 20, 'esclusa')
    for (let at = 0; at < mib; at++) await big.write(block)
    await big.close()
    for (let n = 0; n < files; n++) await writeFile(join(at.small, `f${n}`), block.subarray(0, SMALL))
    if (part !== 'called') await calling(at)
    if (part !== 'calling') await beingCalled(at)
  } finally {
    await sshd.stop()
    await rm(root, { recursive: true, force: true })
  }
}

if (process.argv.includes('serve')) await serve(process.env['BENCH_FOLDER'] ?? '')
else await main()
