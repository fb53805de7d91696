// The server with the clients partners really use: sftp, scp, rclone, lftp, curl. Each is skipped where it is not installed.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'

import { patternBytes } from '../../../../test/support/sftp/session-host.ts'
import { commandExists, startCuttingProxy } from '../../../../test/support/sftp/openssh.ts'

import { startTestListener } from '../../../../test/support/sftp/listener.ts'
import type { TestListener } from '../../../../test/support/sftp/listener.ts'

const MIB = 1024 * 1024
const need = (...names: string[]) => {
  const absent = ['ssh-keygen', ...names].filter((name) => !commandExists(name))
  return absent.length > 0 && `${absent.join(', ')} not installed`
}

// Many builds of curl speak no SFTP.
const needCurl =
  need('curl') ||
  (!/^Protocols:.* sftp /m.test(String(spawnSync('curl', ['--version']).stdout)) && 'curl without SFTP')

let server: TestListener
let knownHosts: string

before(async () => {
  if (need()) return
  server = await startTestListener()
  knownHosts = join(server.folder, 'known_hosts')
})

after(() => server?.stop())

afterEach(() => {
  if (server === undefined) return
  assert.deepEqual(server.faults, [])
  assert.equal(server.outbox.opened, 0)
})

interface Outcome {
  code: number | null
  out: string
}

function run(command: string, args: readonly string[], input = ''): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: server.folder, env: { ...process.env, HOME: server.folder } })
    let out = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
    child.stdout.on('data', (chunk) => (out += chunk))
    child.stderr.on('data', (chunk) => (out += chunk))
    child.once('error', reject)
    child.once('close', (code) => (clearTimeout(timer), resolve({ code, out })))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

async function sshOptions(port: number): Promise<string[]> {
  await writeFile(knownHosts, `[127.0.0.1]:${port} ${server.hostKey.public}\n`)
  return ['-P', `${port}`, '-i', server.userKey.path, '-F', '/dev/null'].concat(
    ['BatchMode=yes', `UserKnownHostsFile=${knownHosts}`, 'IdentitiesOnly=yes'].flatMap((line) => [
      '-o',
      line,
    ]),
  )
}

async function sftp(script: string, port = server.port, more: readonly string[] = []): Promise<Outcome> {
  return run('sftp', [...(await sshOptions(port)), ...more, '-b', '-', 'acme@127.0.0.1'], script)
}

async function local(name: string, bytes: Buffer): Promise<Buffer> {
  await writeFile(join(server.folder, name), bytes)
  return bytes
}

async function received(name: string): Promise<Buffer> {
  const found = await server.host.bytesOf(name)
  assert.equal(found.length, 1, `${name} was received ${found.length} times`)
  return found[0] ?? Buffer.alloc(0)
}

test('sftp puts, lists, gets and removes', { skip: need('sftp') }, async () => {
  const up = await local('up.bin', patternBytes(3 * MIB + 1, 1))
  const down = patternBytes(3 * MIB + 2, 2)
  server.outbox.put('NOMINA', 'down.bin', down)
  server.outbox.put('NOMINA', 'unwanted', Buffer.from('x'))
  const { code, out } = await sftp(
    'ls -l /\ncd /NOMINA/in\nput up.bin\nls -l\ncd ../out\nls -l\nget down.bin got.bin\nrm unwanted\nls\n',
  )
  assert.equal(code, 0, out)
  assert.match(out, /NOMINA/)
  assert.match(out, /3145729 .* up\.bin/)
  assert.ok((await received('up.bin')).equals(up))
  assert.ok((await readFile(join(server.folder, 'got.bin'))).equals(down))
  assert.deepEqual(server.outbox.takenLog.splice(0), ['read NOMINA/down.bin', 'removed NOMINA/unwanted'])
  assert.equal(server.host.received.at(-1)?.offer.application, 'NOMINA')
})

