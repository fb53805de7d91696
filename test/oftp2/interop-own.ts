// The interop suite itself, run against a node of ours in a process of its own as the foreign server. So the suite works
// on the day somebody has a foreign server for it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../src/config.ts'
import { noise } from '../support/oftp2/ends.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { openStore } from '../../src/store/database/open.ts'
import { esclusa, NodeProcess } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import type { Identity } from './pair.ts'

const SUITE = fileURLToPath(new URL('interop.test.ts', import.meta.url))

type Partner = { id: string; code: string; security: object }

/** What a foreign server must be told of us, in the words of a platform file. */
function partnerOf({ id, code, security }: Partner, folder: string) {
  const form = (group: string, more: object) => ({
    direction: 'RECEPCION',
    filePath: join(folder, code, 'in'),
    fileGroupsName: group,
    ...more,
  })
  const contact = {
    id: code.toLowerCase(),
    name: code,
    remoteCodes: [{ id: 'rc', code }],
    protocol: 'oftp2',
    oftp2: { id },
  }
  const channel = {
    code: `FOREIGN-${code}-FILES`,
    contact: contact.id,
    direction: 'BIDIRECCIONAL',
    automation: { watch: true },
    security,
    connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
    integrations: { postReceptionAction: 'RECEPTION_NO', postReceptionRename: true },
    directories: [
      { direction: 'EMISION', filePath: join(folder, code, 'out') },
      form('interop-f*', { fileFormat: 'FIJO', registerLength: 80 }),
      form('interop-v*', { fileFormat: 'VARIABLE', registerLength: 200 }),
      form('interop-t*', { fileFormat: 'HIBRIDO' }),
      form('*', { fileFormat: 'BINARIO' }),
    ],
  }
  return { contact, channel }
}

export async function startForeign(t: TestContext, keys: Identity, partner: Partner) {
  const dataDir = await tempFolder(t)
  const [plain, secure] = [await freePort(), await freePort()]
  const settings = {
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_OFTP2_PORT: String(plain),
    ESCLUSA_OFTP2_TLS_PORT: String(secure),
    ESCLUSA_LOG_LEVEL: 'warn',
    // All suites are tried, the two mandatory ones too.
    ESCLUSA_LEAST_DIGEST: 'SHA-1',
    ESCLUSA_LEAST_CIPHER: '3DES',
  }
  const files = join(dataDir, 'files')
  for (const way of ['in', 'out']) await mkdir(join(files, partner.code, way), { recursive: true })
  await writeFile(join(dataDir, 'oftp2-tls.pem'), keys.identity, { mode: 0o600 })
  const { contact, channel } = partnerOf(partner, files)
  const platform = {
    localEntities: [{ code: 'FOREIGN', name: 'Foreign', oftp2: { id: 'O0013000002FOREIGN' } }],
    contacts: [contact],
    channels: [channel],
  }
  await writeFile(join(dataDir, 'platform.yaml'), JSON.stringify(platform))
  await esclusa(settings, 'apply', join(dataDir, 'platform.yaml'))
  const node = await NodeProcess.start(settings)
  closeAfter(t, () => node.kill())
  return { settings, folder: join(files, partner.code), code: channel.code, plain, secure }
}

/** `node --test` on the suite, as somebody would run it. */
function runSuite(settings: Record<string, string>): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test', '--test-reporter=tap', SUITE]
  return new Promise((resolve, reject) =>
    execFile(process.execPath, args, { env: { ...env, ...settings } }, (error, said) =>
      error ? reject(new Error(said)) : resolve(said),
    ),
  )
}

/** The node's look at its outbound directory has made a transfer of it: from then on it waits for us to call. */
async function waitsFor(settings: Record<string, string>, code: string): Promise<void> {
  const store = await openStore(readConfig(settings))
  try {
    await waitFor(
      `a transfer on ${code}`,
      () =>
        store.db
          .selectFrom('transfer')
          .select('id')
          .where('channel_code', '=', code)
          .where('direction', '=', 'EMISION')
          .executeTakeFirst(),
      60_000,
    )
  } finally {
    await store.close()
  }
}

const PASSWORDS = { ESCLUSA_INTEROP_OFTP2_PASSWORD: 'OURS', ESCLUSA_INTEROP_OFTP2_EXPECTED: 'THEIRS' }

export type Found = { said: string; can: string[]; cannot: string[] }

/** Runs the suite against that server, and checks what every server of ours must show. */
export async function ask(
  foreign: Awaited<ReturnType<typeof startForeign>>,
  settings: Record<string, string>,
  tests: { pass: number; skipped: number },
): Promise<Found> {
  await writeFile(join(foreign.folder, 'out', 'for-us.txt'), 'what the server has')
  await waitsFor(foreign.settings, foreign.code)
  const said = await runSuite({ ...PASSWORDS, ...settings })
  assert.match(said, new RegExp(`# pass ${tests.pass}\n`), said)
  assert.match(said, new RegExp(`# skipped ${tests.skipped}\n`), said)
  assert.match(said, /# 1 files and 12 positive receipts came in all sessions/, said)
  const from = Number(/# it went on at (\d+) of 3000000 octets/.exec(said)?.[1])
  assert.ok(from > 1_000_000 && from <= 2_000_000, `it went on at ${from}`)
  await arrived(join(foreign.folder, 'in'))
  const listed = (title: string) => (new RegExp(`# ${title}: (.*)\n`).exec(said)?.[1] ?? '').split('; ')
  return { said, can: listed('the server can'), cannot: listed('the server cannot') }
}

/** Each file came: those of the formats twice, once by itself and once in a session with the others. */
async function arrived(folder: string): Promise<void> {
  const names = await readdir(folder)
  const count = (title: string) => names.filter((name) => name.startsWith(`interop-${title}.`)).length
  for (const title of ['u', 'empty', 't', 'f', 'v']) assert.equal(count(title), 2, names.join())
  for (const title of ['packed', 'cut']) assert.equal(count(title), 1, names.join())
  assert.ok((await readFile(join(folder, 'interop-cut.dat'))).equals(noise(3_000_000)))
  assert.ok((await readFile(join(folder, 'interop-f.dat'))).equals(noise(80 * 500)))
  assert.equal((await stat(join(folder, 'interop-empty.dat'))).size, 0)
}
