// The command line as people run it: the real binary in a process of its own, beside a running node.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { closeAfter, postgres, startTestNode, tempFolder, waitFor } from '../../test/support/harness.ts'
import type { TestNode } from '../../test/support/harness.ts'
import { FULL, PASSWORD, PLAIN, SECRETS } from '../../test/support/seed.ts'
import { generateSelfSigned } from '../engine/transforms/cms/self-signed.ts'
import { findAccount } from '../store/accounts.ts'
import { findChannel, openChannel, pageOfHistory } from '../store/channels.ts'
import { connectTo } from '../store/database/open.ts'
import { insertKeyProposal } from '../store/keys/proposals.ts'
import { activeTransfers, moveTransfer } from '../store/transfers/transfers.ts'

const BINARY = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))

type Ran = { exit: number | null; stdout: string; stderr: string }
type Run = (
  line: string,
  options?: { env?: Record<string, string>; input?: string; cwd?: string },
) => Promise<Ran>

/** Arguments are split at blanks; none here holds one. */
function runner(env: Record<string, string>): Run {
  return async (line, options = {}) => {
    const child = spawn(process.execPath, [BINARY, ...line.split(' ')], {
      env: { PATH: process.env.PATH ?? '', ...env, ...options.env },
      cwd: options.cwd,
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    child.stdin.on('error', () => {}) // a command that does not read its input is gone before it is written
    child.stdin.end(options.input ?? '')
    const exit = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { exit, stdout, stderr }
  }
}

async function setUp(t: TestContext): Promise<{ node: TestNode; run: Run }> {
  const node = await startTestNode(t)
  const run = runner({
    ESCLUSA_URL: node.url,
    ESCLUSA_TOKEN: await node.token('globaladmin'),
    ESCLUSA_DATA_DIR: node.dataDir,
  })
  return { node, run }
}

test('wrong use exits 2 with a word of help, and help itself 0', async (t) => {
  const run = runner({ ESCLUSA_DATA_DIR: await tempFolder(t) })
  for (const line of [
    'nonsense',
    'apply',
    'token create',
    'channels --page zero',
    'user add x --email a@b --role ROLE_KING --no-password',
  ]) {
    const { exit, stderr } = await run(line)
    assert.equal(exit, 2, line)
    assert.notEqual(stderr, '')
  }
  for (const [line, said] of [
    ['send', "error: missing required argument 'channel'\n(see esclusa send --help)\n"],
    ['user add', "error: missing required argument 'username'\n(see esclusa user add --help)\n"],
    [
      'user add ana --email a@b.example',
      'esclusa: an account needs --email and --role: esclusa user add NAME --email ADDRESS --role ROLE\n',
    ],
    [
      'user add ana --email a@b.example --role ROLE_ADMIN --last-name \u001b[2J',
      'esclusa: lastName must not contain control characters\n',
    ],
    ['help user nothing', 'esclusa: there is no command user nothing: see esclusa --help\n'],
  ] as const) {
    const { exit, stderr } = await run(line)
    assert.deepEqual([exit, stderr], [2, said], line)
  }
  const nested = await run('help user add')
  assert.equal(nested.exit, 0)
  assert.match(nested.stdout, /^Usage: esclusa user add \[options\] <username>$/m)
  const folder = await tempFolder(t)
  const [text, gone] = [join(folder, 'text'), join(folder, 'gone')]
  writeFileSync(text, 'no backup at all')
  for (const [line, code, said] of [
    [`backup verify ${folder}`, 2, `${folder} is a folder, and no backup of Esclusa`],
    [`backup verify ${text}`, 1, `${text} is no backup of Esclusa, or it was cut off or damaged`],
    [`backup verify ${gone}`, 2, `${gone} does not exist`],
    [`restore ${gone}`, 2, `${gone} does not exist`],
    [`update BANCO-ACME-A ${gone}`, 2, `${gone} does not exist`],
  ] as const) {
    const { exit, stderr } = await run(line)
    assert.deepEqual([exit, stderr], [code, `esclusa: ${said}\n`], line)
  }
  const help = await run('--help')
  assert.equal(help.exit, 0)
  for (const command of [
    'serve',
    'apply',
    'export',
    'check',
    'user',
    'token',
    'keys',
    'login',
    'channels',
    'status',
    'history',
    'transfers',
    'send',
    'fetch',
    'retry',
    'reset',
  ])
    assert.match(help.stdout, new RegExp(`^  ${command} `, 'm'))
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  assert.equal((await run('--version')).stdout, `${version}\n`)
  assert.match(
    (await run('user list', { env: { ESCLUSA_PORT: 'x' } })).stderr,
    /setting ESCLUSA_PORT must be a whole number/,
  )
})

test('a node that is not there exits 4, one that refuses 3', async (t) => {
  const { run } = await setUp(t)
  const unreachable = await run('channels --url http://127.0.0.1:1')
  assert.equal(unreachable.exit, 4)
  assert.match(unreachable.stderr, /^esclusa: http:\/\/127.0.0.1:1 is not reachable: /)
  const unknown = await run('status NO-SUCH-CHANNEL')
  assert.deepEqual(unknown, {
    exit: 3,
    stdout: '',
    stderr: 'esclusa: 404 channel NO-SUCH-CHANNEL does not exist\n',
  })
  const nobody = await run('channels', { env: { ESCLUSA_TOKEN: '' } })
  assert.equal(nobody.exit, 3)
  assert.match(nobody.stderr, /401 .*\n.*esclusa login/)
})

test('login prints the token alone, its password from the environment or standard input', async (t) => {
  const { run } = await setUp(t)
  const fromEnv = await run('login --username operator', { env: { ESCLUSA_PASSWORD: PASSWORD } })
  assert.match(fromEnv.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const fromInput = await run('login --username operator', { input: `${PASSWORD}\nmore` })
  assert.equal(fromInput.exit, 0)
  assert.equal((await run('channels --json', { env: { ESCLUSA_TOKEN: fromInput.stdout.trim() } })).exit, 0)
  const wrong = await run('login --username operator', { input: 'something else' })
  assert.deepEqual(wrong, {
    exit: 3,
    stdout: '',
    stderr: 'esclusa: 401 the user or the password is not right\n',
  })
  assert.equal((await run('login --username operator')).exit, 2, 'no password at all')
})

const noScript =
  spawnSync('script', ['--version']).status === 0
    ? false
    : 'SKIPPED: the program script, which makes a terminal, is not here'

test('at a terminal the password is asked for and not shown', { skip: noScript }, async (t) => {
  const { node } = await setUp(t)
  const command = `${process.execPath} ${BINARY} login --username operator --url ${node.url}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm' },
  })
  closeAfter(t, async () => void child.kill())
  let screen = ''
  child.stdout.on('data', (chunk) => (screen += chunk))
  await waitFor('the prompt', () => screen.includes('password of operator: '))
  child.stdin.write(`${PASSWORD}\r`)
  const exit = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(exit, 0)
  assert.doesNotMatch(screen, new RegExp(PASSWORD))
  assert.match(screen, /[\w-]+\.[\w-]+\.[\w-]+/)
})

test('the lists and single things are tables, or JSON as the interface has it', async (t) => {
  const { run } = await setUp(t)
  const channels = await run('channels')
  assert.equal(channels.stderr, '')
  const [head = '', ...rows] = channels.stdout.trimEnd().split('\n')
  assert.match(head, /^CODE +STATUS +DIRECTION +CONTACT +NAME$/)
  assert.deepEqual(
    rows.map((row) => row.split(' ')[0]),
    ['BANCO-ACME-FACTURA', FULL, 'BANCO-BETA-NOMINA'],
  )
  const page = JSON.parse((await run('channels --json --size 2')).stdout) as {
    totalElements: number
    content: unknown[]
  }
  assert.equal(page.totalElements, 3)
  assert.equal(page.content.length, 2)
  const short = await run('channels --size 1 --page 2')
  assert.match(short.stdout, new RegExp(`^${FULL} `, 'm'))
  assert.equal(short.stderr, 'page 2 of 3, 3 in all (--page N, --size N, --all)\n')
  assert.equal((JSON.parse((await run('channels --json --all')).stdout) as unknown[]).length, 3)

  assert.match((await run('contacts')).stdout, /^acme +acme SA +5.2 +LINUX +ACME +127.0.0.1 3305 +2$/m)
  assert.match((await run(`status ${PLAIN}`)).stdout, /^BANCO-ACME-FACTURA +IDLE +BIDIRECCIONAL /m)
  assert.match(
    (await run(`history ${PLAIN}`)).stdout,
    /^TIME +EVENT\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Z +CHANNEL_CREATED\n$/,
  )
  assert.match((await run(`configuration ${FULL}`)).stdout, /^connection\.ips +127\.0\.0\.1, ::1$/m)
  assert.match((await run(`transfers ${PLAIN} --from 2020-01-01`)).stderr, /^there is no transfer$/m)
})

test('update changes a channel by a file or standard input', async (t) => {
  const { node, run } = await setUp(t)
  const file = join(node.dataDir, 'patch.json')
  writeFileSync(file, JSON.stringify({ name: 'Other', category: null }))
  assert.equal((await run(`update ${FULL} ${file}`)).stdout, `~ channel ${FULL} (name, category)\n`)
  const config = (await findChannel(node.store.db, FULL))?.config
  assert.equal(config?.name, 'Other')
  assert.equal(config?.category, undefined)
  assert.equal((await run(`update ${FULL}`, { input: '{"version":"9"}' })).exit, 0)
  assert.equal((await run(`update ${FULL}`, { input: '[1]' })).exit, 2)
  const refused = await run(`update ${FULL}`, { input: '{"direction":"UP"}' })
  assert.equal(refused.exit, 3)
  assert.match(refused.stderr, /400 \/direction must be one of/)
})

test('send --watch waits until the transfer ends, and its end is the exit code', async (t) => {
  const { node, run } = await setUp(t)
  writeFileSync(join(node.files, 'out', 'salaries.txt'), 'a file to send\n')
  const endAs = async (to: 'COMPLETED' | 'FAILED') => {
    const active = await waitFor('the transfer', async () => (await activeTransfers(node.store.db, PLAIN))[0])
    assert.ok(active)
    const { id } = active
    const now = Date.now()
    await node.store.write(async (tx) => {
      assert.ok(await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now }))
      const error =
        to === 'FAILED' ? { error: { message: 'the partner refused', code: 'remote_refused' } } : {}
      assert.ok(await moveTransfer(tx, id, { from: 'IN_PROGRESS', to, now, ...error }))
    })
    return id
  }
  const [failed, failedId] = await Promise.all([run(`send ${PLAIN} --watch`), endAs('FAILED')])
  assert.equal(failed.exit, 1)
  assert.match(failed.stdout, new RegExp(`^${failedId} +FAILED .* the partner refused$`, 'm'))
  assert.match(failed.stdout, /^salaries\.txt +15 B /m)
  const [done, doneId] = await Promise.all([run(`retry ${PLAIN} --watch --json`), endAs('COMPLETED')])
  assert.equal(done.exit, 0)
  const shown = JSON.parse(done.stdout) as { transferId: string; status: string }
  assert.deepEqual([shown.transferId, shown.status], [doneId, 'COMPLETED'])
  assert.match((await run(`transfer ${PLAIN} ${doneId}`)).stdout, / COMPLETED +EMISION +RETRY /)

  const started = await run(`send ${PLAIN}`)
  assert.equal(started.exit, 0)
  assert.match(started.stdout, / PENDING +EMISION +MANUAL /)
  assert.equal((await run(`send ${PLAIN}`)).exit, 3, 'one is pending already')
  assert.match((await run(`reset ${PLAIN}`)).stdout, /^BANCO-ACME-FACTURA +IDLE /m)
})

test('at a terminal send --watch draws how far the transfer is', { skip: noScript }, async (t) => {
  const { node } = await setUp(t)
  writeFileSync(join(node.files, 'out', 'salaries.txt'), 'a file to send\n')
  const command = `${process.execPath} ${BINARY} send ${PLAIN} --watch --url ${node.url}`
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm', ESCLUSA_TOKEN: await node.token('globaladmin') }
  const child = spawn('script', ['-qec', command, '/dev/null'], { env })
  closeAfter(t, async () => void child.kill())
  let screen = ''
  child.stdout.on('data', (chunk) => (screen += chunk))
  await waitFor('the bar', () => /\[ {24}\] {3}0 % PENDING +1 file, 0 B of 15 B {2}00:0\d/.test(screen))
  const [active] = await activeTransfers(node.store.db, PLAIN)
  assert.ok(active)
  await node.store.write((tx) =>
    moveTransfer(tx, active.id, { from: 'PENDING', to: 'CANCELLED', now: Date.now() }),
  )
  const exit = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(exit, 1)
  assert.match(screen, new RegExp(`${active.id} +CANCELLED`))
})

test('accounts are made, changed and disabled beside a running node, which sees it at once', async (t) => {
  const { node, run } = await setUp(t)
  const add = 'user add eva --email eva@banco.example --role ROLE_OPERATOR --last-name Gil'
  const weak = await run(add, { input: 'short' })
  assert.deepEqual([weak.exit, weak.stderr], [2, 'esclusa: the password must have at least 12 characters\n'])
  assert.equal((await run(add, { input: 'a password of eva' })).stdout, '+ user eva (ROLE_OPERATOR)\n')
  assert.deepEqual((await run(add, { input: 'a password of eva' })).exit, 3)
  assert.match((await run('user list')).stdout, /^eva +eva@banco\.example +ROLE_OPERATOR +password$/m)
  assert.doesNotMatch((await run('user list --json')).stdout, /argon2|passwordHash/)

  const login = (password: string) => run('login --username eva', { env: { ESCLUSA_PASSWORD: password } })
  const token = (await login('a password of eva')).stdout.trim()
  const channels = () => run('channels', { env: { ESCLUSA_TOKEN: token } })
  assert.equal((await channels()).exit, 0)
  assert.equal((await run('user passwd eva', { input: 'another password' })).exit, 0)
  assert.equal((await channels()).exit, 3, 'the older token has ended')
  assert.equal((await login('another password')).exit, 0)
  assert.equal((await run('user disable eva')).exit, 0)
  assert.match((await run('user disable eva')).stdout, /disabled already/)
  assert.equal((await login('another password')).exit, 3)
  assert.equal((await run('token create --user eva')).exit, 3)
  assert.equal((await run('user enable eva')).exit, 0)
  assert.equal((await login('another password')).exit, 0)
  assert.equal((await run('user remove eva')).stdout, '- user eva (its tokens have ended)\n')
  assert.doesNotMatch((await run('user list')).stdout, /^eva /m)
  const gone = await run('user remove eva')
  assert.deepEqual([gone.exit, gone.stderr], [3, 'esclusa: there is no user eva\n'])
  for (const line of [
    'token list --user nobody',
    'keys list --contact nobody',
    'held send --channel BANCO-ACME-TYPO',
    'held drop --channel BANCO-ACME-TYPO',
  ]) {
    const { exit, stderr } = await run(line)
    assert.equal(exit, 3, line)
    assert.match(stderr, /there is no (user|contact|channel) (nobody|BANCO-ACME-TYPO)/)
  }
  assert.equal((await run('user passwd nobody', { input: 'another password' })).exit, 3)

  const made = await run('user add robot --email robot@banco.example --role ROLE_OPERATOR --no-password')
  assert.equal(made.exit, 0)
  assert.equal((await findAccount(node.store.db, 'robot'))?.passwordHash, null)
  const { stdout, stderr } = await run('token create --user robot --hours 48')
  assert.match(stderr, /^valid until /)
  assert.equal((await run('channels', { env: { ESCLUSA_TOKEN: stdout.trim() } })).exit, 0)
})

test('apply, export and check by hand', async (t) => {
  const { node, run } = await setUp(t)
  const file = join(node.dataDir, 'platform.yaml')
  const exported = await run('export')
  assert.equal(exported.exit, 0)
  for (const secret of Object.values(SECRETS))
    assert.ok(!exported.stdout.includes(secret.split('\n')[1] ?? secret))
  writeFileSync(file, exported.stdout)
  const again = await run(`apply ${file} --prune`)
  assert.equal(again.exit, 0, again.stderr)
  assert.equal(again.stdout, 'nothing to change\n')
  // Secrets are not in the file: the one it cannot do without is warned of, and stays as it was.
  const warnings = again.stderr.trimEnd().split('\n')
  for (const expected of [
    /^warning: .*asks for something else than BANCO-ACME-FACTURA of the same partner/,
    /^warning: .*files are encrypted and not signed/,
    /^warning: .*remoteKey.*one in the database stays$/,
  ])
    assert.equal(warnings.filter((line) => expected.test(line)).length, 1, again.stderr)
  for (const line of warnings) assert.match(line, /^warning: /)
  const full = await run('export --secrets')
  assert.ok(full.stdout.includes(SECRETS.localKey))

  writeFileSync(file, `${exported.stdout}  - { code: BANCO-ACME-NEW, contact: acme, direction: EMISION }\n`)
  const dry = await run(`apply ${file} --dry-run`)
  assert.equal(
    dry.stdout,
    '+ channel BANCO-ACME-NEW\nwould be: 1 added, 0 changed, 0 removed (dry run: nothing was changed)\n',
  )
  assert.equal((await run('status BANCO-ACME-NEW')).exit, 3)
  assert.equal(
    (await run(`apply ${file}`)).stdout,
    '+ channel BANCO-ACME-NEW\n1 added, 0 changed, 0 removed\n',
  )
  assert.equal((await run('status BANCO-ACME-NEW')).exit, 0, 'the running node knows it')
  assert.match((await run('channels')).stdout, /^BANCO-ACME-NEW /m)

  writeFileSync(file, 'channels:\n  - code: BANCO-ACME\n    contact: acme\n    colour: red\n')
  const wrong = await run(`check ${file}`)
  assert.equal(wrong.exit, 2)
  const lines = wrong.stderr.trimEnd().split('\n')
  assert.equal(lines[0], `esclusa: ${file} has 2 faults:`)
  assert.match(lines[1] ?? '', new RegExp(`^${file}:2:11: /channels/0/code must have the form`))
  assert.equal(lines[2], `${file}:4:5: /channels/0/colour is not known here`)
  assert.equal((await run(`apply ${file}`)).exit, 2)
})

test('a dry run of apply where there is no node yet makes nothing', async (t) => {
  const folder = await tempFolder(t)
  const [dataDir, own] = [join(folder, 'data'), join(folder, 'tmp')]
  mkdirSync(own)
  const file = join(folder, 'platform.yaml')
  writeFileSync(file, 'localEntities: [{ code: BANCO, name: Banco }]\n')
  const esclusa = runner({ ESCLUSA_DATA_DIR: dataDir, TMPDIR: own })
  const dry = await esclusa(`apply ${file} --dry-run`)
  assert.match(
    dry.stdout,
    /would be: 1 added, 0 changed, 0 removed \(dry run: nothing was changed\)/,
    dry.stderr,
  )
  assert.ok(!existsSync(dataDir))
  assert.deepEqual(readdirSync(own), [])
})

test(
  'a dry run of apply on an empty PostgreSQL makes no table',
  { skip: postgres.skip ?? false },
  async (t) => {
    const folder = await tempFolder(t)
    const own = join(folder, 'tmp')
    mkdirSync(own)
    const databaseUrl = (await postgres.createEmpty(t)) ?? ''
    const file = join(folder, 'platform.yaml')
    writeFileSync(file, 'localEntities: [{ code: BANCO, name: Banco }]\n')
    const esclusa = runner({
      ESCLUSA_DATA_DIR: join(folder, 'data'),
      ESCLUSA_DATABASE_URL: databaseUrl,
      TMPDIR: own,
    })
    const dry = await esclusa(`apply ${file} --dry-run`)
    assert.match(dry.stdout, /would be: 1 added, 0 changed, 0 removed/, dry.stderr)
    assert.deepEqual(readdirSync(own), [])
    const store = await connectTo({ databaseUrl, dataDir: folder })
    closeAfter(t, () => store.close())
    assert.deepEqual(await store.db.introspection.getTables(), [])
  },
)

/** What each shell itself makes of the script: the candidates for the last word of a line. */
const ASK_SHELL: Record<string, (script: string, line: string) => string[]> = {
  bash: (script, line) => [
    '-c',
    `. ${script}; COMP_WORDS=(${line.replace(/ $/, " ''")}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _esclusa; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  // Without a line editor: the choices that the function would show.
  zsh: (script, line) => [
    '-c',
    `compdef() {}; _files() {}; _describe() { print -l -- "\${choices[@]}" }; . ${script}; words=(${line.replace(/ $/, " ''")}); CURRENT=\${#words}; _esclusa`,
  ],
  fish: (script, line) => ['-c', `source ${script}; complete -C "${line}"`],
}

for (const [shell, ask] of Object.entries(ASK_SHELL)) {
  const missing = spawnSync(shell, ['-c', 'true']).error ? `SKIPPED: no ${shell} here` : false
  test(`${shell} completes commands and options by the script it is given`, { skip: missing }, async (t) => {
    const folder = await tempFolder(t)
    const { exit, stdout } = await runner({ ESCLUSA_DATA_DIR: folder })(`completion ${shell}`)
    assert.equal(exit, 0)
    const script = join(folder, `completion.${shell}`)
    writeFileSync(script, stdout)
    const candidates = (line: string) => {
      const { stdout, stderr } = spawnSync(shell, ask(script, line), { encoding: 'utf8' })
      assert.equal(stderr, '')
      return stdout.split('\n').map((one) => one.split(/[\t:]/)[0])
    }
    const first = candidates('esclusa ')
    for (const word of ['serve', 'user', 'transfers', 'completion']) assert.ok(first.includes(word), word)
    const users = candidates('esclusa user ')
    assert.ok(users.includes('remove') && !users.includes('serve'), users.join())
    const flags = candidates('esclusa transfers --contact acme --')
    assert.ok(flags.includes('--status') && !flags.includes('--prune'), flags.join())
  })
}

test('there is no completion for a shell that is not known', async (t) => {
  const { exit, stderr } = await runner({ ESCLUSA_DATA_DIR: await tempFolder(t) })('completion csh')
  assert.equal(exit, 2)
  assert.match(stderr, /bash, zsh, fish/)
})

test('a command in a folder that is no node’s says so and makes nothing there', async (t) => {
  const folder = await tempFolder(t)
  const elsewhere = { ESCLUSA_DATA_DIR: join(folder, 'data') }
  for (const line of ['user list', 'token list', 'audit verify']) {
    const { exit, stderr } = await runner(elsewhere)(line)
    assert.equal(exit, 2, `${line}: ${stderr}`)
    assert.match(stderr, /data is not the data folder of a node, and nothing was made there/)
  }
  const { stdout } = await runner(elsewhere)('doctor')
  assert.match(stdout, /esclusa serve makes it/)
  assert.equal(existsSync(join(folder, 'data', 'esclusa.db')), false)
  assert.equal(existsSync(join(folder, 'data', 'master-key')), false)
})

test('doctor looks at the folders of a partner whatever callingEnd says: nobody calls there', async (t) => {
  const folder = await tempFolder(t)
  const esclusa = runner({ ESCLUSA_DATA_DIR: join(folder, 'data') })
  const file = join(folder, 'platform.json')
  const connection = { advancedConfigurationConnection: { callingEnd: 'REMOTO' } }
  const inbox = join(folder, 'nowhere')
  writeFileSync(
    file,
    JSON.stringify({
      localEntities: [{ code: 'BANCO', name: 'Banco' }],
      contacts: [
        {
          id: 'acme',
          protocol: 'folder',
          remoteCodes: [{ code: 'ACME' }],
          folder: { inbox, outbox: join(folder, 'out') },
        },
      ],
      channels: [{ code: 'BANCO-ACME-NOMINA', contact: 'acme', connection }],
    }),
  )
  assert.equal((await esclusa(`apply ${file}`)).exit, 0)
  const { stdout } = await esclusa('doctor')
  assert.match(stdout, /WRONG +partner acme: .*nowhere does not exist/)
})

test('doctor says when the certificates that callers are shown end or begin', async (t) => {
  const folder = await tempFolder(t)
  const [cert, key, dataDir] = ['cert.pem', 'key.pem', 'data'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const esclusa = runner({ ESCLUSA_DATA_DIR: dataDir, ESCLUSA_TLS_CERT: cert, ESCLUSA_TLS_KEY: key })
  for (const [days, says] of [
    [-60, 'expired on'],
    [60, 'is not valid before'],
  ] as const) {
    const now = new Date(Date.now() + days * 86_400_000)
    const made = await generateSelfSigned({ commonName: 'shown', bits: 2048, days: 30, now })
    writeFileSync(cert, made.certificatePem)
    writeFileSync(key, made.privateKeyPem)
    const { exit, stdout } = await esclusa('doctor')
    assert.equal(exit, 1)
    assert.match(stdout, new RegExp(`WRONG +\\S*cert\\.pem: the certificate CN=shown ${says} `))
  }
})

test('check needs no database and makes none', async (t) => {
  const folder = await tempFolder(t)
  const file = join(folder, 'platform.yaml')
  writeFileSync(
    file,
    'localEntities: [{ code: BANCO, name: Banco }]\nusers: [{ username: a, email: a@b, role: ROLE_ADMIN, password: { env: A } }]\n',
  )
  const { exit, stdout, stderr } = await runner({ ESCLUSA_DATA_DIR: join(folder, 'data') })(`check ${file}`)
  assert.deepEqual([exit, stdout], [0, `${file} is right: 1 local entity, 1 user, 0 contacts, 0 channels\n`])
  assert.equal(stderr, `warning: ${file}:2:64: /users/0/password the environment variable A is not set\n`)
  assert.ok(!existsSync(join(folder, 'data')))
})

test('keys are generated to the screen or to files, never over one', async (t) => {
  const folder = await tempFolder(t)
  const run = runner({ ESCLUSA_DATA_DIR: folder })
  const { stdout } = await run('keys generate --name banco --bits 2048')
  assert.ok(
    new X509Certificate(stdout.slice(stdout.indexOf('-----BEGIN CERT'))).checkPrivateKey(
      createPrivateKey(stdout),
    ),
  )
  const line = `keys generate --name banco --bits 2048 --key ${folder}/a.key --cert ${folder}/a.crt`
  assert.deepEqual(await run(line), {
    exit: 0,
    stdout: '',
    stderr: `wrote ${folder}/a.key\nwrote ${folder}/a.crt\n`,
  })
  assert.equal(statSync(join(folder, 'a.key')).mode & 0o777, 0o600)
  const again = await run(line)
  assert.deepEqual(
    [again.exit, again.stderr],
    [2, `esclusa: ${folder}/a.key was not written: exists already\n`],
  )
})

test('a partner’s key is used on all its channels once it is accepted', async (t) => {
  const { node, run } = await setUp(t)
  const pem = SECRETS.rsaRemoteKey
  const proposal = {
    id: 'k1',
    contactId: 'acme',
    channelCode: FULL,
    pem,
    fingerprint: 'ab12',
    receivedAt: 1_700_000_000_000,
  }
  await node.store.write((tx) => insertKeyProposal(tx, proposal))
  assert.match(
    (await run('keys list')).stdout,
    /^k1 +acme +BANCO-ACME-NOMINA +ab12 +2023-11-14 22:13:20 Z +no$/m,
  )
  const accepted = await run('keys accept k1')
  assert.equal(
    accepted.stdout,
    `~ channel ${PLAIN} (security.rsaRemoteKey)\n~ channel ${FULL} (security.rsaRemoteKey)\nkey ab12 of acme is in use on 2 channels\n`,
  )
  const channel = await findChannel(node.store.db, PLAIN)
  assert.ok(channel)
  assert.equal(openChannel(node.context.seal, channel).security?.rsaRemoteKey, pem)
  const { rows } = await pageOfHistory(node.store.db, PLAIN, { offset: 0, size: 1 })
  assert.deepEqual(
    rows.map(({ event, detail }) => [event, detail]),
    [['CHANNEL_UPDATED', 'key ab12 accepted']],
  )
  assert.equal((await run('keys accept k1')).exit, 3)
  assert.equal((await run('keys accept k2')).exit, 3)
})

test('audit verify says whether the trail is whole, of the database and of an export, and exits 1 where it is not', async (t) => {
  const { node, run } = await setUp(t)
  await run('token create --user operator')
  await run('user disable operator')
  const { stdout: exported } = await run('audit export')
  const rows = exported
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { action?: string; via?: string })
  const done = rows.filter(({ via }) => via === 'COMMAND').map(({ action }) => action)
  assert.deepEqual(done, ['TOKEN_CREATED', 'USER_CHANGED', 'AUDIT_EXPORTED'])
  const { exit, stdout } = await run('audit verify')
  assert.equal(exit, 0)
  assert.match(stdout, /: whole\n$/)
  const folder = await tempFolder(t)
  const [file, key] = [join(folder, 'trail.jsonl'), join(folder, 'key.pem')]
  writeFileSync(file, exported)
  writeFileSync(key, (await run('audit key')).stdout)
  assert.equal((await run(`audit verify --file ${file} --key ${key}`)).exit, 0)
  writeFileSync(file, exported.replace('USER_CHANGED', 'USER_CREATED'))
  assert.equal((await run(`audit verify --file ${file} --key ${key}`)).exit, 1)
  await node.store.write((tx) => tx.deleteFrom('audit').where('action', '=', 'USER_CHANGED').execute())
  const broken = await run('audit verify')
  assert.equal(broken.exit, 1)
  assert.match(broken.stdout, /1 entries are missing/)
  const csv = await run('audit export --format csv --action TOKEN_CREATED')
  assert.match(csv.stdout, /^seq,at,node,who/)
})

test('every operation can be called by its name, and a failed transfer is listed, sent and cancelled', async (t) => {
  const { node, run } = await setUp(t)
  const list = await run('call')
  for (const name of ['sendTransfer', 'putCalendar', 'createContact', 'applyPlatformFile'])
    assert.match(list.stdout, new RegExp(`^${name} `, 'm'))
  const made = await run('call putCalendar calendarId=madrid --body -', {
    input: '{"closed":["2026-12-24"]}',
  })
  assert.deepEqual((JSON.parse(made.stdout) as { lines: string[] }).lines, ['+ calendar madrid'])
  const changed = await run('call putCalendar calendarId=madrid --body {"closed":["2026-12-25"]}')
  assert.match(changed.stdout, /~ calendar madrid \(closed\)/)
  const late = await run('call removeCalendar calendarId=madrid --if-match "old"')
  assert.deepEqual([late.exit, /412/.test(late.stderr)], [3, true])
  for (const wrong of [
    'call nothing',
    'call readCalendar',
    'call readCalendar id=x',
    'call putCalendar calendarId=x',
  ]) {
    const { exit } = await run(wrong)
    assert.equal(exit, 2, wrong)
  }
  writeFileSync(join(node.files, 'out', 'salaries.txt'), 'a file to send\n')
  assert.match((await run(`preview ${PLAIN}`)).stdout, /^salaries.txt +15 B/m)
  const sent = JSON.parse((await run(`send ${PLAIN} --json`)).stdout) as { transferId: string }
  assert.match((await run(`cancel ${PLAIN} ${sent.transferId} --comment wrong`)).stdout, / CANCELLED /)
  assert.equal(
    (await run(`resend ${PLAIN} ${sent.transferId} --comment again`)).exit,
    3,
    'it was not completed',
  )
  assert.match((await run('failures')).stderr, /there is no such failure/)
})

test('transfers --all finds those of all channels by what is known of them, as a table, JSON or CSV', async (t) => {
  const { node, run } = await setUp(t)
  writeFileSync(join(node.files, 'out', 'payroll.txt'), 'x')
  await run(`send ${PLAIN}`)
  const all = await run('transfers --all --file pay*')
  assert.equal(all.exit, 0, all.stderr)
  assert.match(all.stdout, /BANCO-ACME-FACTURA  PENDING +EMISION +MANUAL .* payroll\.txt/)
  assert.match((await run('transfers --all --status FAILED')).stderr, /there is no such transfer/)
  const { content } = JSON.parse((await run('transfers --all --json')).stdout) as { content: unknown[] }
  assert.equal(content.length, 1)
  assert.match((await run('transfers --csv')).stdout, /^transferId,.*\r\n.*payroll\.txt,1,,/)
  assert.equal((await run('transfers')).exit, 2)
  assert.equal((await run('transfers --all --status DONE')).exit, 2)
})

test('a file is uploaded and sent; a partner is called step by step by contact test and by doctor --partners', async (t) => {
  const { node, run } = await setUp(t)
  const folder = await tempFolder(t)
  const file = join(folder, 'payroll.txt')
  writeFileSync(file, 'salaries')
  const uploaded = await run(`upload ${PLAIN} ${file}`)
  assert.equal(uploaded.exit, 0, uploaded.stderr)
  const there = join(node.files, 'out', 'payroll.txt')
  assert.match(uploaded.stdout, /payroll\.txt: 8 B, sha256:[0-9a-f]{64}$/m)
  assert.equal(readFileSync(there, 'utf8'), 'salaries')
  const twice = await run(`upload ${PLAIN} ${file}`)
  assert.deepEqual([twice.exit, /409/.test(twice.stderr)], [3, true], 'none is written over')
  const nothing = join(folder, 'nothing')
  const missing = await run(`upload ${PLAIN} ${nothing}`)
  assert.deepEqual([missing.exit, missing.stderr], [2, `esclusa: ${nothing} does not exist\n`])
  const sent = await run(`upload ${PLAIN} ${file} --name more.txt --send --json`)
  const { status, files } = JSON.parse(sent.stdout) as { status: string; files: { file: string }[] }
  assert.deepEqual([status, files.length], ['PENDING', 2], sent.stdout)

  const contact = { id: 'beside', protocol: 'folder', remoteCodes: [{ id: '1', code: 'BESIDE' }] }
  const beside = join(node.files, 'beside')
  mkdirSync(beside)
  const body = { ...contact, folder: { inbox: beside, outbox: beside } }
  const made = await run('call createContact --body -', { input: JSON.stringify(body) })
  assert.equal(made.exit, 0, made.stderr)
  const good = await run('contact test beside')
  assert.deepEqual([good.exit, / OK /.test(good.stdout)], [0, true], good.stdout + good.stderr)
  const bad = await run('contact test acme --json')
  const tested = JSON.parse(bad.stdout) as { ok: boolean; ways: { steps: { outcome: string }[] }[] }
  assert.deepEqual([bad.exit, tested.ok], [1, false])
  assert.ok(tested.ways.some(({ steps }) => steps.some(({ outcome }) => outcome === 'FAILED')))
  assert.equal((await run('contact test nobody')).exit, 3)
  const doctor = await run('doctor --partners')
  assert.equal(doctor.exit, 1)
  assert.match(doctor.stdout, /^ok +partner beside/m)
  assert.match(doctor.stdout, /^WRONG +partner acme 127\.0\.0\.1/m)
})
