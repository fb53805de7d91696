// Who may import whom. The layout's one rule in a table: a new edge between folders is a decision, and shows up here.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')

const SECTIONS = 'src/contract/contact-settings.ts:type'

/** What each place may import beside itself. `type` after a colon: its types alone. The longest place that fits counts. */
const MAY: Record<string, string[]> = {
  'src/errors.ts': [],
  'src/log.ts': [],
  'src/config.ts': ['src/domain/time.ts'],
  'src/shown-settings.ts': ['src/config.ts'],
  'src/compare-settings.ts': ['src/config.ts', 'src/shown-settings.ts', 'src/store'],
  'src/root.ts': [],
  'src/json.ts': [],
  'src/event-loop-lag.ts': [],
  'src/thread-priority.ts': [],
  'src/contract': [],
  'src/domain': ['src/contract'],
  'src/store': ['src/contract', 'src/domain'],
  'src/files': ['src/contract', 'src/domain'],
  'src/backup': ['src/contract', 'src/domain', 'src/store', 'src/files'],
  'src/accounts': ['src/contract', 'src/domain', 'src/store'],
  'src/quarantine': ['src/contract', 'src/domain', 'src/store', 'src/files', 'src/audit'],
  'src/upkeep': [
    'src/contract',
    'src/domain',
    'src/store',
    'src/files',
    'src/accounts',
    'src/audit',
    'src/quarantine',
  ],
  'src/audit': ['src/contract', 'src/domain', 'src/store', 'src/files/replace-text.ts'],
  'src/keys': ['src/contract', 'src/domain', 'src/store', 'src/audit'],
  'src/transfers': ['src/contract', 'src/domain', 'src/files', 'src/store'],
  'src/notify': ['src/contract', 'src/domain', 'src/store', 'src/keys'],
  'src/http': [
    'src/contract',
    'src/domain',
    'src/store',
    'src/files',
    'src/accounts',
    'src/audit',
    'src/keys',
    'src/notify',
    'src/platform',
    'src/quarantine',
    'src/transfers',
  ],
  'src/platform': [
    'src/contract',
    'src/domain',
    'src/store',
    'src/accounts',
    'src/files',
    'src/audit',
    'src/keys',
  ],
  ...engineRooms(),
  'src/engine/transforms': [],
  // Of the contract transports know the sections of a contact, nothing else.
  'src/engine/transports/file-key.ts': [],
  'src/engine/transports/fault-causes.ts': [],
  'src/engine/transports/small-batches.ts': [
    'src/files/unchanged.ts:type',
    'src/engine/transports/file-key.ts',
  ],
  'src/engine/transports/transport.ts': [
    SECTIONS,
    'src/engine/transports/fault-causes.ts',
    'src/engine/transports/file-key.ts',
    'src/engine/transports/small-batches.ts',
  ],
  'src/engine/transports/temporary-name.ts': [],
  'src/engine/transports/files-left.ts': ['src/domain/newest.ts'],
  'src/engine/transports/lazy-timer.ts': [],
  'src/engine/transports/outbox.ts': [],
  'src/engine/transports/tries.ts': [],
  'src/engine/transports/caller-places.ts': ['src/domain/network', 'src/engine/transports/tries.ts'],
  'src/engine/transports/proxy-header.ts': ['src/domain/network'],
  'src/engine/transports/read-buffer.ts': ['src/files/tls-pair.ts:type'],
  'src/engine/transports/ssh': [
    SECTIONS,
    'src/engine/transports/transport.ts',
    'src/engine/transports/read-buffer.ts',
  ],
  'src/engine/transports/oftp2': [
    // Its table of cipher suites stands with the setting that chooses one.
    'src/contract/contact-settings.ts',
    'src/engine/transports/file-key.ts',
    'src/engine/transports/transport.ts',
    'src/engine/transports/lazy-timer.ts',
    'src/engine/transports/caller-places.ts',
    'src/engine/transports/proxy-header.ts',
    'src/engine/transports/read-buffer.ts',
    'src/files/replace-text.ts',
    'src/files/tls-pair.ts',
  ],
  'src/engine/transports/folder': [
    SECTIONS,
    'src/engine/transports/file-key.ts',
    'src/engine/transports/files-left.ts',
    'src/engine/transports/temporary-name.ts',
    'src/engine/transports/small-batches.ts',
    'src/engine/transports/transport.ts',
    'src/files',
  ],
  'src/engine/transports/sftp-client': [
    SECTIONS,
    'src/files/small/copies.ts',
    'src/engine/transports/file-key.ts',
    'src/engine/transports/files-left.ts',
    'src/engine/transports/temporary-name.ts',
    'src/engine/transports/small-batches.ts',
    'src/engine/transports/transport.ts',
    'src/engine/transports/ssh',
  ],
  'src/engine/transports/sftp-server': [
    SECTIONS,
    'src/engine/transports/transport.ts',
    'src/engine/transports/outbox.ts',
    'src/engine/transports/temporary-name.ts',
    'src/engine/transports/lazy-timer.ts',
    'src/engine/transports/caller-places.ts',
    'src/engine/transports/proxy-header.ts',
    'src/engine/transports/read-buffer.ts',
    'src/engine/transports/ssh',
    'src/files/replace-text.ts',
    'src/accounts/password.ts',
  ],
  'src/main.ts': ['src'],
  // Carries word between the doors and the engine, here and on other nodes.
  'src/node-messages.ts': ['src/contract', 'src/store', 'src/http:type', 'src/engine:type'],
  'src/demo': ['src/contract', 'src/domain', 'src/store', 'src/accounts', 'src/files', 'src/platform'],
  'src/cli': ['src', 'sdk'],
  sdk: ['src/contract'],
  'console/src': ['src/contract', 'src/domain', 'sdk'],
}

