// SFTP against OpenSSH on loopback, same cipher, same disk: prints how fast this node is as a ratio to `sftp` (1.0 is
// the same, more is faster). Calling: our client, `sftp` and `rclone` at the same sshd. Being called: `sftp` at our
// server and at sshd. Our ends are processes of their own (sftp-end.ts), one as a node is and one without each of the
// swaps of docs/sftp.md; under each row stands what it is without them. Cleans up after itself.
//
// node bench/sftp.ts [MiB=1024] [files=2000] [rounds=5] [calling|called]

import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { nativeBinding } from '../src/engine/transports/ssh/native-binding.ts'
import { commandExists, noOpenSsh, startOpenSsh } from '../test/support/sftp/openssh.ts'
import type { EndSettings, Order, Ready, Usage } from './sftp-end.ts'

const CIPHER = 'aes128-gcm@openssh.com'
const SMALL = 10 * 1024
const [mib = 1024, files = 2000, rounds = 5] = process.argv.slice(2).map(Number)
const part = process.argv[5]

/** The first is a node as it comes; the others lack a swap, which says something where `calling` or `called` holds. */
const ENDS = [
  { name: 'Esclusa', packetMemory: true, socketMemory: true, calling: true, called: true },
  { name: 'packet memory off', packetMemory: false, socketMemory: false, calling: true, called: true },
  { name: 'socket memory off', packetMemory: true, socketMemory: false, calling: false, called: true },
] as const

type End = (typeof ENDS)[number] & {
  ready: Ready
  ask: (order: Order) => Promise<Usage>
  stop: () => Promise<unknown>
}

async function startEnd(
  end: (typeof ENDS)[number],
  settings: Omit<EndSettings, 'packetMemory' | 'socketMemory'>,
) {
  const { packetMemory, socketMemory } = end
  const given: EndSettings = { ...settings, packetMemory, socketMemory }
  const child = fork(join(import.meta.dirname, 'sftp-end.ts'), {
    env: { ...process.env, SFTP_END: JSON.stringify(given) },
  })
  const hear = <T>() => new Promise<T>((resolve) => child.once('message', (said) => resolve(said as T)))
  const ready = await hear<Ready>()
  for (const note of ready.notes) console.log(note)
  const ask = (order: Order) => {
    const heard = hear<Usage>()
    child.send(order)
    return heard
  }
  const stop = () => {
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.send({ do: 'stop' } satisfies Order)
    return gone
  }
  return { ...end, ready, ask, stop } satisfies End
}

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

