// What is released, installed as on a machine that has never seen the project: the .tgz by npm into a prefix of its own,
// the .deb unpacked into a root of its own; each started by a user without rights, from a folder without rights.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { TestContext } from 'node:test'
import { carried } from '../../tools/release/inventory.ts'
import { tempFolder } from '../support/harness.ts'

const ROOT = join(import.meta.dirname, '../..')
const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version
/** The user `nobody` of every Debian: owns nothing and may do nothing. Where the test is not root: whoever runs it. */
const ANYBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const withoutDeb = spawnSync('dpkg-deb', ['--version']).status === 0 ? false : 'dpkg-deb is not here'

let out = ''

before(() => {
  out = mkdtempSync(join(tmpdir(), 'esclusa-release-'))
  chmodSync(out, 0o755)
  run(process.execPath, ['tools/release/release.ts', out, '--quick'], ROOT)
})
after(() => rmSync(out, { recursive: true, force: true }))

function run(program: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 900_000 })
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}\n${stdout}`)
  return stdout
}

const PLATFORM = (home: string) => `
localEntities: [{ code: BANCO, name: Banco Azul }]
contacts:
  - { id: acme, name: Acme, remoteCodes: [{ id: rc1, code: ACME, name: Acme }], protocol: folder, folder: { inbox: ${home}/in, outbox: ${home}/out } }
channels:
  - code: BANCO-ACME-NOMINA
    contact: acme
    direction: EMISION
    directories: [{ direction: EMISION, filePath: ${home}/files/out }]
`

type Installed = { program: string; args: string[]; home: string; settings?: Record<string, string> }

/** One file is sent, as the README's first session does it; the folder it is all called from is nobody's. */
async function sendOneFile(t: TestContext, { program, args, home, settings = {} }: Installed): Promise<void> {
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    ESCLUSA_PORT: '0',
    ESCLUSA_FILE_ROOTS: join(home, 'files'),
    ...settings,
  }
  const call = (...more: string[]) => {
    const ran = spawnSync(program, [...args, ...more], { cwd: '/', env, encoding: 'utf8', ...ANYBODY })
    assert.equal(ran.status, 0, `esclusa ${more.join(' ')}: ${ran.stderr}`)
    return ran.stdout.trim()
  }
  const node = spawn(program, [...args, 'serve'], { cwd: '/', env, ...ANYBODY })
  const gone = once(node, 'exit')
  t.after(() => node.kill('SIGKILL'))
  node.stdout.resume()
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    node.stderr.on('data', (piece) => {
      const found = /ready at (http\S+)/.exec((said += String(piece)))?.[1]
      if (found) resolve(found)
    })
    void gone.then(() => reject(new Error(`the node ended: ${said}`)))
  })
  call('apply', join(home, 'platform.yaml'))
  env.ESCLUSA_URL = url
  env.ESCLUSA_TOKEN = call('token', 'create', '--user', 'admin')
  call('send', 'BANCO-ACME-NOMINA', '--watch')
  assert.equal(readFileSync(join(home, 'in/hola.txt'), 'utf8'), 'hola\n')
  const page = await fetch(`${url}/console/`)
  assert.match(await page.text(), /<script type="module"/, 'the console is inside')
  node.kill('SIGTERM')
  assert.deepEqual(await gone, [0, null], 'it drains')
}

async function homeOfAnybody(t: TestContext): Promise<string> {
  const home = await tempFolder(t)
  chmodSync(home, 0o755)
  for (const folder of ['', 'in', 'out', 'files', 'files/out']) {
    mkdirSync(join(home, folder), { recursive: true })
    if (ANYBODY.uid !== undefined) chownSync(join(home, folder), ANYBODY.uid, ANYBODY.gid)
  }
  writeFileSync(join(home, 'platform.yaml'), PLATFORM(home))
  writeFileSync(join(home, 'files/out/hola.txt'), 'hola\n')
  if (ANYBODY.uid !== undefined) chownSync(join(home, 'files/out/hola.txt'), ANYBODY.uid, ANYBODY.gid)
  return home
}

test('npm installs the package, and a user sends a file from any folder', async (t) => {
  const prefix = join(out, 'prefix')
  // Nothing but the Node that older machines need is fetched; here there is one, and so the network stays untouched.
  const how = ['--global', '--prefix', prefix, '--offline', '--omit=optional']
  run('npm', ['install', ...how, join(out, `esclusa-${VERSION}.tgz`)], out)
  const home = await homeOfAnybody(t)
  await sendOneFile(t, { program: join(prefix, 'bin/esclusa'), args: [], home })
  assert.ok(existsSync(join(home, '.local/share/esclusa/esclusa.db')), 'data is in the user’s own place')
  const installed = join(prefix, 'lib/node_modules/esclusa')
  const names = readdirSync(join(installed, 'node_modules')).flatMap((name) =>
    name.startsWith('@')
      ? readdirSync(join(installed, 'node_modules', name)).map((one) => `${name}/${one}`)
      : [name],
  )
  const wanted = new Set(carried().map(({ name }) => name))
  const others = names.filter((name) => !wanted.has(name) && !/^(\.|node-linux-)/.test(name))
  assert.deepEqual(others, [], 'nothing is installed that only developers need')
  assert.ok(existsSync(join(installed, 'sdk/dist/index.d.ts')), 'types of the client')
})

test('the Debian package brings its Node, a service and its user', { skip: withoutDeb }, async (t) => {
  const name = readdirSync(out).find((one) => one.endsWith('.deb')) ?? ''
  const root = join(out, 'root')
  run('dpkg-deb', ['-R', join(out, name), root], out)
  const unit = readFileSync(join(root, 'usr/lib/systemd/system/esclusa.service'), 'utf8')
  for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'User=esclusa'])
    assert.match(unit, new RegExp(line))
  assert.match(readFileSync(join(root, 'DEBIAN/control'), 'utf8'), new RegExp(`^Version: ${VERSION}$`, 'm'))
  for (const script of ['postinst', 'prerm', 'postrm']) run('sh', ['-n', join(root, 'DEBIAN', script)], out)
  const home = await homeOfAnybody(t)
  const esclusa = join(root, 'usr/lib/esclusa')
  const settings = { PATH: '/nowhere', ESCLUSA_DATA_DIR: join(home, 'data') }
  await sendOneFile(t, {
    program: join(esclusa, 'node'),
    args: [join(esclusa, 'bin/esclusa.js')],
    home,
    settings,
  })
})

test('the bill of materials names everything of others that is inside', () => {
  const bill = JSON.parse(readFileSync(join(out, 'sbom.cdx.json'), 'utf8')) as {
    bomFormat: string
    components: { name: string; version: string; licenses: unknown[]; hashes?: unknown[] }[]
  }
  assert.equal(bill.bomFormat, 'CycloneDX')
  const names = new Set(bill.components.map(({ name }) => name))
  for (const name of ['fastify', 'react', 'better-sqlite3', `node-linux-${process.arch}`, 'asn1'])
    assert.ok(names.has(name), name)
  for (const name of ['typescript', 'vite', 'oxlint', 'playwright-core']) assert.ok(!names.has(name), name)
  for (const { name, licenses, hashes } of bill.components) assert.ok(licenses.length && hashes, name)
})