const LINES: { what: string; options: readonly string[]; shown: RegExp }[] = [
  { what: 'keys changed every MiB', options: ['-o', 'RekeyLimit=1M'], shown: /rekey(?:ing|ed)?\b/gi },
  { what: 'a cipher with a code of its own', options: ['-c', 'aes256-ctr'], shown: /cipher: aes256-ctr/g },
]
for (const [at, { what, options, shown }] of LINES.entries())
  test(`large files keep their bytes over a line with ${what}`, { skip: need('sftp') }, async () => {
    const up = await local(`line-${at}.bin`, patternBytes(12 * MIB + 5, 20 + at))
    const down = patternBytes(12 * MIB + 7, 30 + at)
    server.outbox.put('NOMINA', `line-${at}-down.bin`, down)
    const script = `put line-${at}.bin /NOMINA/in/\nget /NOMINA/out/line-${at}-down.bin\n`
    const { code, out } = await sftp(script, server.port, ['-v', ...options])
    assert.equal(code, 0, out)
    assert.ok((out.match(shown) ?? []).length > 1, out)
    assert.ok((await received(`line-${at}.bin`)).equals(up))
    assert.ok((await readFile(join(server.folder, `line-${at}-down.bin`))).equals(down))
    assert.deepEqual(server.outbox.takenLog.splice(0), [`read NOMINA/line-${at}-down.bin`])
  })

test('large files keep their bytes with the sockets that Node gives', { skip: need('sftp') }, async (t) => {
  const usual = server
  const notes: string[] = []
  server = await startTestListener({ socketMemory: false, onNote: (note) => notes.push(note) })
  t.after(async () => {
    await server.stop()
    server = usual
  })
  const up = await local('up.bin', patternBytes(12 * MIB + 9, 40))
  const down = patternBytes(12 * MIB + 11, 41)
  server.outbox.put('NOMINA', 'down.bin', down)
  const { code, out } = await sftp('put up.bin /NOMINA/in/\nget /NOMINA/out/down.bin\n')
  assert.equal(code, 0, out)
  assert.ok((await received('up.bin')).equals(up))
  assert.ok((await readFile(join(server.folder, 'down.bin'))).equals(down))
  assert.deepEqual(notes, [])
})

test(
  'a file put under a temporary name is handed over when it is renamed, once',
  { skip: need('sftp') },
  async () => {
    const bytes = await local('doc.xml', patternBytes(100_000, 3))
    const names = ['one.xml.part', '.two.xml', 'three.xml.filepart', 'four.tmp']
    const finals = ['one.xml', 'two.xml', 'three.xml', 'another name.xml']
    const puts = names.map((name) => `put doc.xml /RECIBOS/in/${name}`)
    const before = server.host.received.length
    const first = await sftp(`${puts.join('\n')}\nls -la /RECIBOS/in\n`)
    assert.equal(first.code, 0, first.out)
    assert.equal(server.host.received.length, before, 'handed over under a temporary name')
    const renames = names.map((name, at) => `rename /RECIBOS/in/${name} "/RECIBOS/in/${finals[at]}"`)
    const second = await sftp(`${renames.join('\n')}\n`)
    assert.equal(second.code, 0, second.out)
    for (const name of finals) assert.ok((await received(name)).equals(bytes), name)
    assert.equal(server.host.open.size, 0)
  },
)

test(
  'sftp resumes a cut upload with reput and a cut download with reget',
  { skip: need('sftp') },
  async () => {
    const up = await local('resume.bin', patternBytes(8 * MIB, 4))
    const down = patternBytes(8 * MIB, 5)
    server.outbox.put('NOMINA', 'resume-down.bin', down)
    const proxy = await startCuttingProxy(server.port)
    try {
      proxy.cutAfter(4 * MIB)
      assert.notEqual((await sftp('put resume.bin /NOMINA/in/resume.bin\n', proxy.port)).code, 0)
      assert.notEqual((await sftp('get /NOMINA/out/resume-down.bin\n', proxy.port)).code, 0)
    } finally {
      await proxy.stop()
    }
    const part = (await stat(join(server.folder, 'resume-down.bin'))).size
    assert.ok(part > 0 && part < down.length)
    assert.deepEqual(server.outbox.takenLog, [])
    const { code, out } = await sftp(
      'reput resume.bin /NOMINA/in/resume.bin\nreget /NOMINA/out/resume-down.bin resume-down.bin\n',
    )
    assert.equal(code, 0, out)
    const [offer] = server.host.offers.slice(-1)
    assert.ok((offer?.restartFrom ?? 0) > 0, 'started again from nothing')
    assert.ok((await received('resume.bin')).equals(up))
    assert.ok((await readFile(join(server.folder, 'resume-down.bin'))).equals(down))
    assert.deepEqual(server.outbox.takenLog.splice(0), ['read NOMINA/resume-down.bin'])
  },
)

