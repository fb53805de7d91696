// The test runner behind `npm test`: one PostgreSQL server for the whole run, then `node --test` over what was asked
// for. `node tools/test.ts src/store test/http` runs those alone; a file may be named too.
//
// Where PostgreSQL cannot be started the run goes on, says so first and last, and the tests of that database are
// reported as skipped.

import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../test/support/postgres.ts'
import type { PostgresServer } from '../test/support/postgres.ts'

const DEFAULT_PLACES = ['src', 'sdk', 'console/src', 'test']
const FILE_TIMEOUT_MS = process.env.ESCLUSA_LONG === '1' ? 3 * 3_600_000 : 300_000
// One more than cores: files wait for processes, disks and clocks a quarter of their time.
const FILES_AT_ONCE = 3

const root = new URL('..', import.meta.url)
const COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/compiled', root))
const places = process.argv.slice(2)
const globs = (places.length > 0 ? places : DEFAULT_PLACES).map((place) =>
  statSync(new URL(place, root), { throwIfNoEntry: false })?.isDirectory()
    ? `${place.replace(/\/$/, '')}/**/*.test.ts`
    : place,
)

const given = process.env.ESCLUSA_TEST_POSTGRES
const postgres = given ? { url: given, stop: () => Promise.resolve() } : await tryPostgres()
let code = 1
try {
  code = await runTests(postgres?.url)
} finally {
  await postgres?.stop()
}
if (!postgres)
  console.error('NOTE: the tests on PostgreSQL were SKIPPED: the server could not be started (see above).')
process.exit(code)

async function tryPostgres(): Promise<PostgresServer | undefined> {
  try {
    return await startPostgres()
  } catch (thrown) {
    console.error(`NOTE: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    console.error('NOTE: the tests on PostgreSQL will be SKIPPED.')
    return undefined
  }
}

function runTests(postgresUrl: string | undefined): Promise<number> {
  const flags = ['--test', `--test-concurrency=${FILES_AT_ONCE}`, `--test-timeout=${FILE_TIMEOUT_MS}`]
  const child = spawn(process.execPath, [...flags, ...globs], {
    cwd: root,
    stdio: 'inherit',
    // Most of what a short test file costs is the loading of modules: files and the nodes they start share what was
    // compiled once.
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ESCLUSA_TEST_POSTGRES: postgresUrl ?? '' },
  })
  // The first interrupt goes to the tests as well; they end, and the server is stopped on the way out.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (status, signal) => resolve(status ?? (signal ? 1 : 0)))
  })
}
