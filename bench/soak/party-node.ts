// A node of a long run: started, killed and started again on the same folders, with a clock of its own that can be set.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import { NodeProcess } from '../../test/crash/node-process.ts'
import type { Settings } from '../../test/crash/node-process.ts'

const FAKE_CLOCK = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
].find((path) => existsSync(path))

export const hasFakeClock = FAKE_CLOCK !== undefined

/** Tables that grow with work. */
const TABLES = ['transfer', 'transfer_file', 'history', 'event', 'sent_file', 'received_file'] as const

export type NodeFigures = { mib: number; handles: number; rows: number; files: number }

export class PartyNode {
  readonly name: string
  readonly home: string
  readonly token: string
  readonly #settings: Settings
  readonly #store: Store
  #process: NodeProcess | undefined
  #last: NodeFigures = { mib: 0, handles: 0, rows: 0, files: 0 }

  private constructor(name: string, home: string, token: string, settings: Settings, store: Store) {
    this.name = name
    this.home = home
    this.token = token
    this.#settings = settings
    this.#store = store
  }

  static async open(name: string, home: string, token: string, settings: Settings): Promise<PartyNode> {
    const store = await openStore({
      dataDir: join(home, 'data'),
      databaseUrl: settings.ESCLUSA_DATABASE_URL,
    })
    const node = new PartyNode(name, home, token, settings, store)
    node.setClock(0)
    await node.start()
    return node
  }

  get db() {
    return this.#store.db
  }

  get url(): string | undefined {
    return this.#process?.url
  }

  async start(): Promise<void> {
    const clock: Settings = FAKE_CLOCK
      ? {
          LD_PRELOAD: FAKE_CLOCK,
          FAKETIME_TIMESTAMP_FILE: join(this.home, 'clock'),
          FAKETIME_CACHE_DURATION: '1',
          // Timers go on as they do when somebody sets a machine's clock.
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
          NO_FAKE_STAT: '1',
        }
      : {}
    this.#process = await NodeProcess.start({ ...this.#settings, ...clock })
  }

  /** Seconds ahead of the true time. */
  setClock(seconds: number): void {
    writeFileSync(join(this.home, 'clock'), `${seconds < 0 ? '' : '+'}${seconds}`)
  }

  async kill(): Promise<void> {
    const process = this.#process
    this.#process = undefined
    await process?.kill()
  }

  /** Without waiting. */
  end(): void {
    this.#process?.signal('SIGKILL')
  }

  async stop(): Promise<void> {
    const process = this.#process
    this.#process = undefined
    await process?.stop()
  }

  async close(): Promise<void> {
    await this.#store.close()
  }

  /** What it returns lets that very process go on. */
  freeze(): () => void {
    const process = this.#process
    process?.signal('SIGSTOP')
    return () => process?.signal('SIGCONT')
  }

  /** Nobody killed it, and it is gone. */
  get hasFallen(): boolean {
    return this.#process !== undefined && !existsSync(`/proc/${this.#process.pid}/fd/0`)
  }

  lastWords(): string {
    return this.#process?.lines.slice(-15).join('\n') ?? ''
  }

  /** As they were, where the node is not there to look at. */
  async figures(): Promise<NodeFigures> {
    const pid = this.#process?.pid
    try {
      if (pid !== undefined) {
        const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
        this.#last.mib = Math.round(Number(kib) / 1024)
        this.#last.handles = readdirSync(`/proc/${pid}/fd`).length
      }
      this.#last.files = readdirSync(join(this.home, 'data'), { recursive: true }).length
      let rows = 0
      for (const table of TABLES) {
        const { count } = await this.db
          .selectFrom(table)
          .select(({ fn }) => fn.countAll<number | string>().as('count'))
          .executeTakeFirstOrThrow()
        rows += Number(count)
      }
      this.#last.rows = rows
    } catch {
      // It was killed between two looks, or its disk is full.
    }
    return { ...this.#last }
  }
}