test('curl appends to what it has put', { skip: needCurl }, async () => {
  await local('head', Buffer.from('A'.repeat(100)))
  await local('tail', Buffer.from('B'.repeat(40)))
  const url = `sftp://127.0.0.1:${server.port}/NOMINA/in/curl.part`
  const curl = (...args: string[]) => run('curl', ['-sSk', '-u', 'acme:open sesame', ...args, url])
  const put = await curl('-T', 'head')
  assert.equal(put.code, 0, put.out)
  const rename = 'rename /NOMINA/in/curl.part /NOMINA/in/curl.txt'
  const appended = await curl('--append', '-T', 'tail', '-Q', `-${rename}`)
  assert.equal(appended.code, 0, appended.out)
  assert.equal(String(await received('curl.txt')), 'A'.repeat(100) + 'B'.repeat(40))
})

test(
  'sftp may neither put in out, get from in, make folders nor remove what it sent',
  { skip: need('sftp') },
  async () => {
    await local('small', Buffer.from('small'))
    assert.equal((await sftp('put small /NOMINA/in/sent\n')).code, 0)
    for (const line of [
      'put small /NOMINA/out/x',
      'get /NOMINA/in/sent x',
      'rm /NOMINA/in/sent',
      'rename /NOMINA/in/sent /NOMINA/in/other',
      'mkdir /NOMINA/in/folder',
      'mkdir /new',
      'rmdir /NOMINA/in',
      'symlink /etc/passwd /NOMINA/in/link',
      'ln /NOMINA/in/sent /NOMINA/in/hard',
      'put small /NOMINA/small',
      'put small /small',
      'ls /OTHER',
      'get /etc/passwd x',
      'get /../../etc/passwd x',
      'get /NOMINA/out/../../../../etc/passwd x',
      'rename /NOMINA/in/sent /RECIBOS/in/sent',
    ])
      assert.notEqual((await sftp(`${line}\n`)).code, 0, line)
    assert.ok((await received('sent')).equals(Buffer.from('small')))
  },
)

test('scp copies both ways', { skip: need('scp') }, async () => {
  const bytes = await local('scp.bin', patternBytes(500_000, 6))
  server.outbox.put('NOMINA', 'scp-down.bin', bytes)
  const options = await sshOptions(server.port)
  const up = await run('scp', ['-s', ...options, 'scp.bin', 'acme@127.0.0.1:/NOMINA/in/'])
  assert.equal(up.code, 0, up.out)
  const down = await run('scp', ['-s', ...options, 'acme@127.0.0.1:/NOMINA/out/scp-down.bin', 'scp-got.bin'])
  assert.equal(down.code, 0, down.out)
  assert.ok((await received('scp.bin')).equals(bytes))
  assert.ok((await readFile(join(server.folder, 'scp-got.bin'))).equals(bytes))
  assert.deepEqual(server.outbox.takenLog.splice(0), ['read NOMINA/scp-down.bin'])
})

test('scp sends one name again and again, and empty files too', { skip: need('scp') }, async () => {
  const options = await sshOptions(server.port)
  const contents = ['first', 'other', 'a longer one', 'short', '', '', 'last']
  for (const content of contents) {
    await local('scp-again', Buffer.from(content))
    const { code, out } = await run('scp', ['-s', ...options, 'scp-again', 'acme@127.0.0.1:/NOMINA/in/'])
    assert.equal(code, 0, out)
  }
  assert.deepEqual((await server.host.bytesOf('scp-again')).map(String), contents)
})

test('scp by the old protocol, commands and shells are refused', { skip: need('scp', 'ssh') }, async () => {
  await local('old', Buffer.from('old'))
  const options = await sshOptions(server.port)
  assert.notEqual((await run('scp', ['-O', ...options, 'old', 'acme@127.0.0.1:/NOMINA/in/'])).code, 0)
  const ssh = options.map((option) => (option === '-P' ? '-p' : option))
  assert.notEqual((await run('ssh', [...ssh, 'acme@127.0.0.1', 'id'])).code, 0)
  assert.deepEqual(await server.host.bytesOf('old'), [])
})

