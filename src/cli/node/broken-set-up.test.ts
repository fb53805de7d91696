// What commands say of a set-up that is not as it should be.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestNode, tempFolder } from '../../../test/support/harness.ts'

const BINARY = fileURLToPath(new URL('../../../bin/esclusa.js', import.meta.url))

function run(args: string[], settings: Record<string, string>, how: { uid?: number } = {}) {
  const env = { PATH: process.env.PATH ?? '', ESCLUSA_PORT: '0', ...settings }
  const ran = spawnSync(process.execPath, [BINARY, ...args], {
    env,
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
    ...how,
  })
  return { exit: ran.status, stdout: ran.stdout, stderr: ran.stderr }
}

test('a setting that names a file where a folder belongs is refused by its name', async (t) => {
  const folder = await tempFolder(t)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  for (const name of ['DATA_DIR', 'FILE_ROOTS', 'SCRIPT_ROOTS', 'ARCHIVE_DIR'].map(
    (one) => `ESCLUSA_${one}`,
  )) {
    const settings = { ESCLUSA_DATA_DIR: join(folder, 'data'), [name]: file }
    const says = `setting ${name} must name a folder; ${file} is none`
    const { exit, stderr } = run(['serve'], settings)
    assert.deepEqual([exit, stderr], [2, `esclusa: ${says}\n`])
    assert.match(run(['doctor'], settings).stdout, new RegExp(`^WRONG +folders: ${says}$`, 'm'))
  }
})

test('a folder that cannot be made is refused by its setting', async (t) => {
  const folder = await tempFolder(t)
  const tooLong = join(folder, 'x'.repeat(300))
  for (const name of ['ESCLUSA_FILE_ROOTS', 'ESCLUSA_ARCHIVE_DIR']) {
    const settings = { ESCLUSA_DATA_DIR: join(folder, 'data'), [name]: tooLong }
    const says = `${tooLong} cannot be made (ENAMETOOLONG): set ${name} to another folder`
    const { exit, stderr } = run(['serve'], settings)
    assert.deepEqual([exit, stderr], [2, `esclusa: ${says}\n`])
  }
})

test(
  'a folder that a file system does not let be made is refused, and nothing waits for it',
  { skip: process.platform === 'linux' ? false : 'needs /proc' },
  async (t) => {
    const folder = await tempFolder(t)
    const path = '/proc/nowhere'
    for (const [name, command] of [
      ['ESCLUSA_FILE_ROOTS', ['serve']],
      ['ESCLUSA_DATA_DIR', ['user', 'add', 'ana', '--email', 'ana@example.org', '--role', 'ROLE_ADMIN']],
    ] as const) {
      const settings = {
        ESCLUSA_DATA_DIR: join(folder, 'data'),
        ESCLUSA_PASSWORD: 'x'.repeat(16),
        [name]: path,
      }
      const { exit, stderr } = run([...command], settings)
      assert.equal(exit, 2, stderr)
      assert.match(stderr, new RegExp(`/proc.*\\(E[A-Z]+\\).* set ${name} to another folder`))
    }
  },
)

test('output that cannot be written is one line and exit 1', async (t) => {
  const { dataDir } = await startTestNode(t)
  for (const line of ['export', 'audit export']) {
    const child = spawn(process.execPath, [BINARY, ...line.split(' ')], {
      env: { PATH: process.env.PATH ?? '', ESCLUSA_DATA_DIR: dataDir },
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    })
    let said = ''
    child.stderr?.on('data', (chunk) => (said += String(chunk)))
    const exit = await new Promise<number | null>((resolve) => child.once('close', resolve))
    assert.match(said, /^esclusa: the output cannot be written: ENOSPC[^\n]*\n$/)
    assert.equal(exit, 1)
  }
})

test('doctor as a user who may not enter the data folder says so, and not that there is none', async (t) => {
  const dataDir = join(await tempFolder(t), 'data')
  mkdirSync(dataDir)
  chmodSync(dataDir, 0o000)
  // Root enters everything.
  const how = process.getuid?.() === 0 ? { uid: 65_534 } : {}
  const { exit, stdout } = run(['doctor'], { ESCLUSA_DATA_DIR: dataDir }, how)
  assert.equal(exit, 1, stdout)
  assert.match(stdout, /^WRONG +data folder: .*EACCES/m)
  assert.match(stdout, /^WRONG +database: .*EACCES/m)
  assert.doesNotMatch(stdout, /there is none/)
})