/** The engine's rooms, lowest first: each may use the rooms below it that it names, and none above. */
function engineRooms(): Record<string, string[]> {
  const engine = 'src/engine'
  const outside = ['src/contract', 'src/domain', 'src/store', 'src/files']
  // What every room may know: the context, a running transfer, its plan and its writes, the events, and what a transport
  // promises.
  const ground = [
    `${engine}/engine-context.ts`,
    `${engine}/running-transfer.ts`,
    `${engine}/held-writes.ts`,
    `${engine}/transfer-plan.ts`,
    `${engine}/events.ts`,
    `${engine}/transports/transport.ts`,
    `${engine}/transports/small-batches.ts`,
  ]
  const room = (name: string, below: string[]) => ({
    [`${engine}/${name}`]: [...outside, ...ground, ...below.map((one) => `${engine}/${one}`)],
  })
  return {
    // These three are parts of the context and know nothing of the engine around them.
    [`${engine}/scheduling/heartbeat.ts`]: ['src/store'],
    [`${engine}/scheduling/slots.ts`]: [],
    [`${engine}/staging/staging.ts`]: ['src/files', `${engine}/transforms`],
    [`${engine}/events.ts`]: ['src/contract'],
    [`${engine}/transfer-plan.ts`]: [...outside, `${engine}/transports/transport.ts`],
    [`${engine}/engine-context.ts`]: [
      ...outside,
      'src/accounts:type',
      `${engine}/events.ts`,
      `${engine}/transforms/code-pages.ts:type`,
      `${engine}/scheduling/heartbeat.ts:type`,
      `${engine}/scheduling/slots.ts:type`,
      `${engine}/staging/staging.ts:type`,
    ],
    [`${engine}/running-transfer.ts`]: [...outside, ...ground],
    [`${engine}/held-writes.ts`]: ['src/store'],
    ...room('staging', ['transforms']),
    ...room('actions', []),
    ...room('sending', ['transforms', 'staging', 'actions', 'transports/folder', 'transports/outbox.ts']),
    ...room('receiving', ['transforms', 'staging', 'actions']),
    ...room('sessions', ['transforms', 'transports', 'sending', 'receiving']),
    ...room('probing', ['transports', 'sessions']),
    ...room('scheduling', ['staging', 'actions', 'sending', 'receiving', 'sessions']),
    [`${engine}/scheduling/automation.ts`]: [
      ...outside,
      'src/transfers',
      ...ground,
      `${engine}/sending`,
      `${engine}/sessions`,
      `${engine}/scheduling`,
    ],
    // Puts the rooms together.
    [`${engine}/engine.ts`]: [...outside, 'src/accounts', engine],
    [`${engine}/counters.ts`]: [],
    [`${engine}/thread-messages.ts`]: ['src/contract', `${engine}/counters.ts:type`],
    [`${engine}/watchdog.ts`]: [],
    [`${engine}/engine-thread.ts`]: [
      'src/contract',
      `${engine}/counters.ts`,
      `${engine}/watchdog.ts`,
      `${engine}/thread-messages.ts`,
    ],
    // The engine runs in a thread of its own: this file is that thread's main.
    [`${engine}/worker.ts`]: [
      'src/store',
      'src/files',
      'src/upkeep',
      `${engine}/engine.ts`,
      `${engine}/thread-messages.ts`,
      'src/log.ts',
    ],
  }
}
/** All may use errors, what JSON is and the project's place; the log and the settings arrive as values, so only their types are imported. */
const FOR_ALL = [
  'src/errors.ts',
  'src/root.ts',
  'src/json.ts',
  'src/event-loop-lag.ts',
  'src/thread-priority.ts',
  'src/log.ts:type',
  'src/config.ts:type',
]

