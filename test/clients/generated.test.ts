// Clients that others' generators make of the document which a node serves really work: with each of them a channel is
// read, changed and written back, and a file is sent. And others' linters find no error in it.
//
// Java: the openapi-generator of today is a jar that only Maven's registry has; the newest one that npm has is 4.3.1, which
// reads OpenAPI 3.0. Its jar brings what the generated code needs, but for one module of which nothing is used.

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { closeAfter, tempFolder } from '../support/harness.ts'
import { PASSWORD, run, startScene, TOOLS, USERNAME, withoutJava, withoutTools } from './scene.ts'

const GENERATOR = join(TOOLS, '@openapitools/openapi-generator-cli/bin/openapi-generator.jar')

type Scene = Awaited<ReturnType<typeof startScene>>

/** What the client was to do: the category changed, nothing else; the file at the partner's end; a second send refused. */
async function isDone(scene: Scene, before: object, printed: string): Promise<void> {
  assert.deepEqual(printed.trim().split('\n'), ['WAGES', 'COMPLETED NOMINA.txt', '409'])
  assert.deepEqual(await scene.channel(), { ...before, category: 'WAGES' })
  assert.ok((await readdir(scene.inbox)).includes('NOMINA.txt'))
}

const PROGRAM = `import createClient from 'openapi-fetch'
import type { paths } from './api.js'

const [url = '', username = '', password = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl: url + '${BASE_PATH}' })
const login = await client.POST('/integration/v2/auth/login', { body: { username, password } })
client.use({
  onRequest: ({ request }) => request.headers.set('Authorization', \`Bearer \${login.data?.token}\`),
})

const list = await client.GET('/integration/v2/channels', { params: { query: { page: 1, size: 100 } } })
const found = list.data?.content.find(({ name }) => name === 'Payroll')
const channelCode = \`\${found?.localEntity}-\${found?.remoteEntity}-\${found?.application}\`
const params = { path: { channelCode } }

const read = await client.GET('/integration/v2/channels/{channelCode}/configuration', { params })
const changed = await client.POST('/integration/v2/channels/{channelCode}/update', {
  params,
  body: { ...read.data?.[0], category: 'WAGES' },
})
console.log(changed.data?.category)

let transfer = (await client.POST('/integration/v2/channels/{channelCode}/transfers/send', { params })).data
while (transfer?.status === 'PENDING' || transfer?.status === 'IN_PROGRESS') {
  await new Promise((resolve) => setTimeout(resolve, 50))
  const transferId = transfer.transferId ?? ''
  const detail = await client.GET('/integration/v2/channels/{channelCode}/transfers/{transferId}', {
    params: { path: { channelCode, transferId } },
  })
  transfer = detail.data
}
console.log(transfer?.status, transfer?.files?.[0]?.fileName)

const again = await client.POST('/integration/v2/channels/{channelCode}/transfers/send', { params })
console.log(again.error?.status)
`

const STRICT = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    // The declarations of Node and of the browser are not what is tested.
    skipLibCheck: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    typeRoots: [join(TOOLS, '../../../node_modules/@types')],
  },
  files: ['program.ts'],
}

/** Beside the packages that the program imports. */
async function folderAmongTools(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(TOOLS, '.generated-'))
  closeAfter(t, () => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}

test(
  'a TypeScript client made from openapi.json by openapi-typescript reads, changes and sends',
  { skip: withoutTools ?? false },
  async (t) => {
    const scene = await startScene(t)
    await scene.put('NOMINA.txt')
    const before = await scene.channel()
    const folder = await folderAmongTools(t)
    const from = `${scene.url}${BASE_PATH}/openapi.json`
    const generator = join(TOOLS, 'openapi-typescript/bin/cli.js')
    await run(process.execPath, [generator, from, '-o', join(folder, 'api.ts')])
    await writeFile(join(folder, 'program.ts'), PROGRAM)
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(STRICT))
    await run(process.execPath, [join(TOOLS, 'typescript/bin/tsc'), '-p', folder]).catch(
      (thrown: { stdout?: string }) => assert.fail(thrown.stdout),
    )
    const program = join(folder, 'program.js')
    const { stdout } = await run(process.execPath, [program, scene.url, USERNAME, PASSWORD])
    await isDone(scene, before, stdout)
  },
)

