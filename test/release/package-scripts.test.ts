// What the Debian package's scripts do to a machine on which an administrator has decided something: systemd's own
// programs work on a root of its own, and what they would ask a running systemd for is written down.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../support/harness.ts'

const DEBIAN = join(import.meta.dirname, '../../deploy/debian')
const PROGRAMS = ['systemctl', 'systemd-sysusers', 'systemd-tmpfiles']
const skip =
  process.getuid?.() !== 0
    ? 'SKIPPED: only root may give files to another user'
    : PROGRAMS.some((one) => spawnSync(one, ['--version']).error)
      ? 'SKIPPED: systemd is not installed here'
      : false

async function machine(t: TestContext) {
  const root = await tempFolder(t)
  const at = (path: string) => join(root, path)
  const put = (path: string, text: string) => {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), text, { mode: 0o755 })
  }
  put('usr/lib/systemd/system/esclusa.service', readFileSync(join(DEBIAN, 'esclusa.service'), 'utf8'))
  put('usr/lib/sysusers.d/esclusa.conf', readFileSync(join(DEBIAN, 'esclusa.sysusers'), 'utf8'))
  put('usr/lib/tmpfiles.d/esclusa.conf', readFileSync(join(DEBIAN, 'esclusa.tmpfiles'), 'utf8'))
  put('etc/esclusa/esclusa.env', '')
  for (const folder of ['run/systemd/system', 'srv/esclusa']) mkdirSync(at(folder), { recursive: true })
  const there = (name: string) =>
    execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
  for (const name of PROGRAMS.slice(1))
    put(`stand-in/${name}`, `#!/bin/sh\nexec ${there(name)} --root=${root} "$@"\n`)
  put(
    'stand-in/systemctl',
    `#!/bin/sh\ncase $1 in restart | stop | daemon-reload) echo "$1" >>${at('asked')} ;;
    *) exec ${there('systemctl')} --root=${root} "$@" ;; esac\n`,
  )
  const env = { PATH: `${at('stand-in')}:${process.env.PATH}`, LC_ALL: 'C' }
  return {
    at,
    systemctl: (...args: string[]) =>
      spawnSync(at('stand-in/systemctl'), args, { env, encoding: 'utf8' }).stdout.trim(),
    /** Runs a script of the package; what systemd was asked to do. */
    run: (script: string, ...args: string[]): string[] => {
      writeFileSync(at('asked'), '')
      const text = readFileSync(join(DEBIAN, script), 'utf8').replaceAll(
        /(?<= )\/(?=(run|etc|var|srv)\/)/g,
        `${root}/`,
      )
      execFileSync('sh', ['-c', text, script, ...args], { env, stdio: 'pipe' })
      return readFileSync(at('asked'), 'utf8').split('\n').filter(Boolean)
    },
  }
}

test(
  'a package enables and starts its service once; an upgrade leaves one that was disabled',
  { skip },
  async (t) => {
    const { run, systemctl } = await machine(t)
    assert.deepEqual(run('postinst', 'configure', ''), ['daemon-reload', 'restart'])
    assert.equal(systemctl('is-enabled', 'esclusa'), 'enabled')
    assert.deepEqual(run('postinst', 'configure', '0.2.0'), ['daemon-reload', 'restart'])
    systemctl('disable', 'esclusa')
    assert.deepEqual(run('postinst', 'configure', '0.2.0'), ['daemon-reload'], 'it is not started')
    assert.equal(systemctl('is-enabled', 'esclusa'), 'disabled')
    systemctl('enable', 'esclusa')
    run('prerm', 'remove')
    run('postrm', 'remove')
    assert.deepEqual(run('postinst', 'configure', '0.2.0'), ['daemon-reload', 'restart'], 'installed again')
    run('prerm', 'remove')
    run('postrm', 'purge')
    assert.equal(systemctl('is-enabled', 'esclusa'), 'disabled')
  },
)

test('a package is installed where its service is masked, and does not start it', { skip }, async (t) => {
  const { run, systemctl } = await machine(t)
  systemctl('mask', 'esclusa.service')
  assert.deepEqual(run('postinst', 'configure', ''), ['daemon-reload'])
  assert.equal(systemctl('is-enabled', 'esclusa'), 'masked')
})

test('rights that were given on the folder of files outlive upgrades and boots', { skip }, async (t) => {
  const { at, run } = await machine(t)
  chmodSync(at('srv/esclusa'), 0o2770)
  run('postinst', 'configure', '0.2.0')
  assert.equal(statSync(at('srv/esclusa')).mode & 0o7777, 0o2770)
  assert.equal(statSync(at('var/lib/esclusa')).mode & 0o7777, 0o700)
})