const inside = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

type Import = { from: string; to: string; typeOnly: boolean }

/** What tests share lies in test/support. */
const isTest = (path: string) => path.endsWith('.test.ts') || inside(path, 'test')
const FILES = globSync(['src/**/*.ts', 'sdk/**/*.ts', 'console/src/**/*.{ts,tsx}'], {
  cwd: ROOT,
  exclude: (path) => /node_modules|^sdk\/dist/.test(path),
})
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !isTest(path))

function importsOf(path: string): Import[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^'"]*?\sfrom\s+'(\.[^']+|@esclusa\/sdk)'/gms),
    ...text.matchAll(/^import\s+()'(\.[^']+)'/gm),
    ...text.matchAll(/\bimport\(\s*()'(\.[^']+)'/g),
    ...text.matchAll(/new (?:URL|Worker)\(\s*()'(\.[^']+\.ts)'/g),
  ]
  return found.map(([, type, to = '']) => ({
    from: path,
    to: to === '@esclusa/sdk' ? 'sdk/index.ts' : relative(ROOT, resolve(ROOT, dirname(path), to)),
    typeOnly: Boolean(type),
  }))
}

const IMPORTS = FILES.flatMap(importsOf)

function placeOf(path: string): string {
  const fitting = Object.keys(MAY).filter((place) => inside(path, place))
  return fitting.toSorted((a, b) => b.length - a.length)[0] ?? ''
}

function allowed({ from, to, typeOnly }: Import): boolean {
  const place = placeOf(from)
  if (inside(to, place)) return true
  return [...(MAY[place] ?? []), ...FOR_ALL].some((one) => {
    const [target = '', type] = one.split(':')
    return inside(to, target) && (type === undefined || typeOnly)
  })
}

test('every source file has a place in the table', () => {
  assert.ok(FILES.length > 50)
  assert.deepEqual(
    FILES.filter((path) => placeOf(path) === ''),
    [],
  )
})

test('folders import only what the table lets them', () => {
  assert.ok(IMPORTS.length > 100)
  const wrong = IMPORTS.filter((one) => !allowed(one)).map(
    (one) => `${one.from} imports ${one.typeOnly ? 'types of ' : ''}${one.to}`,
  )
  assert.deepEqual(wrong, [])
})

test('http and engine never meet', () => {
  const between = IMPORTS.filter(
    ({ from, to }) =>
      (inside(from, 'src/http') && inside(to, 'src/engine')) ||
      (inside(from, 'src/engine') && inside(to, 'src/http')),
  )
  assert.deepEqual(between, [])
})

test('nothing imports the command line, and only it and the tests import main', () => {
  const wrong = IMPORTS.filter(
    ({ from, to }) => !inside(from, 'src/cli') && (inside(to, 'src/cli') || to === 'src/main.ts'),
  )
  assert.deepEqual(wrong, [])
})

test('the product imports no test code', () => {
  assert.deepEqual(
    IMPORTS.filter(({ to }) => inside(to, 'test') || inside(to, 'bench') || isTest(to)),
    [],
  )
})

test('no file imports itself by a detour, types included', () => {
  const graph = Map.groupBy(IMPORTS, (one) => one.from)
  const done = new Set<string>()
  function walk(path: string, trail: string[]): string[] | undefined {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
    if (done.has(path)) return undefined
    for (const { to } of graph.get(path) ?? []) {
      const circle = walk(to, [...trail, path])
      if (circle) return circle
    }
    done.add(path)
    return undefined
  }
  for (const path of FILES) assert.equal(walk(path, [])?.join(' -> '), undefined)
})

test('only the settings and the command line read the environment', () => {
  const readers = FILES.filter((path) =>
    /process\.env/.test(readFileSync(join(ROOT, path), 'utf8').replaceAll(/^\s*\/\/.*$/gm, '')),
  )
  assert.deepEqual(
    readers.filter((path) => path !== 'src/config.ts' && !inside(path, 'src/cli')),
    [],
  )
})

test('every relative import says its ending and exists', () => {
  const files = new Set(
    globSync(['src/**/*', 'sdk/**/*', 'console/**/*'], {
      cwd: ROOT,
      exclude: (path) => /node_modules|^sdk\/dist/.test(path),
    }),
  )
  assert.deepEqual(
    IMPORTS.filter(({ to }) => !files.has(to)).map(({ from, to }) => `${from} -> ${to}`),
    [],
  )
})

test('names that say nothing are not taken', () => {
  const vague = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\.ts|\/)/
  assert.deepEqual(
    FILES.filter((path) => vague.test(path) && path !== 'sdk/index.ts'),
    [],
  )
})
