// The Debian package: the same tree as in the .tgz, with the Node that runs it, a system user, a service and its
// settings. Made with dpkg-deb alone; what it puts where stands in deploy/debian.

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type DebParts = { root: string; stage: string; out: string; version: string; level: number }

/** Where a file of deploy/debian goes, and with which rights. */
const PLACES: [file: string, place: string, mode: number][] = [
  ['esclusa', 'usr/bin/esclusa', 0o755],
  ['esclusa.service', 'usr/lib/systemd/system/esclusa.service', 0o644],
  ['esclusa.sysusers', 'usr/lib/sysusers.d/esclusa.conf', 0o644],
  ['esclusa.tmpfiles', 'usr/lib/tmpfiles.d/esclusa.conf', 0o644],
  ['esclusa.env', 'etc/esclusa/esclusa.env', 0o640],
  ['postinst', 'DEBIAN/postinst', 0o755],
  ['prerm', 'DEBIAN/prerm', 0o755],
  ['postrm', 'DEBIAN/postrm', 0o755],
  ['conffiles', 'DEBIAN/conffiles', 0o644],
]

export function writeDeb({ root, stage, out, version, level }: DebParts): string {
  const tree = join(out, 'deb')
  rmSync(tree, { recursive: true, force: true })
  for (const [file, place, mode] of PLACES) {
    mkdirSync(join(tree, dirname(place)), { recursive: true })
    cpSync(join(root, 'deploy/debian', file), join(tree, place))
    chmodSync(join(tree, place), mode)
  }
  const home = join(tree, 'usr/lib/esclusa')
  cpSync(stage, home, { recursive: true })
  const node = join(root, `node_modules/node-linux-${process.arch}`)
  cpSync(join(node, 'bin/node'), join(home, 'node'))
  chmodSync(join(home, 'node'), 0o755)
  cpSync(join(node, 'LICENSE'), join(home, 'LICENSE-OF-NODE'))
  const docs = join(tree, 'usr/share/doc/esclusa')
  mkdirSync(docs, { recursive: true })
  cpSync(join(root, 'LICENSE'), join(docs, 'copyright'))
  const arch = spawnSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).stdout.trim()
  const control = readFileSync(join(root, 'deploy/debian/control'), 'utf8')
  writeFileSync(join(tree, 'DEBIAN/control'), control.replace('@VERSION@', version).replace('@ARCH@', arch))
  const deb = join(out, `esclusa_${version}_${arch}.deb`)
  const { status } = spawnSync(
    'dpkg-deb',
    ['--build', '--root-owner-group', '-Zgzip', `-z${level}`, tree, deb],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  if (status !== 0) throw new Error('dpkg-deb failed')
  rmSync(tree, { recursive: true })
  return deb
}
