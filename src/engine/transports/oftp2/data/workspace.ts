// Memory for one file on its way: a kernel and the regions its data passes through. Files are read into it, encoded,
// decoded and written out of it, so that a file's octets are not copied between buffers on the way.
//
// A workspace is 4.6 MiB, of which a small file touches little: sessions borrow one while a file moves and give it back.
import type { Kernel } from './kernel.ts'
import { RESERVED, SLACK } from './kernel.ts'
import { createKernel } from './kernel-wasm.ts'

export type Region = { readonly start: number; readonly end: number }

/** Large reads and writes; two of each direction let the disk, the kernel and the line work at the same time. */
export const REGION_SIZE = 1024 * 1024
/** Room in front of a region for the part of a V record that was left over in the one before. */
const LEAD = 65_536 + 64

const GATHER = 100_003

export interface Workspace {
  readonly kernel: Kernel
  /** Where exchange buffers are gathered from the line. */
  readonly gather: Region
  /** Each has LEAD octets in front of it and slack behind it. */
  readonly regions: readonly [Region, Region, Region, Region]
}

function createWorkspace(): Workspace {
  const gather = { start: RESERVED, end: RESERVED + GATHER }
  let at = gather.end + SLACK
  const region = (): Region => {
    const start = at + LEAD
    at = start + REGION_SIZE + SLACK
    return { start, end: start + REGION_SIZE }
  }
  const regions = [region(), region(), region(), region()] as const
  return { kernel: createKernel(at + SLACK), gather, regions }
}

/** So many are kept for as long as the node lives. */
export const ALWAYS_KEPT = 4
export const LOOK_AFTER_MS = 10_000

/**
 * To make one costs several times as much as a small file. So whatever is given back is kept, and let go when it was not
 * needed for a while.
 */
export class WorkspacePool {
  readonly #free: Workspace[] = []
  /** The fewest that were free since the last look: nobody needed these. */
  #unneeded = 0
  #looking = false

  borrow(): Workspace {
    const workspace = this.#free.pop() ?? createWorkspace()
    this.#unneeded = Math.min(this.#unneeded, this.#free.length)
    return workspace
  }

  giveBack(workspace: Workspace): void {
    this.#free.push(workspace)
    if (!this.#looking) this.#lookLater()
  }

  #lookLater(): void {
    this.#looking = this.#free.length > ALWAYS_KEPT
    if (!this.#looking) return
    this.#unneeded = this.#free.length
    setTimeout(() => this.#letGo(), LOOK_AFTER_MS).unref()
  }

  #letGo(): void {
    this.#free.splice(0, Math.min(this.#unneeded, this.#free.length - ALWAYS_KEPT))
    this.#lookLater()
  }
}
