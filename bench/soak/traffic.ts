// Files put in at one end of each route and taken away at the other, as systems beside the nodes do: whoever takes one
// looks whether it is whole, and whether it came before.

import { createHash } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../src/errors.ts'
import { visible } from '../../test/crash/observer.ts'
import type { Random } from '../../test/crash/random.ts'
import type { Route } from './platforms.ts'

/** A route with more than this on its way gets no more. */
const MOST_WAITING = 25
const KIB = 1024

type Sent = { sha256: string; came: boolean }

export class Traffic {
  readonly #routes: readonly Route[]
  readonly #random: Random
  readonly #sent = new Map<Route, Map<string, Sent>>()
  readonly faults: string[] = []
  /** Files that came twice. */
  readonly again: { route: Route; name: string }[] = []
  put = 0
  arrived = 0
  twice = 0
  bytes = 0
  #made = 0

  constructor(routes: readonly Route[], random: Random) {
    this.#routes = routes
    this.#random = random
    for (const route of routes) this.#sent.set(route, new Map())
  }

  /** One round of new files. */
  async feed(): Promise<void> {
    for (const route of this.#routes) {
      if (this.#random.next() < 0.4 || (await visible(route.source)).length > MOST_WAITING) continue
      const many = this.#random.between(1, 3)
      for (let nth = 0; nth < many; nth++) await this.#putOne(route, this.#size(route))
    }
  }

  #size({ kind }: Route): number {
    const big = kind === 'P' ? 512 * KIB : 4096 * KIB
    if (this.#random.next() < 0.03) return this.#random.between(big / 2, big)
    return this.#random.pick([0, 1, 100, 4 * KIB, 10 * KIB, 64 * KIB])
  }

  async #putOne(route: Route, size: number): Promise<void> {
    const name = `${String(++this.#made).padStart(7, '0')}.dat`
    const bytes = this.#random.bytes(size)
    const draft = join(route.source, `.${name}`)
    try {
      await writeFile(draft, bytes)
    } catch (thrown) {
      if (systemCode(thrown) !== 'ENOSPC') throw thrown
      await rm(draft, { force: true })
      return
    }
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    this.#sent.get(route)?.set(name, { sha256, came: false })
    await rename(draft, join(route.source, name))
    this.put++
    this.bytes += size
  }

  /** Takes what has arrived. */
  async take(): Promise<void> {
    for (const route of this.#routes)
      for (const name of await visible(route.end)) await this.#takeOne(route, join(route.end, name), name)
  }

  async #takeOne(route: Route, path: string, name: string): Promise<void> {
    const sent = this.#sent.get(route)?.get(name)
    const sha256 = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
    await rm(path)
    if (sent === undefined) this.#fault(`${route.name}: ${name} came, and nobody sent it`)
    else if (sent.sha256 !== sha256) this.#fault(`${route.name}: ${name} came with other bytes`)
    else if (sent.came) {
      this.twice++
      if (this.again.length < 5) this.again.push({ route, name })
      this.#fault(`${route.name}: ${name} came twice`)
    } else {
      sent.came = true
      this.arrived++
    }
  }

  /** What has not come. */
  missing(): { route: Route; names: string[] }[] {
    const all = [...this.#sent].map(([route, sent]) => ({
      route,
      names: [...sent].filter(([, { came }]) => !came).map(([name]) => name),
    }))
    return all.filter(({ names }) => names.length > 0)
  }

  #fault(what: string): void {
    if (this.faults.length < 50) this.faults.push(what)
  }
}
