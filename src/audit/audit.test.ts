import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { sqlite, tempFolder, testOnBoth, withStore } from '../../test/support/harness.ts'
import { exchangeKey, ringOfFile } from '../files/key-file.ts'
import { openStore } from '../store/database/open.ts'
import type { Store } from '../store/database/store.ts'
import { changesOf } from './changes.ts'
import { readLines, wholeTrail } from './export.ts'
import { makeAuditKeys } from './keys.ts'
import { verifyAudit } from './read-trail.ts'
import { resignPoints } from './resign.ts'
import { pruneAudit } from './retention.ts'
import { keepHead, keptHead, sealAudit, startSealer } from './sealer.ts'
import { searchTrail } from './search.ts'
import { makeAuditTrail } from './trail.ts'
import type { Actor, AuditTrail } from './trail.ts'
import { verifyTrail } from './verify.ts'

const MASTER = 'a master key of the test, 32 bytes or more'
const ANA: Actor = { who: 'ana', via: 'TOKEN', address: '127.0.0.1' }
const DAY_MS = 86_400_000

async function write(store: Store, trail: AuditTrail, count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await store.write((tx) =>
      trail.add(tx, ANA, [
        {
          action: 'CHANNEL_CHANGED',
          subject: { kind: 'channel', name: `C${index % 3}` },
          facts: { index },
        },
      ]),
    )
}

testOnBoth('entries that several nodes write at once make one chain, which is whole', async (t, database) => {
  const dataDir = await tempFolder(t)
  const databaseUrl = await database.create(t, dataDir)
  const nodes = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => ({
      store: await openStore({ dataDir, databaseUrl }),
      trail: makeAuditTrail(MASTER, name, Date.now),
    })),
  )
  const [{ store, trail }] = nodes as [(typeof nodes)[0]]
  await Promise.all(
    nodes.map(async (node) => {
      for (let round = 0; round < 5; round++) {
        await write(node.store, node.trail, 8)
        await sealAudit(node.store, node.trail.keys, Date.now())
      }
    }),
  )
  assert.deepEqual(await verifyAudit(store.db, trail.keys), {
    whole: true,
    entries: 120,
    open: 0,
    from: 1,
    to: 120,
    findings: [],
  })
  for (const node of nodes) await node.store.close()
})

testOnBoth(
  'an entry with a key that was exchanged a moment ago is no forgery to a node that has not heard',
  async (t, database) => {
    const store = await withStore(t, database)
    const file = join(await tempFolder(t), 'master-key')
    writeFileSync(file, MASTER)
    // A clock that stands still: by itself this ring never looks again.
    const deaf = makeAuditTrail(
      ringOfFile(file, () => 0),
      'deaf',
      Date.now,
    )
    await write(store, deaf, 1)
    exchangeKey(file, 32, { now: 0, until: DAY_MS })
    await write(store, makeAuditTrail(ringOfFile(file), 'other', Date.now), 1)
    await sealAudit(store, deaf.keys, Date.now())
    const { findings } = await verifyAudit(store.db, makeAuditKeys(readFileSync(file, 'utf8').trim()))
    assert.deepEqual(findings, [])
  },
)

