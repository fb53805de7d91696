// The files that a suite puts into its routes, and what it remembers of them: every check compares with this.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Random } from './random.ts'
import type { Route } from './routes.ts'

export type SourceFile = { name: string; size: number; sha256: string }

export class Sources {
  readonly #random: Random
  readonly #files = new Map<Route, Map<string, SourceFile>>()
  #made = 0
  bytes = 0

  constructor(random: Random) {
    this.#random = random
  }

  of(route: Route): ReadonlyMap<string, SourceFile> {
    return this.#files.get(route) ?? new Map()
  }

  get count(): number {
    return this.#made
  }

  /** Appears at once and whole, as a careful writer would have it. */
  async put(route: Route, size: number): Promise<void> {
    const name = `${String(++this.#made).padStart(6, '0')} ${this.#random.pick(['a.txt', 'b', 'c.tar.gz', 'ñ.dat'])}`
    const bytes = this.#random.bytes(size)
    const known = this.#files.get(route) ?? new Map<string, SourceFile>()
    this.#files.set(
      route,
      known.set(name, { name, size, sha256: createHash('sha256').update(bytes).digest('hex') }),
    )
    this.bytes += size
    const draft = join(route.source, `.${name}.writing`)
    await writeFile(draft, bytes)
    await rename(draft, join(route.source, name))
  }
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 }))
    hash.update(piece as Buffer)
  return hash.digest('hex')
}
