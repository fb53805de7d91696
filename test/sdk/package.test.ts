// The client as a package: packed, installed where there is nothing else, and used from JavaScript and TypeScript.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { operations } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import { fromRoot } from '../../src/root.ts'
import { startTestNode } from '../support/harness.ts'
import { FULL, PASSWORD, PLAIN } from '../support/seed.ts'

const run = promisify(execFile)
const TSC = fromRoot('node_modules/typescript/bin/tsc').pathname

/** A folder with the packed client installed, and nothing else. */
const folder = await mkdtemp(join(tmpdir(), 'esclusa-sdk-'))
after(() => rm(folder, { recursive: true, force: true }))
const packed = await run('npm', ['pack', '--pack-destination', folder], { cwd: fromRoot('sdk').pathname })
const tarball = packed.stdout.trim().split('\n').at(-1) ?? ''
await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder })

const sources = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

test('the packed client runs from plain JavaScript, as its README shows it, and needs nothing else', async (t) => {
  assert.deepEqual(await readdir(join(folder, 'node_modules')), ['.package-lock.json', '@esclusa'])
  const node = await startTestNode(t)
  const file = join(node.files, 'out', 'payroll.txt')
  await writeFile(file, 'payroll')
  await utimes(file, 1_700_000_000, 1_700_000_000)
  const readme = await readFile(join(folder, 'node_modules/@esclusa/sdk/README.md'), 'utf8')
  const [example = ''] = sources(readme, 'js')
  const program = example.replace('http://127.0.0.1:8080', node.url).replace(FULL, PLAIN).concat(`
import { ClientError } from '@esclusa/sdk'
console.log(channels.map(({ application }) => application).join())
const refused = await client.channelStatus({ channelCode: 'NO-SUCH-CHANNEL' }).catch((thrown) => thrown)
console.log(refused instanceof ClientError, refused.status, refused.body.path)
console.log(Object.keys(client).length, Object.keys(client.platform).length)
`)
  await writeFile(join(folder, 'use.js'), program)
  const { stdout } = await run(process.execPath, ['use.js'], {
    cwd: folder,
    env: { ...process.env, ESCLUSA_PASSWORD: PASSWORD },
  })
  const [sent = '', listed = '', ...rest] = stdout.trim().split('\n')
  assert.match(sent, /^[0-9a-f-]{36} PENDING$/)
  assert.equal(listed.slice(0, 36), sent.slice(0, 36))
  assert.deepEqual(rest, [
    'FACTURA,NOMINA,NOMINA',
    'true 404 /connect-back/integration/v2/channels/NO-SUCH-CHANNEL/status',
    `${Object.keys(operations).length + 1} ${Object.keys(platformOperations).length}`,
  ])
})

const CHECKED = `import { ClientError, collect, createClient, pages } from '@esclusa/sdk'
import type { Channel, ChannelPatch, Client, Page, Transfer } from '@esclusa/sdk'

const client: Client = createClient({ url: 'http://127.0.0.1:8080', token: 'x' })
const page: Page<Transfer> = await client.listTransfers({ channelCode: 'A-B-C', size: 10 })
const status: 'PENDING' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | undefined = page.content[0]?.status
const patch: ChannelPatch = { name: null, connection: { ips: ['10.1.2.3'] } }
const channel: Channel = await client.updateChannel({ channelCode: 'A-B-C', body: patch })
const all: Transfer[] = await collect(pages(client.listTransfers, { channelCode: 'A-B-C' }))
const until: string = (await client.platform.session()).expiresAt
export const facts = [status, channel.directories?.[0]?.filePath?.length, all.length, until]

// @ts-expect-error a channel is needed
await client.listTransfers({})
// @ts-expect-error there is no such direction
export const wrong: Channel = { direction: 'SIDEWAYS' }
// @ts-expect-error the status is a number
export const text: string = new ClientError({} as never).status
`

/** What is packed says the same as the sources from which the console and the command line are made. */
const ALIKE = `import type { Client as Packed } from '@esclusa/sdk'
import type { Client as Made } from '${fromRoot('sdk/index.ts').pathname}'

type Answers<C> = { [N in keyof C]: C[N] extends (...call: never[]) => Promise<infer A> ? A : Answers<C[N]> }
type Inputs<C> = { [N in keyof C]: C[N] extends (input: infer I, ...rest: never[]) => unknown ? I : never }
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never

export const packed: Packed = {} as Made
export const answers: Same<Answers<Packed>, Answers<Made>> = true
export const inputs: Inputs<Omit<Packed, 'platform'>> = {} as Inputs<Omit<Made, 'platform'>>
`

test('the packed types check a program, and are those of the sources', async () => {
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, 'src/use.ts'), CHECKED)
  await writeFile(join(folder, 'src/alike.ts'), ALIKE)
  const options = {
    target: 'es2022',
    lib: ['es2024', 'dom', 'dom.iterable'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: [],
    exactOptionalPropertyTypes: true,
  }
  const check = async (name: string, more: object) => {
    const compilerOptions = { ...options, ...more }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: [`src/${name}.ts`] }),
    )
    return run(process.execPath, [TSC, '-p', '.'], { cwd: folder }).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
  }
  assert.equal(await check('use', {}), '')
  assert.equal(await check('alike', { allowImportingTsExtensions: true, skipLibCheck: true }), '')
})