testOnBoth('what is changed in the database itself is found, whatever it is', async (t, database) => {
  const store = await withStore(t, database)
  const trail = makeAuditTrail(MASTER, 'one', Date.now)
  await write(store, trail, 12)
  const head = await sealAudit(store, trail.keys, Date.now())
  const seen = head ? [head] : []
  const after = async (statement: string) => {
    const { db } = store
    const rows = await db.selectFrom('audit').selectAll().execute()
    const heads = await db.selectFrom('audit_head').selectAll().execute()
    await store.write((tx) => sql.raw(statement).execute(tx))
    const { findings } = await verifyAudit(db, trail.keys, seen)
    await store.write(async (tx) => {
      await tx.deleteFrom('audit').execute()
      await tx.deleteFrom('audit_head').execute()
      await tx.insertInto('audit').values(rows).execute()
      await tx.insertInto('audit_head').values(heads).execute()
    })
    return findings.join('\n')
  }
  assert.match(await after(`update audit set who = 'eva' where seq = 5`), /breaks at place 5/)
  assert.match(await after(`delete from audit where seq = 7`), /1 entries are missing before place 8/)
  assert.match(await after(`delete from audit where seq > 9`), /ends at place 9; it was signed up to 12/)
  assert.match(await after(`delete from audit`), /ends at place 0/)
  assert.match(await after(`update audit set seq = seq + 100 where seq = 12`), /place 112, after the last/)
  assert.match(await after(`update audit set seq = 0 where seq = 1`), /place 0, before the start/)
  assert.match(await after(`update audit_head set seq = 3`), /not signed by this platform’s key/)
  assert.match(
    await after(`insert into audit select 'x' || id, at, node, 'eva', via, token_id, address, action, outcome,
      subject_kind, subject, channel_code, detail, mac, null, null from audit where seq = 1`),
    /was not written by the node/,
  )
  // Cut together with its head: only a head that was kept elsewhere shows it.
  const cut = await after(`delete from audit where seq > 0`)
  assert.match(cut, /signed it up to 12/)
  assert.equal(await after('update audit set seq = seq'), '')
})

testOnBoth('a forged entry gets its place in the chain, marked for good', async (t, database) => {
  const store = await withStore(t, database)
  const trail = makeAuditTrail(MASTER, 'one', Date.now)
  await write(store, trail, 1)
  await store.write((tx) => sql`update audit set who = 'eva'`.execute(tx))
  await sealAudit(store, trail.keys, Date.now())
  await write(store, trail, 1)
  await sealAudit(store, trail.keys, Date.now())
  const { findings } = await verifyAudit(store.db, trail.keys)
  assert.equal(findings.length, 1)
  assert.match(findings[0] ?? '', /place 1 was changed, or not written by the node/)
})

testOnBoth('entries of a node with another master key are told of in the log', async (t, database) => {
  const store = await withStore(t, database)
  const dataDir = await tempFolder(t)
  const [one, other] = [MASTER, MASTER.replaceAll(/./g, 'x')].map((key, nth) =>
    makeAuditTrail(key, `node-${nth}`, Date.now),
  )
  assert.ok(one && other)
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const seal = () =>
    startSealer({ store, trail: one, log, dataDir, keepDays: undefined, now: Date.now }).stop()
  await write(store, one, 2)
  await seal()
  assert.deepEqual(lines, [])
  await write(store, other, 2)
  await seal()
  const told = lines.map((line) => JSON.parse(line) as { msg: string; entries: number; nodes: string[] })
  assert.deepEqual(
    told.map(({ entries, nodes }) => ({ entries, nodes })),
    [{ entries: 2, nodes: ['node-1'] }],
  )
  assert.match(told[0]?.msg ?? '', /another master key.*or somebody wrote to the database/)
})

testOnBoth('retention takes old entries, tells so, and what is left is still proven', async (t, database) => {
  const store = await withStore(t, database)
  let now = Date.now() - 10 * DAY_MS
  const trail = makeAuditTrail(MASTER, 'one', () => now)
  await write(store, trail, 20)
  await sealAudit(store, trail.keys, now)
  now += 10 * DAY_MS
  await write(store, trail, 5)
  await sealAudit(store, trail.keys, now)
  assert.equal(await pruneAudit(store, trail, now - 5 * DAY_MS, now), 20)
  await sealAudit(store, trail.keys, now)
  const check = () => verifyAudit(store.db, trail.keys)
  const { whole, from, to, entries } = await check()
  assert.deepEqual({ whole, from, to, entries }, { whole: true, from: 21, to: 26, entries: 6 })
  const { rows } = await searchTrail(store.db, { action: 'AUDIT_PRUNED' }, { beyond: undefined, size: 10 })
  assert.deepEqual(JSON.parse(rows[0]?.detail ?? ''), { facts: { entries: 20, from: 1, to: 20 } })
  assert.equal(await pruneAudit(store, trail, now - 5 * DAY_MS, now), 0)
  await store.write((tx) => sql`delete from audit where seq = 21`.execute(tx))
  assert.equal((await check()).whole, false)
})

