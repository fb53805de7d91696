// SQLite as a Store: one connection that writes, one that reads.
//
// Writes that arrive together share one commit, and so one fsync (with synchronous=FULL each commit is synced). Where there
// are several, each runs in its own savepoint. All are answered after the commit.

import Database from 'better-sqlite3'
import { Kysely, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turnEnds, setTimeout as delay } from 'node:timers/promises'
import { systemCode } from '../../errors.ts'
import { commitCount, countCommit } from './commit-count.ts'
import { isBusy, translate } from './driver-errors.ts'
import { runDirectly } from './prepared-queries.ts'
import type { Dialect, Store, Tx } from './store.ts'
import type { Tables } from './tables.ts'
import { writeTurnOf } from './write-turn.ts'
import type { WriteTurn } from './write-turn.ts'

const SQLITE: Dialect = {
  name: 'sqlite',
  rowLocks: false,
  notify: false,
  arrivalOrder: 'rowid',
  now: "cast(unixepoch('subsec') * 1000 as integer)",
}

/** Who finds the file locked waits for so long in all. SQLite's own pauses grow to 100 ms; ours stay shorter. */
const LOCK_MS = 15_000
const MOST_PAUSE_MS = 25

export function openSqlite(dataDir: string): Store {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'esclusa.db')
  closeToOthers(file)
  const writer = connect(file)
  // `begunInTurn` waits instead: SQLite would hold up the whole thread.
  writer.pragma('busy_timeout = 0')
  const reader = connect(file)
  const writes = new Kysely<Tables>({
    dialect: sqliteDialect(new OneTransactionDriver({ database: writer })),
  })
  const snapshot = sharedSnapshot(reader)
  const db = new Kysely<Tables>({ dialect: sqliteDialect(new ReadingDriver(reader, snapshot.endIfOld)) })
  const write = groupedWrites(() => openWriter(writes, writer), writeTurnOf(file))
  runDirectly(db, (sql, asked) => {
    const statement = reader.prepare(sql)
    const read = inSnapshot(statement, snapshot)
    return asked === 'again' ? remembered(read, snapshot.share) : read
  })
  return {
    db,
    dialect: SQLITE,
    write,
    urgent: { db, write },
    notify: () => Promise.resolve(),
    close: async () => {
      snapshot.endQuietly()
      await db.destroy()
      await writes.destroy()
    },
  }
}

/**
 * A database of an earlier version, or one copied there, may be readable by everyone. It holds hashes and sealed keys.
 * SQLite gives its other files the mode of the database file.
 */
function closeToOthers(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & 0o077) !== 0) chmodSync(path, 0o600)
  }
}

/**
 * Taking and leaving SQLite's read lock costs twice as much as a small read. So all reads in one turn of the event loop
 * share it, until a thread of this process commits: whoever is told of something reads it. What another process has
 * committed is read from the next turn on.
 */
function sharedSnapshot(reader: Database.Database) {
  const [begin, commit] = [reader.prepare('begin'), reader.prepare('commit')]
  const dataVersion = reader.prepare('pragma data_version').pluck()
  let version: unknown
  let shared = false
  let commitsThen = 0
  // SQLite is asked whether there is anything to end: after an error of the disk it may have done so by itself.
  const end = () => {
    shared = false
    if (reader.inTransaction) commit.run()
  }
  /** Nobody waits for this end. If the disk refuses it, the next read tries once more, and whoever reads hears of it. */
  const endQuietly = () => {
    try {
      end()
    } catch {
      // Nothing was written.
    }
  }
  const endIfOld = () => {
    if (!shared || commitCount() !== commitsThen) end()
  }
  /** Returns the version of the data. It is another one as soon as any process has committed. */
  const share = (): unknown => {
    if (shared && commitCount() === commitsThen) return version
    end()
    commitsThen = commitCount()
    begin.run()
    setImmediate(endQuietly)
    version = dataVersion.get()
    shared = true
    return version
  }
  return { share, endQuietly, endIfOld }
}

const REMEMBERED = 500
/** Answers of more rows are not kept: reading them again costs little beside what is done with so many. */
const MOST_ROWS = 32

