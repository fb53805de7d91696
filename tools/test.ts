// The test runner behind `npm test`: one PostgreSQL server for the whole run, then node:test over what was asked for.
// `node tools/test.ts src/store test/http` runs those alone; a file may be named too, and `--test-name-pattern=…` runs
// the tests of that name.
//
// Files of one place share a process, each as a suite of its own: loading the product once for each of them took longer
// than the tests of many. What takes long starts first (longest-tests.txt), so that none of it is left over at the end.
// How long each file took is written to node_modules/.cache/test-seconds.txt, in the form of that list.
//
// Where PostgreSQL cannot be started the run goes on, says so first and last, and the tests of that database are
// reported as skipped.

import { Client } from 'pg'
import { spawnSync } from 'node:child_process'
import {
  globSync,
  mkdtempSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { makeFirstAdministrator } from '../src/accounts/first-run.ts'
import { openStore } from '../src/store/database/open.ts'
import { startPostgres } from '../test/support/postgres.ts'
import type { PostgresServer } from '../test/support/postgres.ts'

const DEFAULT_PLACES = ['src', 'sdk', 'console/src', 'test']
const NAME_PATTERN = '--test-name-pattern='
/** Of one process. A slow machine is no fault: this only ends what would wait for ever. */
const TEST_TIMEOUT_MS = process.env.ESCLUSA_LONG === '1' ? 3 * 3_600_000 : 1_800_000
// Twice the cores: files wait for processes, disks and clocks for half of their time. With five the run took no less.
const FILES_AT_ONCE = 4

/** What a file takes that is not in longest-tests.txt. */
const FEW_SECONDS = 5
/**
 * Places whose files share processes, and how many seconds of them one process takes, by what that list says. They leave
 * nothing behind in the process: no setting, no hook on it, no count of what is open.
 */
const SHARING = new Map([
  ['src', 60],
  ['test/attacks', 60],
  // They share a browser too.
  ['test/console', 200],
  ['test/engine', 60],
  ['test/fields', 60],
  ['test/http', 60],
  ['test/notify', 60],
  ['test/oftp2', 60],
  ['test/sftp', 60],
])
/** But for these, which ask how old the process is, what it costs, or who was the first to load a library. */
const ALONE = ['src/accounts/', 'src/engine/transports/']

const root = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(root, 'node_modules/.cache')
const LONGEST = join(root, 'tools/longest-tests.txt')

process.chdir(root)
const folder = mkdtempSync(join(tmpdir(), 'esclusa-tests-'))
const given = process.argv.slice(2)
const patterns = given
  .filter((one) => one.startsWith(NAME_PATTERN))
  .map((one) => one.slice(NAME_PATTERN.length))
const asked = testFiles(given.filter((one) => !one.startsWith(NAME_PATTERN)))
const files = inProcesses(asked)
const stopped = new AbortController()
// The tests end, and the server is stopped on the way out.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort())

const postgres = await startedPostgres()
const ready = `ready_${process.pid}`
let passed = false
try {
  await makeReady(postgres?.url)
  await joinKysely()
  if (asked.some((file) => file.startsWith('test/console/'))) buildConsole()
  passed = await runTests()
} finally {
  for (const name of postgres ? [ready, `${ready}_started`] : [])
    await onServer(postgres?.url ?? '', `drop database if exists ${name}`)
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}
if (!postgres)
  console.error('NOTE: the tests on PostgreSQL were SKIPPED: the server could not be started (see above).')
process.exit(passed ? 0 : 1)

function testFiles(places: readonly string[]): string[] {
  const globs = (places.length > 0 ? places : DEFAULT_PLACES).map((place) =>
    statSync(place, { throwIfNoEntry: false })?.isDirectory() ? join(place, '**/*.test.ts') : place,
  )
  const found = globs.map((glob) => globSync(glob, { exclude: ['**/node_modules/**'] }))
  for (const [at, { length }] of found.entries())
    if (length === 0) throw new Error(`there is no test file ${globs[at]}`)
  return [...new Set(found.flat().map((file) => relative(root, file)))].sort()
}

/** What each process runs, in the order of their starts: what takes longest comes first. */
function inProcesses(all: readonly string[]): string[] {
  const lines = readFileSync(LONGEST, 'utf8').trim().split('\n')
  const listed = new Map(lines.map((line) => [line.split(' ')[1] ?? '', Number(line.split(' ')[0])]))
  const processes: { files: string[]; seconds: number }[] = []
  const lastOf = new Map<string, (typeof processes)[number]>()
  for (const file of all) {
    const seconds = listed.get(file) ?? FEW_SECONDS
    const place = placeOf(file)
    const most = SHARING.get(place) ?? 0
    const last = lastOf.get(place)
    if (last && last.seconds + seconds <= most) {
      last.files.push(file)
      last.seconds += seconds
      continue
    }
    const own = { files: [file], seconds }
    processes.push(own)
    if (seconds < most / 2) lastOf.set(place, own)
  }
  return processes.toSorted((one, other) => other.seconds - one.seconds).map(({ files }) => together(files))
}

/** Files of the same place may share a process. */
function placeOf(file: string): string {
  if (ALONE.some((start) => file.startsWith(start))) return file
  return [...SHARING.keys()].find((place) => file.startsWith(`${place}/`)) ?? file
}

/** A file that runs the given ones: hooks and what is awaited first are each one's own. */
function together(some: readonly string[]): string {
  const [first = ''] = some
  if (some.length === 1) return first
  const name = join(folder, `${first.replaceAll('/', '-')}.mjs`)
  const suites = some.map(
    (file) => `suite(${JSON.stringify(file)}, () => import(${JSON.stringify(join(root, file))}))\n`,
  )
  writeFileSync(name, `import { suite } from 'node:test'\n${suites.join('')}`)
  return name
}

async function startedPostgres(): Promise<PostgresServer | undefined> {
  const url = process.env.ESCLUSA_TEST_POSTGRES
  if (url) return { url, stop: () => Promise.resolve() }
  try {
    return await startPostgres({ synced: false })
  } catch (thrown) {
    console.error(`NOTE: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    console.error('NOTE: the tests on PostgreSQL will be SKIPPED.')
    return undefined
  }
}

/**
 * Databases of each kind of which tests take copies (test/support/harness.ts): one with its schema made, and one with the
 * first administrator too, whose password takes a tenth of a node's start to hash.
 */
async function makeReady(server: string | undefined): Promise<void> {
  await prepare({ dataDir: folder })
  await prepare({ dataDir: join(folder, 'started') }, 'started')
  process.env.ESCLUSA_TEST_SQLITE_READY = folder
  process.env.ESCLUSA_TEST_POSTGRES = server ?? ''
  if (!server) return
  for (const name of [ready, `${ready}_started`]) {
    await onServer(server, `create database ${name}`)
    const databaseUrl = new URL(server)
    databaseUrl.pathname = `/${name}`
    await prepare({ dataDir: folder, databaseUrl: databaseUrl.href }, name === ready ? undefined : 'started')
  }
  process.env.ESCLUSA_TEST_POSTGRES_READY = ready
}

async function prepare(where: Parameters<typeof openStore>[0], state?: 'started'): Promise<void> {
  const store = await openStore(where)
  if (state === 'started')
    await makeFirstAdministrator(store, {
      kept: { write: () => {}, read: () => undefined },
      note: () => Promise.resolve(),
    })
  await store.close()
}

async function onServer(connectionString: string, statement: string): Promise<void> {
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(statement)
  await client.end()
}

/** In one file; test-process.mjs says why. */
async function joinKysely(): Promise<void> {
  const bundle = await rolldown({ cwd: root, input: 'kysely', platform: 'node' })
  const { output } = await bundle.generate({ format: 'esm' })
  await bundle.close()
  mkdirSync(CACHE, { recursive: true })
  // Another run may be reading it: it finds a whole file.
  const made = join(CACHE, `kysely-${process.pid}.js`)
  writeFileSync(made, output[0].code)
  renameSync(made, join(CACHE, 'kysely.js'))
}

/** The browser tests look at what was built: of the sources as they are now. */
function buildConsole(): void {
  const built = statSync('console/dist/index.html', { throwIfNoEntry: false })?.mtimeMs ?? 0
  const own = ['console/src/**/*', 'console/*.*', 'sdk/*.ts']
  const sources = globSync([...own, 'src/{contract,domain}/**/*.ts', 'src/{errors,json}.ts'])
  if (sources.every((path) => statSync(path).mtimeMs <= built)) return
  const npm = ['run', 'build', '-w', '@esclusa/console']
  const { status } = spawnSync('npm', npm, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('the console could not be built')
}

/** The engine's thread as installations run it, joined into one file; undefined where a source has changed since. */
function joinedWorker(): string | undefined {
  const list = statSync('build/sources.txt', { throwIfNoEntry: false })
  if (!list) return undefined
  const sources = readFileSync('build/sources.txt', 'utf8').split('\n')
  const isOld = (path: string) =>
    (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) <= list.mtimeMs
  return sources.every(isOld) ? join(root, 'build/worker.js') : undefined
}

async function runTests(): Promise<boolean> {
  // Most of what a short test file costs is the loading of modules: files and the nodes they start share what was
  // compiled once.
  process.env.NODE_COMPILE_CACHE ??= join(CACHE, 'compiled')
  // So does the start of each node: its thread loads the whole engine once more.
  process.env.ESCLUSA_TEST_WORKER = joinedWorker() ?? ''
  const tests = run({
    files,
    concurrency: FILES_AT_ONCE,
    timeout: TEST_TIMEOUT_MS,
    // A file whose tests are over is over: a handle that one of them forgot would hold up the whole run, silently.
    execArgv: ['--test-force-exit', `--import=${join(root, 'tools/test-process.mjs')}`],
    signal: stopped.signal,
    ...(patterns.length > 0 && { testNamePatterns: patterns }),
  })
  const seconds = new Map<string, number>()
  let success = false
  tests.on('test:summary', (summary) => {
    if (!summary.file) success = summary.success
    else if (files.includes(relative(root, summary.file)))
      seconds.set(relative(root, summary.file), summary.duration_ms / 1000)
  })
  for (const end of ['test:pass', 'test:fail'] as const)
    tests.on(end, ({ name, nesting, details }) => {
      if (nesting === 0 && name.endsWith('.test.ts')) seconds.set(name, details.duration_ms / 1000)
    })
  const shown = tests.compose(new spec())
  shown.pipe(process.stdout)
  await finished(shown)
  const lines = [...seconds].toSorted(([, one], [, other]) => other - one)
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(
    join(CACHE, 'test-seconds.txt'),
    lines.map(([file, took]) => `${took.toFixed(1)} ${file}\n`).join(''),
  )
  // A process that ended too soon would say that all of its tests have passed.
  const silent = patterns.length > 0 ? [] : asked.filter((file) => !seconds.has(file))
  if (silent.length > 0) console.error(`NOTE: nothing was heard of ${silent.join(', ')}`)
  return success && silent.length === 0 && !stopped.signal.aborted
}