test('retention takes all that is old, however much, and nothing of that very moment', async (t) => {
  const store = await withStore(t, sqlite)
  let now = Date.now() - DAY_MS
  const trail = makeAuditTrail(MASTER, 'one', () => now)
  const old = Array.from({ length: 1001 }, () => ({ action: 'LOGIN' as const }))
  await store.write((tx) => trail.add(tx, ANA, old))
  now += DAY_MS
  await write(store, trail, 1)
  await sealAudit(store, trail.keys, now)
  assert.equal(await pruneAudit(store, trail, now, now), old.length)
})

testOnBoth('the sealer keeps the head beside the database, and takes what is old', async (t, database) => {
  const dataDir = await tempFolder(t)
  const store = await withStore(t, database)
  let now = Date.now() - 10 * DAY_MS
  const trail = makeAuditTrail(MASTER, 'one', () => now)
  await write(store, trail, 3)
  now += 10 * DAY_MS
  await write(store, trail, 2)
  const parts = { store, trail, log: pino({ level: 'silent' }), dataDir, keepDays: 5, now: () => now }
  await startSealer(parts).stop()
  assert.equal(keptHead(dataDir)?.seq, 5)
  const { whole, from, findings } = await verifyAudit(store.db, trail.keys, [
    keptHead(dataDir) ?? assert.fail(),
  ])
  assert.deepEqual({ whole, from, findings }, { whole: true, from: 4, findings: [] })
})

testOnBoth(
  'points are signed anew with the current key, but none that nobody has signed',
  async (t, database) => {
    const store = await withStore(t, database)
    const file = join(await tempFolder(t), 'master-key')
    writeFileSync(file, MASTER)
    const ring = () => ringOfFile(file, () => 0)
    const trail = makeAuditTrail(ring(), 'one', Date.now)
    await write(store, trail, 3)
    await sealAudit(store, trail.keys, Date.now())
    exchangeKey(file, 32, { now: 0, until: DAY_MS })
    const keys = makeAuditKeys(ring())
    const latest = makeAuditKeys(readFileSync(file, 'utf8').trim())
    const isProven = async () => (await verifyAudit(store.db, { ...keys, isSigned: latest.isSigned })).whole
    assert.equal(await isProven(), false)
    await resignPoints(store, keys)
    assert.equal(await isProven(), true)
    await store.write((tx) => sql`update audit_head set at = at + 1`.execute(tx))
    await resignPoints(store, keys)
    assert.equal(await isProven(), false)
  },
)

testOnBoth('an export is proven elsewhere by the public key alone', async (t, database) => {
  const store = await withStore(t, database)
  const trail = makeAuditTrail(MASTER, 'one', Date.now)
  await write(store, trail, 30)
  await sealAudit(store, trail.keys, Date.now())
  const lines: string[] = []
  for await (const line of wholeTrail(store.db, trail.keys)) lines.push(line)
  const read = async (some: string[]) => {
    const { rows, start, last } = await readLines(some.values() as unknown as AsyncIterable<string>)
    return verifyTrail({ chain: rows, open: [], start, last }, { isSigned: trail.keys.isSigned })
  }
  assert.deepEqual((await read(lines)).findings, [])
  assert.equal((await read(lines)).entries, 30)
  assert.equal((await read(lines.toSpliced(4, 1))).whole, false)
  assert.equal((await read(lines.map((line) => line.replace('"ana"', '"eva"')))).whole, false)
})

