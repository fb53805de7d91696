import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { test } from 'node:test'
import { tempFolder, testOnBoth, withStore } from '../../../test/support/harness.ts'
import { signLife } from '../transfers/signs-of-life.ts'
import { migrate, ownMigrations } from './migrate.ts'
import { openStore } from './open.ts'
import type { Store } from './store.ts'

const ADDED = { name: '9001-added.sql', text: 'create table added (id text primary key);' }
const LATER = { name: '9002-later.sql', text: '-- requires: 0.2.0\ndrop table added;' }

async function applied(store: Store): Promise<string[]> {
  const { rows } = await sql<{
    name: string
  }>`select name from migration where version > 9000 order by name`.execute(store.db)
  return rows.map(({ name }) => name)
}

testOnBoth(
  'a database newer than the program is refused, and said which change it does not know',
  async (t, database) => {
    const dataDir = await tempFolder(t)
    const databaseUrl = await database.createEmpty(t)
    const store = await openStore({ dataDir, databaseUrl })
    await migrate(store, [...ownMigrations(), ADDED])
    await store.close()
    await assert.rejects(
      openStore({ dataDir, databaseUrl }),
      /newer than this program, which does not know 9001-added\.sql: run a newer Esclusa/,
    )
  },
)

testOnBoth('a change that was left out is made later, whatever was made since', async (t, database) => {
  const store = await withStore(t, database)
  const late = { name: '9000-late.sql', text: 'create table late (id text primary key);' }
  await migrate(store, [...ownMigrations(), ADDED])
  await migrate(store, [...ownMigrations(), late, ADDED])
  assert.deepEqual(await applied(store), ['9001-added.sql'])
  const { rows } = await sql`select * from late`.execute(store.db)
  assert.deepEqual(rows, [])
})

testOnBoth('a change that fails half-way leaves the database as it was', async (t, database) => {
  const store = await withStore(t, database)
  const broken = {
    name: '9003-broken.sql',
    text: 'insert into added (id) values (1);\ninsert into nowhere values (1);',
  }
  await assert.rejects(migrate(store, [...ownMigrations(), ADDED, broken]))
  assert.deepEqual(await applied(store), [])
  await migrate(store, [...ownMigrations(), ADDED])
  assert.deepEqual((await sql`select * from added`.execute(store.db)).rows, [])
})

testOnBoth('what older nodes need is taken away only when none of them is at work', async (t, database) => {
  const store = await withStore(t, database)
  const all = [...ownMigrations(), ADDED, LATER]
  await migrate(store, all.slice(0, -1))
  const now = Date.now()
  await store.write((tx) => signLife(tx, 'new-node', now + 60_000))
  await store.write((tx) =>
    sql`insert into sign_of_life (owner, alive_until) values ('old-node', ${now + 60_000}), ('dead-node', ${now - 1})`.execute(
      tx,
    ),
  )
  await assert.rejects(
    migrate(store, all),
    /9002-later\.sql\) while nodes older than 0\.2\.0 are at work: old-node \(0\.1\.0\); upgrade them first$/,
  )
  assert.deepEqual(await applied(store), ['9001-added.sql'])
  await store.write((tx) => tx.deleteFrom('sign_of_life').where('owner', '=', 'old-node').execute())
  await migrate(store, all)
  assert.deepEqual(await applied(store), ['9001-added.sql', '9002-later.sql'])
})

/** What a statement may do while the version before is at work on the same database. */
const ADDS = [
  /^create table /,
  /^create (unique )?index \w+ on (\w+) /,
  /^alter table \w+ add column (?!.*not null(?!.* default ))/,
  /^insert into /,
  /^update /,
]

test('migrations since the first release only add, or say which version no longer needs what they take', () => {
  const later = ownMigrations().filter(({ name }) => name > '0004')
  assert.ok(later.length > 0)
  for (const { name, text } of later) {
    if (/^-- requires: \d+\.\d+\.\d+$/m.test(text)) continue
    const made = [...text.matchAll(/create table (\w+)/g)].map((match) => match[1])
    for (const statement of text.replace(/--.*$/gm, '').split(';')) {
      const plain = statement.trim().replaceAll(/\s+/g, ' ')
      if (plain === '') continue
      assert.ok(
        ADDS.some((pattern) => pattern.test(plain)),
        `${name}: old nodes are still at work, and this does not only add: ${plain}`,
      )
      const unique = /^create unique index \w+ on (\w+) /.exec(plain)?.[1]
      assert.ok(
        unique === undefined || made.includes(unique),
        `${name}: old nodes do not know that ${unique} has become unique`,
      )
    }
  }
})

test('every migration has a number of its own', () => {
  const numbers = ownMigrations().map(({ name }) => name.slice(0, 5))
  for (const number of numbers) assert.match(number, /^\d{4}-$/)
  assert.equal(new Set(numbers).size, numbers.length)
})