/**
 * Stands in for a package that only Maven's registry has: fields that may be null, of which the operations used here
 * have none.
 */
const NULLABLE = {
  'JsonNullableModule.java': `package org.openapitools.jackson.nullable;

public class JsonNullableModule extends com.fasterxml.jackson.databind.module.SimpleModule {}
`,
  'JsonNullable.java': `package org.openapitools.jackson.nullable;

public class JsonNullable<T> {
  private final T value;
  private final boolean present;
  private JsonNullable(T value, boolean present) { this.value = value; this.present = present; }
  public static <T> JsonNullable<T> undefined() { return new JsonNullable<T>(null, false); }
  public static <T> JsonNullable<T> of(T value) { return new JsonNullable<T>(value, true); }
  public T get() { return value; }
  public T orElse(T other) { return present ? value : other; }
  public boolean isPresent() { return present; }
}
`,
}

test(
  'a Java client made from openapi-3.0.json by openapi-generator reads, changes and sends',
  { skip: withoutTools ?? withoutJava ?? false },
  async (t) => {
    const scene = await startScene(t)
    await scene.put('NOMINA.txt')
    const before = await scene.channel()
    const folder = await tempFolder(t)
    const options = {
      dateLibrary: 'java8',
      hideGenerationTimestamp: 'true',
      invokerPackage: 'client',
      apiPackage: 'client.api',
      modelPackage: 'client.model',
    }
    const properties = Object.entries(options).map(([name, value]) => `${name}=${value}`)
    const args = ['generate', '-g', 'java', '--library', 'native', '-o', folder]
    const from = ['-i', `${scene.url}${BASE_PATH}/openapi-3.0.json`]
    const any = ['--type-mappings', 'AnyType=Object,oas_any_type_not_mapped=Object']
    // Half of the files, which nothing here reads.
    const without = ['-D', 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false']
    await run(
      'java',
      [
        '-jar',
        GENERATOR,
        ...args,
        ...from,
        ...any,
        ...without,
        `--additional-properties=${properties.join()}`,
      ],
      {
        maxBuffer: 64 * 1024 * 1024,
      },
    )
    const nullable = join(folder, 'src/main/java/org/openapitools/jackson/nullable')
    await mkdir(nullable, { recursive: true })
    for (const [name, source] of Object.entries(NULLABLE)) await writeFile(join(nullable, name), source)
    const made = await readdir(join(folder, 'src/main/java'), { recursive: true })
    const sources = made
      .filter((one) => one.endsWith('.java'))
      .map((one) => join(folder, 'src/main/java', one))
    const ours = join(import.meta.dirname, 'UseGenerated.java')
    const classes = join(folder, 'classes')
    const compile = ['-proc:none', '-encoding', 'UTF-8', '-cp', GENERATOR, '-d', classes, ...sources, ours]
    await run('javac', compile).catch((thrown: { stderr?: string }) => assert.fail(thrown.stderr))
    const java = ['-cp', `${classes}:${GENERATOR}`, 'UseGenerated', scene.url, USERNAME, PASSWORD]
    const { stdout } = await run('java', java)
    await isDone(scene, before, stdout)
  },
)

test(
  'Spectral finds no error in openapi.json and openapi-3.0.json',
  { skip: withoutTools ?? false },
  async (t) => {
    const { url } = await startScene(t)
    const folder = await tempFolder(t)
    const rules = join(folder, 'rules.yaml')
    await writeFile(rules, 'extends: ["spectral:oas"]\n')
    const linter = join(TOOLS, '@stoplight/spectral-cli/dist/index.js')
    const documents = ['openapi.json', 'openapi-3.0.json'].map((name) => `${url}${BASE_PATH}/${name}`)
    const args = [linter, 'lint', '--ruleset', rules, '--fail-severity', 'warn', ...documents]
    await run(process.execPath, args).catch((thrown: { stdout?: string }) => assert.fail(thrown.stdout))
  },
)