type Row = Record<string, unknown>
type Read = (parameters: readonly unknown[]) => Row[]

/** After an error of the disk the snapshot may be over: the next read begins another. */
function inSnapshot(
  statement: Database.Statement,
  { share, endQuietly }: Pick<ReturnType<typeof sharedSnapshot>, 'share' | 'endQuietly'>,
): Read {
  return (parameters) => {
    share()
    try {
      return statement.all(parameters) as Row[] // what any statement that reads answers with
    } catch (thrown) {
      endQuietly()
      throw thrown
    }
  }
}

/**
 * Rows are kept until the database changes. Reading the same few rows at every request would cost more than the rest of
 * a small request. They are frozen, because all callers share them.
 */
function remembered(read: Read, share: () => unknown): Read {
  const answers = new Map<unknown, Row[]>()
  let version: unknown
  return (parameters) => {
    const current = share()
    if (current !== version || answers.size >= REMEMBERED) answers.clear()
    version = current
    const key = parameters.length === 1 ? parameters[0] : JSON.stringify(parameters)
    let rows = answers.get(key)
    if (!rows) {
      rows = read(parameters)
      if (rows.length > MOST_ROWS) return rows
      for (const row of rows) Object.freeze(row)
      answers.set(key, Object.freeze(rows) as Row[])
    }
    return rows
  }
}

function connect(file: string): Database.Database {
  const database = new Database(file, { timeout: LOCK_MS })
  useLog(database)
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  database.pragma('temp_store = MEMORY')
  database.pragma('cache_size = -32000')
  // Compiling a statement costs ten times as much as running a small one. So they are kept, by text, up to a limit.
  const prepared = new Map<string, Database.Statement>()
  const prepare = translated(database.prepare.bind(database))
  return Object.assign(database, {
    prepare: (sql: string) => {
      const known = prepared.get(sql)
      if (known) return known
      const made = prepare(sql)
      made.all = translated(made.all.bind(made))
      made.get = translated(made.get.bind(made))
      made.run = translated(made.run.bind(made))
      if (prepared.size >= 500) prepared.clear()
      prepared.set(sql, made)
      return made
    },
  })
}

const LOG_TRIES = 200
const LOG_PAUSE_MS = 25

/**
 * Of those that open an empty database in the same moment one changes its mode, and SQLite does not let every other wait
 * for that: where two would wait for each other, it refuses one at once.
 */
function useLog(database: Database.Database): void {
  for (let left = LOG_TRIES; ; left--)
    try {
      database.pragma('journal_mode = WAL')
      return
    } catch (thrown) {
      if (left === 0 || systemCode(thrown) !== 'SQLITE_BUSY') throw translate(thrown)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOG_PAUSE_MS)
    }
}

/** What it throws are our own errors. */
function translated<P extends unknown[], R>(run: (...parameters: P) => R): (...parameters: P) => R {
  return (...parameters) => {
    try {
      return run(...parameters)
    } catch (thrown) {
      throw translate(thrown)
    }
  }
}

/** Reads that the query builder makes, in the snapshot that others share at the moment, if there is any. */
class ReadingDriver extends SqliteDriver {
  readonly #endIfOld: () => void

  constructor(database: Database.Database, endIfOld: () => void) {
    super({ database })
    this.#endIfOld = endIfOld
  }

  override acquireConnection(): ReturnType<SqliteDriver['acquireConnection']> {
    this.#endIfOld()
    return super.acquireConnection()
  }
}

/** Transactions are begun and ended by `commitTogether`, with statements that are compiled once. */
class OneTransactionDriver extends SqliteDriver {
  override async beginTransaction(): Promise<void> {}
  override async commitTransaction(): Promise<void> {}
}

