// Keeps what a release leaves on a machine: `node tools/release-fixture.ts CHECKOUT` runs the program of that checkout on
// either database, by its command line alone (so any version will do), lets it exchange files, kills it in the middle of
// its work and packs database and folders into test/fixtures/releases/<version>/. test/upgrade opens them with the
// program of today. Made once for each release, from its tag.

import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, escapeIdentifier, escapeLiteral } from 'pg'
import { releasePlatform, FIXTURE_ROOT } from '../test/upgrade/release-platform.ts'
import { startPostgres } from '../test/support/postgres.ts'

type Env = Record<string, string>

const [checkout = ''] = process.argv.slice(2).map((path) => resolve(path))
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const target = new URL(`../test/fixtures/releases/${version}/`, import.meta.url)
const at = (...path: string[]) => join(FIXTURE_ROOT, ...path)

mkdirSync(target, { recursive: true })
await keep('sqlite', undefined)
const server = await startPostgres()
await keep('postgres', server.url)
await server.stop()

async function keep(name: string, databaseUrl: string | undefined): Promise<void> {
  rmSync(FIXTURE_ROOT, { recursive: true, force: true })
  for (const folder of [
    'files/out',
    'files/sent',
    'files/in',
    'files/taken',
    'files/waiting',
    'acme/in',
    'acme/out',
  ])
    mkdirSync(at(folder), { recursive: true })
  await useIt({
    ESCLUSA_DATA_DIR: at('data'),
    ESCLUSA_FILE_ROOTS: at('files'),
    ESCLUSA_PORT: '0',
    ESCLUSA_SFTP_PORT: '0',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
  })
  if (databaseUrl) writeFileSync(at('dump.sql'), await dump(databaseUrl))
  execFileSync('tar', ['-czf', new URL(`${name}.tar.gz`, target).pathname, '-C', FIXTURE_ROOT, '.'])
  rmSync(FIXTURE_ROOT, { recursive: true })
}

async function useIt(env: Env): Promise<void> {
  const { child, url } = await serve(env)
  writeFileSync(at('platform.yaml'), JSON.stringify(releasePlatform(FIXTURE_ROOT)))
  run(env, 'apply', at('platform.yaml'))
  const client = {
    ...env,
    ESCLUSA_URL: url,
    ESCLUSA_TOKEN: run(env, 'token', 'create', '--user', 'ana').trim(),
  }
  for (const [folder, file] of [
    ['files/out', 'salaries.txt'],
    ['files/taken', 'invoices.txt'],
    ['files/waiting', 'ledger.txt'],
    ['acme/out', 'orders.txt'],
  ] as const)
    put(at(folder, file), `${file} of ${version}\n`)
  writeFileSync(at('acme/in/invoices.txt'), 'something else\n') // the name is taken: that transfer fails
  run(client, 'send', 'BANCO-ACME-NOMINA', '--watch')
  run(client, 'send', 'BANCO-ACME-FACTURA')
  run(client, 'send', 'BANCO-BETA-LIBRO')
  run(client, 'send', 'BANCO-GAMMA-PAGOS')
  await until(client, 'BANCO-ACME-FACTURA', 'FAILED')
  await until(client, 'BANCO-ACME-PEDIDO', 'COMPLETED')
  await until(client, 'BANCO-BETA-LIBRO', 'IN_PROGRESS')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** Old enough to be taken as complete, and at a whole second, which is what an archive keeps. */
function put(path: string, text: string): void {
  writeFileSync(path, text)
  const then = Math.floor(Date.now() / 1000) - 60
  utimesSync(path, then, then)
}

function run(env: Env, ...args: string[]): string {
  return execFileSync(process.execPath, [join(checkout, 'bin/esclusa.js'), ...args], {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
}

async function serve(env: Env): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [join(checkout, 'bin/esclusa.js'), 'serve'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const url = await new Promise<string>((found) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const said = /ready at (\S+)/.exec(line)?.[1]
      if (said) found(said)
    })
  })
  return { child, url }
}

async function until(env: Env, code: string, status: string): Promise<void> {
  while (!run(env, 'transfers', code).includes(` ${status} `))
    await new Promise((next) => setTimeout(next, 200))
}

/** The checkout's own migrations, then every row: tables stand in the order of their references. */
async function dump(databaseUrl: string): Promise<string> {
  const folder = join(checkout, 'src/store/migrations')
  const schema = readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
  const tables = schema.flatMap((text) =>
    [...text.matchAll(/create table (\w+)/g)].map((match) => match[1] ?? ''),
  )
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const lines = [
    'create table migration (version integer primary key, name text not null, applied_at bigint not null);',
    ...schema,
    ...tables.map((table) => `delete from ${table};`).toReversed(),
  ]
  for (const table of ['migration', ...tables]) {
    const { rows } = await client.query<Record<string, unknown>>(`select * from ${escapeIdentifier(table)}`)
    for (const row of rows)
      lines.push(
        `insert into ${table} (${Object.keys(row).join(', ')}) values (${Object.values(row).map(literal).join(', ')});`,
      )
  }
  await client.end()
  return `${lines.join('\n')}\n`
}

function literal(value: unknown): string {
  return value === null ? 'null' : escapeLiteral(String(value))
}
