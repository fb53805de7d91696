// Builds the native crypto binding of ssh2 for the Node that will run the node, which is not always the Node that
// runs npm: where npm brings its own (node_modules/node-linux-*), the binding is built against that one's headers.
// ssh2 falls back to a path eight times slower without a word, so this script says what it did in one line.
//
// It never fails an installation (no compiler: one line, exit 0), never asks the network where headers ship with
// the runtime, and never leaves a binding behind that the runtime cannot load. A `nodedir` setting of the machine
// would point node-gyp at another Node's headers; the one given here wins over it.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const say = (line) => console.log(`ssh2 binding: ${line}`)

/** The Node that npm put beside us, else the one running now. */
function targetNode() {
  const brought = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')
  return process.platform === 'linux' && existsSync(brought) ? brought : process.execPath
}

function findSsh2() {
  try {
    return dirname(createRequire(join(root, 'package.json')).resolve('ssh2/package.json'))
  } catch {
    return undefined
  }
}

/** Loads, and lives on when what it made is collected (tools/object-wrap.h says why it might not). */
const TRIAL = `
  const { AESGCMCipher } = require(process.argv[1])
  for (let n = 0; n < 3000; n++) new AESGCMCipher('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12))
  setTimeout(() => { gc(); setTimeout(() => process.exit(0), 10) }, 10)`

function works(node, binding) {
  const run = spawnSync(node, ['--expose-gc', '-e', TRIAL, binding], { stdio: 'ignore', timeout: 20_000 })
  return run.status === 0
}

/** The npm that runs us, else the first on the path. */
function findNpm() {
  if (process.env.npm_execpath) return process.env.npm_execpath
  const onPath = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'npm'))
  const found = onPath.find((path) => existsSync(path))
  return found && realpathSync(found)
}

/** node-gyp comes inside npm; npm tells where it is, and otherwise it lies beside the npm of a usual installation. */
function findNodeGyp() {
  const npmCli = findNpm()
  const candidates = [
    process.env.npm_config_node_gyp,
    npmCli && join(dirname(npmCli), '..', 'node_modules', 'node-gyp', 'bin', 'node-gyp.js'),
    join(
      dirname(process.execPath),
      '..',
      'lib',
      'node_modules',
      'npm',
      'node_modules',
      'node-gyp',
      'bin',
      'node-gyp.js',
    ),
    '/usr/share/nodejs/node-gyp/bin/node-gyp.js',
  ]
  return candidates.find((path) => path && existsSync(path))
}

const has = (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0

function missingTool() {
  if (!has(process.env.CXX || 'c++') && !has('g++') && !has('clang++')) return 'a C++ compiler'
  if (!has('make') && !has('gmake')) return 'make'
  return has(process.env.PYTHON || 'python3') ? undefined : 'python3'
}

function build(node, gyp, folder) {
  const facts = JSON.parse(
    spawnSync(node, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' }).stdout,
  )
  const prefix = dirname(dirname(node))
  const args = [
    gyp,
    'rebuild',
    `--target=v${facts.node}`,
    `--real_openssl_major=${facts.openssl.split('.')[0]}`,
  ]
  const env = { ...process.env }
  for (const name of Object.keys(env))
    if (/^npm_(config|package_config_node_gyp)_nodedir$/i.test(name)) delete env[name]
  if (existsSync(join(prefix, 'include', 'node', 'node.h'))) args.push(`--nodedir=${prefix}`)
  // binding.gyp asks a `node` on the path for the folder of nan: let it be the one we build for.
  env.PATH = `${dirname(node)}:${env.PATH ?? ''}`
  env.CXXFLAGS = `${env.CXXFLAGS ?? ''} -include "${join(root, 'tools', 'object-wrap.h')}"`
  return spawnSync(node, args, { cwd: folder, env, encoding: 'utf8', timeout: 300_000 })
}

function main() {
  const ssh2 = findSsh2()
  if (ssh2 === undefined) return say('ssh2 is not installed; nothing to build')
  const node = targetNode()
  const folder = join(ssh2, 'lib', 'protocol', 'crypto')
  const release = join(folder, 'build', 'Release')
  const binding = join(release, 'sshcrypto.node')
  if (existsSync(binding) && works(node, binding)) return say('already built for this Node')

  const slow = 'SFTP works without it, but several times slower'
  const drop = () => rmSync(join(folder, 'build'), { recursive: true, force: true })
  const missing = missingTool()
  const gyp = findNodeGyp()
  if (missing !== undefined || gyp === undefined) {
    if (existsSync(release) && readdirSync(release).length > 0) drop()
    return say(`not built: ${missing ?? 'node-gyp'} was not found. ${slow}`)
  }
  const run = build(node, gyp, folder)
  if (run.status === 0 && works(node, binding)) return say(`built for ${node}`)
  drop()
  const reason =
    `${run.stderr ?? ''}`.split('\n').findLast((line) => /error/i.test(line)) ?? `exit ${run.status}`
  say(`not built: ${reason.trim()}. ${slow}`)
}

main()