test('rclone copies, lists, moves and checks', { skip: need('rclone') }, async () => {
  const source = join(server.folder, 'rclone-up')
  const target = join(server.folder, 'rclone-down')
  await rm(source, { recursive: true, force: true })
  const { mkdir } = await import('node:fs/promises')
  await mkdir(source)
  const names = Array.from({ length: 12 }, (_, at) => `r${at}.dat`)
  for (const [at, name] of names.entries()) {
    await writeFile(join(source, name), patternBytes(200_000 + at, at))
    server.outbox.put('RECIBOS', `d-${name}`, patternBytes(200_000 + at, at))
  }
  await writeFile(knownHosts, `[127.0.0.1]:${server.port} ${server.hostKey.public}\n`)
  const remote = `:sftp,host=127.0.0.1,port=${server.port},user=acme,key_file=${server.userKey.path},known_hosts_file=${knownHosts},shell_type=none:`
  const common = ['--config', '/dev/null', '--retries', '1', '--low-level-retries', '1']
  const up = await run('rclone', [...common, 'copy', source, `${remote}/RECIBOS/in`])
  assert.equal(up.code, 0, up.out)
  const list = await run('rclone', [...common, 'lsf', `${remote}/RECIBOS/out`])
  assert.equal(list.out.trim().split('\n').length, 12, list.out)
  const down = await run('rclone', [...common, 'move', `${remote}/RECIBOS/out`, target])
  assert.equal(down.code, 0, down.out)
  for (const [at, name] of names.entries()) {
    assert.ok((await received(name)).equals(patternBytes(200_000 + at, at)), name)
    assert.ok((await readFile(join(target, `d-${name}`))).equals(patternBytes(200_000 + at, at)), name)
  }
  assert.equal(new Set(server.outbox.takenLog.splice(0).map((line) => line.split(' ')[1])).size, 12)
})

async function lftp(script: string, port = server.port): Promise<Outcome> {
  await writeFile(knownHosts, `[127.0.0.1]:${port} ${server.hostKey.public}\n`)
  const ssh = `ssh -a -x -i ${server.userKey.path} -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o UserKnownHostsFile=${knownHosts}`
  const settings = `set sftp:connect-program "${ssh}"; set net:max-retries 4; set net:reconnect-interval-base 1; set net:timeout 10; set cmd:fail-exit yes`
  return run('lftp', ['-c', `${settings}; open sftp://acme:@127.0.0.1:${port}; ${script}`])
}

test('lftp puts, gets, lists, renames and removes', { skip: need('lftp', 'ssh') }, async () => {
  const bytes = await local('lftp.bin', patternBytes(900_000, 7))
  server.outbox.put('NOMINA', 'lftp-down.bin', bytes)
  server.outbox.put('NOMINA', 'lftp-unwanted', bytes)
  const { code, out } = await lftp(
    'put -O /NOMINA/in lftp.bin; put lftp.bin -o /NOMINA/in/moved.part; mv /NOMINA/in/moved.part /NOMINA/in/moved; cls /NOMINA/out; get /NOMINA/out/lftp-down.bin -o lftp-got.bin; rm /NOMINA/out/lftp-unwanted',
  )
  assert.equal(code, 0, out)
  assert.match(out, /lftp-unwanted/)
  assert.ok((await received('lftp.bin')).equals(bytes))
  assert.ok((await received('moved')).equals(bytes))
  assert.ok((await readFile(join(server.folder, 'lftp-got.bin'))).equals(bytes))
  assert.deepEqual(server.outbox.takenLog.splice(0).sort(), [
    'read NOMINA/lftp-down.bin',
    'removed NOMINA/lftp-unwanted',
  ])
})

test(
  'lftp uploads with its own temporary names and resumes a cut upload',
  { skip: need('lftp', 'ssh') },
  async () => {
    // Cut once: cut a second time, lftp sometimes does not see that everything was answered, and begins again.
    const bytes = await local('lftp-big.bin', patternBytes(5 * MIB, 8))
    const proxy = await startCuttingProxy(server.port)
    try {
      // It connects again by itself, asks for the size that is there and goes on from it.
      proxy.cutAfter(3 * MIB)
      const resumed = await lftp('put lftp-big.bin -o /NOMINA/in/lftp-big.bin', proxy.port)
      assert.equal(resumed.code, 0, resumed.out)
    } finally {
      await proxy.stop()
    }
    assert.ok(server.host.offers.some((offer) => offer.name === 'lftp-big.bin' && offer.restartFrom > 0))
    assert.ok((await received('lftp-big.bin')).equals(bytes))
    const own = await lftp('set xfer:use-temp-file yes; put lftp-big.bin -o /NOMINA/in/lftp-temp.bin')
    assert.equal(own.code, 0, own.out)
    assert.ok((await received('lftp-temp.bin')).equals(bytes))
  },
)

test('nothing is left open behind all these clients', { skip: need() }, async () => {
  assert.equal(server.host.open.size, 0)
  const left = await readdir(server.host.folder).catch(() => [])
  assert.deepEqual(
    left.filter((name) => name.endsWith('.part')),
    [],
  )
})
