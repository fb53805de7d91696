// A local entity may have its own file roots. The directories of its channels must then be inside them. They never
// allow more than the node's settings do.

import { isInside } from './channel-rules.ts'
import type { Roots } from './channel-rules.ts'

export type RootsOwner = { code: string; fileRoots?: readonly string[] | undefined }

/** The node's file roots as far as the entity's channels may use them. */
export function fileRootsOf(
  nodeRoots: readonly string[],
  own: readonly string[] | undefined,
): readonly string[] {
  if (own === undefined) return nodeRoots
  return own.filter((root) => nodeRoots.some((allowed) => isInside(root, allowed)))
}

export function rootsOf(roots: Roots, entity: RootsOwner | undefined): Roots {
  if (entity?.fileRoots === undefined) return roots
  return {
    ...roots,
    fileRoots: fileRootsOf(roots.fileRoots, entity.fileRoots),
    fileRootsName: `the file roots of local entity ${entity.code}`,
  }
}
