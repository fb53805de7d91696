// Builds the client as a package of its own: `npm run build -w @esclusa/sdk` writes sdk/dist/ with one JavaScript file
// and its types. Neither needs anything from outside that folder.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { isolatedDeclarationSync } from 'rolldown/experimental'
import type { TSchema } from 'typebox'
import { operations } from '../../src/contract/operations.ts'
import type { Operation } from '../../src/contract/operations.ts'
import { pageOf } from '../../src/contract/page.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import { callOf, shapeOf } from './types.ts'
import type { Names, Schema } from './types.ts'

const SDK = resolve(import.meta.dirname, '../../sdk')
const DIST = resolve(process.argv[2] ?? join(SDK, 'dist'))
/** What is the client's own: its types are taken from its sources as they stand there. */
const OWN = ['client-options', 'errors', 'pages']

rmSync(DIST, { recursive: true, force: true })
mkdirSync(DIST, { recursive: true })
await writeJavaScript()
for (const name of OWN) writeFileSync(join(DIST, `${name}.d.ts`), declarationsOf(name))
const index = readFileSync(join(SDK, 'index.ts'), 'utf8')
const exported = await exportedShapes(index)
const names: Names = new Map(exported.map(([name, schema]) => [schema, name]))
writeFileSync(join(DIST, 'shapes.d.ts'), shapes(exported, names))
writeFileSync(join(DIST, 'index.d.ts'), clientTypes(exported, names))
console.log('sdk/dist: the client and its types')

async function writeJavaScript(): Promise<void> {
  const bundle = await rolldown({ cwd: SDK, input: 'index.ts', platform: 'neutral', external: [] })
  const { output } = await bundle.write({ file: join(DIST, 'index.js'), format: 'esm' })
  await bundle.close()
  const imported = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.imports : []))
  if (imported.length > 0) throw new Error(`the client needs ${imported.join(', ')}: it must stand alone`)
}

function declarationsOf(name: string): string {
  const { code, errors } = isolatedDeclarationSync(
    `${name}.ts`,
    readFileSync(join(SDK, `${name}.ts`), 'utf8'),
  )
  if (errors.length > 0) throw new Error(`sdk/${name}.ts: ${errors[0]?.message}`)
  return code
    .replaceAll(/"\.\.\/src\/contract\/[\w-]+\.ts"/g, '"./shapes.js"')
    .replaceAll(/"\.\/([\w-]+)\.ts"/g, '"./$1.js"')
}

/** The contract's shapes that the client's index exports as types, with their schemas. */
async function exportedShapes(source: string): Promise<[string, Schema][]> {
  const found: [string, Schema][] = []
  for (const [, list = '', path = ''] of source.matchAll(
    /^export type \{([^}]*)\} from '\.\.\/(src\/contract\/[\w-]+\.ts)'/gm,
  )) {
    const module = (await import(`../../${path}`)) as Record<string, Schema>
    for (const name of list.split(',').flatMap((one) => one.trim() || [])) {
      const schema = module[name]
      if (schema) found.push([name, schema])
      else if (name !== 'Page') throw new Error(`${path} has no schema ${name}`)
    }
  }
  return found
}

function shapes(exported: readonly [string, Schema][], names: Names): string {
  const item: Schema = { type: 'string' }
  return [
    '// The shapes of the interface, made from the node’s schemas.\n',
    shapeOf('Page<T>', pageOf(item as TSchema), new Map([[item, 'T']])),
    ...exported.map(([name, schema]) => shapeOf(name, schema, names)),
  ].join('\n')
}

function clientTypes(exported: readonly [string, Schema][], names: Names): string {
  const list = ['Page', ...exported.map(([name]) => name)].join(', ')
  const callsOf = (table: Record<string, Operation>) =>
    Object.entries(table)
      .map(([name, operation]) => callOf(name, operation, names))
      .join('')
  return `// The typed client of an Esclusa node.

import type { CallOptions, ClientOptions } from './client-options.js'
import type { ${list} } from './shapes.js'

export type { ${list} } from './shapes.js'
export type { CallOptions, ClientOptions, Credentials } from './client-options.js'
export { ClientError, UnreachableError } from './errors.js'
export { collect, pages } from './pages.js'

export declare function createClient(options: ClientOptions): Client

export type Client = {
${callsOf(operations)}  /** What Esclusa adds to the interface. */
  readonly platform: PlatformClient
}

export type PlatformClient = {
${callsOf(platformOperations)}}
`
}
