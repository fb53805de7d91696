// What of others is inside a release: packages that are carried as they are, packages that were joined into build/ and
// into the console, and the Node that runs it all. Read from package-lock.json, which is what was installed.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** What the bundler leaves as packages. */
export const NOT_JOINED = JSON.parse(readFileSync(join(ROOT, 'tools/not-joined.json'), 'utf8')) as string[]

type Locked = {
  version: string
  license?: string
  integrity?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>
}

/** For building alone: the binding of ssh2 is built already, and what cpu-features would find out nobody asks. */
const FOR_BUILDING = new Set(['nan', 'cpu-features', 'buildcheck', 'node-addon-api', 'node-gyp-build'])
/** Of the console's packages, those that make it and are not in it. */
const MAKES_THE_CONSOLE = /^(@types\/|vite$|@vitejs\/)/

export type Inside = { path: string; name: string; version: string; license: string; integrity?: string }

/** Carried in node_modules. */
export function carried(): Inside[] {
  return closure(NOT_JOINED)
}

/** Everything of others, carried or joined. */
export function inside(): Inside[] {
  const own = lock.packages[''] as Locked
  const ofConsole = Object.keys(lock.packages.console?.devDependencies ?? {})
  const nodes = Object.keys(own.optionalDependencies ?? {})
  return closure([
    ...Object.keys(own.dependencies ?? {}),
    ...ofConsole.filter((name) => !MAKES_THE_CONSOLE.test(name)),
    ...nodes,
  ])
}

function closure(names: readonly string[]): Inside[] {
  const found = new Map<string, Inside>()
  const visit = (from: string, name: string) => {
    const path = resolve(from, name)
    if (path === undefined || found.has(path) || FOR_BUILDING.has(name)) return
    const { version, license, integrity, dependencies, optionalDependencies } = lock.packages[path] as Locked
    const declared = license ?? licenceIn(path)
    found.set(path, { path, name, version, license: declared, ...(integrity !== undefined && { integrity }) })
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(path, next)
  }
  for (const name of names) visit(existsIn('console', name) ? 'console' : '', name)
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

const existsIn = (place: string, name: string) => `${place}/node_modules/${name}` in lock.packages

/** As Node finds it: beside the one that asks, or in a folder above. */
function resolve(from: string, name: string): string | undefined {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf('/node_modules/')))) {
    const path = `${place}${place && '/'}node_modules/${name}`
    if (path in lock.packages) return path
    if (place === '') return undefined
  }
}

function licenceIn(path: string): string {
  const file = join(ROOT, path, 'package.json')
  if (!existsSync(file)) return 'NOASSERTION'
  const said = JSON.parse(readFileSync(file, 'utf8')) as { license?: string; licenses?: { type: string }[] }
  return said.license ?? said.licenses?.[0]?.type ?? 'NOASSERTION'
}

/** The bill of materials, as CycloneDX has it. */
export function billOfMaterials(version: string): object {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        'bom-ref': `esclusa@${version}`,
        type: 'application',
        name: 'esclusa',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        purl: `pkg:npm/esclusa@${version}`,
      },
    },
    components: inside().map((one) => ({
      'bom-ref': `${one.path}@${one.version}`,
      type: one.name.startsWith('node-linux-') ? 'platform' : 'library',
      name: one.name,
      version: one.version,
      licenses: [/ (OR|AND) /.test(one.license) ? { expression: one.license } : licenceOf(one.license)],
      purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
      ...(one.integrity?.startsWith('sha512-') && {
        hashes: [{ alg: 'SHA-512', content: Buffer.from(one.integrity.slice(7), 'base64').toString('hex') }],
      }),
    })),
  }
}

function licenceOf(name: string): object {
  return /^[A-Za-z0-9.+-]+$/.test(name) && name !== 'NOASSERTION'
    ? { license: { id: name } }
    : { license: { name } }
}

/** The licence of each package in its own words; the same words stand once. */
export function licenceTexts(): string {
  const texts = new Map<string, { text: string; of: string[] }>()
  for (const { path, name, version, license } of inside()) {
    const text = textIn(path) ?? `${license} (the package carries no text of it)`
    const key = createHash('sha256').update(text).digest('hex')
    const known = texts.get(key) ?? { text, of: [] }
    known.of.push(`${name} ${version} (${license})`)
    texts.set(key, known)
  }
  return [...texts.values()]
    .map(({ text, of }) => `${of.join('\n')}\n\n${text.trim()}\n`)
    .join(`\n${'-'.repeat(78)}\n\n`)
}

function textIn(path: string): string | undefined {
  const folder = join(ROOT, path)
  if (!existsSync(folder)) return undefined
  const name = readdirSync(folder).find((one) => /^(licen[cs]e|copying)(\.|$)/i.test(one))
  return name === undefined ? undefined : readFileSync(join(folder, name), 'utf8')
}
