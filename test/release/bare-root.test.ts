// On a Debian that has never seen the project: a fresh root made by debootstrap, entered by chroot. The .deb is installed by
// dpkg, its node started as the unit does it (no systemd runs in a chroot: its user, settings and ExecStart are taken from the
// unit by hand), sends a file, is upgraded, and gets a backup back; the .tgz is installed by npm. ESCLUSA_LONG=1, as root.
//
// DEBIAN_ROOT names a root that debootstrap has made already, DEBIAN_RELEASE a folder that `npm run release` has filled.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import type { TestContext } from 'node:test'
import { LONG } from '../crash/trial.ts'
import { closeAfter, tempFolder } from '../support/harness.ts'

const ROOT = join(import.meta.dirname, '../..')
const skip = !LONG
  ? 'SKIPPED: ESCLUSA_LONG=1 installs into a bare Debian root'
  : process.getuid?.() !== 0
    ? 'SKIPPED: only root may chroot'
    : spawnSync('debootstrap', ['--version']).error && !process.env.DEBIAN_ROOT
      ? 'SKIPPED: debootstrap is not here'
      : false
const OLDER = '0.1.99'
const CODE = 'BANCO-ACME-NOMINA'
let release = process.env.DEBIAN_RELEASE ?? ''

before(() => {
  if (skip || release) return
  release = join(ROOT, 'release')
  run(process.execPath, ['tools/release/release.ts', release], ROOT)
})

function run(program: string, args: string[], cwd = '/', env?: Record<string, string>): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: 1_200_000,
    ...(env && { env }),
  })
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${String(error)} ${stderr}\n${stdout}`)
  return stdout
}

class Machine {
  readonly root: string
  constructor(root: string) {
    this.root = root
  }

  static async fresh(t: TestContext): Promise<Machine> {
    const root = join(await tempFolder(t), 'root')
    const given = process.env.DEBIAN_ROOT
    if (given) run('cp', ['-a', '--one-file-system', given, root])
    else run('debootstrap', ['--variant=minbase', 'stable', root])
    return new Machine(root)
  }

  at(...path: string[]): string {
    return join(this.root, ...path)
  }

  /** As root, with nothing of this process's environment. */
  do(command: string, settings: Record<string, string> = {}): string {
    const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    return run('chroot', [this.root, 'sh', '-ec', command], '/', {
      PATH,
      HOME: '/root',
      LC_ALL: 'C.UTF-8',
      DEBIAN_FRONTEND: 'noninteractive',
      ...settings,
    })
  }

  /** Runs until it is stopped, as that user; resolves when it says that it is ready. */
  async serve(
    t: TestContext,
    user: string,
    command: string,
  ): Promise<{ url: string; stop(): Promise<void> }> {
    const child = spawn('chroot', [`--userspec=${user}:${user}`, this.root, 'sh', '-ec', `exec ${command}`], {
      env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: `/home/${user}` },
    })
    const gone = once(child, 'exit')
    closeAfter(t, async () => void child.kill('SIGKILL'))
    child.stdout.resume()
    let said = ''
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr.on('data', (piece) => {
        const found = /ready at (http\S+)/.exec((said += String(piece)))?.[1]
        if (found) resolve(found)
      })
      void gone.then(() => reject(new Error(`the node ended: ${said}`)))
    })
    const stop = async () => {
      child.kill('SIGTERM')
      assert.deepEqual(await gone, [0, null], said)
    }
    return { url, stop }
  }
}

const platform = (home: string) => `
localEntities: [{ code: BANCO, name: Banco Azul }]
contacts:
  - { id: acme, name: Acme, remoteCodes: [{ id: rc1, code: ACME, name: Acme }], protocol: folder, folder: { inbox: ${home}/acme/in, outbox: ${home}/acme/out } }
channels:
  - { code: ${CODE}, contact: acme, direction: EMISION, directories: [{ direction: EMISION, filePath: ${home}/out }] }
`

/** The same package with a lower version: there is no older release as a package yet. */
function olderDeb(folder: string): string {
  const deb = readdirSync(release).find((one) => one.endsWith('.deb')) ?? ''
  const tree = join(folder, 'tree')
  run('dpkg-deb', ['-R', join(release, deb), tree])
  const control = join(tree, 'DEBIAN/control')
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${OLDER}`))
  const older = join(folder, `esclusa_${OLDER}.deb`)
  run('dpkg-deb', ['--build', '--root-owner-group', '-Znone', tree, older])
  rmSync(tree, { recursive: true })
  return older
}

function sends(machine: Machine, url: string, name: string): void {
  machine.do(`su -s /bin/sh esclusa -c 'echo ${name} > /srv/esclusa/out/${name}'`)
  machine.do(
    `export ESCLUSA_TOKEN=$(esclusa token create --user admin) ESCLUSA_URL=${url}; esclusa send ${CODE} --watch`,
  )
  assert.equal(readFileSync(machine.at('srv/esclusa/acme/in', name), 'utf8'), `${name}\n`)
}

