// Looks, all the time that nodes are being killed, at every place where a file may be seen under its real name: what is
// there must be the whole source file, byte for byte. A file is hashed once per inode and compared by size ever after.

import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../src/errors.ts'
import type { Route } from './routes.ts'
import { sha256Of } from './sources.ts'
import type { Sources } from './sources.ts'

export class Observer {
  readonly #routes: readonly Route[]
  readonly #sources: Sources
  readonly #hashed = new Set<string>()
  readonly faults: string[] = []
  looks = 0
  #state: 'watching' | 'stopped' = 'watching'
  #watching: Promise<void>

  constructor(routes: readonly Route[], sources: Sources) {
    this.#routes = routes
    this.#sources = sources
    this.#watching = this.#watch()
  }

  async #watch(): Promise<void> {
    while (this.#state === 'watching') {
      const began = performance.now()
      await this.look()
      // Half of the time at the most: the nodes need the processor too.
      await new Promise((resolve) => setTimeout(resolve, Math.max(40, performance.now() - began)))
    }
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    await this.#watching
  }

  /** One look at everything. */
  async look(): Promise<void> {
    for (const route of this.#routes)
      for (const folder of route.watched)
        for (const name of await visible(folder)) await this.#check(route, join(folder, name), name)
    this.looks++
  }

  async #check(route: Route, path: string, name: string): Promise<void> {
    try {
      const found = await lstat(path)
      const source = this.#sources.of(route).get(name)
      if (!source) return this.#fault(`${path} is no file that was put in`)
      if (found.size !== source.size) return this.#fault(`${path} has ${found.size} of ${source.size} octets`)
      const key = `${found.dev} ${found.ino} ${found.mtimeMs} ${path}`
      if (this.#hashed.has(key)) return
      if ((await sha256Of(path)) !== source.sha256)
        return this.#fault(`${path} has other bytes than its source`)
      this.#hashed.add(key)
    } catch (thrown) {
      // Taken away between two looks: the next channel has it, or its post-action moved it.
      if (systemCode(thrown) !== 'ENOENT') throw thrown
    }
  }

  #fault(what: string): void {
    if (this.faults.length < 20 && !this.faults.includes(what)) this.faults.push(what)
  }
}

/** Names that a partner would see: not hidden, not `.part`. */
export async function visible(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => !name.startsWith('.') && !name.endsWith('.part'))
}
