// Memory for one file on its way: a kernel and the regions its data passes through. Files are read into it, encoded,
// decoded and written out of it, so that a file's octets are not copied between buffers on the way.
//
// A workspace is 4.6 MiB: sessions borrow one while a file moves and give it back, and a few are kept for the next.
import type { Kernel } from './kernel.ts'
import { RESERVED, SLACK } from './kernel.ts'
import { createKernel } from './kernel-wasm.ts'

export type Region = { readonly start: number; readonly end: number }

/** Large reads and writes; two of each direction let the disk, the kernel and the line work at the same time. */
export const REGION_SIZE = 1024 * 1024
/** Room in front of a region for the part of a V record that was left over in the one before. */
export const LEAD = 65_536 + 64

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

export class WorkspacePool {
  readonly #free: Workspace[] = []
  readonly #kept: number

  constructor(kept = 4) {
    this.#kept = kept
  }

  borrow(): Workspace {
    return this.#free.pop() ?? createWorkspace()
  }

  giveBack(workspace: Workspace): void {
    if (this.#free.length < this.#kept) this.#free.push(workspace)
  }
}