testOnBoth(
  'a search goes by user, action, thing and words, and pages on from where it was',
  async (t, database) => {
    const store = await withStore(t, database)
    const trail = makeAuditTrail(MASTER, 'one', Date.now)
    await write(store, trail, 9)
    await store.write((tx) =>
      trail.add(tx, { ...ANA, who: 'eva' }, [{ action: 'LOGIN', note: 'From Madrid' }]),
    )
    const find = (filter: object, beyond?: string, size = 4) =>
      searchTrail(store.db, filter, { beyond, size })
    assert.equal((await find({ who: 'ana' }, undefined, 50)).rows.length, 9)
    assert.equal((await find({ action: 'LOGIN' })).rows.length, 1)
    assert.equal((await find({ subjectKind: 'channel', subject: 'C1' })).rows.length, 3)
    assert.equal((await find({ search: 'madrid eva' })).rows.length, 1)
    assert.equal((await find({ subjectKind: 'contact', subject: 'C1' })).rows.length, 0)
    assert.equal((await find({ who: 'eva', address: ANA.address })).rows.length, 1)
    assert.equal((await find({ who: 'eva', address: '127.0.0.2' })).rows.length, 0)
    const first = await find({ who: 'ana' })
    assert.equal(first.rows.length, 4)
    const second = await find({ who: 'ana' }, first.next)
    const third = await find({ who: 'ana' }, second.next)
    const ids = [...first.rows, ...second.rows, ...third.rows].map(({ id }) => id)
    assert.equal(new Set(ids).size, 9)
    assert.deepEqual(ids, ids.toSorted().reverse())
    assert.equal(third.next, undefined)
    assert.equal((await find({ before: Date.now() - DAY_MS })).rows.length, 0)
  },
)

test('a search for words stops after so many entries, says so, and goes on from there', async (t) => {
  const store = await withStore(t, sqlite)
  const trail = makeAuditTrail(MASTER, 'one', Date.now)
  await write(store, trail, 1)
  const others = Array.from({ length: 20_000 }, () => ({ action: 'LOGIN' as const }))
  await store.write((tx) => trail.add(tx, { ...ANA, who: 'eva' }, others))
  const find = (beyond?: string) => searchTrail(store.db, { search: 'ana' }, { beyond, size: 4 })
  const first = await find()
  assert.deepEqual([first.rows.length, first.complete], [0, false])
  const second = await find(first.next)
  assert.deepEqual([second.rows.length, second.complete], [1, true])
})

test('changes name each field, and secrets by a fingerprint that only this platform can make', () => {
  const { fingerprint } = makeAuditKeys(MASTER)
  const before = {
    name: 'a',
    security: { localKey: 'hidden one', version: '1' },
    ips: ['1'],
    gone: 1,
    unset: null,
  }
  const after = {
    name: 'b',
    security: { localKey: 'hidden two', version: '1' },
    ips: ['1', '2'],
    more: { deep: true },
  }
  const changes = changesOf(before, after, { fingerprint, hidden: ['/security/localKey'] })
  assert.deepEqual(changes, [
    { field: '/name', before: 'a', after: 'b' },
    { field: '/security/localKey', before: fingerprint('hidden one'), after: fingerprint('hidden two') },
    { field: '/ips', before: ['1'], after: ['1', '2'] },
    { field: '/gone', before: 1 },
    { field: '/more/deep', after: true },
  ])
  assert.match(fingerprint('hidden one'), /^keyed:[0-9a-f]{32}$/)
  assert.notEqual(fingerprint('hidden one'), makeAuditKeys(`${MASTER}x`).fingerprint('hidden one'))
})

test('the head that was signed last is kept in the data folder', async (t) => {
  const folder = await tempFolder(t)
  assert.equal(keptHead(folder), undefined)
  keepHead(folder, { seq: 7, hash: 'abc', at: 1 })
  assert.deepEqual(keptHead(folder), { seq: 7, hash: 'abc', at: 1 })
})