/** `end` undefined: at sshd. */
function sftp(end: End | undefined, script: string): Promise<void> {
  const options = [
    'BatchMode=yes',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'LogLevel=ERROR',
  ]
  const { port, key } = end?.ready ?? { port: sshd.port, key: sshd.userKey.path }
  const args = ['-q', '-P', `${port}`, '-i', key, '-c', CIPHER, '-F', '/dev/null', '-b', '-']
  const user = end === undefined ? sshd.username : 'acme'
  const child = spawn('sftp', [...args, ...options.flatMap((o) => ['-o', o]), `${user}@127.0.0.1`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(script)
  return finished(child, 'sftp')
}

type Work = {
  what: string
  ends: readonly End[]
  reset: () => Promise<unknown>
  theirs: () => Promise<unknown>
  ours: (end: End) => Promise<unknown>
  rclones?: () => Promise<unknown>
}

type Best = { seconds: number; cpuSeconds: number }

/** The best of the rounds each, taken in turns so that a busy moment hits all of them. */
async function compare({ what, ends, reset, theirs, ours, rclones }: Work): Promise<void> {
  const best = new Map<string, Best>()
  const time = async (name: string, run: () => Promise<unknown>, end?: End) => {
    await reset()
    const before = await end?.ask({ do: 'usage' })
    const began = performance.now()
    await run()
    const seconds = (performance.now() - began) / 1000
    const after = await end?.ask({ do: 'usage' })
    const cpuSeconds = (after?.cpuSeconds ?? 0) - (before?.cpuSeconds ?? 0)
    const known = best.get(name) ?? { seconds: Infinity, cpuSeconds: Infinity }
    best.set(name, {
      seconds: Math.min(seconds, known.seconds),
      cpuSeconds: Math.min(cpuSeconds, known.cpuSeconds),
    })
  }
  for (let round = 0; round < rounds; round++) {
    await time('OpenSSH', theirs)
    for (const end of ends) await time(end.name, () => ours(end), end)
    if (rclones && commandExists('rclone')) await time('rclone', rclones)
  }
  print(what, best)
}

function print(what: string, best: Map<string, Best>): void {
  const of = (name: string) => best.get(name) ?? { seconds: NaN, cpuSeconds: NaN }
  const [openssh, own] = [of('OpenSSH'), of('Esclusa')]
  const ratio = (one: Best, other: Best) => (one.seconds / other.seconds).toFixed(2)
  const beside = best.has('rclone')
    ? `   (rclone ${of('rclone').seconds.toFixed(2)} s, ratio ${ratio(of('rclone'), own)})`
    : ''
  console.log(
    `${what.padEnd(46)} OpenSSH ${openssh.seconds.toFixed(2)} s   Esclusa ${own.seconds.toFixed(2)} s   ratio ${ratio(openssh, own)}${beside}`,
  )
  for (const { name } of ENDS.slice(1)) {
    const without = best.get(name)
    if (without === undefined) continue
    const cpu = (without.cpuSeconds / own.cpuSeconds).toFixed(2)
    console.log(
      `${`  ${name}`.padEnd(46)} ${''.padEnd(14)}   Esclusa ${without.seconds.toFixed(2)} s   ratio ${ratio(openssh, without)}   (on is worth ${ratio(without, own)} in time, ${cpu} in CPU)`,
    )
  }
}

async function empty(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
}

type Places = { big: string; small: string; there: string; back: string }

const clean =
  ({ there, back }: Places) =>
  () =>
    Promise.all([empty(there), empty(back)])
const stock =
  ({ there, back }: Places, from: string) =>
  async () => {
    await Promise.all([empty(there), empty(back)])
    await cp(from, there, { recursive: true })
  }

async function calling(at: Places, all: readonly End[]): Promise<void> {
  const { big, small, there, back } = at
  const ends = all.filter((end) => end.calling)
  const put = (folder: string, flag = '') => sftp(undefined, `lcd ${folder}\ncd ${there}\nput ${flag} *\n`)
  const get = () => sftp(undefined, `lcd ${back}\ncd ${there}\nget *\n`)
  for (const [from, what] of [
    [big, `${mib} MiB`],
    [small, `${files} x 10 KiB`],
  ] as const) {
    const up = { ends, reset: clean(at) }
    await compare({
      ...up,
      what: `calling, up ${what}`,
      theirs: () => put(from),
      ours: (end) => end.ask({ do: 'push', from, to: there, sync: false }),
      rclones: () => rclone(from, `sshd:${there}`),
    })
    await compare({
      ...up,
      what: `calling, up ${what}, synced`,
      ends: ends.slice(0, 1),
      theirs: () => put(from, '-f'),
      ours: (end) => end.ask({ do: 'push', from, to: there, sync: true }),
    })
    await compare({
      what: `calling, down ${what}${from === small ? ' (ours removes too)' : ''}`,
      ends,
      reset: stock(at, from),
      theirs: get,
      ours: (end) => end.ask({ do: 'fetch', from: there }),
      rclones: () => rclone(`sshd:${there}`, back),
    })
  }
}

async function beingCalled(at: Places, all: readonly End[]): Promise<void> {
  const { big, small, there, back } = at
  const ends = all.filter((end) => end.called)
  const put = (folder: string, end?: End) =>
    sftp(end, `lcd ${folder}\ncd ${end === undefined ? there : '/NOMINA/in'}\nput *\n`)
  const get = async (from: string, end?: End) => {
    const lines = (await readdir(from)).map((name) => `get ${name}`).join('\n')
    return sftp(end, `lcd ${back}\ncd ${end === undefined ? there : '/NOMINA/out'}\n${lines}\n`)
  }
  for (const [from, what] of [
    [big, `${mib} MiB`],
    [small, `${files} x 10 KiB`],
  ] as const) {
    await compare({
      what: `being called, up ${what}`,
      ends,
      reset: clean(at),
      theirs: () => put(from),
      ours: (end) => put(from, end),
    })
    await compare({
      what: `being called, down ${what}`,
      ends,
      reset: stock(at, from),
      theirs: () => get(from),
      ours: (end) => get(from, end),
    })
  }
}

let sshd: Awaited<ReturnType<typeof startOpenSsh>>

async function main(): Promise<void> {
  if (noOpenSsh) return console.log(`skipped: ${noOpenSsh}`)
  if (!nativeBinding().loaded) console.log(nativeBinding().advice)
  const root = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'esclusa-bench-'))
  sshd = await startOpenSsh()
  const ends: End[] = []
  try {
    const place = (name: string) => join(root, name)
    const at = { big: place('big'), small: place('small'), there: place('there'), back: place('back') }
    for (const folder of Object.values(at)) await mkdir(folder)
    const big = await open(join(at.big, 'big'), 'w')
    const block = Buffer.alloc(1 << 20, 'esclusa')
    for (let written = 0; written < mib; written++) await big.write(block)
    await big.close()
    for (let n = 0; n < files; n++) await writeFile(join(at.small, `f${n}`), block.subarray(0, SMALL))
    const { port, username, userKey, hostKey } = sshd
    const called = { port, username, privateKey: userKey.private, fingerprint: hostKey.fingerprint }
    for (const end of ENDS) ends.push(await startEnd(end, { there: at.there, back: at.back, sshd: called }))
    if (part !== 'called') await calling(at, ends)
    if (part !== 'calling') await beingCalled(at, ends)
    const inMib = (octets: number) => Math.round(octets / 1024 / 1024)
    for (const end of ends) {
      const { idle, most } = await end.ask({ do: 'usage' })
      console.log(`memory (${end.name}): ${inMib(idle)} MiB idle, ${inMib(most)} MiB at most`)
    }
  } finally {
    for (const end of ends) await end.stop()
    await sshd.stop()
    await rm(root, { recursive: true, force: true })
  }
}

await main()
