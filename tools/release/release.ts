// `npm run release [-- FOLDER]`: esclusa-<version>.tgz for `npm install -g`, and esclusa_<version>_<arch>.deb with its own
// Node, both in release/ (or FOLDER). Everything in them is built: an installation compiles nothing and runs no script.
// `--quick` packs the .deb larger, in a fraction of the time: for tests.

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeDeb } from './deb.ts'
import { billOfMaterials, carried, licenceTexts, NOT_JOINED } from './inventory.ts'

const ROOT = join(import.meta.dirname, '../..')
const given = process.argv.slice(2)
const OUT = resolve(given.find((one) => !one.startsWith('-')) ?? join(ROOT, 'release'))
const level = given.includes('--quick') ? 1 : 9
const STAGE = join(OUT, 'stage')

/** Of our own, as it is; joined sources, console and client are built. */
const OWN = ['bin', 'src/store/migrations', 'LICENSE', 'CHANGELOG.md']

type Package = {
  version: string
  description: string
  license: string
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
}
const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Package

rmSync(STAGE, { recursive: true, force: true })
mkdirSync(STAGE, { recursive: true })
// Into the release, not into the checkout: a node may be running there.
run(process.execPath, ['tools/bundle.mjs', join(STAGE, 'build')], ROOT)
run(process.execPath, ['tools/sdk/build.ts', join(STAGE, 'sdk/dist')], ROOT)
run(
  'npx',
  ['vite', 'build', '--outDir', join(STAGE, 'console/dist'), '--logLevel', 'warn'],
  join(ROOT, 'console'),
)
for (const path of OWN) cpSync(join(ROOT, path), join(STAGE, path), { recursive: true })
rmSync(join(STAGE, 'build/sources.txt'))
for (const { path } of carried()) carry(path)
write('package.json', JSON.stringify(manifest(), undefined, 2))
write('README.md', readMe())
write('sbom.cdx.json', JSON.stringify(billOfMaterials(own.version), undefined, 2))
write('LICENSES-OF-OTHERS.txt', licenceTexts())
requireBinding()
run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', OUT], STAGE)
console.log(`wrote ${join(OUT, `esclusa-${own.version}.tgz`)}`)
if (has('dpkg-deb'))
  console.log(`wrote ${writeDeb({ root: ROOT, stage: STAGE, out: OUT, version: own.version, level })}`)
else console.log('no .deb: dpkg-deb was not found (it comes with Debian and its relatives)')
renameSync(join(STAGE, 'sbom.cdx.json'), join(OUT, 'sbom.cdx.json'))
rmSync(STAGE, { recursive: true })

function run(program: string, args: string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed`)
}

function has(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0
}

function write(name: string, text: string): void {
  writeFileSync(join(STAGE, name), `${text.trimEnd()}\n`)
}

/** As it was installed and built here, without its sources in C, and without scripts that npm would run. */
function carry(path: string): void {
  const from = join(ROOT, path)
  const to = join(STAGE, path)
  const left = [
    /\/better-sqlite3\/(deps|src)(\/|$)/,
    /\/prebuilds\/(darwin|win32)/,
    /\/ssh2\/(test|examples|util)(\/|$)/,
  ]
  const isWanted = (one: string) =>
    !left.some((pattern) => pattern.test(one)) &&
    (one === from || !one.slice(from.length).includes('/node_modules'))
  cpSync(from, to, { recursive: true, dereference: true, filter: isWanted })
  const file = join(to, 'package.json')
  const {
    scripts: _,
    devDependencies: __,
    optionalDependencies: ___,
    ...kept
  } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  writeFileSync(file, JSON.stringify({ ...kept, gypfile: false }, undefined, 2))
}

function manifest(): object {
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, own.dependencies[name] as string]))
  return {
    name: 'esclusa',
    version: own.version,
    description: own.description,
    license: own.license,
    type: 'module',
    bin: { esclusa: 'bin/esclusa.js' },
    exports: { './client': { types: './sdk/dist/index.d.ts', default: './sdk/dist/index.js' } },
    engines: { node: '>=20' },
    os: ['linux'],
    dependencies: pick(NOT_JOINED),
    bundleDependencies: NOT_JOINED,
    // Where the machine's own Node is older than 24, the command hands over to the one of these.
    optionalDependencies: own.optionalDependencies,
  }
}

function readMe(): string {
  return `# Esclusa ${own.version}

A managed file-transfer node: channels between banks and companies, run through the Channel Integration API v2.

    esclusa serve     # a node; says where its data is and what to do next
    esclusa demo      # two nodes that exchange files, to look at
    esclusa --help

What is inside of others, and under which licence: sbom.cdx.json and LICENSES-OF-OTHERS.txt.`
}

/** Without it SFTP is several times slower: a release without it is none. */
function requireBinding(): void {
  const binding = join(STAGE, 'node_modules/ssh2/lib/protocol/crypto/build/Release/sshcrypto.node')
  if (existsSync(binding)) return
  throw new Error(
    'the native binding of ssh2 was not built here: install a C++ compiler, make and python3, then npm ci',
  )
}