test(
  'a user without a name and a home, as containers have, runs commands, and the trail knows the number',
  {
    skip: process.getuid?.() !== 0 && 'becoming another user needs root',
  },
  async (t) => {
    const folder = await tempFolder(t)
    chmodSync(folder, 0o755)
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir)
    chownSync(dataDir, 54_321, 54_321)
    const file = join(folder, 'platform.yaml')
    writeFileSync(file, 'localEntities: [{ code: BANCO, name: Banco }]\n')
    chmodSync(file, 0o644)
    const settings = { ESCLUSA_DATA_DIR: dataDir }
    const { exit, stdout, stderr } = run(['apply', file], settings, { uid: 54_321 })
    assert.deepEqual([exit, stdout, stderr], [0, '+ local entity BANCO\n1 added, 0 changed, 0 removed\n', ''])
    assert.match(run(['audit', 'export'], settings, { uid: 54_321 }).stdout, /"who":"uid 54321"/)
  },
)

test('a folder that this user may not write stops node and commands with what to do', async (t) => {
  const folder = await tempFolder(t)
  chmodSync(folder, 0o755)
  const [own, others] = [join(folder, 'own'), join(folder, 'others')]
  mkdirSync(own)
  mkdirSync(others)
  const isRoot = process.getuid?.() === 0
  // Root writes everywhere.
  const uid = isRoot ? 65_534 : (process.getuid?.() ?? 0)
  if (isRoot) chownSync(own, uid, uid)
  chmodSync(others, 0o555)
  for (const [command, setting, settings] of [
    ['serve', 'ESCLUSA_DATA_DIR', { ESCLUSA_DATA_DIR: others }],
    ['serve', 'ESCLUSA_DATA_DIR', { ESCLUSA_DATA_DIR: join(others, 'data') }],
    ['serve', 'ESCLUSA_FILE_ROOTS', { ESCLUSA_DATA_DIR: own, ESCLUSA_FILE_ROOTS: join(others, 'files') }],
    ['serve', 'ESCLUSA_ARCHIVE_DIR', { ESCLUSA_DATA_DIR: own, ESCLUSA_ARCHIVE_DIR: others }],
    ['serve', 'ESCLUSA_ARCHIVE_DIR', { ESCLUSA_DATA_DIR: own, ESCLUSA_ARCHIVE_DIR: join(others, 'kept') }],
    ['user list', 'ESCLUSA_DATA_DIR', { ESCLUSA_DATA_DIR: others }],
  ] as const) {
    const { exit, stderr } = run(command.split(' '), settings, isRoot ? { uid } : {})
    assert.deepEqual(
      [exit, stderr],
      [
        2,
        `esclusa: this user (uid ${uid}) may not write to ${others} (EACCES): run the command as the user that it belongs to, give it to this user, or set ${setting} to another folder\n`,
      ],
    )
  }
  const places = { ESCLUSA_DATA_DIR: join(others, 'data'), ESCLUSA_ARCHIVE_DIR: join(others, 'kept') }
  const { stdout } = run(['doctor'], places, isRoot ? { uid } : {})
  for (const about of ['data folder', 'archive'])
    assert.match(stdout, new RegExp(`^WRONG +${about}: .*may not write to ${others} \\(EACCES\\)`, 'm'))
})

test('a file without the key or certificate that callers are shown is told by its name, by the node and by doctor', async (t) => {
  const folder = await tempFolder(t)
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(folder, name)) as [string, string]
  for (const path of [cert, key]) writeFileSync(path, '')
  const anew = 'put it back from a backup, or remove it, and the node makes another when it starts'
  const [identity, host] = ['oftp2-tls.pem', 'sftp-host-key.pem'].map((name) => join(dataDir, name)) as [
    string,
    string,
  ]
  for (const [about, settings, path, says] of [
    [
      'certificate',
      { ESCLUSA_OFTP2_TLS_PORT: '1' },
      identity,
      `${identity} is no private key with its certificate: ${anew}`,
    ],
    [
      'SFTP host key',
      { ESCLUSA_SFTP_PORT: '1' },
      host,
      `${host} is no private key for SFTP: ${anew}, which partners then have to pin`,
    ],
    [
      'certificate',
      { ESCLUSA_TLS_CERT: cert, ESCLUSA_TLS_KEY: key },
      cert,
      `ESCLUSA_TLS_CERT must be a PEM certificate and its private key; ${cert} and ${key} are not`,
    ],
  ] as const) {
    writeFileSync(path, '')
    const all = { ESCLUSA_DATA_DIR: dataDir, ESCLUSA_LOG_LEVEL: 'silent', ...settings }
    const doctor = run(['doctor'], all)
    assert.equal(doctor.exit, 1, doctor.stdout)
    assert.ok(doctor.stdout.includes(`WRONG    ${about}: ${says}\n`), doctor.stdout)
    const { exit, stderr } = run(['serve'], all)
    assert.equal(exit, 2, stderr)
    // The node names both settings.
    if (path !== cert) assert.ok(stderr.includes(`esclusa: ${says}\n`), stderr)
    rmSync(path)
  }
})