test('the .deb on a bare Debian: installed, run by its user, upgraded, restored', { skip }, async (t) => {
  const machine = await Machine.fresh(t)
  cpSync(olderDeb(await tempFolder(t)), machine.at('older.deb'))
  const deb = readdirSync(release).find((one) => one.endsWith('.deb')) ?? ''
  cpSync(join(release, deb), machine.at('newer.deb'))
  machine.do('dpkg -i /older.deb')
  machine.do("printf 'ESCLUSA_PORT=0\\nESCLUSA_FILE_ROOTS=/srv/esclusa\\n' >> /etc/esclusa/esclusa.env")
  machine.do(
    "su -s /bin/sh esclusa -c 'mkdir -p /srv/esclusa/out /srv/esclusa/acme/in /srv/esclusa/acme/out'",
  )
  writeFileSync(machine.at('srv/esclusa/platform.yaml'), platform('/srv/esclusa'))
  const unit = readFileSync(machine.at('usr/lib/systemd/system/esclusa.service'), 'utf8')
  const command = /^ExecStart=(.*)$/m.exec(unit)?.[1]
  // As the unit has it: user, settings, data folder, working directory.
  const start = () =>
    machine.serve(
      t,
      'esclusa',
      `sh -c 'set -a; . /etc/esclusa/esclusa.env; ESCLUSA_DATA_DIR=/var/lib/esclusa; cd /var/lib/esclusa; exec ${command}'`,
    )
  let node = await start()
  machine.do('esclusa apply /srv/esclusa/platform.yaml')
  sends(machine, node.url, 'first')
  machine.do('esclusa backup /srv/esclusa/monday.tar.gz')
  await node.stop()
  machine.do('dpkg -i /newer.deb')
  assert.match(machine.do('dpkg-query -W esclusa'), /0\.2\.\d/)
  assert.match(machine.do('cat /etc/esclusa/esclusa.env'), /^ESCLUSA_PORT=0$/m, 'settings stay')
  node = await start()
  sends(machine, node.url, 'second')
  await node.stop()
  machine.do('esclusa backup verify /srv/esclusa/monday.tar.gz')
  machine.do('find /var/lib/esclusa -mindepth 1 -delete; esclusa restore /srv/esclusa/monday.tar.gz')
  node = await start()
  const listed = machine.do(
    `export ESCLUSA_TOKEN=$(esclusa token create --user admin) ESCLUSA_URL=${node.url}; esclusa transfers ${CODE}`,
  )
  assert.match(listed, /COMPLETED/)
  await node.stop()
  machine.do('dpkg -P esclusa && test -d /var/lib/esclusa/ && test -f /srv/esclusa/monday.tar.gz')
})

test('the .tgz on a bare Debian with a Node: installed by npm, run by a user', { skip }, async (t) => {
  const machine = await Machine.fresh(t)
  const npm = dirname(dirname(realpathSync(run('sh', ['-c', 'command -v npm']).trim())))
  mkdirSync(machine.at('usr/local/lib/node_modules'), { recursive: true })
  cpSync(process.execPath, machine.at('usr/local/bin/node'))
  cpSync(npm, machine.at('usr/local/lib/node_modules/npm'), { recursive: true, dereference: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', machine.at('usr/local/bin/npm'))
  const tgz = readdirSync(release).find((one) => one.endsWith('.tgz')) ?? ''
  cpSync(join(release, tgz), machine.at(tgz))
  // libstdc++ is what Debian's own nodejs would bring.
  machine.do(`npm install -g --offline --omit=optional /${tgz}`)
  machine.do('useradd --create-home --user-group esclusa')
  machine.do("su esclusa -c 'mkdir -p ~/files/out ~/files/acme/in ~/files/acme/out'")
  writeFileSync(machine.at('home/esclusa/platform.yaml'), platform('/home/esclusa/files'))
  writeFileSync(machine.at('home/esclusa/files/out/hola.txt'), 'hola\n')
  const settings = 'ESCLUSA_PORT=0 ESCLUSA_FILE_ROOTS=/home/esclusa/files'
  const node = await machine.serve(t, 'esclusa', `env ${settings} esclusa serve`)
  machine.do(`su esclusa -c '${settings} esclusa apply /home/esclusa/platform.yaml'`)
  machine.do(
    `su esclusa -c 'export ${settings} ESCLUSA_URL=${node.url}; export ESCLUSA_TOKEN=$(esclusa token create --user admin); esclusa send ${CODE} --watch'`,
  )
  assert.equal(readFileSync(machine.at('home/esclusa/files/acme/in/hola.txt'), 'utf8'), 'hola\n')
  await node.stop()
})