function sqliteDialect(driver: SqliteDriver) {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => driver,
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

const GROUP = 32

type Change = (tx: Tx) => Promise<void>
type Waiting = { run: Change; fail: (thrown: unknown) => void; done: () => void }

/** The connection that writes. Its transactions share one executor: whoever is given it has the connection to himself. */
type Writer = {
  tx: Tx
  run: Record<'begin' | 'commit' | 'rollback' | 'mark' | 'keep' | 'undo', () => void>
  /** False once SQLite has rolled back by itself, as it does where the disk is full. */
  isOpen: () => boolean
}

const NO_ROWS = Object.freeze<never[]>([]) as never[]

async function openWriter(writes: Kysely<Tables>, database: Database.Database): Promise<Writer> {
  const tx = await writes.startTransaction().execute()
  runDirectly(tx, (sql) => {
    const statement = database.prepare(sql)
    if (statement.reader) return (parameters) => statement.all(parameters)
    return (parameters) => {
      statement.run(parameters)
      return NO_ROWS
    }
  })
  const prepared = (sql: string) => {
    const statement = database.prepare(sql)
    return () => void statement.run()
  }
  return {
    tx,
    run: {
      // Between the reads and the writes of a transaction nobody else may write.
      begin: prepared('begin immediate'),
      commit: prepared('commit'),
      rollback: prepared('rollback'),
      mark: prepared('savepoint entry'),
      keep: prepared('release entry'),
      undo: prepared('rollback to entry'),
    },
    isOpen: () => database.inTransaction,
  }
}

function groupedWrites(open: () => Promise<Writer>, turn: WriteTurn): Store['write'] {
  let writer: Promise<Writer> | undefined
  let waiting: Waiting[] = []
  let draining = false
  async function drain() {
    while (waiting.length > 0) {
      const group = waiting.slice(0, GROUP)
      waiting = waiting.slice(GROUP)
      try {
        await commitTogether(await (writer ??= open()), group, turn)
      } catch (thrown) {
        for (const entry of group) entry.fail(translate(thrown))
      }
      // What has come meanwhile, from sockets too, goes along with the next.
      await turnEnds()
    }
    draining = false
  }
  return (change) =>
    new Promise((resolve, reject) => {
      const entry: Waiting = {
        run: async (tx) => {
          const value = await change(tx)
          entry.done = () => resolve(value)
        },
        fail: reject,
        done: () => {},
      }
      waiting.push(entry)
      if (draining) return
      draining = true
      setImmediate(() => void drain())
    })
}

async function commitTogether(writer: Writer, group: Waiting[], turn: WriteTurn): Promise<void> {
  const { commit, rollback } = writer.run
  const passed: Waiting[] = []
  const turnEnded = await begunInTurn(writer, turn)
  try {
    const [alone] = group.length === 1 ? group : []
    if (alone) {
      await alone.run(writer.tx)
      passed.push(alone)
    } else for (const entry of group) await inSavepoint(writer, entry, passed)
    commit()
  } catch (thrown) {
    if (writer.isOpen()) rollback()
    throw thrown
  } finally {
    turnEnded()
  }
  countCommit()
  for (const entry of passed) entry.done()
}

/**
 * Another process, or a thread that has waited too long for its turn, may write for long. Meanwhile this thread answers whatever
 * does not write, and the others have their turns.
 */
async function begunInTurn({ run, isOpen }: Writer, turn: WriteTurn): Promise<() => void> {
  const until = performance.now() + LOCK_MS
  for (let pause = 1; ; pause = Math.min(2 * pause, MOST_PAUSE_MS)) {
    const turnEnded = turn.take()
    try {
      run.begin()
      return turnEnded
    } catch (thrown) {
      turnEnded()
      // One that an error of the disk has kept from ending.
      if (isOpen()) run.rollback()
      if (!isBusy(thrown) || performance.now() > until) throw thrown
    }
    await delay(pause)
  }
}

async function inSavepoint({ tx, run, isOpen }: Writer, entry: Waiting, passed: Waiting[]): Promise<void> {
  run.mark()
  try {
    await entry.run(tx)
    run.keep()
    passed.push(entry)
  } catch (thrown) {
    // With the transaction the writes before this one are gone too: none of the group is answered as done.
    if (!isOpen()) throw thrown
    run.undo()
    run.keep()
    entry.fail(translate(thrown))
  }
}
