// The commands that the docs show are run, page by page: in order, as one program, in a place of its own that stands for
// the machine, beside a node of its own. The platform is that of the README. The service is started and stopped by hand where
// a page says systemctl. What cannot be run here says so beside its language; test/support/docs-blocks.ts knows the forms.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import type { StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fromRoot } from '../src/root.ts'
import { isThere } from './clients/scene.ts'
import { blocksOf, isCommands, isRun, programOf } from './support/docs-blocks.ts'

const ROOT = fileURLToPath(fromRoot(''))
const PAGES = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT }).toSorted()]
/** Whose blocks another test runs. */
const RUN_ELSEWHERE = new Set(['docs/integrate.md'])
const TOOLS = ['curl', 'jq', 'openssl', 'ssh-keygen', 'zcat']
const PAGE_MS = 240_000

const blocks = new Map(PAGES.map((page) => [page, blocksOf(page)]))

test('every command that the docs show is run, or says why not', () => {
  const wrong = [...blocks.values()].flat().flatMap((block) => {
    const { page, line, language, remark, text } = block
    if (isCommands(block))
      return remark === '' || /^\(not run: .{5,}\)$/.test(remark) ? [] : [`${page}:${line} says "${remark}"`]
    const hidden = language === '' && /^(\$ |npx |esclusa |npm |[A-Z_]+=|export )/m.test(text)
    return hidden ? [`${page}:${line} has commands and no language`] : []
  })
  assert.deepEqual(wrong, [])
})

let home = ''
let place = ''
let token = ''
const fresh = () => join(home, 'fresh')

before(() => {
  home = mkdtempSync(join(tmpdir(), 'esclusa-docs-'))
  place = join(home, 'place')
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const [name, line] of [
    ['esclusa', `exec '${process.execPath}' '${ROOT}bin/esclusa.js' "$@"`],
    ['npx', 'exec "$@"'],
  ] as const) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  for (const folder of [
    'var/lib',
    'etc/esclusa',
    'tmp/acme/in',
    'tmp/acme/out',
    'tmp/banco/out',
    'srv',
    'backup',
  ])
    mkdirSync(join(place, folder), { recursive: true })
  const platform = blocksOf('README.md').find(({ text }) => text.startsWith('# platform.yaml'))?.text ?? ''
  writeFileSync(join(home, 'platform.yaml'), platform.replaceAll('/tmp/', `${place}/tmp/`))
  const user = ['user', 'add', 'ana', '--email', 'ana@banco.example', '--role', 'ROLE_GLOBALADMIN']
  for (const args of [['apply', join(home, 'platform.yaml')], user])
    execFileSync(join(bin, 'esclusa'), args, { env: settings(), stdio: ['ignore', 'ignore', 'inherit'] })
  const asked = ['token', 'create', '--user', 'ana']
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore']
  token = execFileSync(join(bin, 'esclusa'), asked, { env: settings(), stdio, encoding: 'utf8' }).trim()
  cpSync(place, fresh(), { recursive: true })
})
after(() => rmSync(home, { recursive: true, force: true }))

function settings(): Record<string, string> {
  return {
    PATH: [join(home, 'bin'), dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
    HOME: home,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(home, 'compiled'),
    ESCLUSA_DATA_DIR: join(place, 'var/lib/esclusa'),
    ESCLUSA_FILE_ROOTS: join(place, 'tmp/banco'),
    ESCLUSA_PORT: '0',
    ESCLUSA_DRAIN_SECONDS: '0',
    ESCLUSA_PASSWORD: 'the password of ana',
  }
}

/** What stands before the commands of a page. */
const BEFORE = String.raw`
set -Eeuo pipefail
at='the beginning' node=''
trap 'echo "FAILED at $at: $BASH_COMMAND" >&2' ERR
trap 'systemctl stop' EXIT
must_fail() { echo "FAILED at $at: it did not fail" >&2; exit 1; }
systemctl() {
  case "$1" in
    start)
      rm -f said; touch said; esclusa serve > log 2>> said & node=$!
      until grep -q 'ready at' said; do kill -0 "$node" || { cat said log >&2; return 1; }; sleep 0.05; done
      export ESCLUSA_URL=$(sed -n 's/.*ready at //p' said) ;;
    stop) if [ -n "$node" ]; then kill "$node"; wait "$node"; node=''; fi ;;
    restart) systemctl stop; systemctl start ;;
    *) echo "systemctl $1 cannot be played" >&2; return 1 ;;
  esac
}
cd "$(mktemp -d)"
`
const WITH_NODE = 'systemctl start esclusa\n'

for (const [page, all] of blocks) {
  if (!all.some(isRun) || RUN_ELSEWHERE.has(page)) continue
  const lacking = TOOLS.filter((tool) => all.some(({ text }) => text.includes(`${tool} `)) && !isThere(tool))
  const skip = lacking.length > 0 && `SKIPPED: there is no ${lacking.join(', no ')} here`
  test(`the commands of ${page} work`, { skip }, async () => {
    rmSync(place, { recursive: true, force: true })
    // The README begins with nothing.
    if (page !== 'README.md') cpSync(fresh(), place, { recursive: true })
    const program = BEFORE + (page === 'README.md' ? '' : WITH_NODE) + programOf(all, place)
    const shell = spawn('bash', ['-c', program], {
      env: { ...settings(), TMPDIR: home, ESCLUSA_TOKEN: token },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      timeout: PAGE_MS,
    })
    let said = ''
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (piece) => (said += String(piece)))
    try {
      const [status] = await once(shell, 'close')
      assert.equal(status, 0, said)
    } finally {
      endGroup(shell.pid)
    }
  })
}

/** Whatever a page has left running. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All have ended, as they should.
  }
}
